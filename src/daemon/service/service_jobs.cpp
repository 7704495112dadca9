// The API's jobs.

#include <unistd.h>

#include <algorithm>

#include "api/documents.hpp"
#include "api/job_list.hpp"
#include "base/format.hpp"
#include "base/human_time.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "daemon/service/job_output.hpp"
#include "daemon/service/service.hpp"
#include "daemon/service/submission_key.hpp"

namespace cleave {

namespace {

constexpr std::int64_t most_listed = 10'000, usually_listed = 1000;
constexpr std::int64_t longest_wait_s = 3600, usual_wait_s = 30;
constexpr std::string_view list_of_jobs = "`cleave ps --all` lists the jobs";
constexpr std::int64_t most_output = 1 << 20;
// About 2 ms of work each.
constexpr std::size_t stored_jobs_a_piece = 100, live_jobs_a_piece = 200;
constexpr JobNumber numbers_a_piece = 1000;
/// How often at most the jobs of a user at the limit are counted again.
constexpr Duration count_every = std::chrono::milliseconds(100);

constexpr const char* document_name = "submission";

/// As the supervisor will, with the parts of a launch that are not known yet made up.
Result<void> check_command(const NewJob& job) {
  Launch launch;
  launch.key = {1, 1};
  launch.uid = job.owner.uid;
  launch.gid = job.owner.gid;
  launch.groups = job.owner.groups;
  launch.argv = job.command.argv;
  launch.environment = job.command.environment;
  launch.working_directory = job.command.working_directory;
  launch.stop_grace = job.spec.stop_grace;
  return check_launch(launch, document_name);
}

void round_to_milliseconds(Duration& time) {
  time = std::chrono::duration_cast<std::chrono::milliseconds>(time);
}

/// Everything is checked here that can be checked without knowing the GPUs. The bounds of each
/// field are in its row (model/job_spec.hpp). Errors are bad_input, their place "submission: KEY".
Result<NewJob> read_new_job(const HttpRequest& request, JobOwner owner) {
  const auto document = parse_json(request.body, document_name);
  if (!document) return std::unexpected(document.error());
  auto submission = read_submission(*document, document_name);
  if (!submission) return std::unexpected(submission.error());
  const AskedSize& size = *submission;
  NewJob job;
  if (request.idempotency_key) {
    auto key = read_submission_key(*request.idempotency_key, *document);
    if (!key) return std::unexpected(key.error());
    job.key = std::move(*key);
  }
  job.owner = std::move(owner);
  job.spec = std::move(static_cast<JobSpec&>(*submission));
  job.spec.request = request_of(size);
  job.spec.asked = in_words(size);
  round_to_milliseconds(job.spec.checkpoint_grace);
  round_to_milliseconds(job.spec.stop_grace);
  if (job.spec.application && job.spec.application->empty()) job.spec.application.reset();
  job.command = std::move(static_cast<JobCommand&>(*submission));
  if (const auto fine = check_command(job); !fine) return std::unexpected(fine.error());
  return job;
}

std::vector<std::uint32_t> groups_of_this_process() {
  const int count = ::getgroups(0, nullptr);
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(count, 0)));
  if (count > 0 && ::getgroups(count, groups.data()) != count) groups.clear();
  return {groups.begin(), groups.end()};
}

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

// Submitting.

/// The owner of a new job, from what the system says of the client and never from what was sent.
Result<JobOwner> Service::owner_of(const ApiCallPtr& call) {
  const HttpPeer& peer = call->request.peer;
  if (facts_.uid != 0) {
    if (peer.uid != facts_.uid)
      return fail(ErrorKind::infeasible, "", "this daemon runs jobs of its own user only",
                  "submit as that user");
    return JobOwner{peer.uid, ::getegid(), groups_of_this_process(), call->user};
  }
  const auto& user = users_.user(peer.uid, doors_.now().steady);
  if (user) return JobOwner{peer.uid, user->gid, user->groups, user->name};
  if (peer.uid == facts_.uid) return JobOwner{peer.uid, peer.gid, groups_of_this_process(), ""};
  return fail(ErrorKind::infeasible, "", fmt::format("this system has no user {}", peer.uid),
              "jobs are run for users of this machine");
}

