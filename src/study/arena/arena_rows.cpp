#include "study/arena/arena_rows.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/format.hpp"
#include "base/text.hpp"
#include "model/run_summary.hpp"

namespace cleave {

namespace {

using State = ArenaScore::State;

std::string_view role_name(ArenaRole role) {
  switch (role) {
    case ArenaRole::tested:
      return "tested";
    case ArenaRole::baseline:
      return "baseline";
    case ArenaRole::hindsight:
      break;
  }
  return "knows the future";
}

/// "0.93 ±0.04", with twice the standard error of the logarithm; "-" where nothing is compared.
std::string ratio_text(const ArenaScore& score) {
  switch (score.state) {
    case State::compared:
      return score.error ? fmt::format("{:.3f} ±{:.3f}", score.ratio, 2 * *score.error)
                         : fmt::format("{:.3f}, one seed", score.ratio);
    case State::unfinished:
      return "unfinished";
    case State::left_out:
    case State::unrivalled:
      break;
  }
  return "-";
}

/// Nothing where one seed says nothing of noise.
std::optional<bool> beyond_noise_if_told(const ArenaScore& score) {
  if (score.state == State::compared && !score.error) return std::nullopt;
  return score.beyond_noise();
}

std::string mean_text(const ArenaSummary& summary) {
  return summary.cells == 0 ? "-" : fmt::format("{:.3f}", summary.mean);
}
std::string worst_text(const ArenaSummary& summary) {
  return summary.cells == 0 ? "-" : fmt::format("{:.3f}", summary.worst);
}
std::string lost_text(const ArenaSummary& summary) {
  return fmt::format("{}/{}/{}", summary.lost, summary.lost_beyond_noise, summary.badly_lost);
}

std::optional<double> ratio_of(const ArenaScore& score) {
  return score.state == State::compared ? std::optional(score.ratio) : std::nullopt;
}

/// The mean of what is there.
class Mean {
 public:
  void add(const std::optional<double>& value) {
    if (!value) return;
    sum_ += *value;
    ++count_;
  }
  [[nodiscard]] std::optional<double> mean() const {
    return count_ == 0 ? std::nullopt : std::optional(sum_ / static_cast<double>(count_));
  }

 private:
  double sum_ = 0;
  std::size_t count_ = 0;
};
class GeometricMean {
 public:
  void add(const std::optional<double>& value) {
    if (value) logs_.add(std::log(*value));
  }
  [[nodiscard]] std::optional<double> mean() const {
    const auto mean = logs_.mean();
    return mean ? std::optional(std::exp(*mean)) : std::nullopt;
  }

