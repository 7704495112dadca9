#pragma once
// What a GPU draws, and how much of that is due to each of its instances.
//
//   P = min(cap, P0 + sum of kappa_i x (cap - P0) x share_i x busy_i)
//
// P0 is what the GPU draws when nothing runs. A share of 1 that is kept busy draws all that is left
// up to the default cap. If the instances ask for more than the cap in force, each gets its
// proportion and clocks fall.
//
// The form follows from what *Managing Multi Instance GPUs* and *Taming GPU Underutilization via
// Static Partitioning* report: the energy of a job without the idle part hardly depends on its
// profile, and the idle part is shared. Drivers measure whole GPUs only, and no study has found one
// law for all work on MIG: these are the watts of a scenario, not a prediction. The kappa of a job
// is not known before it is measured; 1.06 to 1.15 fits the heaviest work of the second paper, 0
// fits work that only keeps the host busy.

#include <cstdint>
#include <optional>
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

/// What is known of a model's power. Where a model is sold in several forms, that of the server
/// board (SXM).
struct GpuPower {
  Milliwatts cap;              // what the driver allows by default
  Milliwatts idle;             // with no process on it
  std::string_view source;     // of both
  bool cap_inferred = false;   // from a model of its family
  bool idle_inferred = false;  // from a model of its family; no capture of an idle one was found
};
/// The power of a model. A GPU that only its driver describes gets that of its architecture, marked
/// as inferred.
[[nodiscard]] const GpuPower& gpu_power(const GpuModel& model);

/// What runs on one instance.
struct InstanceLoad {
  /// Of the GPU: the share of its compute slices, or another for work that bandwidth limits.
  double share;
  double busy;       // share of the time in which it keeps its part of the GPU busy, 0 to 1
  double kappa = 1;  // what it draws, relative to work that reaches the cap on the whole GPU
};

/// Where the few published measurements disagree.
struct PowerOptions {
  double idle_factor = 1;  // of P0 while contexts are open: 1 to 2 in published reports
  double beta = 1;         // clocks follow (power)^(1/beta); measurements lie between 0.7 and 1.6
  /// A site's cap where it is below the model's default; demand does not change with it. At least
  /// what an idle GPU draws and a watt.
  std::optional<Milliwatts> cap = {};
};
inline constexpr double least_beta = 0.7, most_beta = 1.6;

/// A GPU's power, divided among its instances.
struct PowerSplit {
  Milliwatts total;                   // idle plus all instances, exactly; never above the cap
  Milliwatts idle;                    // due to no instance
  std::vector<Milliwatts> instances;  // in the order of the loads
  bool capped = false;
  /// Relative to clocks without the cap: the compute part of work is slower by this factor.
  double clock = 1;
};

/// What a GPU draws at most, and when nothing runs on it.
struct PowerBounds {
  Milliwatts cap, idle;
  /// What a load with a share of 1 that is always busy asks for beside the idle part.
  Milliwatts span;
};
[[nodiscard]] PowerBounds power_bounds(const GpuModel& model, const PowerOptions& options = {});

/// What a load asks for, whatever the cap. The share is cut to 0 to 1, and so is `busy`; values
/// below zero or not a number count as zero.
[[nodiscard]] Milliwatts power_asked(const PowerBounds& bounds, const InstanceLoad& load);

/// What the loads that ask for `asked` get when together they ask for more than the cap leaves: in
/// proportion, and exactly cap less idle in total. Returns the clock, see PowerSplit.
double divide_cap(const PowerBounds& bounds, double beta, std::span<Milliwatts> asked);

/// The loads as power_asked has them.
[[nodiscard]] PowerSplit power_of(const GpuModel& model, std::span<const InstanceLoad> loads,
                                  const PowerOptions& options = {});

}  // namespace cleave
