#pragma once
// The optimum of a small planning problem, by looking at everything. On each GPU every way to seat
// every choice of works is walked; then GPU is joined to GPU, keeping for each set of seated works
// what is best so far. Since the objectives are sums over GPUs, compared in one fixed order, the
// best of a fleet is made of the best of its parts; with limits on migrations, of those parts that
// are not beaten in all respects at once.

#include <optional>

#include "figures.hpp"
#include "scene.hpp"

namespace cleave::plans {

struct Best {
  Objectives value{};
  Seats seats;
};

/// Nothing where no seats keep the constraints and limits. Only the first `count` objectives are
/// minimised; with fewer than four, and without limits, it does not matter who of the running work
/// sits where, and larger fleets can be looked at.
std::optional<Best> exhaustive_best(const Scene& scene, std::size_t count = objectives);

/// The same without any thought: every seat of every work with every seat of all others. Nothing
/// also where that is more than `most` combinations; then `too_many` is set.
std::optional<Best> best_of_all_combinations(const Scene& scene, std::size_t most, bool& too_many);

/// The least sum of the objectives, each times its weight, in the same way.
std::optional<std::int64_t> least_sum(const Scene& scene, const Objectives& weights,
                                      std::size_t most, bool& too_many);

}  // namespace cleave::plans
