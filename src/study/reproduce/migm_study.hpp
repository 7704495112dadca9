#pragma once
// `cleave reproduce migm`: the evaluation of *Managing Multi Instance GPUs for High Throughput and
// Energy Savings* (section 5, and the experiment of section 1), claim by claim, over what it leaves
// open.

#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "study/reproduce/claim_sweep.hpp"

namespace cleave {

/// The open inputs of power, which stand last among an experiment's: what work draws, idle power,
/// and whether slices or work decide what is drawn.
[[nodiscard]] std::vector<OpenInput> power_inputs();

/// What a run would draw, in joules, for these values of the power inputs. `full` is the same work
/// on the whole GPU; both are runs with power on a GPU of this model.
[[nodiscard]] double energy_of(const RunSummary& run, const RunSummary& full,
                               std::string_view model, std::span<const double> power);

/// The A100 with the five profiles of the paper, seeds in pairs, power counted.
[[nodiscard]] PairedRun migm_run(std::string workload, std::string scheduler);

/// By seed, what `compare` makes of two runs.
using CompareRuns = std::function<double(const RunSummary& one, const RunSummary& other)>;
[[nodiscard]] Result<std::vector<double>> compare_runs(PairedRuns& runs, const PairedRun& one,
                                                       const PairedRun& other,
                                                       const CompareRuns& compare);
/// Makespan of the other over this one's, and the same as an improvement in percent.
[[nodiscard]] double times_faster(const RunSummary& one, const RunSummary& other);
[[nodiscard]] double per_cent_faster(const RunSummary& one, const RunSummary& other);
/// Of two series by seed.
[[nodiscard]] std::vector<double> by_seed(const std::vector<double>& one,
                                          const std::vector<double>& other,
                                          double (*join)(double, double));

/// A figure of the paper.
[[nodiscard]] constexpr Stated figure(double value) {
  return {value, value};
}

/// Section 1: the sample on an A30. 5.1: the mixes of Rodinia, and Needleman-Wunsch.
[[nodiscard]] Result<SweptExperiment> migm_tight_fit(PairedRuns& runs);
[[nodiscard]] Result<SweptExperiment> migm_homogeneous(PairedRuns& runs);
[[nodiscard]] Result<SweptExperiment> migm_needleman_wunsch(PairedRuns& runs);
[[nodiscard]] Result<SweptExperiment> migm_heterogeneous(PairedRuns& runs);
/// 5.2.1: trainings.
[[nodiscard]] Result<SweptExperiment> migm_trainings(PairedRuns& runs);
/// 5.2.2: language models whose memory grows, and what is predicted of it.
[[nodiscard]] Result<SweptExperiment> migm_growing(PairedRuns& runs);
[[nodiscard]] Result<SweptExperiment> migm_alarms(PairedRuns& runs);

/// The whole study.
struct MigmStudy {
  std::size_t seeds = 0;
  std::vector<SweptExperiment> experiments;
};
[[nodiscard]] Result<MigmStudy> reproduce_migm(std::size_t seeds);

/// The page docs/reproduction/migm.md.
[[nodiscard]] std::string migm_page(const MigmStudy& study);

}  // namespace cleave
