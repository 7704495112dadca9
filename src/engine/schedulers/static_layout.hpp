#pragma once
// Fixed layouts of a fleet: chosen once, from a text or by a rule, and made on the GPUs. What
// others own and what the fleet's own work holds stays as it is; a layout is made in what is left.

#include <string_view>
#include <vector>

#include "engine/layout_search.hpp"
#include "engine/seats.hpp"

namespace cleave {

/// The instances that each GPU of a fleet is to have, by GPU.
using FleetLayout = std::vector<PlacementSet>;

/// The shape of Dyna-P's StaCon (section 4), which is 2g.12gb, 1g.6gb, 1g.6gb on the A30: one
/// instance of half the GPU, then two of a quarter. For any model: of the plain profiles with at
/// most half of the memory slices (then a quarter, and a quarter again) that still fit, the one
/// with most compute, then most memory, at its lowest start. On an A100 that is 4g, 2g and the 1g
/// of double memory, where the profiles have it.
PlacementSet stacon_layout(const Geometry& geometry);

/// Reads `text`: `stacon`; `file`, the idle instances that the fleet shows; `best`
/// (layout_search.hpp); or a layout for every GPU, profile@start joined by '+'. On a fleet of
/// several models a part is for those models that have the profile, or with MODEL: in front for
/// that one; a GPU whose model no part is for keeps the instances it shows. What cannot stand
/// beside walls and held work is left out.
[[nodiscard]] Result<FleetLayout> choose_layout(std::string_view text, LayoutGoal goal,
                                                const SchedulerSetup& setup);

/// The part of `wanted` that fits beside walls and held work, by start.
PlacementSet beside_others(const Geometry& geometry, const GpuState& gpu, PlacementSet wanted);

/// Makes it on a GPU as far as `beside_others` goes: idle instances of it stay, other idle ones are
/// destroyed, what is missing is created. Answers what the GPU then has of it.
PlacementSet make_layout(Seats& seats, GpuId gpu, PlacementSet wanted,
                         std::vector<Command>& commands);

}  // namespace cleave
