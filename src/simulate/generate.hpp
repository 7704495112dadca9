#pragma once
// Workloads made up from a seed, for demonstrations and tests. What is invented says so in its summary.

#include <cstdint>
#include <span>
#include <string_view>

#include "model/job.hpp"

namespace cleave {

struct GeneratorRow {
  std::string_view name;
  std::string_view summary;
  Workload (*make)(std::uint64_t seed);
};

std::span<const GeneratorRow> generators();

}  // namespace cleave
