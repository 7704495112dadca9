// The supervisor and its job: start, outputs, end, leftover processes, outcome.

#include <fcntl.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "base/format.hpp"
#include "runner/container/container_entry.hpp"
#include "runner/job_directory.hpp"
#include "runner/reports/out_of_memory_text.hpp"
#include "runner/supervisor/job_user.hpp"
#include "runner/supervisor/supervisor.hpp"

namespace cleave {

namespace {

constexpr std::size_t longest_line = 4096;  // longer ones are searched in pieces
constexpr std::int64_t most_told_of_memory = 16;
/// From the fork until the program runs: the folder that it is to run in may be on a slow server.
constexpr auto longest_start = std::chrono::minutes(1);
/// How often it is seen whether a container's program runs, which takes a third of a second, and
/// how long what a container program leaves behind may tidy up.
constexpr auto look_every = std::chrono::milliseconds(20);
constexpr auto longest_tidying = std::chrono::seconds(1);
constexpr std::int64_t space_of_outcome = 32 << 10;
char read_buffer[65536];

Duration since_boot() {
  timespec now{};
  ::clock_gettime(CLOCK_BOOTTIME, &now);
  return std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec);
}

Instant wall_clock() {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
}

}  // namespace

void Supervisor::begin() {
  const int folder = places_.user.number();
  outcome_.began_at = wall_clock();
  began_boot_ = since_boot();
  auto job = start_job_process(launch_, folder, places_.lock.number(),
                               fmt::format("{}/{}", places_.path, user_folder), places_.mark,
                               places_.groups);
  if (!job) {
    outcome_.end = ProcessOutcome::End::not_started;
    outcome_.code = errno;
    outcome_.reason = job.error().text();
    main_gone_ = true;
    phase_ = Phase::ended;
    return;
  }
  give_up_reserves();
  job_ = std::move(*job);
  to_run_by_ = Clock::now() + longest_start;
  out_.emplace(Output{std::move(job_.out), JobLog(folder, "stdout", launch_.log_limit), {}});
  err_.emplace(Output{std::move(job_.err), JobLog(folder, "stderr", launch_.log_limit), {}});
  // Reserved so that a full disk cannot refuse it; the job does not wait for this.
  (void)!::fallocate(places_.outcome.number(), FALLOC_FL_KEEP_SIZE, 0, space_of_outcome);
  if (launch_.container) contained_by_ = launch_.container->by;
  launch_.container.reset();
  // The job has its arguments and environment now; they may have been large.
  launch_.argv = {};
  if (launch_.checkpoint_command.empty()) launch_.environment = {};
}

/// The pipe ends when the program runs; otherwise it first says why it does not.
void Supervisor::hear_exec() {
  while (job_.exec) {
    const ssize_t got = ::read(job_.exec.number(), read_buffer, sizeof read_buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EAGAIN) return;
    if (got > 0) {
      exec_text_.append(read_buffer, static_cast<std::size_t>(got));
      continue;
    }
    job_.exec.close();
    if (!exec_text_.empty() || held_) return to_run_by_.reset();
    if (contained_by_ != ContainerProgram::podman) return job_began();
    look_at_ = Clock::now() + look_every;
  }
}

/// Podman runs, and says when the job's program does.
void Supervisor::look_into_container() {
  look_at_.reset();
  if (began_ || held_) return;
  // Users can write that file, and name somebody else's process.
  const pid_t pid = began_in_container(places_.user.number());
  if (pid > 0)
    for (const ProcessFacts& each : descendants_of(::getpid(), all_processes()))
      if (each.pid == pid) inside_ = each;
  // At the end it is no longer there to be seen.
  if (inside_ || (main_gone_ && pid > 0)) return job_began();
  if (!main_gone_) look_at_ = Clock::now() + look_every;
}

void Supervisor::job_began() {
  to_run_by_.reset();
  began_ = true;
  if (phase_ == Phase::starting) phase_ = Phase::running;
  tell_all(JobBegan{job_pid()});
}

/// To the job's process group: in a container too, since podman passes on no signal that comes
/// before it is ready for it. The job's program may have begun since the last look.
bool Supervisor::signal_job(int signal) {
  if (look_at_) look_into_container();
  if (inside_) {
    const auto now = facts_of(inside_->pid);
    if (now && now->started == inside_->started && now->group == now->pid &&
        ::kill(-now->pid, signal) == 0)
      return true;
  }
  return ::kill(-job_.pid, signal) == 0;
}

