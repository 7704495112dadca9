#pragma once
// What a GPU draws, and how much of that each of its instances is to answer for.
//
//   P = min(cap, P0 + sum of kappa_i x (cap - P0) x share_i x busy_i)
//
// P0 is what the GPU draws when nothing runs, a share of 1 kept busy draws what is left up to the
// cap. Where the instances ask for more than the cap leaves, they get it in proportion, and clocks
// fall.
//
// The form follows from what *Managing Multi Instance GPUs* and *Taming GPU Underutilization via
// Static Partitioning* report: the energy of a job without the idle part hardly depends on its
// profile, and the idle part is shared. Drivers measure whole GPUs alone, and no study has found
// one law for all work on MIG: these are the watts of a scenario, not a prediction. Nobody knows
// the kappa of a job before measuring it; 1.06 to 1.15 fits the heaviest work of the second paper,
// 0 what only keeps the host busy.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "model/gpu_model.hpp"

namespace cleave {

/// Thousandths of a watt, as drivers count them: whole numbers, so that parts add up exactly.
using Milliwatts = Count<struct MilliwattKind, std::int64_t>;

constexpr double in_watts(Milliwatts power) {
  return static_cast<double>(power.value) / 1000;
}

/// What is known of a model's power. Of models in several forms, the one on a server's board (SXM).
struct GpuPower {
  Milliwatts cap;              // what the driver allows by default
  Milliwatts idle;             // with no process on it
  std::string_view source;     // of both
  bool cap_inferred = false;   // from a model of its family
  bool idle_inferred = false;  // from a model of its family; no capture of an idle one was found
};
/// Models that no row names are like the first of their architecture, all inferred.
[[nodiscard]] const GpuPower& gpu_power(const GpuModel& model);

/// What runs on one instance.
struct InstanceLoad {
  double share;  // of the GPU: power_share(), or another where memory bandwidth is what limits the
                 // work
  double busy;   // share of time in which it keeps its part of the GPU busy, 0 to 1
  double kappa = 1;  // how much it draws beside work that draws the cap on the whole GPU
};

/// An instance's compute slices of the GPU's.
[[nodiscard]] double power_share(const GpuModel& model, const Profile& profile);

struct PowerOptions {
  double idle_factor = 1;  // of P0 while contexts are open: 1 to 2 by the few reports there are
  double beta = 1;         // clocks follow (power)^(1/beta); measurements lie between 0.7 and 1.6
};
inline constexpr double least_beta = 0.7, most_beta = 1.6;

struct PowerSplit {
  Milliwatts total;                   // idle and all instances, exactly; never above the cap
  Milliwatts idle;                    // of no instance
  std::vector<Milliwatts> instances;  // in the order of the loads
  bool capped = false;
  double clock =
      1;  // beside clocks without the cap; the compute part of work is slower by this factor
};

/// Shares beyond 0 to 1 are cut there, whatever is below zero or not a number counts as zero.
[[nodiscard]] PowerSplit power_of(const GpuModel& model, std::span<const InstanceLoad> loads,
                                  const PowerOptions& options = {});

}  // namespace cleave
