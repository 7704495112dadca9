#pragma once
// Several mixes of MIGM under the baseline and both schemes: what its figure 4 shows of each, by
// seed.

#include <array>
#include <span>
#include <string>
#include <vector>

#include "study/reproduce/migm_study.hpp"

namespace cleave {

/// The panels of figure 4, relative to the baseline: times as fast, as little energy, as much
/// memory in use, as short a turnaround. By seed.
struct MixPanels {
  std::vector<double> throughput, energy, memory, turnaround;
};

/// A mix under scheme A and under scheme B.
struct MixGains {
  MixPanels a, b;
};

/// How the mixes are run.
struct MixTerms {
  bool equal_shares = true;  // scheme A
  std::optional<double> reconfiguration_s{};
  LinkSharing link = LinkSharing::spread;
  std::string forecaster = "none";
  std::span<const double> power = {};
};

[[nodiscard]] Result<MixGains> gains_of(PairedRuns& runs, const std::string& workload,
                                        const MixTerms& terms);

/// By seed, over all mixes: the least, the greatest, the mean of what `value` takes of each.
using MixValue = const std::vector<double>& (*)(const MixGains& mix);
[[nodiscard]] std::vector<double> least_of(std::span<const MixGains> mixes, MixValue value);
[[nodiscard]] std::vector<double> greatest_of(std::span<const MixGains> mixes, MixValue value);
[[nodiscard]] std::vector<double> mean_of(std::span<const MixGains> mixes, MixValue value);
/// 1.25 as 25.
[[nodiscard]] std::vector<double> as_per_cent(std::vector<double> times);

/// Whether a job is dealt to an instance beforehand (5.2.1), and how long changes of a GPU take.
[[nodiscard]] OpenInput shares_input();
[[nodiscard]] OpenInput changes_input();
[[nodiscard]] std::optional<double> change_seconds(double value);

}  // namespace cleave