/// Where instances are not isolated between users, one user at a time.
Result<void> Service::may_join(const JobOwner& owner) {
  if (facts_.uid != 0 || settings_.allow_unfenced_users || doors_.fences()) return {};
  const auto others = [&] {
    for (const auto& [uid, count] : joining_)
      if (uid != owner.uid) return true;
    if (only_) {
      const JobRecord* shows = doors_.control.job(only_->job);
      if (shows != nullptr && !is_final(shows->state)) return only_->uid != owner.uid;
      only_.reset();
    }
    for (const JobRecord* job : doors_.control.jobs()) {
      if (is_final(job->state)) continue;
      if (job->owner.uid != owner.uid) return true;
      only_ = OnlyUser{job->number, job->owner.uid};
    }
    return false;
  };
  if (!others()) return {};
  only_.reset();
  return fail(ErrorKind::infeasible, "",
              "another user has jobs here, and device nodes are not fenced between users",
              "wait until they have ended, or have an operator see `cleave doctor` for what fences "
              "lack, or set allow_unfenced_users");
}

/// Counts again only after a user has reached the limit, so that users with many jobs are not
/// looked through for each submission.
bool Service::has_share_left(std::uint32_t uid) {
  const Duration now = doors_.now().steady;
  if (held_[uid] < settings_.most_waiting_per_user) return true;
  if (counted_ != Duration{} && now - counted_ < count_every) return false;
  counted_ = now;
  held_ = joining_;
  for (const JobRecord* job : doors_.control.jobs())
    if (!is_final(job->state)) ++held_[job->owner.uid];
  return held_[uid] < settings_.most_waiting_per_user;
}

/// A job keeps the limit with which it was accepted, whatever the settings become.
Result<void> Service::set_time_limit(JobSpec& spec, bool operates) const {
  if (spec.service) return {};
  const auto& most = settings_.job_time_most;
  if (!spec.time_limit) {
    spec.time_limit = settings_.job_time_default;
    if (most && !operates) spec.time_limit = std::min(spec.time_limit.value_or(*most), *most);
  }
  if (!most || operates || *spec.time_limit <= *most) return {};
  return fail(ErrorKind::infeasible, "submission: time_limit_s",
              fmt::format("a job may run for {} at most", human(*most)),
              "ask for less; job_time_most_s is the limit for users");
}

/// Whether it has been answered: with the job that was submitted with this key, or an error. A job
/// that has been accepted is no matter of limits any more.
bool Service::submitted_before(const ApiCallPtr& call, const NewJob& job) {
  if (!job.key) return false;
  const auto before = doors_.control.submitted_with(job.owner.uid, job.key->text);
  if (!before) {
    call->refuse(before.error(), 503);
    return true;
  }
  if (!*before) return false;
  const JobNumber number = (*before)->number;
  if ((*before)->content != job.key->content) {
    call->refuse(
        Error{ErrorKind::infeasible, key_header,
              fmt::format("job {} was submitted with this key, and is another job", number),
              "take a key of its own for each job; the environment is part of a job"},
        422);
    return true;
  }
  const auto reply = [this, call, number] {
    reply_with_job(call, number, fmt::format("job {} once more", number));
  };
  if ((*before)->written) {
    reply();
  } else {
    // That one may be refused although what waits for it is not.
    doors_.control.wait_for_store(doors_.now());
    when_written(call, [this, call, number, reply] {
      if (const auto stored = doors_.store.job(number); stored && *stored) return reply();
      call->refuse(Error{ErrorKind::infeasible, key_header,
                         "the submission with this key could not be written", "try again"},
                   503);
    });
  }
  return true;
}

void Service::submit(const ApiCallPtr& call) {
  if (!call->query_is_fine()) return;
  auto owner = owner_of(call);
  if (!owner) return call->refuse(owner.error(), 403);
  auto job = read_new_job(call->request, std::move(*owner));
  if (!job) return call->refuse(job.error());
  if (submitted_before(call, *job)) return;
  if (const auto fine = set_time_limit(job->spec, call->operates); !fine)
    return call->refuse(fine.error(), 403);
  if (!call->operates && job->spec.priority > settings_.highest_priority)
    return call->refuse(
        Error{ErrorKind::infeasible, "submission: priority",
              fmt::format("only operators may give more than {}", settings_.highest_priority),
              "a lower one lets others go first; highest_priority is the limit for users"},
        403);
  if (const auto fine = may_join(job->owner); !fine) return call->refuse(fine.error());
  if (!call->operates && !has_share_left(job->owner.uid))
    return call->refuse(
        Error{ErrorKind::infeasible, "the queue",
              fmt::format("you already have {} unfinished jobs, the most that one user may have",
                          settings_.most_waiting_per_user),
              "wait until some have ended; most_waiting_per_user is the limit"},
        429);
  const auto number = doors_.control.submit(*job, doors_.now());
  if (!number) return call->refuse(number.error());
  const std::uint32_t uid = job->owner.uid;
  ++joining_[uid];
  ++held_[uid];
  const auto leave = [this, uid] {
    if (--joining_[uid] == 0) joining_.erase(uid);
  };
  unwritten_.emplace(
      doors_.control.last_request(),
      [this, call, leave, id = *number, command = job->command](const Result<void>& done) {
        leave();
        if (!done) return call->refuse(done.error(), 503);
        const JobRecord* record = doors_.control.job(id);
        if (record == nullptr) return reply_with_job(call, id, fmt::format("job {}", id), 201);
        ApiJob view = job_view(*record, doors_.control.attempt_of(id), index_of());
        add_what_runs(view);
        view.command = command.argv;
        view.directory = command.working_directory;
        if (const AttemptRecord* attempt = doors_.control.attempt_of(id))
          view.history.push_back(attempt_view(*attempt, index_of()));
        call->reply(201, to_json(view, true), fmt::format("job {}", id));
      });
  call->request.body = {};
  doors_.soon();
}

