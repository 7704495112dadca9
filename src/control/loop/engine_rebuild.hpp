#pragma once
// An engine from the node as it is: after a beginning, for another scheduler, and whenever
// something went otherwise than commanded. engine/engine.hpp says what a new engine must be told.

#include "control/loop/gpu_listener.hpp"

namespace cleave {

/// Makes engines.
class EngineRebuild {
 public:
  /// All must outlive it.
  EngineRebuild(const Clock& clock, const ControlSettings& settings, NodeState& node, Book& book,
                Brain& brain, JobLifecycle& lifecycle, const GpuListener& gpus)
      : clock_(clock),
        settings_(settings),
        node_(node),
        book_(book),
        brain_(brain),
        lifecycle_(lifecycle),
        gpus_(gpus) {}

  /// Makes one if one is wanted and the GPUs allow it.
  void step();

 private:
  void place_running_attempts();
  [[nodiscard]] bool place(LiveAttempt& attempt) const;
  void tell_gpus();
  void tell_running_jobs();
  /// Those that are given an instance begin there: to the engine they run.
  void tell_given_instances();
  void tell_queue();
  void tell_reports_again();

  const Clock& clock_;
  const ControlSettings& settings_;
  NodeState& node_;
  Book& book_;
  Brain& brain_;
  JobLifecycle& lifecycle_;
  const GpuListener& gpus_;
};

}  // namespace cleave