/// Once it is the user's, the user may stop it before it runs its program.
void Supervisor::give_up_start() {
  to_run_by_.reset();
  held_ = true;
  (void)::kill(job_.pid, SIGKILL);
}

void Supervisor::reap() {
  signalfd_siginfo ignored[8];
  while (::read(signals_.number(), ignored, sizeof ignored) > 0) continue;
  int status = 0;
  pid_t ended = 0;
  while ((ended = ::waitpid(-1, &status, WNOHANG)) > 0) {
    if (ended == job_.pid && !main_gone_) main_ended(status);
    if (saver_ && ended == saver_->process.pid) saver_ended(status);
  }
  // A checkpoint may have ended the job, and whether it did is not known before.
  if (!main_gone_ || saver_) return;
  if (ended < 0) {  // there are no children any more
    phase_ = Phase::ended;
  } else if (phase_ != Phase::ending) {
    phase_ = Phase::ending;
    if (contained_by_) {
      tidy_until_ = Clock::now() + longest_tidying;
    } else {
      end_leftovers();
    }
  }
}

void Supervisor::end_leftovers() {
  tidy_until_.reset();
  end_tree(SIGTERM);
  kill_at_ = Clock::now() + launch_.leftover_grace;
  kill_again_after_ = {};
}

void Supervisor::main_ended(int status) {
  main_gone_ = true;
  outcome_.ended_at = wall_clock();
  outcome_.lasted = since_boot() - began_boot_;
  hear_exec();
  if (!exec_text_.empty()) {
    const ExecFailure failure = parse_exec_failure(exec_text_);
    outcome_.end = ProcessOutcome::End::not_started;
    outcome_.code = failure.code;
    outcome_.reason = failure.reason;
  } else if (held_) {
    outcome_.end = ProcessOutcome::End::not_started;
    outcome_.reason =
        fmt::format("its process was stopped, or hung, before it ran its program for {} s",
                    std::chrono::seconds(longest_start).count());
  } else if (WIFSIGNALED(status)) {
    outcome_.end = ProcessOutcome::End::signalled;
    outcome_.code = WTERMSIG(status);
  } else if (!container_failed(WEXITSTATUS(status))) {
    outcome_.code = WEXITSTATUS(status);
  }
}

/// Whether the container program ended without having run the job.
bool Supervisor::container_failed(int exit_code) {
  if (!contained_by_ || outcome_.stopped) return false;
  if (!began_) look_into_container();
  if (err_)
    while (err_->pipe && read_output(*err_, true)) continue;
  // Its very last line may have no end.
  const std::string& said = last_word_.empty() && err_ ? err_->line : last_word_;
  const auto failure = container_failure(*contained_by_, began_, exit_code, said);
  if (!failure) return false;
  outcome_.end = ProcessOutcome::End::not_started;
  outcome_.reason = failure->reason;
  outcome_.code = failure->code;
  return true;
}

/// Sends TERM to the job's group now, and KILL to all of it after the grace time.
void Supervisor::stop(std::optional<Duration> grace) {
  if (saver_) give_up_saving();
  if (grace) kill_after(*grace);
  if (main_gone_) return;
  outcome_.stopped = true;
  if (phase_ == Phase::stopping) return;
  phase_ = Phase::stopping;
  if (!signal_job(SIGTERM)) (void)::kill(job_.pid, SIGTERM);
  (void)signal_job(SIGCONT);
  kill_after(launch_.stop_grace);
}

/// At the latest: what was to come sooner stays.
void Supervisor::kill_after(Duration grace) {
  const auto at = Clock::now() + grace;
  kill_at_ = std::min(kill_at_.value_or(at), at);
}

void Supervisor::end_tree(int signal) {
  const auto below = descendants_of(::getpid(), all_processes());
  if (main_gone_)
    outcome_.leftovers = std::max(outcome_.leftovers, static_cast<std::int64_t>(below.size()));
  if (signal == SIGKILL) kill_groups();
  for (const ProcessFacts& each : below) {
    send_signal(each, signal);
    if (signal != SIGKILL) send_signal(each, SIGCONT);
  }
}

void Supervisor::kill_groups() const {
  if (places_.groups.none()) return;
  const FilesAsDaemon daemons(launch_.uid, launch_.gid);
  places_.groups.kill();
}

