// The API's jobs.

#include <algorithm>

#include "api/documents.hpp"
#include "api/job_list.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "daemon/service/job_output.hpp"
#include "daemon/service/service.hpp"

namespace cleave {

namespace {

constexpr std::int64_t most_jobs_listed = 10'000, jobs_usually_listed = 1000;
constexpr std::int64_t longest_wait_s = 3600, usual_wait_s = 30;
constexpr std::string_view list_of_jobs = "`cleave ps --all` lists the jobs";
constexpr std::int64_t most_output = 1 << 20;
// About 2 ms of work each.
constexpr std::size_t stored_jobs_a_piece = 100, live_jobs_a_piece = 200;
constexpr JobNumber numbers_a_piece = 1000;

}  // namespace

/// A list being written: as text and not as a document, since there may be ten thousand jobs.
struct JobListing {
  ApiCallPtr call;
  JobQuery query;  // of what is still to come
  HttpResponse response;
  std::size_t listed = 0;
  bool begun = false;
  std::vector<JobNumber> numbers;  // unfinished jobs, and which of them is next
  std::size_t next = 0;

  void append(const ApiJob& job) {
    if (listed++ > 0) response.body += ',';
    append_job_text(response.body, job);
  }
};

/// Which piece of which output is asked for.
struct OutputQuery {
  JobNumber job = 0;
  std::string stream;
  std::optional<std::int64_t> attempt;
  std::int64_t offset = 0;
  std::int64_t rank = 0;  // of the process
  [[nodiscard]] JobNumber process() const { return job + rank; }
};

// Looking.

GpuIndexOf Service::index_of() {
  std::map<std::string, std::int64_t> indices;
  for (const GpuStatus& gpu : doors_.control.gpus()) indices.emplace(gpu.gpu->uuid, gpu.gpu->index);
  return [indices = std::move(indices)](const std::string& uuid) {
    const auto found = indices.find(uuid);
    return found == indices.end() ? std::int64_t{-1} : found->second;
  };
}

/// The job, if the client may see it. What is not there and what is another user's look alike.
std::expected<JobRecord, Service::Unseen> Service::look_up(const ApiCallPtr& call, JobNumber number,
                                                           std::string_view word) {
  std::optional<JobRecord> found;
  if (number > 0) {
    if (const JobRecord* job = doors_.control.job(number)) {
      found = *job;
    } else {
      auto stored = doors_.store.job(number);
      if (!stored) return std::unexpected(Unseen{stored.error(), 503});
      found = std::move(*stored);
    }
  }
  const bool sees = found && (call->operates || found->owner.uid == call->request.peer.uid);
  if (sees && found->leader == 0) return *std::move(found);
  return std::unexpected(Unseen{
      Error{ErrorKind::bad_input, "", fmt::format("there is no job {}", shown(word)),
            sees ? fmt::format("it is {} {} of job {}", found->is_replica() ? "replica" : "process",
                               found->rank(), found->leader)
                 : std::string(list_of_jobs)},
      404});
}

/// The job that the path names, if the client may see it; otherwise that has been answered.
std::optional<JobRecord> Service::find_job(const ApiCallPtr& call) {
  const std::string& word = call->parts[0];
  auto found = look_up(call, parse_integer(word).value_or(0), word);
  if (found) return *std::move(found);
  call->refuse(found.error().error, found.error().status);
  return std::nullopt;
}

/// Of a job of several, or a service; else none. Newest first from the store, in one query.
Result<std::vector<ApiProcess>> Service::process_views(const JobRecord& job,
                                                       const GpuIndexOf& indices) {
  std::vector<ApiProcess> views;
  if (!job.several() && !job.is_replica()) return views;
  JobQuery query;
  query.final_too = query.processes = true;
  query.most = static_cast<std::size_t>(job.places() * job.replicas());
  query.after = job.number - 1;
  query.before = job.number + job.places() * job.replicas();
  const auto stored = doors_.store.jobs_with_attempts(query);
  if (!stored) return std::unexpected(stored.error());
  for (auto each = stored->rbegin(); each != stored->rend(); ++each) {
    const JobNumber number = each->job.number;
    const JobRecord* process = doors_.control.job(number);
    if (process == nullptr) process = &each->job;
    const AttemptRecord* latest = doors_.control.attempt_of(number);
    if (latest == nullptr && each->latest) latest = &*each->latest;
    views.push_back(process_view(*process, latest, doors_.control.end_of_process(number), indices));
    views.back().starts_again_at = doors_.control.starts_again_at(number);
    if (job.is_replica() && process->state == JobState::queued)
      views.back().why = doors_.control.why_waits(number);
  }
  return views;
}

/// What is known of a job beside its record.
void Service::add_what_runs(ApiJob& view) {
  add_expected_end(view, doors_.control.expected_end_of(view.id));
  add_service(view, doors_.control.service(view.id));
  add_lease(view, doors_.control.lease(view.id));
  add_energy(view, doors_.control.unwritten_energy(view.id));
}

void Service::reply_with_job(const ApiCallPtr& call, JobNumber number, std::string result,
                             int status) {
  std::optional<JobRecord> record;
  if (const JobRecord* job = doors_.control.job(number)) {
    record = *job;
  } else {
    auto stored = doors_.store.job(number);
    if (!stored) return call->refuse(stored.error(), 503);
    record = std::move(*stored);
  }
  if (!record) return call->no_such("job", fmt::format("{}", number), list_of_jobs);
  const auto attempts = doors_.store.attempts(number);
  if (!attempts) return call->refuse(attempts.error(), 503);
  const auto command = doors_.store.command(number);
  if (!command) return call->refuse(command.error(), 503);
  const AttemptRecord* latest = doors_.control.attempt_of(number);
  if (latest == nullptr && !attempts->empty()) latest = &attempts->back();
  const GpuIndexOf indices = index_of();
  ApiJob view = job_view(*record, latest, indices);
  if (std::string why = doors_.control.why_waits(number); !why.empty())
    view.reason = std::move(why);
  if (std::string why = doors_.control.why_size(number); !why.empty())
    view.why_size = std::move(why);
  if (*command) {
    view.command = (*command)->argv;
    view.directory = (*command)->working_directory;
  }
  if (const auto memory = doors_.control.memory_of(number)) view.memory = memory;
  add_what_runs(view);
  auto processes = process_views(*record, indices);
  if (!processes) return call->refuse(processes.error(), 503);
  view.processes = std::move(*processes);
  if (record->is_replica()) {
    view.restarts = 0;
    for (const ApiProcess& replica : view.processes) view.restarts += replica.restarts;
  }
  // Stores of earlier daemons may have more of them.
  const auto kept = std::span(*attempts).last(
      std::min(attempts->size(), static_cast<std::size_t>(most_attempts_kept)));
  view.history_left_out = std::max<std::int64_t>(record->attempts - std::ssize(kept), 0);
  // What it has reported since its start is not in the store yet.
  for (const AttemptRecord& attempt : kept)
    view.history.push_back(
        attempt_view(latest != nullptr && latest->key == attempt.key ? *latest : attempt, indices));
  call->reply(status, to_json(view, true), std::move(result));
}

void Service::show_job(const ApiCallPtr& call) {
  if (!call->query_is_fine()) return;
  if (const auto job = find_job(call)) reply_with_job(call, job->number);
}

ApiJob Service::list_view(const JobRecord& job, const AttemptRecord* stored,
                          const GpuIndexOf& indices) {
  const AttemptRecord* latest = doors_.control.attempt_of(job.number);
  ApiJob view = job_view(job, latest != nullptr ? latest : stored, indices);
  if (job.state == JobState::queued) view.reason = doors_.control.why_waits(job.number);
  if (const auto memory = doors_.control.memory_of(job.number)) view.memory = memory;
  add_what_runs(view);
  return view;
}

std::optional<std::optional<std::uint32_t>> Service::user_meant(
    const ApiCallPtr& call, const std::optional<std::string>& user) {
  std::optional<std::uint32_t> uid = call->request.peer.uid;
  if (user && *user == "all") {
    uid.reset();
  } else if (user && *user != call->user) {
    const auto number = parse_integer(*user);
    if (number && *number >= 0 && *number <= UINT32_MAX)
      uid = static_cast<std::uint32_t>(*number);
    else
      uid = call->operates ? UserBook::uid_of(*user) : std::nullopt;  // others do not look up
    if (!uid && call->operates) {
      call->no_such("user", *user, "`getent passwd` lists the users of this machine");
      return std::nullopt;
    }
  }
  if (!call->operates && uid != call->request.peer.uid) {
    call->refuse(Error{ErrorKind::infeasible, "query: user", "only operators see others' jobs",
                       "leave the user out for your own"},
                 403);
    return std::nullopt;
  }
  return uid;
}

/// A job of the array that the client may see, by which its bounds are known; its first may have
/// been forgotten. Otherwise that has been answered.
std::optional<ArrayTask> Service::find_array(const ApiCallPtr& call, JobNumber number) {
  const auto is_of_it = [&](const JobRecord& job) {
    return job.spec.task && job.spec.task->job == number &&
           (call->operates || job.owner.uid == call->request.peer.uid);
  };
  for (const JobRecord* job : doors_.control.jobs())
    if (is_of_it(*job)) return job->spec.task;
  const auto stored = doors_.store.job(number);
  if (!stored) {
    call->refuse(stored.error(), 503);
    return std::nullopt;
  }
  if (*stored && is_of_it(**stored)) return (*stored)->spec.task;
  call->no_such("array", fmt::format("{}", number), list_of_jobs);
  return std::nullopt;
}

/// The query of a list of jobs; nothing if it was refused.
std::optional<JobQuery> Service::job_query(const ApiCallPtr& call) {
  JobQuery query;
  query.final_too = call->flag("all");
  const auto state = call->text("state"), user = call->text("user");
  const auto array = call->integer("array", 1, INT64_MAX);
  query.before = call->integer("before", 1, INT64_MAX).value_or(INT64_MAX);
  query.most = static_cast<std::size_t>(
      call->integer("limit", 1, most_jobs_listed).value_or(jobs_usually_listed));
  if (!call->query_is_fine()) return std::nullopt;
  if (state) {
    query.state = parse_job_state(*state);
    if (!query.state) {
      call->refuse(Error{ErrorKind::bad_input, "query: state",
                         fmt::format("there is no state '{}'", shown(*state)),
                         fmt::format("the states are {}", fmt::join(job_state_names, ", "))});
      return std::nullopt;
    }
    if (is_final(*query.state)) query.final_too = true;
  }
  const auto whose = user_meant(call, user);
  if (!whose) return std::nullopt;
  query.uid = *whose;
  if (!array) return query;
  const auto task = find_array(call, *array);
  if (!task) return std::nullopt;
  query.after = task->job - 1;
  query.before = std::min(query.before, task->last + 1);
  return query;
}

/// No index helps with this query: each piece of the answer searches one window of job numbers.
bool is_searched(const JobQuery& query) {
  return query.state && query.uid;
}

/// Unfinished jobs are in memory. Which of them is settled now; each is shown as it is when its
/// piece is made.
void Service::begin_live_listing(JobListing& listing) {
  const JobQuery& query = listing.query;
  const auto jobs = doors_.control.jobs();
  for (auto each = jobs.rbegin(); each != jobs.rend() && listing.numbers.size() < query.most;
       ++each) {
    const JobRecord& job = **each;
    if (!is_final(job.state) && job.number < query.before && job.number > query.after &&
        (!query.state || job.state == *query.state) && (!query.uid || job.owner.uid == *query.uid))
      listing.numbers.push_back(job.number);
  }
}

bool Service::live_piece(JobListing& listing) {
  const GpuIndexOf indices = index_of();
  for (std::size_t looked = 0; looked < live_jobs_a_piece && listing.next < listing.numbers.size();
       ++looked)
    if (const JobRecord* job = doors_.control.job(listing.numbers[listing.next++]))
      listing.append(list_view(*job, nullptr, indices));
  return listing.next < listing.numbers.size();
}

/// A search without an index begins with the newest job.
Result<void> Service::begin_stored_listing(JobListing& listing) {
  if (!is_searched(listing.query)) return {};
  JobQuery newest;
  newest.final_too = true;
  newest.most = 1;
  const auto found = doors_.store.jobs(newest);
  if (!found) return std::unexpected(found.error());
  const JobNumber last = found->empty() ? 0 : found->front().number;
  listing.query.before = std::min(listing.query.before, last + 1);
  return {};
}

bool Service::stored_piece(JobListing& listing) {
  JobQuery query = listing.query;
  query.most = std::min(query.most - listing.listed, stored_jobs_a_piece);
  if (is_searched(query))
    query.after = std::max(query.before - 1 - numbers_a_piece, listing.query.after);
  const auto jobs = doors_.store.jobs_with_attempts(query);
  if (!jobs) {
    listing.call->refuse(jobs.error(), 503);
    return false;
  }
  const GpuIndexOf indices = index_of();
  for (const StoredJob& job : *jobs)
    listing.append(list_view(job.job, job.latest ? &*job.latest : nullptr, indices));
  const bool all = jobs->size() < query.most;
  listing.query.before = all && is_searched(query) ? query.after + 1
                         : jobs->empty()           ? 1
                                                   : jobs->back().job.number;
  return listing.listed < listing.query.most &&
         (!all || (is_searched(query) && query.after > listing.query.after));
}

bool Service::list_piece(JobListing& listing) {
  const ApiCallPtr& call = listing.call;
  if (!call->fits(listing.response.body.size())) {
    call->refuse(Error{ErrorKind::infeasible, "", "your connections hold too many unread answers",
                       "read what was asked for"},
                 429);
    return false;
  }
  const bool stored = listing.query.final_too;
  if (!listing.begun) {
    listing.begun = true;
    listing.response.body = "{\"jobs\":[";
    if (!stored) begin_live_listing(listing);
    if (const auto begun = stored ? begin_stored_listing(listing) : Result<void>(); !begun) {
      call->refuse(begun.error(), 503);
      return false;
    }
  }
  if (stored ? stored_piece(listing) : live_piece(listing)) return true;
  listing.response.body += "]}\n";
  call->reply(std::move(listing.response));  // ignored where it has been refused
  return false;
}

void Service::list_jobs(const ApiCallPtr& call) {
  const auto query = job_query(call);
  if (!query) return;
  const auto listing = std::make_shared<JobListing>();
  listing->call = call;
  listing->query = *query;
  in_pieces(call, [this, listing] { return list_piece(*listing); });
}

void Service::wait_for_job(const ApiCallPtr& call) {
  const auto seconds = call->integer("timeout_s", 0, longest_wait_s).value_or(usual_wait_s);
  if (!call->query_is_fine()) return;
  const auto job = find_job(call);
  if (!job) return;
  wait({call, doors_.now().steady + std::chrono::seconds(seconds), true,
        [this, call, number = job->number](bool time_is_up) {
          const JobRecord* now = doors_.control.job(number);
          if (!time_is_up && now != nullptr && !is_final(now->state)) return false;
          reply_with_job(call, number);
          return true;
        }});
}

// Output.

void Service::logs(const ApiCallPtr& call) {
  OutputQuery query;
  query.stream = call->word("stream", {"stdout", "stderr"});
  query.attempt = call->integer("attempt", 1, INT64_MAX);
  query.offset = call->integer("offset", INT64_MIN, INT64_MAX).value_or(0);
  query.rank = call->integer("rank", 0, most_places).value_or(0);
  const auto seconds = call->integer("wait_s", 0, longest_wait_s).value_or(0);
  if (!call->query_is_fine()) return;
  const auto job = find_job(call);
  if (!job) return;
  if (query.rank >= job->processes() * job->replicas())
    return call->no_such("process", fmt::format("{} of job {}", query.rank, job->number),
                         "`cleave show` lists the processes of a job");
  // Replicas are started again each for itself.
  if (query.attempt && !job->is_replica() && *query.attempt > job->attempts)
    return call->no_such("attempt", fmt::format("{} of job {}", *query.attempt, job->number),
                         "`cleave show` lists the attempts of a job");
  query.job = job->number;
  // Up to a mebibyte is read at once.
  in_pieces(call, [this, call, query, until = doors_.now().steady + std::chrono::seconds(seconds)] {
    wait({call, until, false,
          [this, call, query](bool time_is_up) { return output_piece(call, query, time_is_up); }});
    return false;
  });
}

/// Whether it has been answered. Whether the attempt is over is asked before its output is read, so
/// that its last bytes are read before the client is told that no more come.
bool Service::output_piece(const ApiCallPtr& call, const OutputQuery& query, bool time_is_up) {
  const JobRecord* live = doors_.control.job(query.process());
  std::optional<JobRecord> stored;
  if (live == nullptr) {
    if (auto job = doors_.store.job(query.process())) stored = std::move(*job);
    if (!stored) {
      call->no_such("job", fmt::format("{}", query.job), list_of_jobs);
      return true;
    }
    live = &*stored;
  }
  const std::int64_t attempt = query.attempt.value_or(live->attempts);
  bool over = is_final(live->state);
  if (!over && attempt > 0) {
    const AttemptRecord* now = doors_.control.attempt_of(query.process());
    over = doors_.control.end_of_process(query.process()) != nullptr || now == nullptr ||
           now->key.attempt != attempt || now->ended.has_value();
    // Two attempts run at a time while a replica takes over; the earlier one is looked up.
    if (over && now != nullptr && now->key.attempt != attempt)
      if (const auto all = doors_.store.attempts(query.process()))
        for (const AttemptRecord& each : *all)
          if (each.key.attempt == attempt) over = each.ended.has_value();
  }
  JobOutputPiece piece;
  if (attempt > 0) {
    auto read = read_job_output(facts_.jobs_directory, {query.process(), attempt}, live->owner.uid,
                                query.stream, query.offset, most_output);
    if (!read) {
      call->refuse(read.error());
      return true;
    }
    piece = std::move(*read);
  }
  if (piece.bytes.empty() && !over && !time_is_up) return false;
  HttpResponse response;
  response.content_type = "application/octet-stream";
  response.headers = {{"Cleave-Offset", fmt::format("{}", piece.offset)},
                      {"Cleave-Next-Offset", fmt::format("{}", piece.next())},
                      {"Cleave-Attempt", fmt::format("{}", attempt)}};
  if (over && piece.next() >= piece.end) response.headers.emplace_back("Cleave-Over", "true");
  response.body = std::move(piece.bytes);
  call->reply(std::move(response));
  return true;
}

}  // namespace cleave
