#pragma once
// Replays moves step by step on a fleet: every step legal in the state that it meets, the steps of
// a wave such that they may happen at once, no work interrupted, and in the end everything at its
// goal. Independent of the planner; only `unlawful` decides what may coexist on a GPU.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scene.hpp"

namespace cleave::plans {

/// What one step does.
enum class Op { destroy, create, start, drain, stop };
std::string_view name(Op op);

/// One step of a plan.
struct Step {
  Op op;
  Position place;
  /// Of start, drain and stop; of create: the work it is for, or empty.
  std::optional<std::size_t> work;
};
using Wave = std::vector<Step>;

/// The end state: the seats of all work, and the idle instances on each GPU.
struct End {
  Seats seats;
  std::vector<std::vector<Instance>> idle;
};

/// Our instances without work, on each GPU.
std::vector<std::vector<Instance>> idle_now(const Scene& scene);

/// The end state given by another fleet file over the same GPUs: its work by name, its idle
/// instances. Work that runs or waits now and is not in it has no seat.
End read_end(const Scene& scene, std::string_view goal_fleet);

/// The key `waves` of a plan as text; names that the scene does not have are added to `found`.
std::vector<Wave> read_waves(const Scene& scene, std::string_view plan,
                             std::vector<std::string>& found);
/// The inverse.
std::string waves_text(const Scene& scene, const std::vector<Wave>& waves);

/// Everything that is wrong with the moves, in words; empty: nothing. Only the works in
/// `interruptible` may be without an instance for a while, besides new works and those without a
/// seat in the end.
///
/// A work is in motion in a wave in which its replica starts or its old place is drained, and from
/// its interruption to its new start; never when it is new or ends.
std::vector<std::string> replay(const Scene& scene, const std::vector<Wave>& waves, const End& end,
                                const std::vector<std::size_t>& interruptible = {});

/// A start at a place other than the work's goal.
std::size_t temporary_moves(const std::vector<Wave>& waves, const Seats& goal);

}  // namespace cleave::plans
