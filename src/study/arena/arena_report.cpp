#include "study/arena/arena_report.hpp"

#include <algorithm>

#include "base/csv.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/columns.hpp"
#include "study/arena/arena_rows.hpp"

namespace cleave {

namespace {

std::string losses_text(const ArenaResults& results, std::size_t challenger) {
  std::string text;
  for (const ArenaMetric& metric : arena_metrics()) {
    const std::vector<ArenaLoss> losses = arena_losses(results, challenger, metric);
    if (losses.empty()) continue;
    text += fmt::format("\n{} lost by {}\n{}", counted(losses.size(), "cell"), metric.words,
                        cli::text_rows(loss_columns(), losses));
  }
  return text;
}

/// A table under an empty line; nothing where there are no rows.
template <class Row>
std::string table_if_any(const cli::Columns<Row>& columns, const std::vector<Row>& rows) {
  return rows.empty() ? "" : fmt::format("\n{}", cli::text_rows(columns, rows));
}

std::string kept_text(const ArenaResults& results) {
  if (results.kept_of_another == 0) return "";
  return fmt::format(
      "\n{} of another program were used, after one of each scheduler was repeated and came out "
      "the same\n",
      counted(results.kept_of_another, "run"));
}

/// The runs of one contestant in one cell.
struct RunsTime {
  std::string cell, scheduler;
  double seconds = 0;
};
const cli::Columns<RunsTime> time_columns = {
    {cli::json_only, "cell", &RunsTime::cell},
    {cli::json_only, "scheduler", &RunsTime::scheduler},
    {cli::json_only, "seconds", &RunsTime::seconds, cli::decimals(2)}};

Json run_json(const ArenaRun& run) {
  if (run.why) return {{"left_out", run.why->text()}};
  return {{"finished", run.finished},         {"turnaround_s", run.turnaround_s},
          {"p95_slowdown", run.p95_slowdown}, {"makespan_s", run.makespan_s},
          {"disruptions", run.disruptions},   {"longest_wait_s", run.longest_wait_s}};
}

}  // namespace

std::string lost_legend() {
  return fmt::format(
      "lost: cells above {:.2f} or unfinished, of these beyond two standard errors; cells above "
      "{:.2f}\n",
      lost_ratio, badly_lost_ratio);
}

std::string arena_text(const ArenaResults& results, std::size_t challenger) {
  return fmt::format(
      "{} against the best baseline of each cell\n\n{}\n{}{}{}{}\n{}{}{}",
      results.contestants[challenger].spec,
      cli::text_rows(cell_columns(), arena_cell_rows(results, challenger)),
      cli::text_rows(group_columns(), arena_group_rows(results, challenger)), lost_legend(),
      disruptions_text(results, challenger), losses_text(results, challenger),
      cli::text_rows(contestant_columns(), arena_contestant_rows(results, challenger)),
      table_if_any(left_out_columns(), arena_left_out(results)), kept_text(results));
}

Json arena_json(const ArenaResults& results, std::size_t challenger, bool timing) {
  Json losses = Json::object();
  for (const ArenaMetric& metric : arena_metrics())
    losses[std::string(metric.name)] =
        cli::json_rows(loss_columns(), arena_losses(results, challenger, metric));
  Json runs = Json::array();
  for (const ArenaResults::Of& cell : results.cells)
    for (std::size_t contestant = 0; contestant < results.contestants.size(); ++contestant)
      for (std::size_t seed = 0; seed < cell.cell.seeds.size(); ++seed) {
        Json run = {{"cell", cell.cell.name},
                    {"scheduler", results.contestants[contestant].spec},
                    {"seed", cell.cell.seeds[seed]}};
        run.update(run_json(cell.runs[contestant][seed]));
        if (timing) run["seconds"] = cell.runs[contestant][seed].seconds;
        runs.push_back(std::move(run));
      }
  return {{"scheduler", results.contestants[challenger].spec},
          {"kept_of_another_program", results.kept_of_another},
          {"cells", cli::json_rows(cell_columns(), arena_cell_rows(results, challenger))},
          {"groups", cli::json_rows(group_columns(), arena_group_rows(results, challenger))},
          {"losses", losses},
          {"schedulers",
           cli::json_rows(contestant_columns(), arena_contestant_rows(results, challenger))},
          {"left_out", cli::json_rows(left_out_columns(), arena_left_out(results))},
          {"runs", runs}};
}

std::string arena_timing(const ArenaResults& results, double seconds) {
  std::vector<RunsTime> times;
  double sum = 0;
  for (const ArenaResults::Of& cell : results.cells)
    for (std::size_t contestant = 0; contestant < results.contestants.size(); ++contestant) {
      double of_these = 0;
      for (const ArenaRun& run : cell.runs[contestant]) of_these += run.seconds;
      times.push_back({cell.cell.name, results.contestants[contestant].spec, of_these});
      sum += of_these;
    }
  constexpr std::size_t most_shown = 10;
  std::ranges::stable_sort(times, std::greater(), &RunsTime::seconds);
  times.resize(std::min(times.size(), most_shown));
  return fmt::format("{:.1f} s, simulations {:.1f} s of processor time; longest, all seeds:\n{}",
                     seconds, sum, cli::text_rows(time_columns, times));
}

std::string arena_csv(const ArenaResults& results) {
  std::string text =
      "cell,scheduler,seed,finished,turnaround_s,p95_slowdown,makespan_s,disruptions,"
      "longest_wait_s\n";
  for (const ArenaResults::Of& cell : results.cells)
    for (std::size_t contestant = 0; contestant < results.contestants.size(); ++contestant)
      for (std::size_t seed = 0; seed < cell.cell.seeds.size(); ++seed) {
        const ArenaRun& run = cell.runs[contestant][seed];
        if (run.why) continue;
        text += fmt::format("{},{},{},{},{},{},{},{},{}\n", csv_cell(cell.cell.name),
                            csv_cell(results.contestants[contestant].spec), cell.cell.seeds[seed],
                            run.finished ? "yes" : "no", run.turnaround_s, run.p95_slowdown,
                            run.makespan_s, run.disruptions, run.longest_wait_s);
      }
  return text;
}

}  // namespace cleave
