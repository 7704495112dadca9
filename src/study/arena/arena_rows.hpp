#pragma once
// The rows of an arena's tables, for text, JSON and the page.

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "cli/columns.hpp"
#include "study/arena/arena_score.hpp"

namespace cleave {

/// One cell.
struct ArenaCellRow {
  std::string cell;
  std::size_t seeds = 0;
  std::array<ArenaScore, 3> scores;  // by metric
  std::array<std::string, 3> best;   // the baseline
  std::optional<double> disruptions, longest_wait_s, times_bound;
};
/// A group of cells.
struct ArenaGroupRow {
  std::string group;
  std::optional<double> goal;
  std::array<ArenaSummary, 3> summaries;  // by metric
};
/// A cell that was lost.
struct ArenaLoss {
  std::string cell, best, why;
  ArenaScore score;
};
/// A contestant over all cells.
struct ArenaContestantRow {
  std::string scheduler, role;
  std::size_t finished = 0;  // cells in which it finishes all jobs
  std::array<ArenaSummary, 3> summaries;
  std::optional<double> disruptions;   // a job, mean of the cells in which jobs may be stopped
  std::optional<double> longest_wait;  // over that of the challenger, both at least 10 s
  std::optional<double> times_bound;
};
/// Cells that a contestant is left out of.
struct ArenaLeftOut {
  std::string scheduler, why;
  std::size_t cells = 0;
};

[[nodiscard]] std::vector<ArenaCellRow> arena_cell_rows(const ArenaResults& results,
                                                        std::size_t challenger);
[[nodiscard]] std::vector<ArenaGroupRow> arena_group_rows(const ArenaResults& results,
                                                          std::size_t challenger);
/// Worst first: ratios that are above 1 as they are shown.
[[nodiscard]] std::vector<ArenaLoss> arena_losses(const ArenaResults& results,
                                                  std::size_t challenger,
                                                  const ArenaMetric& metric);
[[nodiscard]] std::vector<ArenaContestantRow> arena_contestant_rows(const ArenaResults& results,
                                                                    std::size_t challenger);
[[nodiscard]] std::vector<ArenaLeftOut> arena_left_out(const ArenaResults& results);

[[nodiscard]] const cli::Columns<ArenaCellRow>& cell_columns();
[[nodiscard]] const cli::Columns<ArenaGroupRow>& group_columns();
[[nodiscard]] const cli::Columns<ArenaLoss>& loss_columns();
[[nodiscard]] const cli::Columns<ArenaContestantRow>& contestant_columns();
[[nodiscard]] const cli::Columns<ArenaLeftOut>& left_out_columns();
/// How often jobs were disturbed, and whether any was that may not be: a sentence on its own line.
[[nodiscard]] std::string disruptions_text(const ArenaResults& results, std::size_t challenger);

}  // namespace cleave
