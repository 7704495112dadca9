// The API's submissions: one, or several at a time.

#include <unistd.h>

#include <algorithm>

#include "api/documents.hpp"
#include "base/format.hpp"
#include "base/human_time.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "daemon/service/service.hpp"
#include "daemon/service/submission_key.hpp"

namespace cleave {

/// What one request asks for.
struct SubmissionIntake {
  std::vector<NewJob> jobs;
  bool listed = false;       // as a list: the answer is one, too
  std::int64_t at_once = 0;  // that may run at a time; 0: all

  /// Of jobs, those of arrays too.
  [[nodiscard]] std::size_t count() const {
    std::size_t all = 0;
    for (const NewJob& each : jobs) all += each.tasks();
    return all;
  }
  /// Where what is said of one of them stands.
  [[nodiscard]] std::string place(std::size_t job) const {
    return listed ? fmt::format("submission {}", job + 1) : "submission";
  }
};

namespace {

/// How often at most the jobs of a user at the limit are counted again.
constexpr Duration count_every = std::chrono::milliseconds(100);
constexpr const char* document_name = "submission";
/// Jobs that one request may bring.
constexpr std::size_t most_at_a_time = most_array_tasks;

/// As the supervisor will, with the parts of a launch that are not known yet made up.
Result<void> check_command(const NewJob& job, const std::string& place) {
  Launch launch;
  launch.key = {1, 1};
  launch.uid = job.owner.uid;
  launch.gid = job.owner.gid;
  launch.groups = job.owner.groups;
  launch.argv = job.command.argv;
  launch.environment = job.command.environment;
  launch.working_directory = job.command.working_directory;
  launch.stop_grace = job.spec.stop_grace;
  return check_launch(launch, place);
}

void round_to_milliseconds(Duration& time) {
  time = std::chrono::duration_cast<std::chrono::milliseconds>(time);
}

/// Everything is checked here that can be checked without knowing the GPUs. The bounds of each
/// field are in its row (model/job_spec.hpp). Errors are bad_input, their place "PLACE: KEY".
Result<NewJob> read_new_job(const Json& document, const JobOwner& owner, const std::string& place) {
  auto submission = read_submission(document, place);
  if (!submission) return std::unexpected(submission.error());
  const AskedSize& size = *submission;
  NewJob job;
  job.owner = owner;
  if (!submission->array.empty()) job.array = *parse_array(submission->array);
  job.spec = std::move(static_cast<JobSpec&>(*submission));
  job.spec.request = request_of(size);
  job.spec.asked = in_words(size);
  round_to_milliseconds(job.spec.checkpoint_grace);
  round_to_milliseconds(job.spec.stop_grace);
  if (job.spec.application && job.spec.application->empty()) job.spec.application.reset();
  job.command = std::move(static_cast<JobCommand&>(*submission));
  if (const auto fine = check_command(job, place); !fine) return std::unexpected(fine.error());
  return job;
}

/// Takes "ok:#3", of the third of these submissions, out of what one of them waits for.
Result<std::vector<Sibling>> take_siblings(Json& submission, std::size_t count,
                                           const std::string& place) {
  std::vector<Sibling> siblings;
  const auto after = submission.find("after");
  if (after == submission.end() || !after->is_array()) return siblings;
  Json others = Json::array();
  for (const Json& each : *after) {
    const std::string text = each.is_string() ? each.get<std::string>() : std::string();
    const std::size_t mark = text.find(":#");
    if (mark == text.npos) {
      others.push_back(each);
      continue;
    }
    const auto number = parse_integer(std::string_view(text).substr(mark + 2));
    const std::string on = text.substr(0, mark);
    if (!parse_dependency(on + ":1") || !number || *number < 1 ||
        *number > static_cast<std::int64_t>(count))
      return fail(ErrorKind::bad_input, fmt::format("{}: after", place),
                  fmt::format("'{}' names none of these {} submissions", shown(text), count),
                  "ok:#3 is the third of them");
    siblings.push_back({on, static_cast<std::size_t>(*number - 1)});
  }
  if (std::ssize(others) + std::ssize(siblings) > most_dependencies)
    return fail(ErrorKind::bad_input, fmt::format("{}: after", place),
                fmt::format("these are more than {}", most_dependencies));
  *after = std::move(others);
  return siblings;
}

/// Nothing of them would ever start.
Result<void> check_circles(const SubmissionIntake& intake) {
  std::vector<std::vector<std::size_t>> awaited(intake.jobs.size());
  for (std::size_t i = 0; i < intake.jobs.size(); ++i)
    for (const Sibling& each : intake.jobs[i].siblings) awaited[i].push_back(each.job);
  const std::vector<std::size_t> circle = waiting_circle(awaited);
  if (circle.empty()) return {};
  std::vector<std::string> others;
  for (std::size_t i = 1; i < circle.size(); ++i)
    others.push_back(fmt::format("submission {}", circle[i] + 1));
  others.push_back(circle.size() == 1 ? "itself" : "it again");
  return fail(ErrorKind::bad_input, fmt::format("{}: after", intake.place(circle.front())),
              fmt::format("it waits for {}", fmt::join(others, ", which waits for ")),
              "leave out one of them");
}

/// {"submissions": [...], "common": {...}}: what is common holds for those that do not say it.
Result<SubmissionIntake> read_list(const Json& document, const JobOwner& owner) {
  std::optional<Error> error;
  JsonReader in(document, "submissions", error);
  SubmissionIntake intake;
  intake.listed = true;
  const Json common = in.has("common") ? document["common"] : Json::object();
  if (!common.is_object()) in.refuse("common", "expected an object");
  if (!in.has("submissions")) in.refuse("", "the key 'submissions' is missing");
  static_cast<void>(in.objects("submissions"));  // each is one
  intake.at_once = in.integer_if("at_once", 1, most_array_tasks).value_or(0);
  static_cast<void>(in.object_if("common"));
  in.done();
  if (error) return std::unexpected(*error);
  const Json& list = document["submissions"];
  const auto too_many = [] {
    return fail(ErrorKind::bad_input, "submissions",
                fmt::format("these are more than {} jobs", most_at_a_time),
                "submit them in several requests");
  };
  if (list.empty()) return fail(ErrorKind::bad_input, "submissions", "there is none");
  if (list.size() > most_at_a_time) return too_many();
  for (const Json& each : list) {
    Json whole = common;
    whole.update(each);
    const std::string place = intake.place(intake.jobs.size());
    auto siblings = take_siblings(whole, list.size(), place);
    if (!siblings) return std::unexpected(siblings.error());
    auto job = read_new_job(whole, owner, place);
    if (!job) return std::unexpected(job.error());
    job->siblings = std::move(*siblings);
    intake.jobs.push_back(std::move(*job));
  }
  if (intake.count() > most_at_a_time) return too_many();
  if (const auto fine = check_circles(intake); !fine) return std::unexpected(fine.error());
  return intake;
}

Result<SubmissionIntake> read_intake(const HttpRequest& request, const JobOwner& owner,
                                     bool listed) {
  const auto document = parse_json(request.body, listed ? "submissions" : document_name);
  if (!document) return std::unexpected(document.error());
  SubmissionIntake intake;
  if (listed) {
    auto read = read_list(*document, owner);
    if (!read) return read;
    intake = std::move(*read);
  } else {
    auto job = read_new_job(*document, owner, document_name);
    if (!job) return std::unexpected(job.error());
    intake.jobs.push_back(std::move(*job));
  }
  if (request.idempotency_key) {
    auto key = read_submission_key(*request.idempotency_key, *document);
    if (!key) return std::unexpected(key.error());
    intake.jobs.front().key = std::move(*key);
  }
  return intake;
}

std::vector<std::uint32_t> groups_of_this_process() {
  const int count = ::getgroups(0, nullptr);
  std::vector<gid_t> groups(static_cast<std::size_t>(std::max(count, 0)));
  if (count > 0 && ::getgroups(count, groups.data()) != count) groups.clear();
  return {groups.begin(), groups.end()};
}

}  // namespace

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

/// For as many more. Counts again only after a user has reached the limit, so that users with many
/// jobs are not looked through for each submission.
bool Service::has_share_left(std::uint32_t uid, std::size_t more) {
  const Duration now = doors_.now().steady;
  if (held_[uid] + more <= settings_.most_waiting_per_user) return true;
  if (counted_ != Duration{} && now - counted_ < count_every) return false;
  counted_ = now;
  held_ = joining_;
  for (const JobRecord* job : doors_.control.jobs())
    if (!is_final(job->state)) ++held_[job->owner.uid];
  return held_[uid] + more <= settings_.most_waiting_per_user;
}

/// A job keeps the limit with which it was accepted, whatever the settings become.
Result<void> Service::set_time_limit(JobSpec& spec, bool operates, const std::string& place) const {
  if (spec.service) return {};
  const auto& most = settings_.job_time_most;
  if (!spec.time_limit) {
    spec.time_limit = settings_.job_time_default;
    if (most && !operates) spec.time_limit = std::min(spec.time_limit.value_or(*most), *most);
  }
  if (!most || operates || *spec.time_limit <= *most) return {};
  return fail(ErrorKind::infeasible, fmt::format("{}: time_limit_s", place),
              fmt::format("a job may run for {} at most", human(*most)),
              "ask for less; job_time_most_s is the limit for users");
}

/// Limits on what users may ask for.
Result<void> Service::within_limits(const ApiCallPtr& call, SubmissionIntake& intake) {
  for (std::size_t i = 0; i < intake.jobs.size(); ++i) {
    JobSpec& spec = intake.jobs[i].spec;
    if (const auto fine = set_time_limit(spec, call->operates, intake.place(i)); !fine) return fine;
    if (!call->operates && spec.priority > settings_.highest_priority)
      return fail(ErrorKind::infeasible, fmt::format("{}: priority", intake.place(i)),
                  fmt::format("only operators may give more than {}", settings_.highest_priority),
                  "a lower one lets others go first; highest_priority is the limit for users");
  }
  return {};
}

/// Whether it has been answered: with what was submitted with this key, or an error. A job that has
/// been accepted is no matter of limits any more.
bool Service::submitted_before(const ApiCallPtr& call, const SubmissionIntake& intake) {
  const NewJob& job = intake.jobs.front();
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
  const std::vector<JobNumber> numbers = numbers_from(number, intake.jobs);
  const auto reply = [this, call, number, numbers, listed = intake.listed] {
    const std::string result = fmt::format("job {} once more", number);
    if (listed) return call->reply(200, Json{{"jobs", numbers}}, result);
    reply_with_job(call, number, result);
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
  take_in(call, false);
}

void Service::submit_several(const ApiCallPtr& call) {
  take_in(call, true);
}

void Service::take_in(const ApiCallPtr& call, bool listed) {
  if (!call->query_is_fine()) return;
  const auto owner = owner_of(call);
  if (!owner) return call->refuse(owner.error(), 403);
  auto intake = read_intake(call->request, *owner, listed);
  if (!intake) return call->refuse(intake.error());
  if (submitted_before(call, *intake)) return;
  if (const auto fine = within_limits(call, *intake); !fine) return call->refuse(fine.error(), 403);
  if (const auto fine = may_join(*owner); !fine) return call->refuse(fine.error());
  const std::uint32_t uid = owner->uid;
  const std::size_t count = intake->count();
  if (!call->operates && !has_share_left(uid, count))
    return call->refuse(
        Error{ErrorKind::infeasible, "the queue",
              count == 1
                  ? fmt::format(
                        "you already have {} unfinished jobs, the most that one user may have",
                        settings_.most_waiting_per_user)
                  : fmt::format("with these {} you would have more than {} unfinished jobs, the "
                                "most that one user may have",
                                count, settings_.most_waiting_per_user),
              "wait until some have ended; most_waiting_per_user is the limit"},
        429);
  auto numbers = doors_.control.submit(intake->jobs, doors_.now(), intake->at_once);
  if (!numbers) return call->refuse(numbers.error());
  joining_[uid] += count;
  held_[uid] += count;
  const auto leave = [this, uid, count] {
    std::size_t& joining = joining_[uid];
    joining -= count;
    if (joining == 0) joining_.erase(uid);
  };
  const auto answer = [this, call, leave, listed, numbers = std::move(*numbers),
                       command = intake->jobs.front().command](const Result<void>& done) {
    leave();
    if (!done) return call->refuse(done.error(), 503);
    if (!listed) return reply_with_new_job(call, numbers.front(), command);
    call->reply(201, Json{{"jobs", numbers}},
                fmt::format("jobs {} to {}", numbers.front(), numbers.back()));
  };
  unwritten_.emplace(doors_.control.last_request(), answer);
  call->request.body = {};
  doors_.soon();
}

void Service::reply_with_new_job(const ApiCallPtr& call, JobNumber number,
                                 const JobCommand& command) {
  const JobRecord* record = doors_.control.job(number);
  if (record == nullptr || record->spec.task)
    return reply_with_job(call, number, fmt::format("job {}", number), 201);
  ApiJob view = job_view(*record, doors_.control.attempt_of(number), index_of());
  add_what_runs(view);
  view.command = command.argv;
  view.directory = command.working_directory;
  if (const AttemptRecord* attempt = doors_.control.attempt_of(number))
    view.history.push_back(attempt_view(*attempt, index_of()));
  call->reply(201, to_json(view, true), fmt::format("job {}", number));
}

}  // namespace cleave
