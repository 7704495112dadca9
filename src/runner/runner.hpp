#pragma once
// The door to running jobs: through it the control loop starts, signals and stops jobs and learns
// what happened to them. It decides nothing. Behind it are processes (process_runner.hpp) or, in
// tests, a table (fake_runner_test.hpp).
//
// Every started attempt ends with exactly one of JobEnded, SupervisorLost if its supervisor was
// killed, or AttemptNotStarted if it did not come so far; after each, no process of it is left. Its
// folder stays until forget(), except after the last, and found() of a later runner reports it
// again, so that nothing is lost if the daemon dies before it has recorded the event.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "runner/launch.hpp"
#include "runner/process_outcome.hpp"
#include "runner/shortage.hpp"
#include "runner/supervisor/supervisor_message.hpp"

namespace cleave {

/// A memory report. They come in order, each once per runner; some may be missing
/// (process_outcome.hpp).
struct JobReported {
  NumberedReport report;
};
/// The attempt ended, and its supervisor recorded how.
struct JobEnded {
  ProcessOutcome outcome;
};
/// The attempt ended without an outcome, because its supervisor was killed.
struct SupervisorLost {
  std::int64_t leftovers = 0;  // processes of the job that were ended
  std::string trouble;         // why that was not possible, or why an outcome is not believed
  bool began = true;  // whether its program may have run; false only if it certainly did not
};

/// No supervisor took the attempt over: nothing of it ran, and nothing is left of it.
struct AttemptNotStarted {
  NotStarted why;
};

/// Something that happened to an attempt.
struct RunnerEvent {
  JobKey key;
  std::variant<JobBegan, JobReported, OutOfMemorySeen, NotCheckpointed, JobEnded, SupervisorLost,
               AttemptNotStarted>
      what;
};

/// An attempt that exists when a runner begins.
struct FoundJob {
  enum class State : std::uint8_t {
    alive,  // adopted: its events come through poll()
    ended,
    dead,  // without an outcome; its leftover processes have been ended
  };
  JobKey key;
  State state = State::alive;
  ProcessOutcome outcome;  // if it ended
  bool began = true;       // whether its program may have run, as in SupervisorLost
  std::string trouble;     // as in SupervisorLost
};

/// What kept_bytes() says of a folder with too many files to count: more than any limit.
inline constexpr std::int64_t too_many_files = std::int64_t{1} << 40;

/// Starts jobs and follows them.
class Runner {
 public:
  virtual ~Runner() = default;

  /// Says of which attempts nothing is left but what they wrote.
  using IsSettled = std::function<bool(const JobKey&)>;
  /// Call once, before anything else: all attempts that an earlier runner started and that were not
  /// forgotten, by key, without those that are settled: of these there may be many, and nothing is
  /// looked at.
  [[nodiscard]] virtual Result<std::vector<FoundJob>> found(const IsSettled& is_settled) = 0;
  [[nodiscard]] Result<std::vector<FoundJob>> found() {
    return found([](const JobKey&) { return false; });
  }
  /// Begins a supervisor and does not wait for it: that it could not take the attempt over, or not
  /// in time, is told later. On failure nothing was started and nothing is left.
  [[nodiscard]] virtual Started start(const Launch& launch) = 0;
  /// Sends a signal to the process group of the job. Fails if the job is known to have ended, but
  /// not if it ends meanwhile. If its supervisor cannot be reached, the signal is sent as soon as
  /// it can.
  [[nodiscard]] virtual Result<void> signal(const JobKey& key, int number) = 0;
  /// Runs the launch's checkpoint command, which may take so long, and stops the job once it has
  /// succeeded: its outcome says so. Where it has not, NotCheckpointed follows and the job goes on.
  /// While one runs, another call changes nothing.
  [[nodiscard]] virtual Result<void> checkpoint(const JobKey& key, Duration longest) = 0;
  /// Sends TERM, and KILL after the launch's grace or this one if that is shorter, even if this
  /// program has ended by then. Another call may make the grace shorter still.
  [[nodiscard]] virtual Result<void> stop(const JobKey& key, std::optional<Duration> grace) = 0;
  [[nodiscard]] Result<void> stop(const JobKey& key) { return stop(key, std::nullopt); }
  /// Whether no attempt, of those that run and of those that it will start, can open the device
  /// nodes of another's instance.
  [[nodiscard]] virtual bool fences() const = 0;
  /// A TCP port of this machine on which nothing listens: this one, or the next that is free.
  [[nodiscard]] virtual int free_port(int wanted) = 0;
  /// What has happened since the last call; never waits.
  [[nodiscard]] virtual std::vector<RunnerEvent> poll() = 0;
  /// A descriptor that is readable when poll() has something to do; -1 without one.
  [[nodiscard]] virtual int wake_fd() const = 0;
  /// What the folder of an attempt takes on the disk, outputs and everything else, in blocks and
  /// with a KiB for each file; 0 if it is missing, and too_many_files where these are too many.
  [[nodiscard]] virtual std::int64_t kept_bytes(const JobKey& key) = 0;
  /// Removes an ended attempt with its logs: its name at once, its contents during later calls of
  /// poll(). Does nothing if it is missing.
  [[nodiscard]] virtual Result<void> forget(const JobKey& key) = 0;
};

}  // namespace cleave
