#pragma once
// What the executor answers, and how the node follows what a GPU shows. It also asks: a look at
// each GPU from time to time, and whatever steps need.

#include <optional>
#include <string>

#include "control/loop/health_keeper.hpp"
#include "control/loop/job_lifecycle.hpp"
#include "control/loop/use_keeper.hpp"
#include "control/settings.hpp"
#include "control/verdicts/gpu_verdicts.hpp"

namespace cleave {

/// How long, at most, until an instance that somebody holds is tried to be destroyed again.
inline constexpr Duration longest_held_delay = std::chrono::seconds(5);

/// Asks the executor, hears its answers and keeps the node's GPUs as they are.
class GpuListener {
 public:
  /// All must outlive it.
  GpuListener(const Clock& clock, const ControlSettings& settings, NodeState& node, Book& book,
              Brain& brain, JobLifecycle& lifecycle, HealthKeeper& health, UseKeeper& use,
              GpuExecutor& executor)
      : clock_(clock),
        settings_(settings),
        node_(node),
        book_(book),
        brain_(brain),
        lifecycle_(lifecycle),
        health_(health),
        use_(use),
        executor_(executor) {}

  /// All answers since the last call; then looks at GPUs whose turn it is.
  void hear();
  /// Has the executor do this once it is written that it will; `placement`: of the instance that it
  /// is about.
  void ask(GpuId gpu, GpuOperation operation, std::optional<PlacementId> placement);
  /// A look that waits for no write, since it changes nothing.
  void look_at_once(GpuId gpu);
  /// Looks where jobs have just left, so that what comes next there need not wait for it.
  void look_where_left();
  /// Whether the scheduler may use it, apart from rests after refusals, which are the engine's.
  [[nodiscard]] bool takes_work(GpuId gpu) const;

 private:
  void hear(const GpuNews& news);
  void hear_answer(const GpuNews& news, const AskedOperation& asked);
  void look_at_gpus();
  [[nodiscard]] LookAtGpu look_and_count(GpuId gpu);
  /// The first attempt in the place, which stands for all there; null if none runs.
  [[nodiscard]] LiveAttempt* first_attempt(const JobPlace& place);
  /// The attempt that is alone in the place, and may teach of its application or is a lease that
  /// may be idle; null if there is none.
  [[nodiscard]] LiveAttempt* counted_attempt(const JobPlace& place);
  void hear_counts(const GpuNews& news, const LookAtGpu& asked);
  void hear_of_activity(const JobPlace& place, std::optional<double> share);
  void hear_of_work(LiveAttempt& attempt, const std::optional<BusyShares>& shares);
  /// `number`: of the operation that it comes from.
  void observe(GpuId gpu, const GpuObservation& observation, std::uint64_t number);
  void observe_instances(GpuId gpu, const GpuObservation& observation, std::uint64_t number);
  /// Processes where no job is.
  void observe_processes(const JobPlace& place, const std::vector<LiveProcess>& processes,
                         std::uint64_t number);
  void found(GpuId gpu, PlacementId placement, const std::string& device);
  void observe_memory(GpuId gpu, const ObservedInstance& seen);
  void close_instances(GpuId gpu);
  void made(GpuId gpu, PlacementId placement, const GpuNews& news);
  void not_made(GpuId gpu, std::optional<PlacementId> placement, const Error& why);
  void destroyed(GpuId gpu, PlacementId placement, Duration took);
  void not_destroyed(GpuId gpu, PlacementId placement, const Error& why);
  void hold(ManagedInstance& instance, const Error& why);
  void try_held_at_once();
  void try_again(ManagedInstance& instance);
  void still_quarantined(GpuId gpu, PlacementId placement, const Error& why);
  void tell_plan(GpuId gpu, std::optional<PlacementId> placement, const std::string& why);
  void mig_refused(GpuId gpu, const SwitchMig& mig, const Error& why);
  void instance_gone(GpuId gpu, PlacementId placement);
  void lose_instance(GpuId gpu, PlacementId placement);
  void lose_gpu(GpuId gpu);
  void lose_attempts(const JobPlace& place, const std::string& why);
  void set_hung(GpuId gpu, bool hung);
  void set_trouble(GpuId gpu, const std::string& trouble);
  void event(GpuId gpu, std::string kind, std::string text);

  const Clock& clock_;
  const ControlSettings& settings_;
  NodeState& node_;
  Book& book_;
  Brain& brain_;
  JobLifecycle& lifecycle_;
  HealthKeeper& health_;
  UseKeeper& use_;
  GpuExecutor& executor_;
};

}  // namespace cleave
