#include "runner/process_runner.hpp"

#include <fcntl.h>
#include <netinet/in.h>
#include <pwd.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/format.hpp"
#include "base/overloads.hpp"
#include "runner/supervisor/supervisor_start.hpp"

namespace cleave {

namespace {

constexpr int most_messages_at_once = 64;
constexpr std::size_t most_waiting = 16;
/// How often what an attempt left is tried to be read, the last times once a second.
constexpr int most_unread = 300;
/// Jobs leave four files; one that leaves more than this many counts as filling the disk.
constexpr std::int64_t most_entries_weighed = 1000;
constexpr std::chrono::nanoseconds first_wait = std::chrono::milliseconds(2),
                                   longest_wait = std::chrono::seconds(1);

/// All processes of an attempt whose supervisor is gone: those of its groups and, where there were
/// none, those that can be found.
Result<std::int64_t> end_attempt(int folder, const JobMark& mark) {
  std::int64_t ended = 0;
  if (const auto launch = read_launch(folder)) {
    const JobGroups groups = groups_of(*launch, mark);
    const auto of_groups = end_groups({&groups, 1}, std::chrono::seconds(5));
    if (!of_groups) return of_groups;
    ended = *of_groups;
  }
  const auto found = end_leftovers({&mark, 1});
  if (!found) return found;
  return ended + *found;
}

/// Where container programs keep the user's images; the root where there is none, as of a user
/// without an account.
std::string home_of(uid_t uid) {
  passwd account{};
  passwd* found = nullptr;
  std::array<char, 16384> texts;
  const bool known = ::getpwuid_r(uid, &account, texts.data(), texts.size(), &found) == 0 && found;
  return known && is_mountable(account.pw_dir) ? account.pw_dir : "/";
}

/// Whatever keeps a launch that was checked from being started is the host's matter.
NotStarted of_host(Error why, int code) {
  return {std::move(why), shortage_of(code) != nullptr ? code : ESTALE};
}

NotStarted refusal(const JobKey& key, const std::string& why, int code) {
  return {{ErrorKind::infeasible,
           directory_name(key),
           fmt::format("the supervisor does not start: {}", why),
           {}},
          code};
}

}  // namespace

Result<std::unique_ptr<ProcessRunner>> ProcessRunner::open(Places places) {
  if (!places.jobs.starts_with('/'))
    return fail(ErrorKind::bad_usage, places.jobs,
                "expected an absolute path of the folder of jobs");
  if (::mkdir(places.jobs.c_str(), 0711) != 0 && errno != EEXIST)
    return system_error_at(places.jobs, "cannot be made");
  auto jobs = open_folder(places.jobs);
  if (!jobs) return std::unexpected(jobs.error());
  struct stat facts {};
  if (::fstat(jobs->number(), &facts) != 0 || facts.st_uid != ::geteuid() ||
      (facts.st_mode & 022) != 0)
    return fail(
        ErrorKind::infeasible, places.jobs, "others could change it",
        "name a folder that belongs to the daemon's user and that no other user may write to");
  Descriptor events(::epoll_create1(EPOLL_CLOEXEC));
  Descriptor timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  wanted.data.fd = timer.number();
  if (!events || !timer ||
      ::epoll_ctl(events.number(), EPOLL_CTL_ADD, timer.number(), &wanted) != 0)
    return system_error_at("runner", "events cannot be received");
  return std::unique_ptr<ProcessRunner>(
      new ProcessRunner(std::move(places), std::move(*jobs), std::move(events), std::move(timer)));
}

ProcessRunner::ProcessRunner(Places places, Descriptor jobs, Descriptor events, Descriptor timer)
    : places_(std::move(places)),
      jobs_(std::move(jobs)),
      events_(std::move(events)),
      timer_(std::move(timer)),
      removal_(jobs_.number()) {}

ProcessRunner::~ProcessRunner() {
  reap();
}

/// What the runner adds of what it knows of this machine. Fails where the driver does not say which
/// nodes are those of the job's devices.
Result<void> ProcessRunner::complete(Launch& launch) const {
  launch.groups_in = places_.groups;
  if (places_.fenced) {
    auto rules = places_.fenced->rules_for(launch.devices);
    if (!rules) return std::unexpected(rules.error());
    launch.fence = std::move(*rules);
  }
  if (!launch.container) return {};
  auto edits = edits_for(places_.gifts, launch.devices, launch.visible_devices);
  if (!edits) return std::unexpected(edits.error());
  launch.container->instance = std::move(*edits);
  launch.container->home = home_of(launch.uid);
  return {};
}

Started ProcessRunner::start(const Launch& launch) {
  const std::string name = directory_name(launch.key);
  if (const auto fine = check_launch(launch, name); !fine) return std::unexpected(fine.error());
  Launch whole = launch;
  if (const auto known = complete(whole); !known)
    return std::unexpected(NotStarted(known.error(), ENODEV));
  auto made = make_job_folder(jobs_.number(), whole);
  if (!made && errno == ENOENT && make_jobs_anew()) made = make_job_folder(jobs_.number(), whole);
  if (!made) {
    const int code = errno;
    forget_stale(fmt::format(".new-{}", name));
    return std::unexpected(of_host(made.error(), code));
  }
  auto started = start_supervisor(places_.program, fmt::format("{}/{}", places_.jobs, name),
                                  made->lock, places_.descriptors);
  made->lock.close();  // the supervisor has it
  if (!started) {
    forget_stale(name);
    return std::unexpected(of_host(started.error().error, started.error().code));
  }
  children_.push_back(started->pid);
  Attempt& attempt = watch(launch.key, std::move(made->folder), std::move(started->connection));
  attempt.start = Start{started->pid, Clock::now() + places_.patience, {}};
  attempt.fenced = whole.fence.has_value();
  set_timer();
  return {};
}

/// Where the folder of jobs was removed. The attempts that run keep theirs, which have no name any
/// more. Under the same descriptor, which others use.
bool ProcessRunner::make_jobs_anew() {
  if (::mkdir(places_.jobs.c_str(), 0711) != 0) return false;
  const auto jobs = open_folder(places_.jobs);
  return jobs && ::dup3(jobs->number(), jobs_.number(), O_CLOEXEC) >= 0;
}

/// If it cannot be moved aside, found() of a later runner reports it.
void ProcessRunner::forget_stale(const std::string& name) {
  (void)removal_.remove(name);
  set_timer();
}

ProcessRunner::Attempt& ProcessRunner::watch(const JobKey& key, Descriptor folder,
                                             Descriptor connection) {
  Attempt& attempt = attempts_[key];
  attempt.folder = std::move(folder);
  attempt.connection = std::move(connection);
  connect(key, attempt);
  return attempt;
}

/// An earlier runner may have started some without a fence.
bool ProcessRunner::fences() const {
  return places_.fenced &&
         std::ranges::all_of(attempts_, [](const auto& each) { return each.second.fenced; });
}

/// Connects and asks to follow, unless connected; retries later if there is no answer.
void ProcessRunner::connect(const JobKey& key, Attempt& attempt) {
  if (!attempt.connection) {
    auto connection = connect_to_supervisor(attempt.folder.number());
    const std::string text = ask_text({SupervisorAsk::What::follow, 0, {}});
    if (!connection ||
        ::send(connection->number(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
      return disconnect(key, attempt);
    attempt.connection = std::move(*connection);
    attempt.start.reset();  // it listens
    for (const SupervisorAsk& each : std::exchange(attempt.waiting, {})) {
      const std::string waited = ask_text(each);
      (void)::send(attempt.connection.number(), waited.data(), waited.size(),
                   MSG_DONTWAIT | MSG_NOSIGNAL);
    }
  }
  by_connection_[attempt.connection.number()] = key;
  epoll_event wanted{};
  wanted.events = EPOLLIN;
  wanted.data.fd = attempt.connection.number();
  if (::epoll_ctl(events_.number(), EPOLL_CTL_ADD, attempt.connection.number(), &wanted) != 0)
    disconnect(key, attempt);
}

void ProcessRunner::disconnect(const JobKey&, Attempt& attempt) {
  if (attempt.connection) by_connection_.erase(attempt.connection.number());
  attempt.connection.close();
  attempt.wait =
      std::clamp(attempt.wait * 2, Clock::duration(first_wait), Clock::duration(longest_wait));
  attempt.again_at = Clock::now() + attempt.wait;
  set_timer();
}

/// Sets the timer to the earliest time of a new attempt to connect, at which a supervisor is to be
/// ready, or of the next removal step.
void ProcessRunner::set_timer() {
  auto next = Clock::time_point::max();
  for (const auto& [key, attempt] : attempts_) {
    if (!attempt.connection) next = std::min(next, attempt.again_at);
    if (attempt.awaits_start()) next = std::min(next, attempt.start->until);
  }
  if (const auto removed = removal_.next()) next = std::min(next, *removed);
  itimerspec when{};
  if (next != Clock::time_point::max()) {
    const auto left =
        std::max<std::chrono::nanoseconds>(next - Clock::now(), std::chrono::nanoseconds(1));
    when.it_value.tv_sec = left.count() / 1'000'000'000;
    when.it_value.tv_nsec = left.count() % 1'000'000'000;
  }
  (void)::timerfd_settime(timer_.number(), 0, &when, nullptr);
}

Result<void> ProcessRunner::ask(const JobKey& key, const SupervisorAsk& ask) {
  const auto found = attempts_.find(key);
  if (found == attempts_.end())
    return fail(ErrorKind::infeasible, directory_name(key), "it does not run");
  Attempt& attempt = found->second;
  if (!attempt.connection) connect(key, attempt);
  const std::string text = ask_text(ask);
  if (attempt.connection && ::send(attempt.connection.number(), text.data(), text.size(),
                                   MSG_DONTWAIT | MSG_NOSIGNAL) >= 0)
    return {};
  // It may have ended, as poll() will report, or it cannot be reached at the moment.
  if (attempt.waiting.size() == most_waiting)
    return fail(ErrorKind::infeasible, directory_name(key), "its supervisor cannot be reached");
  attempt.waiting.push_back(ask);
  return {};
}

Result<void> ProcessRunner::signal(const JobKey& key, int number) {
  return ask(key, {SupervisorAsk::What::signal, number, {}});
}

Result<void> ProcessRunner::checkpoint(const JobKey& key, Duration longest) {
  return ask(key, {SupervisorAsk::What::checkpoint, 0, longest});
}

Result<void> ProcessRunner::stop(const JobKey& key, std::optional<Duration> grace) {
  return ask(key, {SupervisorAsk::What::stop, 0, grace});
}

int ProcessRunner::free_port(int wanted) {
  constexpr int most_tried = 1000;
  for (int port = wanted; port < wanted + most_tried; ++port) {
    const Descriptor one(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    const int reuse = 1;  // what lingers of an earlier run is in nobody's way
    (void)::setsockopt(one.number(), SOL_SOCKET, SO_REUSEADDR, &reuse, sizeof reuse);
    if (::bind(one.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
      return port;
  }
  return wanted;
}

std::vector<RunnerEvent> ProcessRunner::poll() {
  std::vector<RunnerEvent> events;
  std::array<epoll_event, 256> ready;
  const int count = ::epoll_wait(events_.number(), ready.data(), static_cast<int>(ready.size()), 0);
  for (int i = 0; i < count; ++i) {
    const auto known = by_connection_.find(ready[static_cast<std::size_t>(i)].data.fd);
    if (known == by_connection_.end()) continue;
    const JobKey key = known->second;
    hear(key, attempts_.at(key), events);
  }
  std::uint64_t times = 0;
  (void)!::read(timer_.number(), &times, sizeof times);
  const bool gave_up = give_up_starts(events);
  std::vector<JobKey> to_settle;
  for (const auto& [key, attempt] : attempts_)
    if (!attempt.connection && attempt.again_at <= Clock::now()) to_settle.push_back(key);
  for (const JobKey& key : to_settle) settle(key, events);
  const auto removed = removal_.next();
  const bool removes = removed && *removed <= Clock::now();
  if (removes) removal_.step();
  if (removes || gave_up || !to_settle.empty()) set_timer();
  reap();
  return events;
}

void ProcessRunner::hear(const JobKey& key, Attempt& attempt, std::vector<RunnerEvent>& events) {
  char text[longest_packet];
  for (int i = 0; i < most_messages_at_once; ++i) {
    const ssize_t got =
        ::recv(attempt.connection.number(), text, sizeof text, MSG_DONTWAIT | MSG_TRUNC);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    const auto message = got > 0 && static_cast<std::size_t>(got) <= sizeof text
                             ? parse_message({text, static_cast<std::size_t>(got)})
                             : Result<SupervisorMessage>(fail(ErrorKind::bad_input, "", "nothing"));
    if (!message) {  // it ended, dropped the connection, or is not ours
      const bool over = got <= 0;
      disconnect(key, attempt);
      if (over) attempt.again_at = {};
      return;
    }
    tell(key, attempt, *message, events);
  }
}

void ProcessRunner::tell(const JobKey& key, Attempt& attempt, const SupervisorMessage& message,
                         std::vector<RunnerEvent>& events) {
  const auto began = [&](const JobBegan& job) {
    attempt.wait = {};
    if (!std::exchange(attempt.told_began, true)) events.push_back({key, job});
  };
  const auto reported = [&](const JobReports& reports) {
    for (const NumberedReport& report : reports.reports) {
      if (report.sequence <= attempt.told) continue;
      attempt.told = report.sequence;
      events.push_back({key, JobReported{report}});
    }
  };
  std::visit(Overloads{began, reported,
                       [&](const OutOfMemorySeen& seen) {
                         events.push_back({key, seen});
                       },
                       [&](const NotCheckpointed& failed) {
                         events.push_back({key, failed});
                       },
                       [&](const SupervisorReady&) { attempt.start.reset(); },
                       [&](const SupervisorFailed& failed) {
                         if (attempt.start)
                           attempt.start->refused = refusal(key, failed.reason, failed.code);
                       },
                       [](const SupervisorState&) {}, [](const SupervisorAnswer&) {}},
             message);
}

/// Kills supervisors that have not become ready in time, so that their ends come soon; whether
/// there was one.
bool ProcessRunner::give_up_starts(std::vector<RunnerEvent>& events) {
  bool any = false;
  const auto now = Clock::now();
  for (auto& [key, attempt] : attempts_) {
    if (!attempt.awaits_start() || attempt.start->until > now) continue;
    any = true;
    // A message that came while this process was delayed is read first.
    hear(key, attempt, events);
    if (!attempt.awaits_start()) continue;
    attempt.start->refused = refusal(key, "it does not become ready", ETIMEDOUT);
    if (std::ranges::find(children_, attempt.start->supervisor) != children_.end())
      ::kill(attempt.start->supervisor, SIGKILL);
  }
  return any;
}

void ProcessRunner::not_started(const JobKey& key, std::vector<RunnerEvent>& events) {
  Start start = std::move(*attempts_.at(key).start);
  const auto folder = std::move(attempts_.at(key).folder);
  attempts_.erase(key);
  // One that was killed leaves its groups.
  if (const auto mark = job_mark(folder.number(), key))
    if (const auto launch = read_launch(folder.number())) (void)groups_of(*launch, *mark).remove();
  forget_stale(directory_name(key));
  // One that was killed, or ended without a word, did so for want of something.
  if (!start.refused) start.refused = refusal(key, "it ended before it was ready", ETIMEDOUT);
  events.push_back({key, AttemptNotStarted{std::move(*start.refused)}});
}

/// An attempt without a connection has ended, or is tried again later.
void ProcessRunner::settle(const JobKey& key, std::vector<RunnerEvent>& events) {
  Attempt& attempt = attempts_.at(key);
  if (job_lock_is_held(attempt.folder.number())) return connect(key, attempt);
  const auto outcome = read_outcome(attempt.folder.number());
  if (!can_judge(attempt.folder.number(), key, outcome) && ++attempt.unread <= most_unread)
    return disconnect(key, attempt);
  const bool began = may_have_begun(attempt.folder.number());
  if (attempt.start && !began && outcome && !*outcome) return not_started(key, events);
  if (outcome && *outcome) {
    tell(key, attempt, JobReports{(*outcome)->reports}, events);
    events.push_back({key, JobEnded{**outcome}});
    forget_launch(attempt.folder.number());
  } else {
    SupervisorLost lost;
    lost.began = began;
    if (!outcome) lost.trouble = outcome.error().text();
    const auto mark = job_mark(attempt.folder.number(), key);
    const auto ended = mark ? end_attempt(attempt.folder.number(), *mark)
                            : Result<std::int64_t>(std::unexpected(mark.error()));
    if (ended) {
      lost.leftovers = *ended;
      forget_launch(attempt.folder.number());
    } else {
      lost.trouble = ended.error().text();
    }
    events.push_back({key, std::move(lost)});
  }
  attempts_.erase(key);
}

/// Collects supervisors started here that have ended.
void ProcessRunner::reap() {
  std::erase_if(children_, [](pid_t child) { return ::waitpid(child, nullptr, WNOHANG) != 0; });
}

std::int64_t ProcessRunner::kept_bytes(const JobKey& key) {
  if (overfull_.contains(key)) return too_many_files;
  const auto folder = open_folder_in(jobs_.number(), directory_name(key));
  if (!folder) return 0;
  std::int64_t own = disk_space_of(folder->number(), ".");
  for (const char* each : {launch_file, lock_file, control_socket, outcome_file, user_folder})
    own += disk_space_of(folder->number(), each);
  const auto users = open_folder_in(folder->number(), user_folder);
  if (!users) return own;
  if (const auto bytes = bytes_below(users->number(), most_entries_weighed)) return own + *bytes;
  if (!attempts_.contains(key)) overfull_.insert(key);
  return too_many_files;
}

Result<void> ProcessRunner::forget(const JobKey& key) {
  const std::string name = directory_name(key);
  const auto folder = open_folder_in(jobs_.number(), name);
  if (!folder) {
    if (errno == ENOENT) return {};
    return std::unexpected(folder.error());
  }
  if (attempts_.contains(key) || job_lock_is_held(folder->number()))
    return fail(ErrorKind::infeasible, name, "it has not ended yet");
  overfull_.erase(key);
  const auto removed = removal_.remove(name);
  set_timer();
  return removed;
}

}  // namespace cleave
