#pragma once
// A job as it runs in a simulation, or waits again after it ran.
//
// Runs lie in slots that are used again: few jobs run at once, whose runs then stay in the cache.

#include <cstdint>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "model/geometry.hpp"
#include "model/ids.hpp"

namespace cleave {

/// What a job has: nothing, a GPU instance, a part of one, or a whole GPU with MIG off.
enum class RunMode : std::uint8_t { none, instance, shared, whole };

/// What a process that is left to run comes to.
enum class Fate : std::uint8_t { finishes, fails, runs_out };

inline constexpr double beyond_its_work = 2;  // a share of a job's work that it does not reach

/// A job that has begun and not ended for good. They are touched in no order: one is one cache
/// line.
struct alignas(64) JobRun {
  GpuId gpu{};
  std::uint32_t generation = 0;  // what is on the agenda for an older one is stale
  PlacementId placement = 0;
  RunMode mode = RunMode::none;
  Fate fate = Fate::finishes;
  bool resumed = false;   // from a checkpoint: the next start restores it
  bool restores = false;  // this process began by that
  bool later = false;     // it ends after `due`: neighbours have slowed it since
  bool awaited = false;   // the beginning of its progress is on the agenda
  std::uint8_t part = 0;  // of an instance that it shares: see InstanceShare
  double speed = 0;
  double done = 0;                 // share of its work
  Instant due = Instant::max();    // its end as it stands on the agenda; max: it does not
  Instant begin{}, counts_from{};  // its process runs; it makes progress, counted since
  /// It runs where it is, before where it came from; until it begins, what it restores was there.
  Instant here_from{};
};
static_assert(sizeof(JobRun) == 64);

/// The runs of all jobs of a simulation.
class JobRuns {
 public:
  explicit JobRuns(std::size_t jobs) : slot_of_(jobs, no_slot) {}

  [[nodiscard]] bool has(JobId job) const { return slot_of_[index(job)] != no_slot; }
  /// Of a job that has one.
  [[nodiscard]] JobRun& operator[](JobId job) { return runs_[slot_of_[index(job)]]; }
  /// Null where the job has none.
  [[nodiscard]] const JobRun* find(JobId job) const {
    const std::uint32_t slot = slot_of_[index(job)];
    return slot == no_slot ? nullptr : &runs_[slot];
  }

  /// The job's run; a new one where it has none. References to others are good no more.
  JobRun& open(JobId job) {
    std::uint32_t& slot = slot_of_[index(job)];
    if (slot != no_slot) return runs_[slot];
    if (free_.empty()) {
      slot = static_cast<std::uint32_t>(runs_.size());
      return runs_.emplace_back();
    }
    slot = free_.back();
    free_.pop_back();
    return runs_[slot] = {};
  }
  /// The job has ended for good.
  void close(JobId job) {
    if (has(job)) free_.push_back(std::exchange(slot_of_[index(job)], no_slot));
  }

  /// The job comes soon: has the memory fetch where its run lies.
  void expect(JobId job) const { __builtin_prefetch(&slot_of_[index(job)], 1); }

 private:
  static constexpr std::uint32_t no_slot = UINT32_MAX;

  std::vector<std::uint32_t> slot_of_;  // by job
  std::vector<JobRun> runs_;            // by slot
  std::vector<std::uint32_t> free_;     // slots
};

}  // namespace cleave