 private:
  Mean logs_;
};

/// The longest wait under one scheduler over that under another.
std::optional<double> wait_ratio(const ArenaResults::Of& cell, std::size_t of, std::size_t over) {
  const auto wait = [&](std::size_t contestant) {
    const auto mean = arena_mean(cell, contestant, &ArenaRun::longest_wait_s);
    return mean ? std::optional(std::max(*mean, in_seconds(slowdown_bound))) : std::nullopt;
  };
  const auto one = wait(of), other = wait(over);
  return one && other ? std::optional(*one / *other) : std::nullopt;
}

/// By what the contestant is behind the best baseline of the metric in a cell that both finish: for
/// turnaround by its parts, in terms of the baseline's turnaround; for another metric it is the
/// turnaround there, which is what most schedulers go for.
std::string loss_reason(const ArenaResults::Of& cell, std::size_t contestant, std::size_t best,
                        const ArenaMetric& metric) {
  const auto mean = [&](std::size_t of, double ArenaRun::*value) {
    return arena_mean(cell, of, value).value_or(0);
  };
  const double turnaround = mean(best, &ArenaRun::turnaround_s);
  if (turnaround <= 0) return "";
  if (metric.value != &ArenaRun::turnaround_s)
    return fmt::format("turnaround {:.2f} of its",
                       mean(contestant, &ArenaRun::turnaround_s) / turnaround);
  const auto percent = [&](double ArenaRun::*value) {
    return 100 * (mean(contestant, value) - mean(best, value)) / turnaround;
  };
  return fmt::format("wait {:+.1f} %, execution {:+.1f} %; disruptions {:.2f}, there {:.2f}",
                     percent(&ArenaRun::wait_s), percent(&ArenaRun::execution_s),
                     mean(contestant, &ArenaRun::disruptions), mean(best, &ArenaRun::disruptions));
}

template <class Row>
using Columns = cli::Columns<Row>;
constexpr std::string_view metric_headings[] = {"turnaround", "p95 slowdown", "makespan"};

/// Every metric's numbers of a summary, for JSON.
template <class Row>
void add_summaries(Columns<Row>& columns) {
  for (std::size_t m = 0; m < arena_metrics().size(); ++m) {
    const std::string name(arena_metrics()[m].name);
    const auto number = [&](const char* what, auto member) {
      columns.push_back({fmt::format("{}_{}", name, what), cli::text_only,
                         [m, member](const Row& row) { return row.summaries[m].*member; }});
    };
    number("mean", &ArenaSummary::mean);
    number("worst", &ArenaSummary::worst);
    number("cells", &ArenaSummary::cells);
    number("unfinished", &ArenaSummary::unfinished);
    number("lost", &ArenaSummary::lost);
    number("lost_beyond_noise", &ArenaSummary::lost_beyond_noise);
    number("badly_lost", &ArenaSummary::badly_lost);
    columns.push_back({cli::json_only, metric_headings[m],
                       [m](const Row& row) { return mean_text(row.summaries[m]); }});
    columns.push_back(
        {cli::json_only, "worst", [m](const Row& row) { return worst_text(row.summaries[m]); }});
    columns.push_back(
        {cli::json_only, "lost", [m](const Row& row) { return lost_text(row.summaries[m]); }});
  }
}

Columns<ArenaCellRow> make_cell_columns() {
  using Row = ArenaCellRow;
  Columns<Row> columns = {{"cell", "cell", &Row::cell}, {"seeds", "seeds", &Row::seeds}};
  for (std::size_t m = 0; m < arena_metrics().size(); ++m) {
    const std::string name(arena_metrics()[m].name);
    columns.push_back({fmt::format("{}_best", name), m == 0 ? "best baseline" : cli::text_only,
                       [m](const Row& row) { return row.best[m]; }});
    columns.push_back({fmt::format("{}_best_value", name), cli::text_only,
                       [m](const Row& row) { return row.scores[m].best_value; }});
    columns.push_back({fmt::format("{}_value", name), cli::text_only,
                       [m](const Row& row) { return row.scores[m].value; }});
    columns.push_back({fmt::format("{}_ratio", name), cli::text_only,
                       [m](const Row& row) { return ratio_of(row.scores[m]); }});
    columns.push_back({fmt::format("{}_error", name), cli::text_only,
                       [m](const Row& row) { return row.scores[m].error; }});
    columns.push_back({cli::json_only, metric_headings[m],
                       [m](const Row& row) { return ratio_text(row.scores[m]); }});
  }
  columns.push_back({"disruptions", "disruptions", &Row::disruptions, cli::decimals(2)});
  columns.push_back({"longest_wait_s", "longest wait", &Row::longest_wait_s, [](const Row& row) {
                       return row.longest_wait_s ? cli::in_unit("s", *row.longest_wait_s)
                                                 : std::string("-");
                     }});
  columns.push_back({"times_bound", "times bound", &Row::times_bound, cli::decimals(2)});
  return columns;
}

Columns<ArenaGroupRow> make_group_columns() {
  using Row = ArenaGroupRow;
  Columns<Row> columns = {
      {"group", "group", &Row::group},
      {cli::json_only, "cells", [](const Row& row) { return row.summaries[0].cells; }},
      {"goal", "goal", &Row::goal, cli::decimals(2)}};
  add_summaries(columns);
  return columns;
}

Columns<ArenaLoss> make_loss_columns() {
  using Row = ArenaLoss;
  return {{"cell", "cell", &Row::cell},
          {"ratio", cli::text_only, [](const Row& row) { return ratio_of(row.score); }},
          {cli::json_only, "ratio", [](const Row& row) { return ratio_text(row.score); }},
          {"beyond_noise", "beyond noise",
           [](const Row& row) { return beyond_noise_if_told(row.score); }},
          {"best", "best baseline", &Row::best},
          {"why", "why", &Row::why, cli::or_word("")}};
}

Columns<ArenaContestantRow> make_contestant_columns() {
  using Row = ArenaContestantRow;
  Columns<Row> columns = {{"scheduler", "scheduler", &Row::scheduler},
                          {"role", "role", &Row::role},
                          {"finished_cells", "finishes", &Row::finished}};
  add_summaries(columns);
  columns.push_back({"disruptions", "disruptions", &Row::disruptions, cli::decimals(2)});
  columns.push_back({"longest_wait", "longest wait", &Row::longest_wait, cli::decimals(2)});
  columns.push_back({"times_bound", "times bound", &Row::times_bound, cli::decimals(2)});
  return columns;
}

}  // namespace

std::vector<ArenaCellRow> arena_cell_rows(const ArenaResults& results, std::size_t challenger) {
  std::vector<ArenaCellRow> rows;
  for (const ArenaResults::Of& cell : results.cells)
    rows.push_back({.cell = cell.cell.name,
                    .seeds = cell.cell.seeds.size(),
                    .scores = {},
                    .best = {},
                    .disruptions = arena_mean(cell, challenger, &ArenaRun::disruptions),
                    .longest_wait_s = arena_mean(cell, challenger, &ArenaRun::longest_wait_s),
                    .times_bound = times_bound(cell, challenger)});
  for (std::size_t m = 0; m < arena_metrics().size(); ++m) {
    const auto scores = arena_scores(results, challenger, arena_metrics()[m]);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      rows[i].scores[m] = scores[i];
      rows[i].best[m] = scores[i].best ? results.contestants[*scores[i].best].spec : "-";
    }
  }
  return rows;
}

