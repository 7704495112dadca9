#pragma once
// When running jobs are expected to end, over all GPUs in order of time, kept while jobs start and
// leave: so that to find when several places are free together no GPU is looked at before something
// is expected to end on it.

#include <set>
#include <utility>
#include <vector>

#include "engine/queue/holders.hpp"

namespace cleave {

/// The known ends of a fleet, in the past too. They must not change but by `changed`.
class ExpectedEnds {
 public:
  using InOrder = std::set<std::pair<Instant, GpuId>>;

  /// `holders` must outlive this.
  explicit ExpectedEnds(const Holders& holders) : holders_(&holders), on_(holders.gpus()) {}

  /// A job started, moved or left there.
  void changed(GpuId gpu);
  /// As of the last change.
  [[nodiscard]] const InOrder& in_order();

 private:
  void look_at(GpuId gpu);

  const Holders* holders_;
  std::vector<std::vector<Instant>> on_;  // by GPU, as in all_
  InOrder all_;
  bool made_ = false;
  std::vector<GpuId> log_;  // GPUs that changed
};

}  // namespace cleave
