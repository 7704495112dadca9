#pragma once
// When GPUs of a simulation are lost and when they return: as they were said one by one, or drawn
// from the seed for each GPU apart.

#include <cstdint>
#include <map>
#include <vector>

#include "simulate/faults.hpp"

namespace cleave {

/// The outages of one run.
class Outages {
 public:
  /// A GPU is lost at a time.
  struct Loss {
    Instant at;
    GpuId gpu;
  };

  /// `plan` must outlive it.
  Outages(const FaultPlan& plan, std::uint64_t seed, std::size_t gpus)
      : plan_(&plan), seed_(seed), losses_(plan.between_losses ? gpus : 0) {}

  /// Whether losses are drawn, each after the last return, and not said.
  [[nodiscard]] bool drawn() const { return plan_->between_losses.has_value(); }
  /// All that were said; none before `begin`.
  [[nodiscard]] std::vector<Loss> said(Instant begin);
  /// When the GPU, which is there now, is lost next; only where losses are drawn.
  [[nodiscard]] Instant next_loss(GpuId gpu, Instant now) const;
  /// The loss that was drawn does not happen; the next one is another.
  void skip(GpuId gpu) { ++losses_[index(gpu)]; }
  /// The GPU is lost now: when it returns.
  [[nodiscard]] Instant returns(GpuId gpu, Instant now);

 private:
  [[nodiscard]] Duration exponential(GpuId gpu, Duration mean, std::uint64_t which) const;

  const FaultPlan* plan_;
  std::uint64_t seed_;
  std::vector<std::uint64_t> losses_;                   // by GPU, of those that are drawn
  std::map<GpuId, std::vector<Instant>> said_returns_;  // in order
};

}  // namespace cleave
