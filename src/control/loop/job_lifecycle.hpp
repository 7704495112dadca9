#pragma once
// Every change of a job's state: it enters the queue, its attempts are stopped and closed, it waits
// again or is over. The verdicts say what is to happen; here it does, in the node, the book and the
// engine alike.

#include <optional>
#include <string>

#include "control/book/book.hpp"
#include "control/brain/brain.hpp"
#include "control/clock.hpp"
#include "control/node/node_state.hpp"
#include "control/verdicts/gpu_verdicts.hpp"
#include "control/verdicts/process_verdicts.hpp"
#include "runner/runner.hpp"

namespace cleave {

/// Moves jobs through their states. Jobs of several processes (job_lifecycle_gangs.cpp) begin and
/// end together: where one of them fails or loses its place the others are stopped, and when the
/// last has ended the job has.
class JobLifecycle {
 public:
  /// All must outlive it.
  JobLifecycle(const Clock& clock, NodeState& node, Book& book, Brain& brain, Runner& runner)
      : clock_(clock), node_(node), book_(book), brain_(brain), runner_(runner) {}

  /// The engine no longer knows the node and is to be made again; `why` is said of jobs that wait
  /// meanwhile.
  void rebuild(const std::string& why);

  /// The host is short of something: nothing is started for a while, which doubles with each time
  /// in a row.
  void pause_starts();
  /// A process of this job has begun.
  void shortage_is_over(LiveJob& job);

  // Where a job is asked for, it is the first process of several; where an attempt is, each is.

  /// Puts the job into the engine's queue, where there is an engine and it waits.
  void enter_queue(LiveJob& job);
  /// The engine hears no more of it.
  void leave_engine(LiveJob& job);
  /// Steps that would start it are not taken.
  void drop_steps(JobNumber number);
  /// Takes over what the engine has learned of its needs.
  void take_request(LiveJob& job);

  /// Early restarts of more than a day ago count no more.
  void forget_old_restarts(LiveJob& job);

  /// The job is over, for good. Attempts that still run are stopped. The first replica of a service
  /// that is cancelled is over with the last.
  void finish(LiveJob& job, JobState state, const std::string& reason,
              std::optional<int> exit_code);
  /// It waits again, as if it came now; the engine must not know it any more.
  void wait_again(LiveJob& job, const std::string& reason);
  /// It waits, and can never start: it is cancelled, with the reason.
  void give_up(LiveJob& job, const std::string& reason);
  /// With no more than this grace, where it is given: it holds for a job that is being cancelled
  /// already, too.
  void cancel(LiveJob& job, const std::string& by, std::optional<Duration> grace = {});
  /// A replica that has ended is started again when the verdict says, where it was if the engine
  /// still has it there.
  void start_again(LiveJob& job, const JobVerdict& verdict);

  /// The attempt has begun, perhaps under an earlier daemon: it is stopped when its job has run for
  /// as long as it may.
  void watch_time(LiveJob& job, LiveAttempt& attempt);
  /// Has the attempt end for this reason, unless it is being stopped already. Where that is only to
  /// start the job again, the checkpoint signal comes first if the job wants one.
  void stop_attempt(LiveJob& job, std::int64_t attempt, AttemptEnd end, const std::string& why);
  /// Tells the attempt what is recorded of its end, perhaps once more: whether an earlier daemon
  /// came to it is not known.
  void tell_to_end(LiveJob& job, std::int64_t attempt);
  void stop_all_attempts(LiveJob& job, AttemptEnd end, const std::string& why);
  /// Its checkpoint command did not succeed.
  void not_checkpointed(LiveJob& job, std::int64_t attempt, const std::string& why);
  void stop_now(const JobKey& key);

  /// Takes the attempt out of the node and has the verdict on its job carried out.
  void close(LiveJob& job, std::int64_t attempt, const AttemptVerdict& verdict);
  /// Closes runs of jobs of several whose last process has ended, and has the verdicts on these
  /// jobs carried out.
  void settle_runs();

  /// Stops and starts whose time has come.
  void take_timers();
  /// Forgets jobs that are over and written, with nothing of them left.
  void drop_over();

 private:
  /// Of one of several: it is closed with the others.
  void process_ended(LiveJob& job, std::int64_t attempt, const AttemptVerdict& verdict);
  void lose_place(LiveJob& job, std::int64_t attempt, const std::string& why);
  void stop_others(LiveJob& job, const std::string& why);
  void settle_run(LiveJob& job);
  void close_all(LiveJob& job);
  void remember_most(const LiveJob& job);
  [[nodiscard]] bool stands_for_others(const LiveJob& job) const;
  void await_others(LiveJob& first, const std::string& reason);
  void finish_service(const LiveJob& replica);
  void tally_end(const JobRecord& job);
  void count_attempt(LiveJob& job, const LiveAttempt& attempt, const AttemptRecord& record);
  void count_usage(const LiveJob& job, const ManagedGpu& gpu, const UsageSums& sums);
  AttemptRecord close_attempt(LiveJob& job, std::int64_t attempt, const AttemptVerdict& verdict);
  void apply(LiveJob& job, const JobVerdict& verdict);
  void share_with_processes(const LiveJob& job);
  void out_of_memory(LiveJob& job, const LiveAttempt& attempt, const JobVerdict& verdict);
  void remember_need(const LiveJob& job, const LiveAttempt& attempt);
  void size_siblings(const LiveJob& job, MiB held);
  void await_end_of_shortage(LiveJob& job, int code);
  /// It does not enter the queue before.
  void rest(LiveJob& job, Duration delay);
  void start_later(LiveJob& job, const JobVerdict& verdict);
  void start_at_its_place(LiveJob& job);
  void signal_now(const JobKey& key);
  void shorten_grace(LiveJob& process, Duration grace);
  void take_timer(const JobKey& key);

  const Clock& clock_;
  NodeState& node_;
  Book& book_;
  Brain& brain_;
  Runner& runner_;
};

}  // namespace cleave
