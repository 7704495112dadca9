#pragma once
// What the runner says of processes: they began, reported memory, ended, or their supervisor was
// killed. The verdicts judge it, and JobLifecycle does what follows.

#include "control/loop/job_lifecycle.hpp"
#include "control/settings.hpp"

namespace cleave {

/// Hears of processes and has their jobs follow.
class ProcessListener {
 public:
  /// All must outlive it.
  ProcessListener(const Clock& clock, const ControlSettings& settings, NodeState& node, Book& book,
                  Brain& brain, JobLifecycle& lifecycle, Runner& runner)
      : clock_(clock),
        settings_(settings),
        node_(node),
        book_(book),
        brain_(brain),
        lifecycle_(lifecycle),
        runner_(runner) {}

  /// All that has happened since the last call.
  void hear();
  /// Judges failed processes whose GPU has been observed since, or has not answered in time. Where
  /// the GPU or the instance is gone, the attempt has been called lost by now.
  void settle_pending();

  void ended(LiveJob& job, std::int64_t attempt, const ProcessOutcome& outcome);
  void supervisor_lost(LiveJob& job, std::int64_t attempt, const SupervisorLost& lost);
  /// Nothing of it ever ran; `code` is the system's error number, if it has one. Does nothing where
  /// there is no such attempt.
  void not_started(const JobKey& key, const std::string& why, int code = 0);
  /// Nothing of it ever ran, since its start came too late to be carried out as it was decided.
  void held_up(const JobKey& key, const std::string& why);

 private:
  void hear(const RunnerEvent& event);
  void began(LiveJob& job, LiveAttempt& attempt, std::int64_t pid);
  void began_beside_others(LiveJob& job, const LiveAttempt& attempt, std::int64_t pid);
  void reported(LiveJob& job, LiveAttempt& attempt, const NumberedReport& report);
  void progressed(LiveJob& job, LiveAttempt& attempt, const MemoryReport& report);
  void learn_from(const LiveJob& job, const LiveAttempt& attempt, const ProcessOutcome& outcome,
                  bool finished);
  void heard_of_end(LiveJob& job, LiveAttempt& attempt, const ProcessOutcome& outcome);

  const Clock& clock_;
  const ControlSettings& settings_;
  NodeState& node_;
  Book& book_;
  Brain& brain_;
  JobLifecycle& lifecycle_;
  Runner& runner_;
};

}  // namespace cleave