/// All processes are gone; groups of version 1 may take a moment to notice.
void Supervisor::leave_groups() {
  if (places_.groups.none()) return;
  const FilesAsDaemon daemons(launch_.uid, launch_.gid);
  if (launch_.limits.memory > MiB{} && places_.groups.killed_for_memory() > 0)
    outcome_.used_up = launch_.limits.memory;
  constexpr auto patience = std::chrono::milliseconds(500);
  (void)end_groups({&places_.groups, 1}, patience);
}

/// They come before the program runs, and so before any of its output.
void Supervisor::take_user_files() {
  if (!job_.files || !out_ || !err_) return;
  UserFiles files = take_files(job_.files.number());
  out_->file = std::move(files.out);
  err_->file = std::move(files.err);
  job_.files.close();
}

/// Reads once; false if there was nothing.
bool Supervisor::read_output(Output& output, bool is_error) {
  const ssize_t got = ::read(output.pipe.number(), read_buffer, sizeof read_buffer);
  if (got < 0) return errno == EINTR;
  if (got == 0) {
    output.pipe.close();
    return false;
  }
  const std::string_view bytes(read_buffer, static_cast<std::size_t>(got));
  take_user_files();
  output.log.append(bytes);
  if (output.file) output.file->append(bytes);
  if (is_error) look_through(output, bytes);
  return true;
}

void Supervisor::look_through(Output& output, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t end = bytes.find('\n');
    const std::size_t room = longest_line - output.line.size();
    const auto piece = bytes.substr(0, std::min(end, room));
    output.line += piece;
    bytes.remove_prefix(piece.size());
    const bool whole = !bytes.empty() && bytes.front() == '\n';
    if (!whole && output.line.size() < longest_line) return;
    if (whole) bytes.remove_prefix(1);
    saw_out_of_memory(output.line);
    if (contained_by_ && is_last_word(*contained_by_, output.line)) last_word_ = output.line;
    output.line.clear();
  }
}

void Supervisor::saw_out_of_memory(std::string_view line) {
  const auto mark = recognise_out_of_memory(line);
  if (!mark) return;
  outcome_.out_of_memory = OutOfMemorySeen{std::string(mark->framework), mark->requested};
  if (++told_of_memory_ <= most_told_of_memory) tell_all(*outcome_.out_of_memory);
}

/// Reads what is left in pipes and socket; all their writers are gone.
void Supervisor::drain_all() {
  if (out_)
    while (out_->pipe && read_output(*out_, false)) continue;
  if (err_) {
    while (err_->pipe && read_output(*err_, true)) continue;
    saw_out_of_memory(err_->line);
    outcome_.out_dropped = out_->log.dropped();
    outcome_.err_dropped = err_->log.dropped();
  }
  constexpr int rounds = 16;  // more datagrams than the system queues
  for (int i = 0; i < rounds; ++i) receiver_.receive(series_);
  receiver_.take_held_back(series_, true);
}

void Supervisor::finish() {
  drain_all();
  leave_groups();
  if (contained_by_) leave_container(places_.user.number());
  if (outcome_.ended_at == Instant{}) outcome_.ended_at = wall_clock();
  const auto last =
      series_.after(series_.last() - static_cast<std::int64_t>(most_reports_in_outcome));
  const auto kept = last.last(std::min(last.size(), most_reports_in_outcome));
  outcome_.reports.assign(kept.begin(), kept.end());
  for (Peer& peer : peers_)
    if (peer.follows) send_reports(peer);
  constexpr Clock::duration longest = std::chrono::seconds(10);
  Clock::duration wait = std::chrono::milliseconds(100);
  kill_at_.reset();
  while (!store()) {
    const auto again = Clock::now() + wait;
    while (Clock::now() < again) turn(again);
    wait = std::min(wait * 2, longest);
  }
  // In this order: when the daemon sees the end of the connection, the lock is free.
  places_.lock.close();
}

/// Writes the outcome; false if it must be tried again.
bool Supervisor::store() {
  const auto stored = write_outcome(places_.outcome.number(), outcome_);
  if (stored) {
    (void)::fsync(places_.folder.number());
    (void)::fsync(places_.parent.number());
    return true;
  }
  // Waits for a full or failing disk as long as it takes.
  const bool of_the_disk =
      errno == ENOSPC || errno == EDQUOT || errno == EIO || errno == ENOMEM || errno == EROFS;
  constexpr int most_tries = 3;
  trouble_ = stored.error().text();
  if (!of_the_disk && ++vain_tries_ == most_tries) return true;
  struct stat facts {};
  return ::fstat(places_.outcome.number(), &facts) != 0 || facts.st_nlink == 0;
}

}  // namespace cleave
