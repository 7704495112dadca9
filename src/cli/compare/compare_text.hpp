#pragma once
// A comparison of schedulers as people read it.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/assumed_range.hpp"
#include "cli/history_replay.hpp"
#include "simulate/side_by_side.hpp"

namespace cleave::cli {

/// The scheduler's figure of this name, which there must be.
[[nodiscard]] const FigureComparison& figure(const SchedulerComparison& scheduler,
                                             std::string_view name);

/// The comparisons of a sweep: each value of the option, and what came out.
struct SweptComparison {
  std::string value;
  RunComparison comparison;
};

/// A sweep: how the times go with the option, and relative to the first scheduler's. With `charts`,
/// as bars too.
[[nodiscard]] std::string sweep_text(const std::string& option,
                                     const std::vector<SweptComparison>& points, bool charts);

/// One comparison with all that is said of it.
struct ComparisonText {
  const ComparisonPlan& plan;
  const RunComparison& comparison;
  const std::vector<SeedRuns>& runs;
  const AssumedRange& range;
  const std::optional<HistoryReplay>& replay;  // of a past
  const std::optional<ReplayErrors>& errors;
};

/// What was run and assumed, the overview, and every figure that differs.
void print_text(const ComparisonText& text);

}  // namespace cleave::cli
