#pragma once
// How long it takes to create and destroy GPU instances. One law, fitted to the medians of 300 runs
// each of 18 layouts of an A100 40 GB (spcl/gpuless-thesis, `mig-reconfiguration`): for N instances
// with S memory slices in total, with one command,
//
//     create  = 56.9 + 6.52 N + 4.22 S ms        destroy = 121.3 + 2.03 N + 4.28 S ms
//
// except for one instance on the whole GPU, which is faster (51.8 and 120.2 ms).
//
// The figures do not cover compute instances (only GPU instances were made), busy GPUs, or other
// models. The constant part includes starting the command, so a program that calls the driver's
// library itself is faster. Everything that reports these times says so.

#include <cstdint>
#include <optional>
#include <span>

#include "base/time.hpp"
#include "model/geometry.hpp"

namespace cleave {

/// base + per_instance N + per_slice S, for N >= 2.
struct ReconfigurationLaw {
  double base_ms, per_instance_ms, per_slice_ms;
};
inline constexpr ReconfigurationLaw create_law = {56.9, 6.52, 4.22};
inline constexpr ReconfigurationLaw destroy_law = {121.3, 2.03, 4.28};

/// The measured time of a layout; S counts eighths of the GPU's memory.
struct MeasuredLayout {
  int instances, memory_slices;
  double ms;
};
/// By least squares, from the layouts of two or more instances among these. Empty if they do not
/// determine it.
[[nodiscard]] std::optional<ReconfigurationLaw> fit_reconfiguration(
    std::span<const MeasuredLayout> layouts);
[[nodiscard]] double reconfiguration_ms(const ReconfigurationLaw& law, int instances,
                                        double memory_slices);

/// The time to create all of `instances` on one GPU with one command; zero for none.
Duration create_time(const Geometry& geometry, PlacementSet instances);

/// The time to destroy all of `instances` on one GPU with one command; zero for none.
Duration destroy_time(const Geometry& geometry, PlacementSet instances);

/// How single times stray from the median, from the same 300 runs of each layout: most are normal
/// about it (in the median row a twentieth are 4 % shorter), and some come about 75 ms later. The
/// 95th percentile lies more than 50 ms above the median in 19 of the 36 rows, the longest 77 to
/// 144 ms in all.
struct ReconfigurationSpread {
  double deviation = 0.025;  // of the normal part, as a share of the median
  double late_share = 0.06;
  double late_ms = 75;
};
/// A time drawn about `median`: the same for the same numbers, and never below half of it.
Duration drawn_time(Duration median, std::uint64_t seed, std::uint64_t which, std::uint64_t draw,
                    const ReconfigurationSpread& spread = {});

/// The remark for any figure that includes such times.
inline constexpr const char* reconfiguration_note =
    "times to create and destroy are medians of GPU instances on an idle A100 40 GB; compute "
    "instances are not in them";

}  // namespace cleave
