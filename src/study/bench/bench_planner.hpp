#pragma once
// `cleave bench planner`: seconds from a fleet that has been read to the text of the optimal plan
// in memory, on the paper's test cases (study/wpm/paper_cases.hpp), and what CBC needs for the
// paper's own assignment model of the same cases (study/wpm/wpm.hpp), as far as fleets are small
// enough for that.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "planner/planner.hpp"
#include "study/wpm/wpm.hpp"

namespace cleave {

struct PlannerBenchOptions {
  std::vector<std::size_t> gpus = {8, 80, 1000, 10000, 100000};
  std::size_t cases = 5;             // seeds 1, 2, ...
  std::size_t assignment_cases = 1;  // of these, how many go through the assignment model
  std::size_t assignment_gpus = 80;  // up to this size
  Duration assignment_limit = std::chrono::seconds(30);
  const GpuModel* model = nullptr;  // null: A100-80GB
};

struct PlannerBench {
  ProblemKind problem = ProblemKind::deploy;
  std::size_t gpus = 0, cases = 0;
  double seconds_median = 0, seconds_max = 0;
  PlanStatus status = PlanStatus::optimal;  // the worst of all cases
  std::size_t optimal = 0;                  // cases proven
  std::size_t text_bytes = 0;               // of the last plan
};

struct AssignmentBench {
  ProblemKind problem = ProblemKind::deploy;
  std::size_t gpus = 0;
  std::uint64_t seed = 0;
  WpmResult counted;  // equal workloads as counts: the model without the symmetry of its workloads
  WpmResult binary;   // a binary for each workload and bin, as the paper writes it
  double planner_seconds = 0;
  PlanStatus planner_status = PlanStatus::optimal;
  std::vector<Objective> planner;  // what the planner reached on the same case

  /// The one that was sooner within the gap, else sooner at its end.
  [[nodiscard]] const WpmResult& quicker() const;
  /// Pending memory slices, GPUs in use, wasted slices: what means the same in both.
  [[nodiscard]] std::array<std::int64_t, 3> of_planner() const;
  /// "same", "better" or "worse": the planner's of these beside the model's, the first that
  /// differs; empty where CBC has no solution.
  [[nodiscard]] std::string_view planner_is(const WpmResult& result) const;
};

struct PlannerBenches {
  std::vector<PlannerBench> runs;
  std::vector<AssignmentBench> assignment;
};

Result<PlannerBenches> bench_planner(const PlannerBenchOptions& options);

}  // namespace cleave
