#pragma once
// The applications of *Taming GPU Underutilization via Static Partitioning and Fine-grained CPU
// Offloading*, III-B, table III: what the paper says of each, and the range of what it leaves open.
// The generator `taming` and the co-runs of `cleave reproduce` use the same rows.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"

namespace cleave {

/// The GPU that the paper measured.
inline constexpr std::string_view taming_gpu = "H100-96GB-GH200";

/// One of figure 4's classes of scaling, or what the text says instead.
struct TamingScaling {
  std::vector<double> bound;  // GPU-bound parts of a job's time on the whole GPU, ascending
  std::size_t usual = 0;
  std::string why;  // it is open, and where the range comes from

  [[nodiscard]] double part() const { return bound[usual]; }
};

/// The variant above 12 GB that section VI uses.
struct TamingLarger {
  std::string_view input;
  MiB memory;
  std::string_view memory_from;
};

/// One application with one input.
struct TamingApplication {
  std::string_view name;  // "qiskit", as users write it
  std::string_view title, input, pipelines;
  TamingScaling scaling;
  MiB memory;  // of the variant that fits 1g.12gb
  std::string_view memory_from;
  double transfer_share = 0;          // of its time on the link to the host
  std::optional<double> occupancy{};  // of the SMs of the whole GPU, where the text states it
  std::optional<TamingLarger> larger{};
};
std::span<const TamingApplication> taming_applications();
/// Asserts that there is one of this name.
const TamingApplication& taming_application(std::string_view name);

/// NekRS's SM occupancy in % rises from 12 (13.5 in V-A) to 25 when seven share the GPU: as much as
/// its throughput, if equal work keeps equal numbers of warps for equal times.
inline constexpr double nekrs_shared = 25, nekrs_alone = 12, nekrs_alone_too = 13.5;

/// The part of a job's time that is GPU-bound if that takes `ratio` times the rest.
[[nodiscard]] double bound_part(double ratio);
/// The GPU-bound part of a job of which seven on 1g do `gain` times the work of one on the whole
/// GPU, by the law of slices.
[[nodiscard]] double bound_of_gain(double gain);

}  // namespace cleave
