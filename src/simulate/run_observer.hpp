#pragma once
// What happens in a run, told one by one to its observers.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "model/event.hpp"
#include "model/sharing.hpp"
#include "physics/power.hpp"

namespace cleave {

/// Something that happened. Fields that do not apply are empty.
struct RunEvent {
  /// What happened, and to what.
  enum class Kind {
    submitted,
    rejected,
    destroyed,        // an instance
    created,          // an instance; usable from `until`
    started,          // a job; it runs from `until`
    finished,         // a job
    failed,           // a job, for good: its process failed, or it needs more memory than there is
    ran_out,          // of memory; the job waits again
    stopped,          // by the scheduler; the job waits again. With `until` it saves its work
    restarted_early,  // on a forecast; the same
    checkpointed,     // the job waits again, and goes on where it was; its instance is in use until
                      // `until`
    migrated,         // the job runs on at `gpu`, `placement` from `until`
    gpu_lost,
    gpu_returned,
    evicted,  // a job, with the GPU that was lost; it waits again
    warned,   // a job that runs: no GPU has the memory that it is forecast to need
  };

  Instant at;
  Kind kind;
  std::optional<JobId> job;
  std::optional<GpuId> gpu;
  std::optional<PlacementId> placement;  // empty on a whole GPU
  std::optional<Instant> until;
  std::optional<InstanceShare> share = {};  // `started` beside others in one instance, or alone in
                                            // one that they may join
  std::optional<MiB> memory = {};           // `warned`: what the job will need at least
  /// Of a job of several places: which of its processes. What happens to a process at its place is
  /// told of each, of all at the same time.
  std::optional<std::uint32_t> rank = {};

  /// Whether the event counts where jobs are counted: it is of the job, or of its first process.
  [[nodiscard]] bool counts() const { return rank.value_or(0) == 0; }
};

std::string_view name(RunEvent::Kind kind);

/// From `from` on the job runs like this, until something else is said of it: later ones count,
/// also those for the same time. It has left its GPU where all is zero.
struct RateChange {
  Instant from;
  JobId job;
  GpuId gpu;
  double speed;      // its work in units of its time on the whole GPU, a second
  double link;       // the mean share of the GPU's link that it uses
  Milliwatts power;  // what it draws; zero where power is left out
  /// Of a job of several places: which of its processes, whose speed is what it would be if the
  /// others were as fast. The job goes at the speed of the slowest.
  std::optional<std::uint32_t> rank = {};
};

/// Is told of each event of a run.
class RunObserver {
 public:
  virtual ~RunObserver() = default;
  /// In the order in which things are decided; `at` never falls, `until` may lie ahead.
  virtual void on(const RunEvent& event) = 0;
  /// Decided at `now`, which is `change.from` or before.
  virtual void on_rate(Instant /*now*/, const RateChange& /*change*/) {}
};

/// Tells each of several, in their order; null ones are passed over.
class RunObservers final : public RunObserver {
 public:
  RunObservers(std::initializer_list<RunObserver*> all) {
    for (RunObserver* each : all)
      if (each != nullptr) all_.push_back(each);
  }
  void on(const RunEvent& event) override {
    for (RunObserver* each : all_) each->on(event);
  }
  void on_rate(Instant now, const RateChange& change) override {
    for (RunObserver* each : all_) each->on_rate(now, change);
  }
  [[nodiscard]] bool empty() const { return all_.empty(); }

 private:
  std::vector<RunObserver*> all_;
};

}  // namespace cleave
