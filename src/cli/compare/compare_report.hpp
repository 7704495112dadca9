#pragma once
// `cleave compare --report`: what a report needs of a comparison beside its figures, from the runs
// with the first seed.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/history_replay.hpp"
#include "report/report.hpp"
#include "report/run_recorder.hpp"
#include "simulate/side_by_side.hpp"

namespace cleave::cli {

/// A past that was replayed, and how far the simulation of the scheduler that ran is off.
struct ReplayedPast {
  const HistoryReplay& replay;
  const std::optional<ReplayErrors>& errors;
};

/// Watches the runs with the first seed, one of each scheduler.
class FirstSeed {
 public:
  /// The plan must outlive it.
  explicit FirstSeed(const ComparisonPlan& plan);

  /// Null for the other seeds.
  [[nodiscard]] RunObserver* observer(std::size_t seed, std::size_t scheduler);
  /// As OutcomesOfSeed.
  void hear(std::size_t seed, const std::vector<std::vector<JobOutcome>>& by_scheduler);
  /// The page; once. `past` where one was replayed.
  [[nodiscard]] std::string page(const ComparedRuns& results,
                                 const std::optional<ReplayedPast>& past);

 private:
  [[nodiscard]] std::vector<report::RunPart> parts(const SeedRuns& runs);

  const ComparisonPlan* plan_;
  std::vector<std::unique_ptr<report::RunRecorder>> recorders_;
  std::vector<report::RunPart> parts_;
};

}  // namespace cleave::cli
