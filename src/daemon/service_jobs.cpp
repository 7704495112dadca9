// The API's jobs.

#include <unistd.h>

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "daemon/job_list_text.hpp"
#include "daemon/job_output.hpp"
#include "daemon/service.hpp"
#include "daemon/submission.hpp"

namespace cleave {

namespace {

constexpr std::int64_t most_listed = 10'000, usually_listed = 1000;
constexpr std::int64_t longest_wait_s = 3600, usual_wait_s = 30;
constexpr std::int64_t most_output = 1 << 20;

std::vector<std::uint32_t> groups_of_this_process() {
  const int count = ::getgroups(0, nullptr);
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(count, 0)));
  if (count > 0 && ::getgroups(count, groups.data()) != count) groups.clear();
  return {groups.begin(), groups.end()};
}

}  // namespace

/// What of which output somebody wants.
struct OutputWish {
  JobNumber job = 0;
  std::string stream;
  std::optional<std::int64_t> attempt;
  std::int64_t offset = 0;
};

// Submitting.

/// On whose behalf: what the system says of who asks, never what he sends.
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
  return fail(ErrorKind::infeasible, "", fmt::format("the system knows no user {}", peer.uid),
              "jobs are run for users of this machine");
}

/// Instances are not fenced between users yet.
Result<void> Service::may_join(const JobOwner& owner) {
  if (facts_.uid != 0 || settings_.allow_unfenced_users) return {};
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
  return fail(ErrorKind::infeasible, "", "another user's jobs are there, and instances are not fenced yet",
              "wait until they have ended, or have an operator set allow_unfenced_users");
}

