#pragma once
// What a GPU's link to its host carries each way, and how much of it one GPU instance can use.
// Apart from the Grace Hopper superchip (*Taming GPU Underutilization via Static Partitioning*,
// table IV) nothing was measured under MIG; rows that were not measured say so.

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "model/gpu_model.hpp"

namespace cleave {

/// The link between one GPU and its host.
struct HostLink {
  double gb_per_s;  // each way, usable; GB are 10^9 bytes
  /// What the copy engines of one GPU instance reach, whatever its profile; the same as `gb_per_s`
  /// where no limit is known.
  double instance_gb_per_s;
  std::string_view source;
  bool inferred;  // not measured on this model
  /// What the processors of an instance with one and with two compute slices reach that read host
  /// memory themselves; 0: as much as the link, like those of larger instances.
  std::array<double, 2> direct_gb_per_s = {};

  /// What the processors of an instance reach, without copy engines.
  [[nodiscard]] constexpr double direct_rate(ComputeSlices compute) const {
    return gb_per_s * direct_share(compute);
  }
  /// The share of the link that one GPU instance can use, in (0, 1].
  [[nodiscard]] constexpr double instance_share() const { return instance_gb_per_s / gb_per_s; }
  /// The same where its processors read host memory themselves, without copy engines.
  [[nodiscard]] constexpr double direct_share(ComputeSlices compute) const {
    const auto slices = static_cast<std::size_t>(compute.value);
    if (slices < 1 || slices > direct_gb_per_s.size()) return 1;
    const double reached = direct_gb_per_s[slices - 1];
    return reached > 0 ? reached / gb_per_s : 1;
  }
};

/// Rates of one row of the paper's table IV, in GiB/s.
struct LinkRates {
  double both, to_host, to_device;
  double local;  // within the memory of the instance
};
/// A row of table IV, measured on an H100 with 96 GB of a GH200.
struct PublishedLinkRates {
  std::string_view profile;  // "none": with MIG off
  LinkRates copy_engines;    // cudaMemcpy, table IV(a)
  LinkRates direct;          // kernels that access the memory themselves, table IV(b)
};
[[nodiscard]] std::span<const PublishedLinkRates> published_link_rates();

/// The link of a model. A GPU that only its driver describes gets the slowest, marked as inferred.
[[nodiscard]] const HostLink& host_link(const GpuModel& model);

}  // namespace cleave
