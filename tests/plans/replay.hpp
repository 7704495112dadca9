#pragma once
// Replays moves step by step on a fleet as it stands: every step legal in the state that it meets,
// the steps of a wave such that they may happen at once, nobody disturbed, and in the end
// everything where it is to be. Independent of what planned the moves; what may stand together on a
// GPU is said by `unlawful` alone.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scene.hpp"

namespace cleave::plans {

enum class Op { destroy, create, start, drain, stop };
std::string_view name(Op op);

struct Step {
  Op op;
  Position place;
  std::optional<std::size_t> work;  // of start, drain and stop; of create: who it is for, or nobody
};
using Wave = std::vector<Step>;

/// What is to be in the end: the seats of all work, and the instances that stand idle on each GPU.
struct End {
  Seats seats;
  std::vector<std::vector<Instance>> idle;
};

/// Instances of ours without work, on each GPU.
std::vector<std::vector<Instance>> idle_now(const Scene& scene);

/// The end that another fleet file over the same GPUs describes: its work by name, its idle
/// instances. What runs or waits now and is not in it has no seat.
End read_end(const Scene& scene, std::string_view goal_fleet);

/// The key `waves` of a plan as text; what it names and the scene does not have is added to
/// `found`.
std::vector<Wave> read_waves(const Scene& scene, std::string_view plan,
                             std::vector<std::string>& found);
/// The other way.
std::string waves_text(const Scene& scene, const std::vector<Wave>& waves);

/// Everything that is wrong with the moves, in words; empty: nothing is. Only the works in
/// `interruptible` may be without an instance for a while, beside those that are new or have no
/// seat in the end.
///
/// A work is in motion in a wave in which its replica starts or its old place is drained, and from
/// its interruption to its new start; neither when it is new nor when it ends.
std::vector<std::string> replay(const Scene& scene, const std::vector<Wave>& waves, const End& end,
                                const std::vector<std::size_t>& interruptible = {});

/// Starts elsewhere than where the work is to be.
std::size_t temporary_moves(const std::vector<Wave>& waves, const Seats& goal);

}  // namespace cleave::plans
