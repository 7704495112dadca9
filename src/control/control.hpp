#pragma once
// The daemon's loop: it hears what the GPUs, the jobs' processes and the users say, tells the
// engine, and carries out what that answers. It knows no socket, no thread and no clock: whoever
// drives it calls step() when there is news and gives it the time. Its doors are real in the daemon
// and fail by a seed in tests.
//
// One law keeps everything that is accepted from being lost: nothing is done, and nobody is
// answered, before the batch that says so is in the store. What is done is done such that a new
// loop finds it: an attempt has its folder, an instance its line in the ledger. So this program may
// die between any two steps.
//
//   step(): doors ──▶ world ──▶ engine ──▶ steps to do ──▶ store ──▶ doors
//
// A loop that begins compares the store with the runner's attempts and the GPUs' instances: what
// runs is adopted, what ended meanwhile is taken in, what is lost is run again or fails as its job
// allows. The same way leads out of everything that does not go as commanded, and to another
// scheduler: an engine is begun anew from the world as it is.
//
// Not for several threads.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "control/gpu_executor.hpp"
#include "control/job_record.hpp"
#include "control/moment.hpp"
#include "control/store.hpp"
#include "runner/runner.hpp"

namespace cleave {

struct ControlSettings {
  std::string scheduler =
      "online";  // unless another one was chosen while running, which the store keeps
  std::string forecaster = "laws";
  std::int64_t early_restarts_a_day = 10;  // of one job
  std::size_t most_waiting = 100'000;      // jobs that are not final; further ones are refused
  Duration look_every = std::chrono::seconds(5);  // at each GPU
  Duration gpu_patience =
      std::chrono::seconds(60);       // until a driver that does not answer is said to hang
  std::optional<Duration> keep_idle;  // idle instances are destroyed after this time; empty: kept
                                      // until their room is needed
  std::int64_t log_limit = 64 << 20;  // bytes of each output of an attempt
  Duration keep_jobs = std::chrono::hours(24 * 7);  // final jobs and their outputs
  std::int64_t keep_bytes =
      std::int64_t{10} << 30;  // of outputs of final jobs; the oldest of who keeps most go first
  std::size_t keep_events = 100'000;
  bool may_switch_mig = true;                // as the executor was told
  std::string boot;                          // another text after each start of the machine
  std::vector<int> out_of_memory_codes;      // exit statuses that mean it, for all jobs
  std::vector<std::string> job_environment;  // "NAME=value" that every job gets besides its own
};

/// What somebody wants to have run; checked by whoever calls, but for what only the loop knows.
struct NewJob {
  JobOwner owner;
  JobSpec spec;
  JobCommand command;
};

/// How a GPU stands, for people.
struct GpuStatus {
  const GpuIdentity* gpu = nullptr;
  std::optional<GpuObservation> observation;  // empty until it was seen
  bool drained = false, lost = false;
  std::string trouble;  // the driver does not answer, it refuses, somebody else holds the lock; may
                        // be empty
  struct Held {
    std::string device;
    JobKey attempt;
  };
  std::vector<Held> jobs;
};

class Control {
 public:
  struct Doors {
    Store& store;
    GpuExecutor& executor;
    Runner& runner;
    /// Asked before each start: the owner as the system knows him now. A failure is for good, and
    /// the job's. Empty: as he was when the job was submitted.
    std::function<Result<JobOwner>(const JobOwner& as_submitted)> look_up_owner = {};
  };
  /// Reads the store and hears of what runs. Nothing is started before every GPU was seen once, or
  /// did not answer for gpu_patience. Fails where the store cannot be read, or the settings are
  /// wrong.
  [[nodiscard]] static Result<std::unique_ptr<Control>> begin(Doors doors, ControlSettings settings,
                                                              Moment now);
  virtual ~Control() = default;

  // What users want. Each is refused at once or noted, and done with the next step;
  // `last_request()` after the call is the number under which `answered()` tells when the store has
  // it.

  [[nodiscard]] virtual Result<JobNumber> submit(const NewJob& job, Moment now) = 0;
  /// Stops it where it runs. One that is final is no failure.
  [[nodiscard]] virtual Result<void> cancel(JobNumber job, const std::string& by, Moment now) = 0;
  [[nodiscard]] virtual Result<void> drain(GpuId gpu, bool drained, Moment now) = 0;
  virtual void pause(bool paused, Moment now) = 0;
  [[nodiscard]] virtual Result<void> set_scheduler(const std::string& spec, Moment now) = 0;
  /// Settings as after a reload; those that cannot change while it runs stay. Names of those that
  /// did not.
  [[nodiscard]] virtual Result<std::vector<std::string>> reload(const ControlSettings& settings,
                                                                Moment now) = 0;

  [[nodiscard]] virtual std::uint64_t last_request() const = 0;
  struct Answer {
    std::uint64_t number = 0;
    Result<void> done;  // not done: the store did not take it, and it is as if nobody had asked
  };
  /// What has been answered since the last call, in order.
  [[nodiscard]] virtual std::vector<Answer> answered() = 0;

  /// One round: hears, decides, writes, does. Waits for the store and for supervisors to begin, no
  /// longer.
  virtual void step(Moment now) = 0;
  /// When step() is to be called at the latest, on the steady clock, without any news.
  [[nodiscard]] virtual Duration wake_at() const = 0;

  // What there is to see. Jobs that are not final are here, the others in the store.

  [[nodiscard]] virtual const JobRecord* job(JobNumber number) const = 0;
  /// By number.
  [[nodiscard]] virtual std::vector<const JobRecord*> jobs() const = 0;
  /// The attempt that runs, or is about to; null where there is none.
  [[nodiscard]] virtual const AttemptRecord* attempt_of(JobNumber number) const = 0;
  /// What it last reported as allocated.
  [[nodiscard]] virtual std::optional<MiB> memory_of(JobNumber number) const = 0;
  /// Why a queued job waits, in words. Cheap enough to ask for every job of a listing.
  [[nodiscard]] virtual std::string why_waits(JobNumber number) const = 0;
  [[nodiscard]] virtual std::vector<GpuStatus> gpus() const = 0;
  [[nodiscard]] virtual const std::string& scheduler() const = 0;
  [[nodiscard]] virtual bool paused() const = 0;
  /// What does not go as it should at the moment, one line each: the store does not write, a driver
  /// does not answer. Empty: all is well.
  [[nodiscard]] virtual std::vector<std::string> troubles() const = 0;
  /// Events of the last commits, from this number on where they are still in memory.
  [[nodiscard]] virtual std::vector<EventRecord> events_since(std::int64_t number) const = 0;
  [[nodiscard]] virtual std::int64_t last_event() const = 0;

 private:
  class Inside;
};

}  // namespace cleave
