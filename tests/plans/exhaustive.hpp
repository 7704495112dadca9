#pragma once
// The optimum of a small planning problem, by trying everything. On each GPU every way to seat
// every choice of works is tried; then GPU is joined to GPU, keeping the best so far for each set
// of seated works. Since the objectives are sums over GPUs, compared in one fixed order, the best
// of a fleet consists of the best of its parts; with limits on migrations, of the undominated
// parts.

#include <optional>

#include "figures.hpp"
#include "scene.hpp"

namespace cleave::plans {

/// The best value, with seats that reach it.
struct Best {
  Objectives value{};
  Seats seats;
};

/// Empty if no seats keep the constraints and limits. Only the first `count` objectives are
/// minimised. With fewer than four, and without limits, it does not matter which running work sits
/// where, so larger fleets can be searched.
std::optional<Best> exhaustive_best(const Scene& scene, std::size_t count = objectives);

/// The same without any shortcut: every seat of every work with every seat of all others. Also
/// empty if that is more than `most` combinations; then `too_many` is set.
std::optional<Best> best_of_all_combinations(const Scene& scene, std::size_t most, bool& too_many);

/// The smallest weighted sum of the objectives, in the same way.
std::optional<std::int64_t> least_sum(const Scene& scene, const Objectives& weights,
                                      std::size_t most, bool& too_many);

}  // namespace cleave::plans
