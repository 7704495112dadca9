#pragma once
// `cleave compare --report`: what a report needs of a comparison beside its figures, from the runs
// with the first seed.

#include <memory>
#include <string>
#include <vector>

#include "report/report.hpp"
#include "report/run_recorder.hpp"
#include "simulate/side_by_side.hpp"

namespace cleave::cli {

/// Watches the runs with the first seed, one of each scheduler.
class FirstSeed {
 public:
  /// The plan must outlive it.
  explicit FirstSeed(const ComparisonPlan& plan);

  /// Null for the other seeds.
  [[nodiscard]] RunObserver* observer(std::size_t seed, std::size_t scheduler);
  /// As OutcomesOfSeed.
  void hear(std::size_t seed, const std::vector<std::vector<JobOutcome>>& by_scheduler);
  /// The page; once.
  [[nodiscard]] std::string page(const ComparedRuns& results);

 private:
  [[nodiscard]] std::vector<report::RunPart> parts(const SeedRuns& runs);

  const ComparisonPlan* plan_;
  std::vector<std::unique_ptr<report::RunRecorder>> recorders_;
  std::vector<report::RunPart> parts_;
};

}  // namespace cleave::cli