// Looking.

GpuIndexOf Service::index_of() {
  std::map<std::string, std::int64_t> indices;
  for (const GpuStatus& gpu : doors_.control.gpus()) indices.emplace(gpu.gpu->uuid, gpu.gpu->index);
  return [indices = std::move(indices)](const std::string& uuid) {
    const auto found = indices.find(uuid);
    return found == indices.end() ? std::int64_t{-1} : found->second;
  };
}

/// The job that the path names, if the client may see it; otherwise that has been answered.
std::optional<JobRecord> Service::find_job(const ApiCallPtr& call) {
  const auto number = parse_integer(call->parts[0]);
  std::optional<JobRecord> found;
  if (number && *number > 0) {
    if (const JobRecord* job = doors_.control.job(*number)) {
      found = *job;
    } else {
      auto stored = doors_.store.job(*number);
      if (!stored) {
        call->refuse(stored.error(), 503);
        return std::nullopt;
      }
      found = std::move(*stored);
    }
  }
  const bool sees = found && (call->operates || found->owner.uid == call->request.peer.uid);
  if (sees && found->leader == 0) return found;
  if (sees) {
    call->no_such("job", call->parts[0],
                  fmt::format("it is {} {} of job {}", found->is_replica() ? "replica" : "process",
                              found->rank(), found->leader));
    return std::nullopt;
  }
  call->no_such("job", call->parts[0], list_of_jobs);
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
      call->no_such("user", *user);
      return std::nullopt;
    }
  }
  if (!call->operates && uid != call->request.peer.uid) {
    call->refuse(Error{ErrorKind::infeasible, "query: user", "only operators see others' jobs", ""},
                 403);
    return std::nullopt;
  }
  return uid;
}

/// The query of a list of jobs; nothing if it was refused.
std::optional<JobQuery> Service::job_query(const ApiCallPtr& call) {
  JobQuery query;
  query.final_too = call->flag("all");
  const auto state = call->text("state"), user = call->text("user");
  query.before = call->integer("before", 1, INT64_MAX).value_or(INT64_MAX);
  query.most =
      static_cast<std::size_t>(call->integer("limit", 1, most_listed).value_or(usually_listed));
  if (!call->query_is_fine()) return std::nullopt;
  if (state) {
    query.state = parse_job_state(*state);
    if (!query.state) {
      call->refuse(Error{ErrorKind::bad_input, "query: state",
                         fmt::format("there is no state '{}'", shown(*state)), ""});
      return std::nullopt;
    }
    if (is_final(*query.state)) query.final_too = true;
  }
  const auto whose = user_meant(call, user);
  if (!whose) return std::nullopt;
  query.uid = *whose;
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
    if (!is_final(job.state) && job.number < query.before &&
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
  if (is_searched(query)) query.after = std::max<JobNumber>(query.before - 1 - numbers_a_piece, 0);
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
  return listing.listed < listing.query.most && (!all || (is_searched(query) && query.after > 0));
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

void Service::cancel_job(const ApiCallPtr& call) {
  const bool at_once = call->flag("now");
  if (!call->query_is_fine()) return;
  const auto job = find_job(call);
  if (!job) return;
  const std::string result = fmt::format("job {}", job->number);
  if (is_final(job->state)) return reply_with_job(call, job->number, result);
  const bool others = call->operates && job->owner.uid != call->request.peer.uid;
  const CancelGrace grace = at_once  ? CancelGrace::at_once
                            : others ? CancelGrace::of_operator
                                     : CancelGrace::of_job;
  if (const auto taken = doors_.control.cancel(job->number, call->by(), doors_.now(), grace);
      !taken)
    return call->refuse(taken.error());
  when_written(
      call, [this, call, number = job->number, result] { reply_with_job(call, number, result); });
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
    return call->no_such("process", fmt::format("{} of job {}", query.rank, job->number));
  // Replicas are started again each for itself.
  if (query.attempt && !job->is_replica() && *query.attempt > job->attempts)
    return call->no_such("attempt", fmt::format("{} of job {}", *query.attempt, job->number));
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