std::vector<ArenaGroupRow> arena_group_rows(const ArenaResults& results, std::size_t challenger) {
  std::vector<ArenaGroupRow> rows;
  for (const ArenaGroup& group : arena_groups()) {
    const std::vector<bool> which = cells_of(results, group);
    if (std::ranges::find(which, true) == which.end()) continue;
    ArenaGroupRow& row = rows.emplace_back();
    row.group = group.name;
    row.goal = group.goal;
    for (std::size_t m = 0; m < arena_metrics().size(); ++m)
      row.summaries[m] = summary_of(arena_scores(results, challenger, arena_metrics()[m]), which);
  }
  return rows;
}

std::vector<ArenaLoss> arena_losses(const ArenaResults& results, std::size_t challenger,
                                    const ArenaMetric& metric) {
  constexpr double shown_above_one = 1.0005;
  std::vector<ArenaLoss> losses;
  const auto scores = arena_scores(results, challenger, metric);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    const ArenaScore& score = scores[i];
    if (!score.lost(shown_above_one)) continue;
    const bool compared = score.state == State::compared;
    losses.push_back(
        {results.cells[i].cell.name, score.best ? results.contestants[*score.best].spec : "-",
         compared ? loss_reason(results.cells[i], challenger, *score.best, metric) : score.why,
         score});
  }
  std::ranges::stable_sort(losses, [](const ArenaLoss& a, const ArenaLoss& b) {
    const auto badness = [](const ArenaScore& score) {
      return std::pair(score.state == State::unfinished, score.ratio);
    };
    return badness(a.score) > badness(b.score);
  });
  return losses;
}

