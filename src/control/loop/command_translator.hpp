#pragma once
// What the engine commands becomes steps of GPUs, which are taken when what they need is there
// (loop/step_taker.hpp), and changes of jobs.

#include "control/loop/job_lifecycle.hpp"

namespace cleave {

/// Carries commands out as far as the node goes.
class CommandTranslator {
 public:
  /// All must outlive it.
  CommandTranslator(const Clock& clock, NodeState& node, Book& book, const Brain& brain,
                    JobLifecycle& lifecycle)
      : clock_(clock), node_(node), book_(book), brain_(brain), lifecycle_(lifecycle) {}

  void carry_out(const Command& command);

 private:
  void carry_out(const DestroyInstance& what);
  void carry_out(const CreateInstance& what);
  void carry_out(const StartJob& what);
  void carry_out(const StartShared& what);
  void carry_out(const StartOnWholeGpu& what);
  void carry_out(const StopJob& what);
  void carry_out(const CheckpointJob& what);
  void carry_out(const MigrateJob& what);
  void carry_out(const RejectJob& what);
  void carry_out(const FailJob& what);
  void carry_out(const WarnOfMemory& what);
  void carry_out(const WakeAt&) {}  // the brain's own
  void place(JobId id, JobPlace place, GpuStep::Kind kind);
  void unplace(JobId id, AttemptEnd end, const std::string& why);
  /// Null where the job is over.
  [[nodiscard]] LiveJob* find(JobId id);

  const Clock& clock_;
  NodeState& node_;
  Book& book_;
  const Brain& brain_;
  JobLifecycle& lifecycle_;
};

}  // namespace cleave