void Service::submit(const ApiCallPtr& call) {
  if (!call->query_is_fine()) return;
  auto owner = owner_of(call);
  if (!owner) return call->refuse(owner.error(), 403);
  const auto job = read_new_job(call->request.body, std::move(*owner));
  if (!job) return call->refuse(job.error());
  if (const auto fine = may_join(job->owner); !fine) return call->refuse(fine.error());
  const auto number = doors_.control.submit(*job, doors_.now());
  if (!number) return call->refuse(number.error());
  const std::uint32_t uid = job->owner.uid;
  ++joining_[uid];
  const auto leave = [this, uid] {
    if (--joining_[uid] == 0) joining_.erase(uid);
  };
  unwritten_.emplace(doors_.control.noted(),
                     [this, call, leave, id = *number, command = job->command](const Result<void>& done) {
                       leave();
                       if (!done) return call->refuse(done.error(), 503);
                       const JobRecord* record = doors_.control.job(id);
                       if (record == nullptr) return reply_with_job(call, id, fmt::format("job {}", id));
                       ApiJob view = job_view(*record, doors_.control.attempt_of(id), index_of());
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
  for (const GpuStanding& gpu : doors_.control.gpus()) indices.emplace(gpu.gpu->uuid, gpu.gpu->index);
  return [indices = std::move(indices)](const std::string& uuid) {
    const auto found = indices.find(uuid);
    return found == indices.end() ? std::int64_t{-1} : found->second;
  };
}

/// The job that the path names, if it is there for who asks; else that has been said.
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
  if (found && (call->operates || found->owner.uid == call->request.peer.uid)) return found;
  call->no_such("job", call->parts[0]);
  return std::nullopt;
}

void Service::reply_with_job(const ApiCallPtr& call, JobNumber number, std::string result) {
  std::optional<JobRecord> record;
  if (const JobRecord* job = doors_.control.job(number)) {
    record = *job;
  } else {
    auto stored = doors_.store.job(number);
    if (!stored) return call->refuse(stored.error(), 503);
    record = std::move(*stored);
  }
  if (!record) return call->no_such("job", fmt::format("{}", number));
  const auto attempts = doors_.store.attempts(number);
  if (!attempts) return call->refuse(attempts.error(), 503);
  const auto command = doors_.store.command(number);
  if (!command) return call->refuse(command.error(), 503);
  const AttemptRecord* latest = doors_.control.attempt_of(number);
  if (latest == nullptr && !attempts->empty()) latest = &attempts->back();
  const GpuIndexOf indices = index_of();
  ApiJob view = job_view(*record, latest, indices);
  if (std::string why = doors_.control.why_waits(number); !why.empty()) view.reason = std::move(why);
  if (*command) {
    view.command = (*command)->argv;
    view.directory = (*command)->working_directory;
  }
  if (const auto memory = doors_.control.memory_of(number)) view.memory = memory;
  // What it has reported since its start is not in the store yet.
  for (const AttemptRecord& attempt : *attempts)
    view.history.push_back(
        attempt_view(latest != nullptr && latest->key == attempt.key ? *latest : attempt, indices));
  call->reply(200, to_json(view, true), std::move(result));
}

void Service::show_job(const ApiCallPtr& call) {
  if (!call->query_is_fine()) return;
  if (const auto job = find_job(call)) reply_with_job(call, job->number);
}

ApiJob Service::list_view(const JobRecord& job, const GpuIndexOf& indices) {
  const AttemptRecord* latest = doors_.control.attempt_of(job.number);
  std::vector<AttemptRecord> stored;
  if (latest == nullptr && job.attempts > 0) {
    if (auto attempts = doors_.store.attempts(job.number); attempts && !attempts->empty()) {
      stored = std::move(*attempts);
      latest = &stored.back();
    }
  }
  ApiJob view = job_view(job, latest, indices);
  if (job.state == JobState::queued) view.reason = doors_.control.why_waits(job.number);
  if (const auto memory = doors_.control.memory_of(job.number)) view.memory = memory;
  return view;
}

/// What a listing is to have; nothing where that was refused.
std::optional<JobQuery> Service::job_query(const ApiCallPtr& call) {
  JobQuery query;
  query.final_too = call->flag("all");
  const auto state = call->text("state"), user = call->text("user");
  query.before = call->integer("before", 1, INT64_MAX).value_or(INT64_MAX);
  query.most = static_cast<std::size_t>(call->integer("limit", 1, most_listed).value_or(usually_listed));
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
  query.uid = call->request.peer.uid;
  if (user && *user == "all") {
    query.uid.reset();
  } else if (user) {
    const auto number = parse_integer(*user);
    query.uid = number && *number >= 0 && *number <= UINT32_MAX
                    ? std::optional(static_cast<std::uint32_t>(*number))
                    : UserBook::uid_of(*user);
    if (!query.uid && call->operates) {
      call->no_such("user", *user);
      return std::nullopt;
    }
  }
  if (!call->operates && query.uid != call->request.peer.uid) {
    call->refuse(Error{ErrorKind::infeasible, "query: user", "only operators see others' jobs", ""}, 403);
    return std::nullopt;
  }
  return query;
}

void Service::list_jobs(const ApiCallPtr& call) {
  const auto wish = job_query(call);
  if (!wish) return;
  const JobQuery& query = *wish;
  // A text at once and not a document of all: there may be ten thousand.
  HttpResponse response;
  response.body = "{\"jobs\":[";
  std::size_t listed = 0;
  const GpuIndexOf indices = index_of();
  const auto list = [&](const JobRecord& job) {
    if (listed++ > 0) response.body += ',';
    append_job_text(response.body, list_view(job, indices));
  };
  if (query.final_too) {
    const auto jobs = doors_.store.jobs(query);
    if (!jobs) return call->refuse(jobs.error(), 503);
    for (const JobRecord& job : *jobs) list(job);
  } else {
    const auto jobs = doors_.control.jobs();
    for (auto each = jobs.rbegin(); each != jobs.rend() && listed < query.most; ++each) {
      const JobRecord& job = **each;
      const bool wanted = !is_final(job.state) && job.number < query.before &&
                          (!query.state || job.state == *query.state) &&
                          (!query.uid || job.owner.uid == *query.uid);
      if (wanted) list(job);
    }
  }
  response.body += "]}\n";
  call->reply(std::move(response));
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
  if (!call->query_is_fine()) return;
  const auto job = find_job(call);
  if (!job) return;
  const std::string result = fmt::format("job {}", job->number);
  if (is_final(job->state)) return reply_with_job(call, job->number, result);
  if (const auto taken = doors_.control.cancel(job->number, call->by(), doors_.now()); !taken)
    return call->refuse(taken.error());
  when_written(call, [this, call, number = job->number, result] { reply_with_job(call, number, result); });
}

// Output.

void Service::logs(const ApiCallPtr& call) {
  OutputWish wish;
  wish.stream = call->word("stream", {"stdout", "stderr"});
  wish.attempt = call->integer("attempt", 1, INT64_MAX);
  wish.offset = call->integer("offset", INT64_MIN, INT64_MAX).value_or(0);
  const auto seconds = call->integer("wait_s", 0, longest_wait_s).value_or(0);
  if (!call->query_is_fine()) return;
  const auto job = find_job(call);
  if (!job) return;
  if (wish.attempt && *wish.attempt > job->attempts)
    return call->no_such("attempt", fmt::format("{} of job {}", *wish.attempt, job->number));
  wish.job = job->number;
  wait({call, doors_.now().steady + std::chrono::seconds(seconds), false,
        [this, call, wish](bool time_is_up) { return output_piece(call, wish, time_is_up); }});
}

/// Whether it has been answered. That the attempt is over is asked before its output is read, so that what
/// it wrote last is read before somebody is told that no more comes.
bool Service::output_piece(const ApiCallPtr& call, const OutputWish& wish, bool time_is_up) {
  const JobRecord* live = doors_.control.job(wish.job);
  std::optional<JobRecord> stored;
  if (live == nullptr) {
    if (auto job = doors_.store.job(wish.job)) stored = std::move(*job);
    if (!stored) {
      call->no_such("job", fmt::format("{}", wish.job));
      return true;
    }
    live = &*stored;
  }
  const std::int64_t attempt = wish.attempt.value_or(live->attempts);
  bool over = is_final(live->state);
  if (!over && attempt > 0) {
    const AttemptRecord* now = doors_.control.attempt_of(wish.job);
    over = now == nullptr || now->key.attempt != attempt || now->ended.has_value();
    // Two attempts run at a time while a replica takes over; the earlier one is looked up.
    if (over && now != nullptr && now->key.attempt != attempt)
      if (const auto all = doors_.store.attempts(wish.job))
        for (const AttemptRecord& each : *all)
          if (each.key.attempt == attempt) over = each.ended.has_value();
  }
  JobOutputPiece piece;
  if (attempt > 0) {
    auto read = read_job_output(facts_.state_directory + "/jobs", {wish.job, attempt}, live->owner.uid,
                                wish.stream, wish.offset, most_output);
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
