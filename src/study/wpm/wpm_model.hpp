#pragma once
// WPM as a mixed-integer program: its columns and rows, and what they stand for. How the paper was
// read says study/wpm/wpm.hpp.

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "planner/problem.hpp"
#include "study/wpm/wpm_bins.hpp"
#include "study/wpm/wpm_search.hpp"

namespace cleave {

constexpr int wpm_absent = -1;

/// Work that is told apart from other work: a workload, or equal ones that come from anywhere, or
/// equal ones of one GPU that stay there.
struct WpmItem {
  const Profile* profile;
  std::int64_t count = 1;
  std::int64_t fresh = 0;           // of these, how many are new and may be pending
  std::optional<std::size_t> home;  // the GPU where they run
  bool only_home = false;           // columns for bins of that GPU only
  int row = wpm_absent;             // of (2e)
  int pending = wpm_absent;         // column
};

/// The columns of one bin, beside its x.
struct WpmBinColumns {
  int used = wpm_absent;  // y; absent: in use whatever happens
  int u = wpm_absent, v = wpm_absent, delta = wpm_absent;
  int excess_compute = wpm_absent, excess_memory = wpm_absent;  // U, V
};

/// A variable of the model: work on a bin.
struct WpmAssignment {
  std::size_t item, bin;
  int column;
};

/// What one unit of each objective costs.
struct WpmWeights {
  double pending, gpus, waste, migration, repartition;
};

/// The mixed-integer program, and what its columns mean.
struct WpmModel {
  const PlanProblem& problem;
  bool counted;
  WpmBins bins;
  std::vector<WpmItem> items{};
  std::vector<std::uint32_t> item_of{};  // of each workload: where it may come from anywhere
  std::map<std::pair<std::size_t, const Profile*>, std::size_t> home_items{};
  std::int64_t movable_memory = 0, fixed_waste = 0;
  std::vector<std::size_t> free{};  // bins that are free GPUs
  WpmWeights weights{};
  WpmProgram program{};
  double constant =
      0;  // what the program does not count: GPUs in use anyway, and all movable work as moved
  std::vector<WpmBinColumns> columns{};
  std::vector<WpmAssignment> assignments{};
  std::vector<std::vector<std::size_t>> by_bin{};

  [[nodiscard]] const Profile& profile_of(WorkloadIndex workload) const;
  /// Compute and memory slices that a solution holds in a bin.
  [[nodiscard]] std::array<int, 2> held(const std::vector<double>& x, std::size_t bin) const;
};

/// U + V of a bin in which so much is held.
int wpm_wasted(const WpmBin& bin, int compute, int memory);

WpmModel wpm_model(const PlanProblem& problem, bool counted);

/// A goal as a solution, for CBC to start from; nothing where the model cannot express it.
std::optional<std::vector<double>> wpm_start(const WpmModel& model, const Goal& goal);

}  // namespace cleave
