#pragma once
// What a GPU loses to MIG: processors and memory that belong to no instance, whatever runs. From
// *Taming GPU Underutilization via Static Partitioning and Fine-grained CPU Offloading*, III-C and
// Table II:
//
//   wasted processors = those of the GPU - the sum over its instances
//   wasted memory     = usable memory of the GPU - the sum over its instances
//
// The memory of the GPU is what its largest instance can use (reading T6). For one profile alone
// the table has two counts of instances (reading T4): as printed, the smaller of the GPU's compute
// slices and floor(memory slices of the GPU / of the profile), which reproduces every printed
// number; and achievable, as many as can exist beside each other. The first is too large for 2g and
// 4g on a GPU with eight memory slices, and may need more than the GPU has: then the waste is below
// zero.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/geometry.hpp"

namespace cleave {

/// A number of equal instances. Memory has the caller's unit; unknown values are empty.
struct InstanceCount {
  std::optional<double> sms, memory;  // of one
  double count = 1;
};

/// What a GPU has.
struct GpuTotals {
  std::optional<double> sms, memory;
};

/// Empty if a number it depends on is.
struct WastedResources {
  std::optional<double> sms, sms_percent, memory;
};

/// What the GPU has and its instances do not have. Negative if they have more than it.
[[nodiscard]] WastedResources wasted_resources(const GpuTotals& gpu,
                                               std::span<const InstanceCount> instances);

/// The waste of a GPU that is divided into instances of one profile.
struct WasteRow {
  std::string profile;
  std::optional<double> sms, memory;  // of one instance
  int printed_instances = 0, achievable_instances = 0;
  WastedResources as_printed, achievable;
};

/// A GPU model's processors, including those that MIG never assigns, and the memory that its
/// largest instance can use, in MiB.
[[nodiscard]] GpuTotals totals_of(const GpuModel& model);

/// The most instances of this profile that fit on an empty GPU.
[[nodiscard]] int most_instances(const Geometry& geometry, const Profile& profile);

/// A row for each profile of the geometry, from large to small; memory in MiB.
[[nodiscard]] std::vector<WasteRow> waste_table(const Geometry& geometry);

/// The instances of a layout, memory in MiB.
[[nodiscard]] std::vector<InstanceCount> counts_of(std::span<const Geometry::Written> layout);

/// A line of the paper's Table II, for an H100 with 96 GB; memory in GiB.
struct PublishedWaste {
  std::string_view profile;
  int sms;
  double memory;
  int memory_slices, max_instances;
  std::string_view printed_sms;  // "6/9%": of a 4g and a 3g, and of two 3g
  double printed_memory;
};
[[nodiscard]] std::span<const PublishedWaste> published_waste();
/// 132 processors, 94.5 GiB.
[[nodiscard]] GpuTotals published_totals();
/// The same table computed, in its order; memory in GiB.
[[nodiscard]] std::vector<WasteRow> published_waste_table();

}  // namespace cleave
