#pragma once
// Takes the steps that can be taken: instances are made and destroyed, MIG mode is switched first
// where a step needs that, jobs are started; those of several processes when each of these can.
// verdicts/gpu_verdicts.hpp says which can.

#include "control/loop/attempt_launcher.hpp"
#include "control/loop/gpu_listener.hpp"

namespace cleave {

/// How often, at most, jobs are looked through for one that may have an instance that is held.
inline constexpr Duration held_offer_pause = std::chrono::seconds(1);

/// Turns steps into operations and starts.
class StepTaker {
 public:
  /// All must outlive it.
  StepTaker(const Clock& clock, const ControlSettings& settings, NodeState& node, Brain& brain,
            JobLifecycle& lifecycle, GpuListener& gpus, AttemptLauncher& launcher)
      : clock_(clock),
        settings_(settings),
        node_(node),
        brain_(brain),
        lifecycle_(lifecycle),
        gpus_(gpus),
        launcher_(launcher) {}

  /// Those of all GPUs, in order. Does nothing while there is no engine to want them.
  void take();
  /// Adds steps that destroy instances which nobody has needed for as long as the settings say.
  void destroy_idle_instances();
  /// Has instances destroyed that may not be given out, once nothing runs there. The engine takes
  /// them for somebody else's until they are gone.
  void destroy_quarantined_instances();
  /// What was to go and is held by somebody is as good as any other for a job that waits for one
  /// like it: the first that may have it gets it, whatever the scheduler would make of its room.
  void give_held_instances();

 private:
  void take(GpuId gpu);
  void destroy_quarantined_instance(GpuId gpu, PlacementId placement);
  void give_held_instance(const JobPlace& place, ManagedInstance& instance);
  /// Whether the job waits for nothing but room.
  [[nodiscard]] bool lacks_only_room(const LiveJob& job) const;
  void take(GpuId gpu, const GpuStep& step);
  /// Before an idle instance is given to another user, its memory is to be scrubbed: it is
  /// destroyed and made again. False: the step does not need that.
  bool renew_first(GpuId gpu, std::size_t step);
  /// A place is given out only where the driver has just shown no process; false: that is asked.
  bool seen_free_first(GpuId gpu, const GpuStep& step);
  /// All starts of a job of several at once, where each can be taken; false: not yet.
  bool take_together(JobNumber process);
  /// The place is ready: the job's process ends where it is, and the step becomes a start.
  void hand_over(GpuId gpu, GpuStep& step);
  /// Whether the host is short of something, so that nothing is started now.
  [[nodiscard]] bool is_paused(GpuStep::Kind step) const;
  /// Switches MIG mode where the step waits for that.
  bool prepare_mig(GpuId gpu, GpuStep::Kind step);

  const Clock& clock_;
  const ControlSettings& settings_;
  NodeState& node_;
  Brain& brain_;
  JobLifecycle& lifecycle_;
  GpuListener& gpus_;
  AttemptLauncher& launcher_;
};

}  // namespace cleave
