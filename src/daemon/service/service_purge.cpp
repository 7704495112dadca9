// The API's purge: users forget ended jobs of their own, with outputs and all that the store has of
// them, before their time.

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "daemon/service/service.hpp"

namespace cleave {

namespace {

/// Each takes a millisecond, mostly for its folder.
constexpr std::size_t purged_a_piece = 10, looked_at_a_piece = 100;
/// Of more the answer says only how many.
constexpr std::size_t most_named = 1000;

/// A job that is to be forgotten.
struct EndedJob {
  JobNumber number = 0;
  std::string name;
};

}  // namespace

/// A purge of many jobs on its way.
struct PurgeWalk {
  ApiCallPtr call;
  JobQuery query;  // of what is still to come
  std::optional<Instant> ended_before;
  bool dry_run = false;
  std::vector<EndedJob> found;  // and not purged yet
  bool at_end = false;
  std::size_t jobs = 0, left = 0;
  std::int64_t bytes = 0;
  Json which = Json::array();  // the first of those that were, or would be

  [[nodiscard]] bool wants(const JobRecord& job) const {
    return is_final(job.state) && (!ended_before || (job.ended && *job.ended < *ended_before));
  }
  void reply() const {
    call->reply(200,
                Json{{"jobs", jobs},
                     {"bytes", bytes},
                     {"left", left},
                     {"dry_run", dry_run},
                     {"which", which}},
                fmt::format("{} jobs, {} bytes{}", jobs, bytes, dry_run ? " would be freed" : ""));
  }
};

/// False: it was refused.
bool Service::purge_some(PurgeWalk& walk) {
  std::vector<JobNumber> numbers;
  for (const EndedJob& job : walk.found) numbers.push_back(job.number);
  const auto purged = doors_.control.purge(numbers, walk.dry_run, doors_.now());
  if (!purged) {
    walk.call->refuse(purged.error(), 503);
    return false;
  }
  walk.jobs += purged->jobs.size();
  walk.left += walk.found.size() - purged->jobs.size();
  walk.bytes += purged->bytes;
  for (const EndedJob& job : walk.found)
    if (std::ranges::find(purged->jobs, job.number) != purged->jobs.end() &&
        walk.which.size() < most_named)
      walk.which.push_back({{"id", job.number}, {"name", job.name}});
  walk.found.clear();
  doors_.soon();
  return true;
}

/// Whether there is more.
bool Service::purge_piece(PurgeWalk& walk) {
  if (walk.found.empty() && !walk.at_end) {
    const auto jobs = doors_.store.jobs(walk.query);
    if (!jobs) {
      walk.call->refuse(jobs.error(), 503);
      return false;
    }
    for (const JobRecord& job : *jobs) {
      walk.query.before = job.number;
      if (walk.wants(job)) walk.found.push_back({job.number, job.spec.name});
    }
    walk.at_end = jobs->size() < walk.query.most;
  }
  std::vector<EndedJob> later;
  if (walk.found.size() > purged_a_piece) {
    later.assign(walk.found.begin() + purged_a_piece, walk.found.end());
    walk.found.resize(purged_a_piece);
  }
  if (!walk.found.empty() && !purge_some(walk)) return false;
  walk.found = std::move(later);
  if (!walk.found.empty() || !walk.at_end) return true;
  walk.reply();
  return false;
}

void Service::purge(const ApiCallPtr& call) {
  const bool all = call->flag("all");
  const auto walk = std::make_shared<PurgeWalk>();
  walk->call = call;
  walk->dry_run = call->flag("dry_run");
  const auto older = call->integer("older_s", 0, 1'000'000'000);
  const auto user = call->text("user");
  if (!call->query_is_fine()) return;
  if (all == older.has_value())
    return call->refuse(Error{ErrorKind::bad_input, "query", "which jobs is not said",
                              "add all=1, or older_s=N for those that ended so long ago"});
  const auto whose = user_meant(call, user);
  if (!whose) return;
  walk->query.uid = *whose;
  walk->query.final_too = true;
  walk->query.most = looked_at_a_piece;
  if (older) walk->ended_before = doors_.now().wall - std::chrono::seconds(*older);
  // To its end even if the client hangs up, so that the audit has what was done.
  turns_.add(call->request.peer.uid, [this, walk] { return purge_piece(*walk); });
}

void Service::purge_job(const ApiCallPtr& call) {
  PurgeWalk walk;
  walk.call = call;
  walk.dry_run = call->flag("dry_run");
  if (!call->query_is_fine()) return;
  const auto job = find_job(call);
  if (!job) return;
  const auto wait = [&](std::string_view what, std::string_view remedy) {
    call->refuse(Error{ErrorKind::infeasible, "", fmt::format("job {} {}", job->number, what),
                       std::string(remedy)});
  };
  if (!is_final(job->state)) return wait("has not ended", "cancel it, and purge it then");
  walk.found = {{job->number, job->spec.name}};
  if (!purge_some(walk)) return;
  if (walk.left > 0)
    return wait("cannot be forgotten yet",
                "try again when it has left its GPU and, where it is the first of an array, "
                "when all of that has ended");
  walk.reply();
}

}  // namespace cleave
