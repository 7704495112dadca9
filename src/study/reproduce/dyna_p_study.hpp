#pragma once
// `cleave reproduce dyna-p`: the evaluation of *Dyna-P* (section 4), claim by claim. Every claim is
// worked out for the usual inputs, and for every combination of what the paper leaves open. Nothing
// is fitted to a figure that it is compared with: where the paper's figure lies outside what comes
// out, the page says so, and what comes nearest.

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "model/run_summary.hpp"
#include "study/reproduce/coruns.hpp"

namespace cleave {

/// One value by seed, and its middle half.
struct SeedSpread {
  double median = 0, low = 0, high = 0;
};

/// A sentence or a figure of the paper, and what comes out.
struct DynaPClaim {
  std::string section;
  std::string claim;     // with its unit
  std::string paper;     // as printed
  Stated stated = {};    // the same as a number, or what a number must be at least or at most
  std::string why = {};  // where the paper's does not come out
  int digits = 1;

  SeedSpread usual{};             // from the usual inputs, over the seeds
  double least = 0, most = 0;     // medians over all combinations of the open inputs
  double nearest = 0;             // the median that is nearest to what is stated
  std::vector<std::size_t> at{};  // by input: its value there, by number
  std::size_t changed = 0;        // how many of these are not the usual ones

  /// "agrees", "in range" or "outside".
  [[nodiscard]] std::string verdict() const;
};

/// A part of the evaluation: what is open there, and its claims.
struct DynaPExperiment {
  std::string name;
  std::string known;  // what the paper says and is used
  std::vector<OpenInput> inputs{};
  std::vector<DynaPClaim> claims{};
};

/// The claims of an experiment, by claim and seed, for one value of each of its inputs.
using PredictDynaP =
    std::function<Result<std::vector<std::vector<double>>>(std::span<const double> inputs)>;

/// Fills in what comes out of every combination.
[[nodiscard]] Result<void> sweep(DynaPExperiment& experiment, const PredictDynaP& predict);
/// "gap 30, partitions own": the inputs of `at` that are not the usual ones; "usual inputs".
[[nodiscard]] std::string inputs_text(const DynaPExperiment& experiment,
                                      const std::vector<std::size_t>& at);

/// What is run, with every seed.
struct PairedRun {
  std::string fleet, workload, scheduler;
  double checkpoint_s = 30;
  bool power = false;
  std::optional<double> cap_w{};  // with power
  friend auto operator<=>(const PairedRun&, const PairedRun&) = default;
};

/// Runs, each made once.
class PairedRuns {
 public:
  explicit PairedRuns(std::size_t seeds) : seeds_(seeds) {}

  [[nodiscard]] std::size_t seeds() const { return seeds_; }
  /// By seed; valid as long as this.
  [[nodiscard]] Result<const std::vector<RunSummary>*> of(const PairedRun& run);

 private:
  std::size_t seeds_;
  std::map<PairedRun, std::vector<RunSummary>> known_;
};

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
  std::vector<DynaPExperiment> experiments;
  std::vector<ChangeTable> changes;
};

[[nodiscard]] SeedSpread seed_spread(std::vector<double> values);

/// 2.2 and 3.2.2: the static configurations of figure 4, and the example of figure 7.
[[nodiscard]] Result<DynaPExperiment> dyna_p_configurations(PairedRuns& runs);
[[nodiscard]] Result<DynaPExperiment> dyna_p_example(PairedRuns& runs);
/// 4.1 and the errors of 4.2: fifty jobs on two A30.
[[nodiscard]] Result<DynaPExperiment> dyna_p_fifty(PairedRuns& runs);
/// 4.1: peak power and caps.
[[nodiscard]] Result<DynaPExperiment> dyna_p_power(PairedRuns& runs);
/// 4.2 and 4.3: small and large batches, and jobs at once, on one A30.
[[nodiscard]] Result<DynaPExperiment> dyna_p_batches(PairedRuns& runs);
[[nodiscard]] Result<DynaPExperiment> dyna_p_concurrency(PairedRuns& runs);
/// 4.3: 5,000 jobs on 160 A100.
[[nodiscard]] Result<DynaPExperiment> dyna_p_cluster(PairedRuns& runs, std::size_t jobs);
/// What the options of `dyna-p` do, one by one.
[[nodiscard]] Result<std::vector<ChangeTable>> dyna_p_changes(PairedRuns& runs);

/// The same with fewer jobs on the cluster, for tests.
[[nodiscard]] Result<DynaPStudy> reproduce_dyna_p(std::size_t seeds, std::size_t cluster_jobs);

/// The page docs/reproduction/dyna-p.md.
[[nodiscard]] std::string dyna_p_page(const DynaPStudy& study);

}  // namespace cleave
