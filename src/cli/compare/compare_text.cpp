#include "cli/compare/compare_text.hpp"

#include <algorithm>
#include <set>
#include <span>

#include "base/format.hpp"
#include "base/text.hpp"
#include "cli/blocks.hpp"
#include "cli/columns.hpp"
#include "cli/say.hpp"
#include "cli/workload_arguments.hpp"

namespace cleave::cli {

namespace {

std::string median_of(const FigureComparison& figure) {
  return figure.value ? in_unit(figure.unit, figure.value->median) : "-";
}

/// The figures of the overview, from left to right.
constexpr std::pair<const char*, const char*> overview[] = {{"done", "finished"},
                                                            {"makespan", "makespan_s"},
                                                            {"mean wait", "wait_mean_s"},
                                                            {"95 % wait", "wait_p95_s"},
                                                            {"turnaround", "turnaround_mean_s"},
                                                            {"compute", "compute_utilization"},
                                                            {"fragmented", "fragmentation_mean"},
                                                            {"creates", "creates"}};
/// Columns that are shown only where schedulers differ in them.
constexpr std::pair<const char*, const char*> where_they_differ[] = {
    {"memory", "memory_allocated_utilization"},
    {"energy", "energy_j"},
    {"changes", "reconfigurations"}};

std::string bound_of(const FigureComparison& figure) {
  return figure.bound ? in_unit(figure.unit, figure.bound->median) : "-";
}

constexpr const char* bounded[] = {"makespan_s", "turnaround_mean_s"};

bool same_bounds(const SchedulerComparison& a, const SchedulerComparison& b) {
  return std::ranges::all_of(
      bounded, [&](const char* name) { return figure(a, name).bound == figure(b, name).bound; });
}

/// What no scheduler can beat, in the place of a scheduler: of those that put one job on an
/// instance, or of all where there are none. Nothing where no job is finished by all.
std::optional<SchedulerComparison> bound_row(const RunComparison& comparison) {
  std::optional<SchedulerComparison> highest;
  for (const SchedulerComparison& scheduler : comparison.schedulers) {
    const auto& bound = figure(scheduler, "turnaround_mean_s").bound;
    if (!bound) continue;
    if (!highest || bound->median > figure(*highest, "turnaround_mean_s").bound->median)
      highest = scheduler;
  }
  if (!highest) return highest;
  highest->scheduler = "lower bound";
  for (FigureComparison& of : highest->figures)
    of.value = std::ranges::find(bounded, of.figure) == std::end(bounded) ? std::nullopt : of.bound;
  return highest;
}

/// A column with the figure's medians of all rows, in one unit.
struct Overview {
  std::vector<std::string> header{"scheduler"};
  std::vector<std::vector<std::string>> rows;
};

void add_column(Overview& table, std::span<const SchedulerComparison> rows, const char* heading,
                const char* name) {
  std::vector<std::optional<double>> medians;
  for (const SchedulerComparison& row : rows) {
    const auto& value = figure(row, name).value;
    medians.push_back(value ? std::optional(value->median) : std::nullopt);
  }
  const auto texts = in_one_unit(figure(rows.front(), name).unit, medians);
  table.header.emplace_back(heading);
  for (std::size_t i = 0; i < texts.size(); ++i) table.rows[i].push_back(texts[i]);
}

bool differ(std::span<const SchedulerComparison> rows, const char* name) {
  std::set<std::string> values;
  for (const SchedulerComparison& row : rows) values.insert(median_of(figure(row, name)));
  return values.size() > 1;
}

void print_overview(const RunComparison& comparison, const std::optional<HistoryReplay>& replay) {
  std::vector<SchedulerComparison> rows = comparison.schedulers;
  if (replay) rows.push_back(seen_row(*replay, rows.front()));
  if (const auto bound = bound_row(comparison)) rows.push_back(*bound);
  Overview all;
  for (const SchedulerComparison& row : rows) all.rows.push_back({row.scheduler});
  for (const auto& [heading, name] : overview) add_column(all, rows, heading, name);
  for (const auto& [heading, name] : where_they_differ)
    if (differ(comparison.schedulers, name)) add_column(all, rows, heading, name);
  Table table(all.header);
  for (auto& row : all.rows) table.add(std::move(row));
  say("\n{}\n", table.text());
}

/// The bounds of schedulers that share instances, where others do not.
void print_other_bounds(const RunComparison& comparison) {
  const auto bound = bound_row(comparison);
  if (!bound) return;
  std::vector<std::string> sharing;
  const SchedulerComparison* one = nullptr;
  for (const SchedulerComparison& scheduler : comparison.schedulers)
    if (figure(scheduler, "turnaround_mean_s").bound && !same_bounds(scheduler, *bound)) {
      sharing.push_back(scheduler.scheduler);
      one = &scheduler;
    }
  if (one == nullptr) return;
  say("jobs share instances under {}: bounds there are {} and {}\n", fmt::join(sharing, ", "),
      bound_of(figure(*one, "makespan_s")), bound_of(figure(*one, "turnaround_mean_s")));
}

/// "3 failed, 1 rejected"; empty where all jobs finish.
std::string unfinished(const SchedulerComparison& scheduler) {
  std::vector<std::string> ends;
  for (const char* name : {"failed", "rejected", "waiting"})
    if (const auto& value = figure(scheduler, name).value; value && value->high > 0)
      ends.push_back(fmt::format("{:g} {}", value->median, name));
  return fmt::format("{}", fmt::join(ends, ", "));
}

/// What did not finish under each scheduler, and those that are not in the times, a line each.
std::string unfinished_text(const RunComparison& comparison, const std::string& before) {
  std::string text;
  for (const SchedulerComparison& scheduler : comparison.schedulers)
    if (const std::string ends = unfinished(scheduler); !ends.empty())
      text += fmt::format("{}{}: {}\n", before, scheduler.scheduler, ends);
  for (const SchedulerComparison& scheduler : comparison.schedulers)
    if (scheduler.without_times > 0)
      text += fmt::format(
          "{}{} finishes fewer than half as many jobs as the best{}: it is not in the times\n",
          before, scheduler.scheduler,
          comparison.seeds.size() == 1 ? ""
                                       : fmt::format(" with {} of {}", scheduler.without_times,
                                                     counted(comparison.seeds.size(), "seed")));
  return text;
}

/// Jobs that did not finish, and which jobs the times are of where it is not all that anyone
/// finished.
void print_jobs(const RunComparison& comparison) {
  say("{}", unfinished_text(comparison, ""));
  if (comparison.same_jobs_always()) return;
  const auto [least, most] = std::ranges::minmax(comparison.compared_jobs);
  const std::string jobs =
      least == most ? counted(least, "job") : fmt::format("{} to {} jobs", least, most);
  say("the schedulers do not all finish the same jobs: waiting and turnaround are over the {} "
      "that all finish,\nand makespans are not compared\n",
      jobs);
}

/// One seed: a line each, no word on chance.
void print_ratios(const RunComparison& comparison) {
  const SchedulerComparison& base = comparison.schedulers.front();
  for (const SchedulerComparison& other : std::span(comparison.schedulers).subspan(1)) {
    std::vector<std::string> said;
    if (const auto& ratio = figure(other, "makespan_s").ratio)
      said.push_back(fmt::format("{:.2f} times the makespan of {}", ratio->median, base.scheduler));
    if (const auto& ratio = figure(other, "turnaround_mean_s").ratio)
      said.push_back(said.empty() ? fmt::format("{:.2f} times the mean turnaround of {}",
                                                ratio->median, base.scheduler)
                                  : fmt::format("{:.2f} times its mean turnaround", ratio->median));
    if (!said.empty()) say("{} needs {}\n", other.scheduler, fmt::join(said, ", and "));
  }
}

/// "makespan_s" as "makespan", "oom_restarts" as "oom restarts".
std::string compared_words(const FigureComparison& figure) {
  std::string words(figure.figure);
  for (const std::string_view unit : {"_jobs_per_s", "_s", "_j"})
    if (words.ends_with(unit)) words.resize(words.size() - unit.size());
  std::ranges::replace(words, '_', ' ');
  return words;
}

std::string ratio_text(const FigureComparison& figure) {
  return figure.ratio ? fmt::format("{:.2f} ({:.2f} to {:.2f})", figure.ratio->median,
                                    figure.ratio->low, figure.ratio->high)
                      : "-";
}

void print_against_first(const SchedulerComparison& first, const SchedulerComparison& other) {
  say("\n{} against {}\n", other.scheduler, first.scheduler);
  using F = FigureComparison;
  const Columns<F> columns = {
      {text_only, " ", compared_words},  // no heading
      {text_only, "first", [&](const F& here) { return median_of(figure(first, here.figure)); }},
      {text_only, "this", median_of},
      {text_only, "ratio", ratio_text},
      {text_only, "lower/higher",
       [](const F& here) { return fmt::format("{}/{}", here.lower, here.higher); }},
      {text_only, "beyond spread", &F::exceeds_spread}};
  std::vector<F> differing;
  std::ranges::copy_if(other.figures, std::back_inserter(differing),
                       [](const F& here) { return here.lower + here.higher > 0; });
  say("{}", text_rows(columns, differing));
}

void print_seeds(const RunComparison& comparison) {
  const std::size_t seeds = comparison.seeds.size(), distinct = comparison.distinct_seeds;
  if (distinct == 1) {
    say("the {} seeds make no difference: nothing in this run is random\n", seeds);
    return print_ratios(comparison);
  }
  if (distinct < seeds)
    say("only {} of the {} seeds make a difference; the others are left out\n", distinct, seeds);
  say("medians over the seeds {} to {}; in brackets after the ratios, {}\n",
      comparison.seeds.front(), comparison.seeds.back(),
      distinct >= seeds_for_quartiles ? "the quartiles" : "the lowest and the highest");
  for (const SchedulerComparison& other : std::span(comparison.schedulers).subspan(1))
    print_against_first(comparison.schedulers.front(), other);
  say("\nratio: this over first, with the same seed; lower/higher: in how many seeds this is so\n");
  if (distinct >= seeds_for_a_statement) {
    say("beyond spread: a sign test over the seeds gives at most 5 %\n");
  } else {
    say("beyond spread: too few seeds to tell a difference from chance; at least 6 are needed\n");
  }
}

/// A table with a row for each scheduler and a column for each value of a sweep. `cell` says what
/// one comparison has of one scheduler.
template <class Cell>
std::string table_of(const std::string& option, const std::vector<SweptComparison>& points,
                     std::size_t first, Cell cell) {
  std::vector<std::string> header{"scheduler"};
  for (const SweptComparison& point : points)
    header.push_back(fmt::format("{}={}", option, point.value));
  Table table(header);
  for (std::size_t s = first; s < points.front().comparison.schedulers.size(); ++s) {
    std::vector<std::string> row{points.front().comparison.schedulers[s].scheduler};
    for (std::size_t p = 0; p < points.size(); ++p) row.push_back(cell(p, s));
    table.add(std::move(row));
  }
  return table.text();
}

/// The medians of a figure, point after point, and in each the schedulers in their order.
std::vector<std::optional<double>> medians_of(const std::vector<SweptComparison>& points,
                                              std::string_view name) {
  std::vector<std::optional<double>> all;
  for (const SweptComparison& point : points)
    for (const SchedulerComparison& scheduler : point.comparison.schedulers) {
      const auto& value = figure(scheduler, name).value;
      all.push_back(value ? std::optional(value->median) : std::nullopt);
    }
  return all;
}

/// Beside times that are not of all seeds, or of none.
const char* mark_of(const SchedulerComparison& scheduler) {
  return scheduler.without_times > 0 ? "*" : "";
}

std::string bars_of(const std::string& option, const std::vector<SweptComparison>& points,
                    const std::vector<std::optional<double>>& medians,
                    const std::vector<std::string>& texts) {
  constexpr std::size_t widest_bar = 36;
  double most = 0;
  for (const auto& each : medians) most = std::max(most, each.value_or(0));
  const std::size_t schedulers = points.front().comparison.schedulers.size();
  Table table({option, "scheduler", " ", " "});
  for (std::size_t i = 0; i < medians.size(); ++i) {
    const SweptComparison& point = points[i / schedulers];
    const double share = most > 0 ? medians[i].value_or(0) / most : 0;
    table.add({i % schedulers == 0 ? point.value : "",
               point.comparison.schedulers[i % schedulers].scheduler, texts[i],
               bar(share, widest_bar, shows_unicode())});
  }
  return table.text(0);
}

std::string figure_sweep(const std::string& option, const std::vector<SweptComparison>& points,
                         const char* heading, const char* name, bool charts) {
  const auto medians = medians_of(points, name);
  const auto& schedulers = points.front().comparison.schedulers;
  auto texts = in_one_unit("s", medians);
  for (std::size_t i = 0; i < texts.size(); ++i)
    texts[i] += mark_of(points[i / schedulers.size()].comparison.schedulers[i % schedulers.size()]);
  std::string text =
      fmt::format("\n{}\n{}", heading, table_of(option, points, 0, [&](auto p, auto s) {
                    return texts[p * schedulers.size() + s];
                  }));
  if (charts) text += fmt::format("\n{}", bars_of(option, points, medians, texts));
  if (schedulers.size() > 1)
    text += fmt::format("\n{}, relative to {}\n{}", heading, schedulers.front().scheduler,
                        table_of(option, points, 1, [&](auto p, auto s) {
                          const auto& here = points[p].comparison.schedulers[s];
                          return ratio_text(figure(here, name)) + mark_of(here);
                        }));
  return text;
}

/// Point after point, what print_jobs() says of one.
std::string jobs_of_sweep(const std::string& option, const std::vector<SweptComparison>& points) {
  std::string text;
  bool marked = false;
  for (const auto& [value, comparison] : points) {
    const std::string before = fmt::format("{}={}: ", option, value);
    text += unfinished_text(comparison, before);
    if (!comparison.same_jobs_always())
      text += fmt::format(
          "{}the schedulers do not all finish the same jobs; times are of those that all finish\n",
          before);
    marked |= std::ranges::any_of(comparison.schedulers,
                                  [](const auto& scheduler) { return *mark_of(scheduler) != 0; });
  }
  if (marked) text += "*: finishes too few jobs there, as said above, and its times do not count\n";
  return text;
}

}  // namespace

const FigureComparison& figure(const SchedulerComparison& scheduler, std::string_view name) {
  return *std::ranges::find(scheduler.figures, name, &FigureComparison::figure);
}

void print_text(const ComparisonText& text) {
  const auto& [plan, comparison, runs, range, replay, errors] = text;
  say("{}{}{}{}", introduction(plan.fleet, plan.workloads.front()),
      replay ? introduction_of(replay->past, plan.fleet) : "",
      run_text(plan.simulation, plan.fleet), assumed_text(range.counts, plan.fleet));
  print_overview(comparison, replay);
  print_other_bounds(comparison);
  print_jobs(comparison);
  comparison.seeds.size() == 1 ? print_ratios(comparison) : print_seeds(comparison);
  if (const std::string of_range = range_text(range); !of_range.empty()) say("\n{}", of_range);
  if (replay) say("\n{}", errors_text(*replay, errors));
  std::string said;
  for (const RunSummary& summary : runs.front().runs) {
    const std::string all = remarks(summary, !plan.simulation.reconfiguration);
    for (const std::string_view line : split(all, '\n'))
      if (!line.empty() && said.find(line) == std::string::npos) said += fmt::format("{}\n", line);
  }
  if (runs.size() > 1 && !said.empty())
    said = fmt::format("with seed {}:\n{}", runs.front().seed, said);
  say("\n{}", said);
}

std::string sweep_text(const std::string& option, const std::vector<SweptComparison>& points,
                       bool charts) {
  const RunComparison& first = points.front().comparison;
  std::vector<std::string> values;
  for (const SweptComparison& point : points) values.push_back(point.value);
  std::string text =
      fmt::format("{}: {}; the lines above are of the first\n", option, fmt::join(values, ", "));
  if (first.seeds.size() > 1)
    text += fmt::format("medians over {} seeds; in brackets after the ratios, {}\n",
                        first.distinct_seeds,
                        first.distinct_seeds >= seeds_for_quartiles ? "the quartiles"
                                                                    : "the lowest and the highest");
  text += jobs_of_sweep(option, points);
  text += figure_sweep(option, points, "mean turnaround", "turnaround_mean_s", charts);
  return text + figure_sweep(option, points, "mean wait", "wait_mean_s", charts);
}

}  // namespace cleave::cli
