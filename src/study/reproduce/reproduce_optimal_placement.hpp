#pragma once
// `cleave reproduce optimal-placement`: the evaluation of *Optimal Workload Placement on
// Multi-Instance GPUs*, section 5, again: its seeded test cases (study/wpm/paper_cases.hpp) at 8
// and at 80 GPUs, its three use cases, its methods, its nine metrics (table 3) averaged over the
// cases and normalised against the highest value of each, as figures 9 to 11 show them; and what
// the paper claims, beside what comes out here. No time enters any of it: same seeds, same bytes.

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "planner/planner.hpp"
#include "study/wpm/paper_cases.hpp"

namespace cleave {

inline constexpr std::size_t table3_metrics = 9;

/// One of table 3, in the order of the figures.
struct Table3Metric {
  std::string_view key;    // as in the plan's JSON
  std::string_view title;  // as in the figures
  double (*value)(const PlanMetrics&);
};
const std::array<Table3Metric, table3_metrics>& table3();
/// Place in table3(); asserts that there is such a key.
std::size_t table3_index(std::string_view key);

/// One method on all cases of one use case and size.
struct MethodFigures {
  std::string method;  // "rules", "first-fit", "load-balanced", "optimal", "joint"
  std::array<double, table3_metrics> mean{};
  std::array<double, table3_metrics> normalised{};  // 0 where no method has any
  std::size_t pending_cases = 0;                    // cases that end with work pending
  std::size_t sequential_cases = 0;                 // cases that need a sequential migration
  std::size_t proven = 0;                           // "optimal" and "joint": cases with a proof
};

/// All methods on one problem and one number of GPUs.
struct UseCaseFigures {
  ProblemKind problem = ProblemKind::deploy;
  std::size_t gpus = 0;
  std::vector<MethodFigures> methods;

  [[nodiscard]] const MethodFigures& of(std::string_view method) const;
};

/// How many cases end with work pending, by rules, first-fit, load-balanced and optimal.
using PendingCases = std::array<std::size_t, 4>;
constexpr std::array<std::string_view, 4> compared_methods = {"rules", "first-fit", "load-balanced",
                                                              "optimal"};
/// What the paper says of them, of 100 cases; empty: nothing.
std::optional<std::size_t> pending_in_paper(std::size_t gpus, std::size_t method);

/// New work deployed on cases drawn in one of the ways that the paper's words allow.
struct OpenChoice {
  PaperCase drawn;                    // but for size and seed
  std::vector<PendingCases> pending;  // by size
  double from_paper = 0;  // summed differences from what the paper says, in cases of 100

  [[nodiscard]] bool kept() const {
    return !drawn.scattered && !drawn.pass_target && !drawn.pass_sixty && !drawn.media &&
           !drawn.preferred;
  }
};

/// What the reasons for differences from the paper rest on, run to see whether they are right.
struct ReasonChecks {
  /// By size: GPUs in use after compaction by the rules, if work goes to the first GPU that fits it
  /// instead of the fullest.
  std::vector<double> compacted_on_first;
  /// By size: deployment where running work is at preferred starts. GPUs of the optimum, and its
  /// utilization over joint's, the smaller of memory and compute, and its availability over
  /// joint's.
  std::vector<double> preferred_gpus, preferred_share, preferred_availability;
  /// At the smallest size: wasted slices if migration is weighed before waste.
  double compacted_moving_less = 0, joint_moving_less = 0;
};

/// The sizes and cases to run.
struct ReproductionOptions {
  std::size_t cases = 100;  // seeds 1, 2, ...
  std::vector<std::size_t> gpus = {8, 80};
};

/// The whole evaluation.
struct Reproduction {
  ReproductionOptions options;
  std::vector<UseCaseFigures> figures;  // by use case, then size
  /// Reconfiguration with the baselines' replicas beside the running work, by size.
  std::vector<UseCaseFigures> beside;
  std::vector<OpenChoice> choices;  // every way to draw the cases
  ReasonChecks checks;

  [[nodiscard]] const UseCaseFigures& of(ProblemKind problem, std::size_t gpus) const;
  [[nodiscard]] const UseCaseFigures& beside_of(std::size_t gpus) const;
};

Result<Reproduction> reproduce_optimal_placement(const ReproductionOptions& options);

Result<ReasonChecks> check_reasons(const ReproductionOptions& options);

/// Deploys the cases of every choice.
Result<std::vector<OpenChoice>> try_choices(const ReproductionOptions& options);
/// How cases are drawn, pending cases by size and method, from_paper; the first row is the paper's.
std::vector<std::string> choices_header(const Reproduction& reproduction);
std::vector<std::vector<std::string>> choices_rows(const Reproduction& reproduction);
/// Which way is nearest to the paper, and how far apart they are.
std::string choices_remark(const Reproduction& reproduction);

/// A sentence of the paper, with its figure and ours.
struct PaperClaim {
  std::string section, claim, paper, ours;
  std::string verdict;  // "agrees", "more", "less", "not so"
  std::string why;      // where it differs: the reading behind it
};
/// Needs figures at 8 and at 80 GPUs.
std::vector<PaperClaim> claims(const Reproduction& reproduction);

/// The page docs/reproduction/optimal-placement.md.
std::string page(const Reproduction& reproduction);

/// Figure 9 (deploy), 10 (compact) or 11 (reconfigure) as bars, a panel for each size.
std::string figure_svg(const Reproduction& reproduction, ProblemKind problem);
/// "optimal-placement-figure-9.svg"
std::string figure_file(ProblemKind problem);

}  // namespace cleave
