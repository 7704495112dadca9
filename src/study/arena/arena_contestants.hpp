#pragma once
// Who runs in an arena: the schedulers under test, the baselines that they are measured against,
// and schedulers that know the future, which are shown apart.

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "engine/scheduler.hpp"
#include "model/compaction_rules.hpp"
#include "study/arena/arena_cell.hpp"

namespace cleave {

enum class ArenaRole : std::uint8_t { tested, baseline, hindsight };

/// A scheduler as it is called in all cells.
struct ArenaContestant {
  std::string spec;
  ArenaRole role = ArenaRole::tested;
  std::optional<CompactionRules> compaction = {};  // empty: what the cell says
};

/// The tested ones, then the baselines; those that are tested are no baselines too. Without
/// `baselines` they are those of the table.
[[nodiscard]] Result<std::vector<ArenaContestant>> arena_contestants(std::string_view tested,
                                                                     std::string_view baselines);

/// What the contestant is in this cell. Fails where it does not run there, and says why.
[[nodiscard]] Result<SchedulerSpec> spec_in(const ArenaContestant& contestant,
                                            const ArenaCell& cell);
/// What it is told there: what the cell says, and those that know the future all.
[[nodiscard]] Knowledge told_in(const ArenaContestant& contestant, const ArenaCell& cell);

}  // namespace cleave
