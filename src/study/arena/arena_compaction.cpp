#include "study/arena/arena_compaction.hpp"

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/columns.hpp"

namespace cleave {

namespace {

constexpr std::size_t with = 0;

bool made_plans(const ArenaResults::Of& cell) {
  return arena_mean(cell, with, &ArenaRun::plans).value_or(0) > 0;
}

const ArenaMetric& metric(double ArenaRun::*value) {
  return *std::ranges::find(arena_metrics(), value, &ArenaMetric::value);
}

const cli::Columns<ArenaCompactionRow>& columns() {
  using Row = ArenaCompactionRow;
  using cli::decimals;
  static const cli::Columns<Row> all = {
      {"scheduler", "scheduler", &Row::scheduler},
      {"cells", "cells", &Row::cells},
      {"turnaround_all_cells", "turnaround", &Row::all_mean, decimals(3)},
      {"cells_with_plans", "with plans", &Row::planned},
      {"turnaround", "turnaround there", &Row::mean, decimals(3)},
      {"best", "best", &Row::best, decimals(3)},
      {"worst", "worst", &Row::worst, decimals(3)},
      {"better", "better", &Row::better},
      {"worse", "worse", &Row::worse},
      {"unfinished", "unfinished", &Row::unfinished},
      {"makespan", "makespan", &Row::makespan, decimals(3)},
      {"plans", "plans", &Row::plans, decimals(1)},
      {"moves", "moves", &Row::moves, decimals(1)},
      {"served", "served", &Row::served, decimals(1)}};
  return all;
}

}  // namespace

std::vector<ArenaContestant> with_and_without(const ArenaContestant& contestant,
                                              const CompactionRules& rules) {
  return {{contestant.spec, ArenaRole::tested, rules}, {contestant.spec, ArenaRole::baseline, {}}};
}

ArenaCompactionRow compaction_row(const ArenaResults& results) {
  ArenaCompactionRow row;
  row.scheduler = results.contestants[with].spec;
  const auto scores = arena_scores(results, with, metric(&ArenaRun::turnaround_s));
  std::vector<bool> all(results.cells.size(), true), planned;
  std::size_t counted = 0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const ArenaScore& score = scores[i];
    const bool compared = score.state == ArenaScore::State::compared;
    planned.push_back(compared && made_plans(results.cells[i]));
    row.unfinished += score.state == ArenaScore::State::unfinished ? 1 : 0;
    if (!planned.back()) continue;
    row.best = counted == 0 ? score.ratio : std::min(row.best, score.ratio);
    row.worst = counted == 0 ? score.ratio : std::max(row.worst, score.ratio);
    const bool sure = score.error.has_value();
    const double spread = 2 * score.error.value_or(0);
    row.better += sure && std::log(score.ratio) < -spread ? 1 : 0;
    row.worse += sure && std::log(score.ratio) > spread ? 1 : 0;
    row.plans += *arena_mean(results.cells[i], with, &ArenaRun::plans);
    row.moves += *arena_mean(results.cells[i], with, &ArenaRun::moves);
    row.served += *arena_mean(results.cells[i], with, &ArenaRun::served);
    ++counted;
  }
  row.all_mean = summary_of(scores, all).mean;
  row.cells = summary_of(scores, all).cells;
  row.mean = summary_of(scores, planned).mean;
  row.planned = counted;
  row.makespan =
      summary_of(arena_scores(results, with, metric(&ArenaRun::makespan_s)), planned).mean;
  for (double* each : {&row.plans, &row.moves, &row.served})
    *each /= static_cast<double>(std::max<std::size_t>(1, counted));
  return row;
}

std::string compaction_text(const CompactionRules& rules,
                            const std::vector<ArenaCompactionRow>& rows) {
  return fmt::format(
      "{}\nEach scheduler with compaction ({}) over itself without: ratios below 1 are better.\n",
      cli::text_rows(columns(), rows), text(rules));
}

Json compaction_json(const CompactionRules& rules, const std::vector<ArenaCompactionRow>& rows) {
  return {{"compaction", text(rules)}, {"schedulers", cli::json_rows(columns(), rows)}};
}

}  // namespace cleave
