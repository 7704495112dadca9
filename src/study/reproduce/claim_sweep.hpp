#pragma once
// Claims of a paper's evaluation, each worked out for the usual inputs and for every combination of
// what the paper leaves open, over paired seeds. Nothing is fitted to a figure that it is compared
// with: where the paper's figure lies outside what comes out, pages say so, and what comes nearest.

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
struct SweptClaim {
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

  /// Whether a number is stated; else it is a sentence, whose bounds are ours.
  [[nodiscard]] bool is_figure() const {
    return stated.least && stated.most && *stated.least == *stated.most;
  }
  /// "agrees", "in range" or "outside".
  [[nodiscard]] std::string verdict() const;
};

// What words are taken for, in per cent: the same wherever they stand.
inline constexpr Stated word_comparable{-10, 10}, word_slightly{0, 10};
/// Better, lower, reduced: a tie is enough.
inline constexpr Stated word_better{0, {}};

/// A part of the evaluation: what is open there, and its claims.
struct SweptExperiment {
  std::string name;
  std::string known;  // what the paper says and is used
  std::vector<OpenInput> inputs{};
  std::vector<SweptClaim> claims{};
  std::vector<std::string> commands{};  // that run it again with the usual inputs
};

/// The claims of an experiment, by claim and seed, for one value of each of its inputs.
using PredictClaims =
    std::function<Result<std::vector<std::vector<double>>>(std::span<const double> inputs)>;

/// Fills in what comes out of every combination.
[[nodiscard]] Result<void> sweep(SweptExperiment& experiment, const PredictClaims& predict);
/// "gap 30, partitions own": the inputs of `at` that are not the usual ones; "usual inputs".
[[nodiscard]] std::string inputs_text(const SweptExperiment& experiment,
                                      const std::vector<std::size_t>& at);

[[nodiscard]] SeedSpread seed_spread(std::vector<double> values);

/// What is run, with every seed.
struct PairedRun {
  std::string fleet, workload, scheduler;
  double checkpoint_s = 30;
  bool power = false;
  std::optional<double> cap_w{};   // with power
  std::string profiles = "plain";  // as ProfileChoice::parse takes them
  std::string forecaster = "none";
  LinkSharing link = LinkSharing::spread;
  bool slow_allocation = false;
  std::optional<double> reconfiguration_s{};  // of each change of a GPU; as measured
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

/// What the paper says: a number as printed; a sentence with the bounds that it is judged by,
/// "comparable: within 10 %".
[[nodiscard]] std::string paper_text(const SweptClaim& claim);
/// A section of a page: what is given, what is open, and the claims.
[[nodiscard]] std::string experiment_section(const SweptExperiment& experiment);
/// "Of 9 claims 5 agree, 3 are in range and 1 are outside."
[[nodiscard]] std::string count_of_claims(const std::vector<SweptExperiment>& experiments);
/// A number with these digits after the point; never a negative zero.
[[nodiscard]] std::string page_number(double value, int digits);

}  // namespace cleave
