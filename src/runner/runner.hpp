#pragma once
// The door to jobs that run: the control loop starts, signals and stops through it and hears what
// became of them. It decides nothing. Behind it are processes (process_runner.hpp) or, in tests, a
// table (fake_runner.hpp).
//
// Every attempt that was started ends with exactly one of: JobEnded, or SupervisorLost when whoever
// watched it was killed; after either no process of it is left. Until forget() its folder stays,
// and found() of a later runner tells of it again, so that nothing is lost when the daemon dies
// between hearing and writing down.

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "model/memory_report.hpp"
#include "runner/launch.hpp"
#include "runner/process_outcome.hpp"
#include "runner/supervisor/supervisor_message.hpp"

namespace cleave {

/// In order, each once a runner; some may be missing (process_outcome.hpp).
struct JobReported {
  NumberedReport report;
};
struct JobEnded {
  ProcessOutcome outcome;
};
struct SupervisorLost {
  std::int64_t leftovers = 0;  // processes that were still there and were ended
  std::string
      trouble;        // why that was not possible, or why the outcome that is there is not believed
  bool began = true;  // its program may have run, told or not; false only where it surely did not
};

struct RunnerEvent {
  JobKey key;
  std::variant<JobBegan, JobReported, OutOfMemorySeen, JobEnded, SupervisorLost> what;
};

/// An attempt that is there when a runner begins.
struct FoundJob {
  enum class State : std::uint8_t {
    alive,  // adopted: its events come through poll()
    ended,
    dead,  // without outcome; what was left of it has been ended
  };
  JobKey key;
  State state = State::alive;
  ProcessOutcome outcome;  // where it ended
  bool began = true;       // its program may have run; false only where it surely did not
  std::string trouble;     // as in SupervisorLost
};

class Runner {
 public:
  virtual ~Runner() = default;

  /// Once, before anything else: all attempts that an earlier runner started and nobody forgot, by
  /// key.
  [[nodiscard]] virtual Result<std::vector<FoundJob>> found() = 0;
  /// Returns when a supervisor has taken the attempt over; on failure nothing was started and
  /// nothing is left. One that may have begun though its supervisor was not heard of is no failure:
  /// it is lost.
  [[nodiscard]] virtual Result<void> start(const Launch& launch) = 0;
  /// To the process group of the job. Fails where it is known to be over; that it ended meanwhile
  /// is no failure. Where its supervisor cannot be reached at once, as soon as it can.
  [[nodiscard]] virtual Result<void> signal(const JobKey& key, int number) = 0;
  /// TERM, and KILL after the launch's grace, also when this program is gone by then.
  [[nodiscard]] virtual Result<void> stop(const JobKey& key) = 0;
  /// What has happened; never waits.
  [[nodiscard]] virtual std::vector<RunnerEvent> poll() = 0;
  /// Readable when poll() has something to do; -1 where there is none.
  [[nodiscard]] virtual int wake_fd() const = 0;
  /// What lies in the user's folder of an attempt, outputs and whatever else; 0 where it is not
  /// there. Where it is too much to be weighed, more than any disk is allowed.
  [[nodiscard]] virtual std::int64_t kept_bytes(const JobKey& key) = 0;
  /// Removes an attempt that is over, logs included: its name at once, what lay there with the
  /// poll()s that come. One that is not there is no failure.
  [[nodiscard]] virtual Result<void> forget(const JobKey& key) = 0;
};

}  // namespace cleave
