#pragma once
// Whether jobs are stopped, judged by what becomes of all that run and wait: with each change the
// next starts are simulated forward from there, and the sums of the ends compared.

#include <optional>
#include <span>
#include <vector>

#include "engine/adaptive/forward_view.hpp"
#include "engine/adaptive/gpu_proposals.hpp"

namespace cleave {

/// What is expected with a change, and without.
class ForwardChanges {
 public:
  /// The books must outlive it, and stay as they are.
  ForwardChanges(Books& books, const PlaceFinder& finder);

  /// What all ends cost if only starts follow, after this number of tries.
  [[nodiscard]] double cost_as_it_is(std::size_t tries) const;
  /// The same after a proposal was carried out; more for each job that it disturbs where times are
  /// not known.
  [[nodiscard]] double cost_with(const GpuProposal& it, std::size_t tries) const;
  /// How many proposals may be looked at.
  [[nodiscard]] std::size_t most_proposals() const;

 private:
  [[nodiscard]] double cost(std::span<const ForwardGpu> gpus, std::span<const ForwardJob> jobs,
                            std::size_t tries) const;
  [[nodiscard]] ForwardGpu changed(const GpuProposal& it) const;

  Books& books_;
  ForwardView view_;
};

/// Of these proposals, one for each GPU, and of those that make room for one of their newcomers,
/// the one that disturbs jobs and is worth it most. Empty: none is.
[[nodiscard]] std::optional<GpuProposal> best_change(Books& books, const PlaceFinder& finder,
                                                     std::span<const GpuProposal> proposals);

}  // namespace cleave
