#pragma once
// How long it takes to create and destroy GPU instances. One law, fitted to the medians of 300 runs
// each of 19 layouts of an A100 40 GB (spcl/gpuless-thesis, `mig-reconfiguration`): with N
// instances that hold S memory slices together, in one go,
//
//     create  = 56.9 + 6.52 N + 4.22 S ms        destroy = 121.3 + 2.03 N + 4.28 S ms
//
// except for one instance that takes the whole GPU, which is faster (51.8 and 120.2 ms).
//
// What the figures do not hold: compute instances (only GPU instances were made), a GPU that is
// busy, other models. The constant part includes the start of the command that did it, so a program
// that calls the driver's library itself will be faster. Everything that reports these times says
// so.

#include "base/time.hpp"
#include "model/geometry.hpp"

namespace cleave {

/// Time of creating all of `instances` on one GPU with one command; zero for none.
Duration create_time(const Geometry& geometry, PlacementSet instances);

/// Time of destroying all of `instances` on one GPU with one command; zero for none.
Duration destroy_time(const Geometry& geometry, PlacementSet instances);

/// What to say beside any figure that holds such times.
inline constexpr const char* reconfiguration_note =
    "times to create and destroy are medians of GPU instances on an idle A100 40 GB; compute "
    "instances are "
    "not in them";

}  // namespace cleave
