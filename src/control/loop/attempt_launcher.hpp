#pragma once
// Starting an attempt of a job: first it is recorded, and once that is written its process is
// launched, so that no process runs of which the store does not know.

#include "control/loop/process_listener.hpp"
#include "control/requests.hpp"

namespace cleave {

/// Starts attempts.
class AttemptLauncher {
 public:
  /// All must outlive it.
  AttemptLauncher(const Clock& clock, const ControlSettings& settings, NodeState& node, Book& book,
                  ProcessListener& processes, Runner& runner, OwnerLookUp look_up_owner)
      : clock_(clock),
        settings_(settings),
        node_(node),
        book_(book),
        processes_(processes),
        runner_(runner),
        look_up_owner_(std::move(look_up_owner)) {}

  /// The step's instance is there and free for it. Does nothing where the job is over.
  void start(GpuId gpu, const GpuStep& step);

 private:
  [[nodiscard]] LiveAttempt attempt_on(GpuId gpu, const GpuStep& step) const;
  void predict(const LiveJob& job, LiveAttempt& attempt) const;
  void launch(const JobKey& key);
  [[nodiscard]] Launch launch_of(const LiveJob& job, const LiveAttempt& attempt,
                                 const JobOwner& owner, const JobCommand& command) const;

  const Clock& clock_;
  const ControlSettings& settings_;
  NodeState& node_;
  Book& book_;
  ProcessListener& processes_;
  Runner& runner_;
  OwnerLookUp look_up_owner_;
};

}  // namespace cleave
