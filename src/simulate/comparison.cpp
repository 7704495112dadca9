#include "simulate/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <set>

#include "base/format.hpp"
#include "base/json.hpp"

namespace cleave {

namespace {

using Value = std::optional<double>;

/// A figure as it is compared: a number of a run, or one of a distribution's numbers, taken over
/// the jobs that all schedulers finished.
struct Figure {
  std::string name;
  const RunFigure* row;
  std::function<Value(const RunSummary& run, const CommonTimes::Of& times)> of;
  double TimeBounds::*bound = nullptr;  // where there is one
};

/// A distribution of a run over the jobs that all finished, and what of it is compared.
struct ComparedTimes {
  Distribution RunSummary::*of_run;
  Distribution CommonTimes::Of::*of_common;
  std::vector<std::pair<std::string_view, Duration Distribution::*>> parts;
};

std::vector<ComparedTimes> compared_times() {
  using D = Distribution;
  using Of = CommonTimes::Of;
  return {{&RunSummary::wait, &Of::wait, {{"mean", &D::mean}, {"p95", &D::p95}}},
          {&RunSummary::turnaround,
           &Of::turnaround,
           {{"mean", &D::mean}, {"p95", &D::p95}, {"p99", &D::p99}}},
          {&RunSummary::execution, &Of::execution, {{"mean", &D::mean}}}};
}

Value number(std::size_t count) {
  return static_cast<double>(count);
}
Value number(Duration duration) {
  return in_seconds(duration);
}
Value number(double value) {
  return value;
}
Value number(std::optional<double> value) {
  return value;
}
Value number(const std::vector<ReasonCount>&) {
  return {};
}
Value number(const Distribution&) {
  return {};  // compared part by part
}
Value number(const Ratios&) {
  return {};  // the same
}

void add_times(const RunFigure& row, Distribution RunSummary::*member, std::vector<Figure>& all) {
  for (const ComparedTimes& times : compared_times()) {
    if (times.of_run != member) continue;
    for (const auto& [part, value] : times.parts) {
      // "wait_s" becomes "wait_mean_s".
      std::string name = fmt::format("{}_{}_s", row.name.substr(0, row.name.size() - 2), part);
      all.push_back(
          {std::move(name), &row,
           [common = times.of_common, value = value](const RunSummary&, const CommonTimes::Of& of) {
             const Distribution& d = of.*common;
             return d.count == 0 ? Value() : in_seconds(d.*value);
           }});
    }
  }
}

/// Of the slowdowns of the jobs that all finished, the only ratios that are compared.
void add_slowdowns(const RunFigure& row, std::vector<Figure>& all) {
  for (const auto& [part, value] :
       {std::pair("mean", &Ratios::mean), {"p95", &Ratios::p95}, {"p99", &Ratios::p99}})
    all.push_back({fmt::format("{}_{}", row.name, part), &row,
                   [value = value](const RunSummary&, const CommonTimes::Of& of) {
                     return of.slowdown.count == 0 ? Value() : of.slowdown.*value;
                   }});
}

double TimeBounds::*bound_of(std::string_view figure) {
  return figure == "makespan_s"          ? &TimeBounds::makespan_s
         : figure == "turnaround_mean_s" ? &TimeBounds::turnaround_mean_s
                                         : nullptr;
}

std::vector<Figure> make_figures() {
  std::vector<const RunFigure*> rows;
  for (const RunFigure& row : run_figures())
    if (row.compared != Compared::no) rows.push_back(&row);
  std::ranges::sort(rows, {}, &RunFigure::place);
  std::vector<Figure> all;
  for (const RunFigure* row : rows) {
    if (const auto* times = std::get_if<Distribution RunSummary::*>(&row->value)) {
      add_times(*row, *times, all);
      continue;
    }
    if (std::holds_alternative<Ratios RunSummary::*>(row->value)) {
      add_slowdowns(*row, all);
      continue;
    }
    all.push_back({std::string(row->name), row, [row](const RunSummary& run, const auto&) {
                     return std::visit(
                         [&](auto value) -> Value { return number(std::invoke(value, run)); },
                         row->value);
                   }});
  }
  for (Figure& figure : all) figure.bound = bound_of(figure.name);
  return all;
}

const std::vector<Figure>& figures() {
  static const std::vector<Figure> all = make_figures();
  return all;
}

/// Seeds without those whose runs repeat an earlier seed's in every figure.
std::vector<std::size_t> distinct(std::span<const SeedRuns> seeds) {
  std::set<std::vector<Value>> seen;
  std::vector<std::size_t> kept;
  for (std::size_t i = 0; i < seeds.size(); ++i) {
    std::vector<Value> all;
    for (std::size_t s = 0; s < seeds[i].runs.size(); ++s)
      std::ranges::copy(figures_of(seeds[i], s), std::back_inserter(all));
    if (seen.insert(std::move(all)).second) kept.push_back(i);
  }
  return kept;
}

/// The bounds of the scheduler's runs, by seed, and how far it is from them.
void add_bounds(std::span<const SeedRuns> seeds, const std::vector<std::size_t>& distinct_seeds,
                std::size_t scheduler, const Figure& figure, FigureComparison& result) {
  std::vector<double> bounds, times;
  for (const std::size_t i : distinct_seeds) {
    const SeedRuns& seed = seeds[i];
    if (seed.common.jobs == 0 || !seed.common.schedulers[scheduler].compared) continue;
    const RunSummary& run = seed.runs[scheduler];
    const TimeBounds& of = run.shared_starts > 0 ? seed.bounds.shared : seed.bounds.apart;
    bounds.push_back(of.*figure.bound);
    const Value value = figure.of(run, seed.common.schedulers[scheduler]);
    if (value && bounds.back() > 0) times.push_back(*value / bounds.back());
  }
  if (!bounds.empty()) result.bound = spread_of(std::move(bounds));
  if (!times.empty()) result.times_bound = spread_of(std::move(times));
}

FigureComparison compare_figure(std::span<const SeedRuns> seeds,
                                const std::vector<std::size_t>& distinct_seeds,
                                std::size_t scheduler, const Figure& figure) {
  FigureComparison result;
  result.figure = figure.name;
  result.unit = figure.row->unit;
  std::vector<double> values, ratios;
  for (const std::size_t i : distinct_seeds) {
    const SeedRuns& seed = seeds[i];
    const Value value = figure.of(seed.runs[scheduler], seed.common.schedulers[scheduler]);
    if (value) values.push_back(*value);
    const bool same_jobs = seed.common.same_jobs && seed.common.schedulers[scheduler].compared &&
                           seed.common.schedulers[0].compared;
    if (scheduler == 0 || !value ||
        (figure.row->compared == Compared::with_same_jobs && !same_jobs))
      continue;
    const Value first = figure.of(seed.runs[0], seed.common.schedulers[0]);
    if (!first) continue;
    if (*first != 0) ratios.push_back(*value / *first);
    ++(*value < *first ? result.lower : *value > *first ? result.higher : result.equal);
  }
  if (!values.empty()) result.value = spread_of(std::move(values));
  if (!ratios.empty()) result.ratio = spread_of(std::move(ratios));
  if (scheduler > 0 && result.lower + result.higher + result.equal >= seeds_for_a_statement)
    result.exceeds_spread = sign_test(result.lower, result.higher) <= 0.05;
  if (figure.bound != nullptr) add_bounds(seeds, distinct_seeds, scheduler, figure, result);
  return result;
}

}  // namespace

std::vector<bool> finish_enough(std::span<const std::vector<JobOutcome>> by_scheduler) {
  std::vector<std::size_t> finished;
  for (const auto& outcomes : by_scheduler)
    finished.push_back(static_cast<std::size_t>(
        std::ranges::count(outcomes, JobOutcome::End::finished, &JobOutcome::end)));
  const std::size_t most = finished.empty() ? 0 : std::ranges::max(finished);
  std::vector<bool> enough;
  for (const std::size_t count : finished) enough.push_back(2 * count >= most);
  return enough;
}

std::vector<bool> finished_by_all(std::span<const std::vector<JobOutcome>> by_scheduler) {
  std::vector<bool> by_all(by_scheduler.empty() ? 0 : by_scheduler.front().size(), true);
  const std::vector<bool> enough = finish_enough(by_scheduler);
  for (std::size_t s = 0; s < by_scheduler.size(); ++s)
    for (std::size_t job = 0; enough[s] && job < by_all.size(); ++job)
      by_all[job] = by_all[job] && by_scheduler[s][job].end == JobOutcome::End::finished;
  return by_all;
}

CommonTimes common_times(std::span<const std::vector<JobOutcome>> by_scheduler) {
  CommonTimes common;
  const std::size_t schedulers = by_scheduler.size();
  common.schedulers.resize(schedulers);
  const std::size_t jobs = schedulers == 0 ? 0 : by_scheduler.front().size();
  const auto finished = [](const JobOutcome& outcome) {
    return outcome.end == JobOutcome::End::finished;
  };
  const std::vector<bool> by_all = finished_by_all(by_scheduler);
  const std::vector<bool> enough = finish_enough(by_scheduler);
  for (std::size_t job = 0; job < jobs; ++job) {
    common.jobs += by_all[job] ? 1 : 0;
    for (std::size_t s = 0; s < schedulers; ++s)
      if (enough[s] && finished(by_scheduler[s][job]) && !by_all[job]) common.same_jobs = false;
  }
  for (std::size_t s = 0; s < schedulers; ++s) {
    common.schedulers[s].compared = enough[s];
    if (!enough[s]) continue;
    std::vector<Duration> wait, turnaround, execution;
    std::vector<double> slowdown;
    for (std::size_t job = 0; job < jobs; ++job) {
      if (!by_all[job]) continue;
      const JobOutcome& outcome = by_scheduler[s][job];
      wait.push_back(outcome.wait);
      turnaround.push_back(outcome.turnaround);
      execution.push_back(outcome.execution);
      if (outcome.slowdown) slowdown.push_back(*outcome.slowdown);
    }
    common.schedulers[s] = {Distribution::of(wait), Distribution::of(turnaround),
                            Distribution::of(execution), Ratios::of(slowdown), true};
  }
  return common;
}

double quantile_of(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::ranges::sort(values);
  const bool quartiles = values.size() >= seeds_for_quartiles;
  return {values.size(), quantile_of(values, 0.5),
          quartiles ? quantile_of(values, 0.25) : values.front(),
          quartiles ? quantile_of(values, 0.75) : values.back()};
}

double sign_test(std::size_t lower, std::size_t higher) {
  const std::size_t all = lower + higher;
  const std::size_t fewer = std::min(lower, higher);
  // The sum of C(all, k) / 2^all for k up to `fewer`, in logarithms because of large numbers of
  // seeds.
  double sum = 0;
  for (std::size_t k = 0; k <= fewer; ++k) {
    const auto n = static_cast<double>(all), i = static_cast<double>(k);
    sum += std::exp(std::lgamma(n + 1) - std::lgamma(i + 1) - std::lgamma(n - i + 1) -
                    n * std::log(2.0));
  }
  return std::min(1.0, 2 * sum);
}

bool RunComparison::same_jobs_always() const {
  return std::ranges::all_of(same_jobs, [](bool same) { return same; });
}

std::vector<std::string_view> compared_figures() {
  std::vector<std::string_view> names;
  for (const Figure& figure : figures()) names.push_back(figure.name);
  return names;
}

std::vector<std::optional<double>> figures_of(const SeedRuns& seed, std::size_t scheduler) {
  std::vector<std::optional<double>> values;
  for (const Figure& figure : figures())
    values.push_back(figure.of(seed.runs[scheduler], seed.common.schedulers[scheduler]));
  return values;
}

RunComparison compare(std::span<const SeedRuns> seeds) {
  RunComparison comparison;
  for (const SeedRuns& seed : seeds) {
    comparison.seeds.push_back(seed.seed);
    comparison.jobs.push_back(seed.runs.front().jobs);
    comparison.compared_jobs.push_back(seed.common.jobs);
    comparison.same_jobs.push_back(seed.common.same_jobs);
  }
  const std::vector<std::size_t> kept = distinct(seeds);
  comparison.distinct_seeds = kept.size();
  for (std::size_t s = 0; s < seeds.front().runs.size(); ++s) {
    SchedulerComparison& scheduler = comparison.schedulers.emplace_back();
    scheduler.scheduler = seeds.front().runs[s].scheduler;
    for (const SeedRuns& seed : seeds)
      scheduler.without_times += seed.common.schedulers[s].compared ? 0 : 1;
    for (const Figure& figure : figures())
      scheduler.figures.push_back(compare_figure(seeds, kept, s, figure));
  }
  return comparison;
}

namespace {

Json to_json(const std::optional<Spread>& spread) {
  if (!spread) return nullptr;
  return {{"median", spread->median},
          {"low", spread->low},
          {"high", spread->high},
          {"seeds", spread->count}};
}

}  // namespace

Json to_json(const RunComparison& comparison) {
  Json seeds = Json::array();
  for (std::size_t i = 0; i < comparison.seeds.size(); ++i)
    seeds.push_back({{"seed", comparison.seeds[i]},
                     {"jobs", comparison.jobs[i]},
                     {"compared_jobs", comparison.compared_jobs[i]},
                     {"same_jobs", static_cast<bool>(comparison.same_jobs[i])}});
  Json schedulers = Json::array();
  for (const SchedulerComparison& scheduler : comparison.schedulers) {
    Json all = Json::object();
    for (const FigureComparison& figure : scheduler.figures) {
      Json json = to_json(figure.value);
      if (json.is_null()) json = {{"median", nullptr}};
      if (&scheduler != &comparison.schedulers.front()) {
        json["ratio"] = to_json(figure.ratio);
        json["lower"] = figure.lower;
        json["higher"] = figure.higher;
        json["equal"] = figure.equal;
        json["exceeds_spread"] =
            figure.exceeds_spread ? Json(*figure.exceeds_spread) : Json(nullptr);
      }
      if (figure.bound) {
        json["bound"] = to_json(figure.bound);
        json["times_bound"] = to_json(figure.times_bound);
      }
      all[std::string(figure.figure)] = json;
    }
    schedulers.push_back({{"scheduler", scheduler.scheduler},
                          {"without_times", scheduler.without_times},
                          {"figures", all}});
  }
  return {
      {"seeds", seeds},
      {"distinct_seeds", comparison.distinct_seeds},
      {"spread", "low and high: quartiles from 8 seeds on, with fewer the lowest and the highest"},
      {"rule",
       "exceeds_spread: two-sided sign test over the seeds, ties left out, at most 5 %; null with "
       "fewer than 6 seeds that differ"},
      {"schedulers", schedulers}};
}

}  // namespace cleave
