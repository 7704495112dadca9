#pragma once
// One managed GPU as the loop believes it to be: its instances, what is still to be done there and
// what the executor has been asked for. Plain values; verdicts/ reads them, loop/ changes them.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "base/time.hpp"
#include "control/gpu_executor.hpp"
#include "control/job_record.hpp"
#include "control/node/gpu_conditions.hpp"
#include "control/node/gpu_meter.hpp"
#include "control/node/vacancy.hpp"
#include "model/geometry.hpp"

namespace cleave {

/// An instance of ours, or the place of one that is being made.
struct ManagedInstance {
  enum class State : std::uint8_t { making, ready, going };
  State state = State::ready;
  std::string device;                          // MIG UUID, once it exists
  std::optional<JobDevice::Instance> numbers;  // the driver's, once it has been seen
  std::optional<MiB> capacity;
  Duration idle_since{};              // on the steady clock; meaningful while no job is on it
  std::optional<std::uint32_t> user;  // of the jobs that it was given to, where they have one
  bool renewed = false;               // it is being made anew, which the engine does not know
  bool fresh = false;  // it was made and given to nobody; else, without `user`, that is unknown
  std::optional<std::uint64_t> errors;  // uncorrected memory errors, as last told
  Vacancy vacancy;                      // meaningful while no job is on it
  std::int64_t tries = 0;               // of destroying it, all refused
  Duration next_try{};                  // of those, on the steady clock
  std::string held;     // why it could not be destroyed; while this stands, it is in the way
  Duration next_use{};  // when a job may be given what is held, on the steady clock
};

/// Work that the engine wants done on a GPU and that has not begun; in the order of its commands.
struct GpuStep {
  enum class Kind : std::uint8_t {
    destroy,
    create,
    start,
    share,
    start_whole,
    replica,   // a start beside the attempt that it replaces
    hand_over  // the job's process is told to end where it is; then this becomes a start
  };
  Kind kind{};
  PlacementId placement = 0;
  JobNumber job = 0;
  bool renews = false;  // a create: the instance was there, and is made anew for another user
  bool tidies = false;  // a destroy: nobody needs its room
};

/// An operation that the executor has not answered.
struct AskedOperation {
  GpuOperation operation;
  std::optional<PlacementId> placement;  // of the instance it is about
  Duration since = Duration::max();      // when it was sent, which is after the store's write
};

/// A GPU that the daemon manages, with everything the loop knows about it.
struct ManagedGpu {
  const GpuIdentity* identity = nullptr;
  std::optional<GpuObservation> observation;  // the latest
  bool drained = false, lost = false;
  bool hung = false;    // the driver has not answered for too long
  std::string trouble;  // why it cannot be used, or what went wrong last
  std::map<PlacementId, ManagedInstance> instances;
  bool counts_work = false;  // the driver has counted how busy something there was
  Vacancy vacancy;           // with MIG off, while no job is on it
  PlacementSet walls;        // instances that are not ours
  PlacementSet claimed;      // places of claims, whether made yet or not
  /// Why the driver would not make an instance of a claim.
  std::map<PlacementId, std::string> claim_refusals;
  std::vector<GpuCondition> conditions;  // of its health, oldest first
  GpuHealth health;                      // what the driver last said, as far as it ever did
  std::deque<GpuStep> steps;
  std::map<std::uint64_t, AskedOperation> asked;
  Duration next_look{};
  Duration heard_at{};  // when the executor last answered
  GpuMeter meter;
  std::uint64_t shown = 0;  // the last operation whose answer came with an observation

  /// When the driver will have kept one operation waiting for too long; Duration::max() if nothing
  /// is asked.
  [[nodiscard]] Duration answer_due(Duration patience) const {
    Duration oldest = Duration::max();
    for (const auto& [number, operation] : asked) oldest = std::min(oldest, operation.since);
    return oldest == Duration::max() ? oldest : std::max(oldest, heard_at) + patience;
  }
  /// Whether somebody has left a place of it where nobody has looked since, nor been asked to.
  [[nodiscard]] bool was_left_unseen() const {
    const std::uint64_t last = asked.empty() ? 0 : asked.rbegin()->first;
    const auto left = [&](const Vacancy& each) { return each.unseen && last <= each.since; };
    return left(vacancy) || std::ranges::any_of(instances, [&](const auto& each) {
             return left(each.second.vacancy);
           });
  }
  [[nodiscard]] const Geometry& geometry() const { return identity->geometry->geometry(); }
  /// The condition for which it takes no new jobs; null: none.
  [[nodiscard]] const GpuCondition* drained_by() const {
    const auto found =
        std::ranges::find_if(conditions, [](const auto& each) { return drains(each); });
    return found == conditions.end() ? nullptr : &*found;
  }
  /// Whether this instance is given to nobody, for its health or for the processes there, or since
  /// it is to go and somebody holds it. The rest of the GPU goes on.
  [[nodiscard]] bool quarantines(const ManagedInstance& instance) const {
    return instance.vacancy.set_aside || !instance.held.empty() ||
           quarantined_by(instance) != nullptr;
  }
  /// The condition for which this instance is given to nobody; null: none.
  [[nodiscard]] const GpuCondition* quarantined_by(const ManagedInstance& instance) const {
    const auto found = std::ranges::find_if(conditions, [&](const GpuCondition& each) {
      return !each.device.empty() && each.device == instance.device;
    });
    return found == conditions.end() ? nullptr : &*found;
  }
  /// What a decision can neither use nor change: instances of others and of claims, and those of
  /// ours that may not be given out.
  [[nodiscard]] PlacementSet immovable() const { return walls | quarantined_instances() | claimed; }
  /// Instances of ours that exist, are not being destroyed and may be given out.
  [[nodiscard]] PlacementSet ready_instances() const { return instances_that_are(false); }
  /// Those that may not be given out.
  [[nodiscard]] PlacementSet quarantined_instances() const { return instances_that_are(true); }

 private:
  [[nodiscard]] PlacementSet instances_that_are(bool quarantined) const {
    PlacementSet all;
    const PlacementSet not_ours = geometry().blocked(claimed);
    for (const auto& [placement, instance] : instances)
      if (!not_ours.contains(placement) && instance.state == ManagedInstance::State::ready &&
          quarantines(instance) == quarantined)
        all.insert(placement);
    return all;
  }
};

/// A step, and where.
struct PlacedStep {
  GpuId gpu{};
  GpuStep step;
};

}  // namespace cleave
