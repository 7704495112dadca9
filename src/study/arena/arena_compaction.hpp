#pragma once
// What the policy of compaction is worth: each scheduler with it against itself without, in the
// cells of an arena.

#include <string>
#include <vector>

#include "base/json_fwd.hpp"
#include "study/arena/arena_score.hpp"

namespace cleave {

/// Each with the rules, and then without: the only baseline.
[[nodiscard]] std::vector<ArenaContestant> with_and_without(const ArenaContestant& contestant,
                                                            const CompactionRules& rules);

/// A scheduler over the cells in which it runs, and over those in which it makes plans.
struct ArenaCompactionRow {
  std::string scheduler;
  std::size_t cells = 0;                    // in which it finishes with and without
  std::size_t planned = 0;                  // of these, in which a plan was made with some seed
  double all_mean = 1;                      // ratio of mean turnarounds, geometric, over all
  double mean = 1, best = 1, worst = 1;     // over those with plans
  std::size_t better = 0, worse = 0;        // of those with plans, beyond noise
  std::size_t unfinished = 0;               // that it finishes without alone
  double makespan = 1;                      // geometric, over those with plans
  double plans = 0, moves = 0, served = 0;  // a run, in the mean of those with plans
};
/// Of results of with_and_without().
[[nodiscard]] ArenaCompactionRow compaction_row(const ArenaResults& results);

[[nodiscard]] std::string compaction_text(const CompactionRules& rules,
                                          const std::vector<ArenaCompactionRow>& rows);
[[nodiscard]] Json compaction_json(const CompactionRules& rules,
                                   const std::vector<ArenaCompactionRow>& rows);

}  // namespace cleave