std::vector<ArenaContestantRow> arena_contestant_rows(const ArenaResults& results,
                                                      std::size_t challenger) {
  const std::vector<bool> everywhere(results.cells.size(), true);
  std::vector<ArenaContestantRow> rows;
  for (std::size_t contestant = 0; contestant < results.contestants.size(); ++contestant) {
    ArenaContestantRow& row = rows.emplace_back();
    row.scheduler = results.contestants[contestant].spec;
    row.role = role_name(results.contestants[contestant].role);
    for (std::size_t m = 0; m < arena_metrics().size(); ++m)
      row.summaries[m] =
          summary_of(arena_scores(results, contestant, arena_metrics()[m]), everywhere);
    GeometricMean waits, bounds;
    Mean disruptions;
    for (const ArenaResults::Of& cell : results.cells) {
      waits.add(wait_ratio(cell, contestant, challenger));
      bounds.add(times_bound(cell, contestant));
      const auto here = arena_mean(cell, contestant, &ArenaRun::disruptions);
      row.finished += here ? 1 : 0;
      if (cell.cell.may != MayInterrupt::never) disruptions.add(here);
    }
    row.longest_wait = waits.mean();
    row.times_bound = bounds.mean();
    row.disruptions = disruptions.mean();
  }
  return rows;
}

std::vector<ArenaLeftOut> arena_left_out(const ArenaResults& results) {
  std::vector<ArenaLeftOut> all;
  for (std::size_t contestant = 0; contestant < results.contestants.size(); ++contestant) {
    std::map<std::string, std::size_t> reasons;
    for (const ArenaResults::Of& cell : results.cells)
      if (const auto& why = cell.runs[contestant].front().why) ++reasons[why->message];
    for (const auto& [why, cells] : reasons)
      all.push_back({results.contestants[contestant].spec, why, cells});
  }
  return all;
}

std::string disruptions_text(const ArenaResults& results, std::size_t challenger) {
  constexpr std::string_view measure = "miso:checkpoint=moved";
  const auto rival = std::ranges::find(results.contestants, measure, &ArenaContestant::spec);
  Mean own, of_rival;
  std::size_t cells = 0, forbidden = 0;
  for (const ArenaResults::Of& cell : results.cells) {
    const auto here = arena_mean(cell, challenger, &ArenaRun::disruptions);
    if (cell.cell.may == MayInterrupt::never) forbidden += here && *here > 0 ? 1 : 0;
    if (!here || rival == results.contestants.end()) continue;
    const auto there =
        arena_mean(cell, static_cast<std::size_t>(rival - results.contestants.begin()),
                   &ArenaRun::disruptions);
    if (!there) continue;
    own.add(here);
    of_rival.add(there);
    ++cells;
  }
  std::string text = fmt::format("Jobs were disturbed in {} in which none may be stopped.\n",
                                 counted(forbidden, "cell"));
  if (cells > 0)
    text += fmt::format("Disruptions a job where {} finishes too, {}: {:.2f}, there {:.2f}.\n",
                        measure, counted(cells, "cell"), *own.mean(), *of_rival.mean());
  return text;
}

const Columns<ArenaCellRow>& cell_columns() {
  static const Columns<ArenaCellRow> columns = make_cell_columns();
  return columns;
}
const Columns<ArenaGroupRow>& group_columns() {
  static const Columns<ArenaGroupRow> columns = make_group_columns();
  return columns;
}
const Columns<ArenaLoss>& loss_columns() {
  static const Columns<ArenaLoss> columns = make_loss_columns();
  return columns;
}
const Columns<ArenaContestantRow>& contestant_columns() {
  static const Columns<ArenaContestantRow> columns = make_contestant_columns();
  return columns;
}
const Columns<ArenaLeftOut>& left_out_columns() {
  static const Columns<ArenaLeftOut> columns = {{"scheduler", "left out", &ArenaLeftOut::scheduler},
                                                {"cells", "cells", &ArenaLeftOut::cells},
                                                {"why", "why", &ArenaLeftOut::why}};
  return columns;
}

}  // namespace cleave
