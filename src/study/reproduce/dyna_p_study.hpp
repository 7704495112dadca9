#pragma once
// `cleave reproduce dyna-p`: the evaluation of *Dyna-P* (section 4), claim by claim. Every claim is
// worked out for the usual inputs, and for every combination of what the paper leaves open. Nothing
// is fitted to a figure that it is compared with: where the paper's figure lies outside what comes
// out, the page says so, and what comes nearest.

#include <string>
#include <vector>

#include "base/result.hpp"
#include "study/reproduce/claim_sweep.hpp"

namespace cleave {

/// Medians and quartiles of a scheduler's figures on one workload, relative to the first one.
struct ChangeRow {
  std::string scheduler;
  SeedSpread turnaround, makespan;  // relative
  SeedSpread misses, reconfigurations, restarts;
};
/// What each option of `dyna-p` does on one workload.
struct ChangeTable {
  std::string fleet, workload;
  std::vector<ChangeRow> rows;
};

/// The whole study.
struct DynaPStudy {
  std::size_t seeds = 0;
  std::vector<SweptExperiment> experiments;
  std::vector<ChangeTable> changes;
};

// Inputs that are open in several parts.
/// Seconds that MISO takes to write and restore a checkpoint.
[[nodiscard]] OpenInput open_checkpoint();
/// What a JCT is, and what a value of it takes of a run.
[[nodiscard]] OpenInput open_jct();
[[nodiscard]] const Distribution& jct_of(const RunSummary& run, double input);

/// 2.2 and 3.2.2: the static configurations of figure 4, and the example of figure 7.
[[nodiscard]] Result<SweptExperiment> dyna_p_configurations(PairedRuns& runs);
[[nodiscard]] Result<SweptExperiment> dyna_p_example(PairedRuns& runs);
/// 4.1 and the errors of 4.2: fifty jobs on two A30.
[[nodiscard]] Result<SweptExperiment> dyna_p_fifty(PairedRuns& runs);
/// 4.1: peak power and caps.
[[nodiscard]] Result<SweptExperiment> dyna_p_power(PairedRuns& runs);
/// 4.2 and 4.3: small and large batches, and jobs at once, on one A30.
[[nodiscard]] Result<SweptExperiment> dyna_p_batches(PairedRuns& runs);
[[nodiscard]] Result<SweptExperiment> dyna_p_concurrency(PairedRuns& runs);
/// 4.3: 5,000 jobs on 160 A100.
[[nodiscard]] Result<SweptExperiment> dyna_p_cluster(PairedRuns& runs, std::size_t jobs);
/// What the options of `dyna-p` do, one by one.
[[nodiscard]] Result<std::vector<ChangeTable>> dyna_p_changes(PairedRuns& runs);

/// The same with fewer jobs on the cluster, for tests.
[[nodiscard]] Result<DynaPStudy> reproduce_dyna_p(std::size_t seeds, std::size_t cluster_jobs);

/// The page docs/reproduction/dyna-p.md.
[[nodiscard]] std::string dyna_p_page(const DynaPStudy& study);

}  // namespace cleave
