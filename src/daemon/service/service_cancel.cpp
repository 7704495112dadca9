// The API's cancellations: one job, or many at a time, which are one change of the store.

#include <algorithm>

#include "api/job_list.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "daemon/service/service.hpp"

namespace cleave {

namespace {

constexpr std::size_t most_cancelled = 10'000;
// About 2 ms of work each.
constexpr std::size_t looked_up_a_piece = 200, answered_a_piece = 100;

/// {"jobs": [number, ...], "now": true}
struct CancelQuery {
  std::vector<JobNumber> jobs;
  bool at_once = false;
};
Result<CancelQuery> read_query(const std::string& body) {
  const auto document = parse_json(body, "cancellation");
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  JsonReader in(*document, "cancellation", error);
  CancelQuery query;
  query.at_once = in.flag("now", false);
  query.jobs = in.integers("jobs", 1, INT64_MAX);
  in.done();
  if (query.jobs.empty()) in.refuse("jobs", "no job is named");
  if (query.jobs.size() > most_cancelled)
    in.refuse("jobs", fmt::format("these are more than {} jobs", most_cancelled),
              "cancel them in several requests");
  std::vector<JobNumber> sorted = query.jobs;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    in.refuse("jobs", fmt::format("job {} is named twice", *twice));
  if (error) return std::unexpected(*error);
  return query;
}

}  // namespace

/// Many jobs on their way: looked up in pieces, cancelled together, and shown in pieces.
struct CancelWalk {
  ApiCallPtr call;
  CancelQuery query;
  std::size_t next = 0;  // of the query's jobs, and then of `seen`
  std::vector<Cancellation> open;
  std::vector<JobNumber> seen;
  HttpResponse response;
  Json refused = Json::array();
};

CancelGrace Service::grace_for(const ApiCallPtr& call, const JobRecord& job, bool at_once) const {
  if (at_once) return CancelGrace::at_once;
  const bool others = call->operates && job.owner.uid != call->request.peer.uid;
  return others ? CancelGrace::of_operator : CancelGrace::of_job;
}

void Service::cancel_job(const ApiCallPtr& call) {
  const bool at_once = call->flag("now");
  if (!call->query_is_fine()) return;
  const auto job = find_job(call);
  if (!job) return;
  const std::string result = fmt::format("job {}", job->number);
  if (is_final(job->state)) return reply_with_job(call, job->number, result);
  doors_.control.cancel(job->number, call->by(), doors_.now(), grace_for(call, *job, at_once));
  when_written(
      call, [this, call, number = job->number, result] { reply_with_job(call, number, result); });
}

/// Looks up some more; with the last of them all are cancelled. Whether there is more.
bool Service::cancel_piece(const std::shared_ptr<CancelWalk>& walk) {
  const ApiCallPtr& call = walk->call;
  const std::vector<JobNumber>& asked = walk->query.jobs;
  const std::size_t end = std::min(asked.size(), walk->next + looked_up_a_piece);
  for (; walk->next < end; ++walk->next) {
    const JobNumber number = asked[walk->next];
    const auto job = look_up(call, number, fmt::format("{}", number));
    if (!job && job.error().status != 404) {
      call->refuse(job.error().error, job.error().status);
      return false;
    }
    if (!job) {
      Json refused = error_document(job.error().error);
      refused["job"] = number;
      walk->refused.push_back(std::move(refused));
      continue;
    }
    walk->seen.push_back(number);
    if (!is_final(job->state))
      walk->open.push_back({number, grace_for(call, *job, walk->query.at_once)});
  }
  if (walk->next < asked.size()) return true;
  doors_.control.cancel(walk->open, call->by(), doors_.now());
  when_written(call, [this, walk] {
    walk->next = 0;
    walk->response.body = "{\"jobs\":[";
    turns_.add(walk->call->request.peer.uid, [this, walk] { return cancelled_piece(*walk); });
  });
  return false;
}

/// Shows some more of them as they are now. Whether there is more.
bool Service::cancelled_piece(CancelWalk& walk) {
  const GpuIndexOf indices = index_of();
  const std::size_t end = std::min(walk.seen.size(), walk.next + answered_a_piece);
  for (; walk.next < end; ++walk.next) {
    const JobNumber number = walk.seen[walk.next];
    JobQuery query;
    query.final_too = true;
    query.most = 1;
    query.after = number - 1;
    query.before = number + 1;
    const JobRecord* live = doors_.control.job(number);
    const auto stored =
        live == nullptr ? doors_.store.jobs_with_attempts(query) : Result<std::vector<StoredJob>>();
    if (!stored) {
      walk.call->refuse(stored.error(), 503);
      return false;
    }
    if (live == nullptr && stored->empty()) continue;  // purged meanwhile
    if (walk.response.body.back() != '[') walk.response.body += ',';
    const StoredJob* of_store = live == nullptr ? &stored->front() : nullptr;
    const AttemptRecord* latest =
        of_store != nullptr && of_store->latest ? &*of_store->latest : nullptr;
    append_job_text(walk.response.body,
                    list_view(of_store != nullptr ? of_store->job : *live, latest, indices));
  }
  if (walk.next < walk.seen.size()) return true;
  walk.response.body += fmt::format("],\"refused\":{}}}\n", api_text(walk.refused));
  walk.call->reply(std::move(walk.response),
                   fmt::format("{} jobs, {} refused", walk.seen.size(), walk.refused.size()));
  return false;
}

void Service::cancel_several(const ApiCallPtr& call) {
  if (!call->query_is_fine()) return;
  auto query = read_query(call->request.body);
  if (!query) return call->refuse(query.error());
  const auto walk = std::make_shared<CancelWalk>();
  walk->call = call;
  walk->query = std::move(*query);
  // To its end even if the client hangs up: it may have gone because it is sure of what it asked.
  turns_.add(call->request.peer.uid, [this, walk] { return cancel_piece(walk); });
}

}  // namespace cleave
