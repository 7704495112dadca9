#pragma once
// Workloads generated from a seed: a research laboratory's day for demonstrations, and the
// workloads of the papers' evaluations as far as they describe them. Where a paper leaves something
// open there is an option with a default; docs/workloads.md says which is which. A family of
// generators is one file, a generator one row of the table that help, documentation, commands and
// tests use.

#include <cstdint>
#include <span>
#include <string_view>

#include "base/options.hpp"
#include "base/result.hpp"
#include "model/job.hpp"

namespace cleave {

/// One generator.
struct GeneratorRow {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  std::string_view fleet;  // the fleet it is meant for, in short: "2xA30-24GB"
  std::span<const OptionRow> options;
  /// `options` are complete. The same seed and options give the same jobs.
  Result<Workload> (*make)(std::uint64_t seed, const OptionTexts& options);
};

/// All of them, family by family.
std::span<const GeneratorRow> generators();

/// `spec` as the user writes it: NAME[:key=value[;key=value]...].
[[nodiscard]] Result<Workload> generate_workload(std::string_view spec, std::uint64_t seed);

// The families.
std::span<const GeneratorRow> lab_day_generators();
std::span<const GeneratorRow> services_generators();
std::span<const GeneratorRow> migm_generators();
std::span<const GeneratorRow> online_generators();
std::span<const GeneratorRow> taming_generators();
std::span<const GeneratorRow> dyna_p_generators();

}  // namespace cleave
