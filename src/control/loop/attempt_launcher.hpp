#pragma once
// Starting an attempt of a job: first it is recorded, and once that is written its process is
// launched, so that no process runs of which the store does not know.

#include <span>

#include "control/loop/process_listener.hpp"
#include "control/requests.hpp"

namespace cleave {

/// Of the latest attempts of a job; those of earlier ones go, with their outputs.
inline constexpr std::int64_t most_attempt_folders = 20;

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

  /// The instances of these starts, of all processes of one job by rank, are there and free for
  /// them. Does nothing where the job is over.
  void start(std::span<const PlacedStep> processes);

 private:
  void choose_meeting_port(JobNumber number);
  void start(const PlacedStep& process, std::int64_t attempt);
  [[nodiscard]] LiveAttempt attempt_on(GpuId gpu, const GpuStep& step) const;
  void note_user(const LiveAttempt& attempt, std::uint32_t uid);
  void forget_user(ManagedInstance& instance);
  void predict(const LiveJob& job, LiveAttempt& attempt) const;
  /// `seen`: when its place was seen free.
  void launch(const JobKey& key, Duration seen);
  [[nodiscard]] bool must_be_seen_again(const LiveAttempt& attempt, Duration seen) const;
  /// What a process of a job of several is told of the others, unless its user has said it.
  [[nodiscard]] std::vector<JobDevice> devices_of(
      std::span<const LiveAttempt* const> attempts) const;
  void add_gang(Launch& launch, const LiveJob& job) const;
  [[nodiscard]] GroupLimits limits_of(const LiveJob& job, const LiveAttempt& attempt) const;
  [[nodiscard]] Result<Launch> launch_of(const LiveJob& job, const LiveAttempt& attempt,
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
