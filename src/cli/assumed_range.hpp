#pragma once
// What a comparison would say if jobs without speeds took to slices in another way.

#include <string>
#include <vector>

#include "base/json_fwd.hpp"
#include "simulate/advice/speed_range.hpp"
#include "simulate/side_by_side.hpp"

namespace cleave::cli {

/// Another assumption, in words, and the workloads with it in the place of the plan's; none are
/// those of the plan itself.
struct Assumption {
  std::string words;
  std::vector<Workload> workloads;
};
/// From no loss on slices to all of it, which is that of the plan; none where nothing is assumed.
[[nodiscard]] std::vector<Assumption> assumptions_for(const ComparisonPlan& plan);

/// The comparison under each assumption.
struct AssumedRange {
  AssumedCounts counts;
  std::vector<std::string> words;  // by assumption
  std::vector<RunComparison> by_assumption;
};

/// `as_it_is`: the comparison of the plan itself.
[[nodiscard]] Result<AssumedRange> run_range(const ComparisonPlan& plan,
                                             const RunComparison& as_it_is,
                                             const std::vector<Assumption>& assumptions,
                                             std::size_t most_threads);

/// A table with the mean turnaround under each assumption, over the first scheduler's; empty where
/// there is no range.
[[nodiscard]] std::string range_text(const AssumedRange& range);
[[nodiscard]] Json to_json(const AssumedRange& range);

}  // namespace cleave::cli
