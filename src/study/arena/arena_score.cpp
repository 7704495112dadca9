#include "study/arena/arena_score.hpp"

#include <algorithm>
#include <cmath>

namespace cleave {

namespace {

constexpr ArenaMetric metrics[] = {
    {"turnaround", "mean turnaround", &ArenaRun::turnaround_s},
    {"p95_slowdown", "95th percentile of bounded slowdown", &ArenaRun::p95_slowdown},
    {"makespan", "makespan", &ArenaRun::makespan_s}};

bool may_stop_nothing(const ArenaCell& cell) {
  return cell.may == MayInterrupt::never;
}

constexpr ArenaGroup groups[] = {
    {"all cells", [](const ArenaCell&) { return true; }, 0.90},
    {"nothing may be stopped, sizes given",
     [](const ArenaCell& cell) {
       return may_stop_nothing(cell) && cell.request == ArenaRequest::profile;
     },
     1.00},
    {"nothing may be stopped, sizes free",
     [](const ArenaCell& cell) {
       return may_stop_nothing(cell) && cell.request != ArenaRequest::profile;
     },
     0.85},
    {"checkpoints", [](const ArenaCell& cell) { return cell.may == MayInterrupt::checkpoint; }},
    {"checkpoints and live moves",
     [](const ArenaCell& cell) { return cell.may == MayInterrupt::all; }},
    {"times known", [](const ArenaCell& cell) { return cell.know.times == KnownTimes::truth; }},
    {"times with errors",
     [](const ArenaCell& cell) { return cell.know.times == KnownTimes::noise; }},
    {"times unknown", [](const ArenaCell& cell) { return cell.know.times == KnownTimes::unknown; }},
    {"speeds to be learnt, times unknown",
     [](const ArenaCell& cell) {
       return cell.know.speeds != KnownSpeeds::truth && cell.know.times == KnownTimes::unknown;
     },
     0.95},
    {"one GPU",
     [](const ArenaCell& cell) {
       return cell.run.fleet.starts_with("1x") && !cell.run.fleet.contains(',');
     }},
};

/// The runs of a contestant with all seeds, if each of them finished all jobs.
const std::vector<ArenaRun>* finished_runs(const ArenaResults::Of& cell, std::size_t contestant) {
  const std::vector<ArenaRun>& runs = cell.runs[contestant];
  return std::ranges::all_of(runs, &ArenaRun::finished) ? &runs : nullptr;
}

template <class Values>
double mean_of(const Values& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// Smaller values than this count as this one, so that there are logarithms.
constexpr double least_value = 1e-9;

std::vector<double> logarithms(const std::vector<ArenaRun>& runs, double ArenaRun::*value) {
  std::vector<double> all;
  for (const ArenaRun& run : runs) all.push_back(std::log(std::max(run.*value, least_value)));
  return all;
}

/// The standard error of a mean; empty with one value.
std::optional<double> error_of(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  const double mean = mean_of(values);
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const auto n = static_cast<double>(values.size());
  return std::sqrt(squares / (n - 1) / n);
}

/// What keeps a contestant from being compared.
void say_why(const std::vector<ArenaRun>& runs, ArenaScore& score) {
  score.state = ArenaScore::State::unfinished;
  const auto broken = std::ranges::find_if(runs, [](const ArenaRun& run) { return !!run.why; });
  if (broken == runs.end()) return;
  score.why = broken->why->text();
  if (broken->why->kind != ErrorKind::internal) score.state = ArenaScore::State::left_out;
}

/// The baseline of the least value in this cell.
std::optional<std::size_t> best_baseline(const ArenaResults& results, const ArenaResults::Of& cell,
                                         double ArenaRun::*value) {
  std::optional<std::size_t> best;
  double least = 0;
  for (std::size_t contestant = 0; contestant < results.contestants.size(); ++contestant) {
    if (results.contestants[contestant].role != ArenaRole::baseline) continue;
    const auto of_this = arena_value(cell, contestant, value);
    if (!of_this || (best && *of_this >= least)) continue;
    best = contestant;
    least = *of_this;
  }
  return best;
}

ArenaScore score_in(const ArenaResults& results, const ArenaResults::Of& cell,
                    std::size_t contestant, double ArenaRun::*value) {
  ArenaScore score;
  score.value = arena_value(cell, contestant, value);
  score.best = best_baseline(results, cell, value);
  if (score.best) score.best_value = *arena_value(cell, *score.best, value);
  if (!score.value) {
    say_why(cell.runs[contestant], score);
    return score;
  }
  if (!score.best) {
    score.state = ArenaScore::State::unrivalled;
    return score;
  }
  std::vector<double> differences = logarithms(cell.runs[contestant], value);
  const std::vector<double> of_best = logarithms(cell.runs[*score.best], value);
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] -= of_best[i];
  score.state = ArenaScore::State::compared;
  score.ratio = std::exp(mean_of(differences));
  score.error = error_of(differences);
  return score;
}

}  // namespace

std::span<const ArenaMetric> arena_metrics() {
  return metrics;
}

std::span<const ArenaGroup> arena_groups() {
  return groups;
}

bool ArenaScore::lost(double from) const {
  return state == State::unfinished || (state == State::compared && ratio > from);
}

bool ArenaScore::beyond_noise() const {
  return state == State::unfinished ||
         (state == State::compared && error && std::log(ratio) > 2 * *error);
}

std::vector<ArenaScore> arena_scores(const ArenaResults& results, std::size_t contestant,
                                     const ArenaMetric& metric) {
  std::vector<ArenaScore> scores;
  for (const ArenaResults::Of& cell : results.cells)
    scores.push_back(score_in(results, cell, contestant, metric.value));
  return scores;
}

std::optional<double> arena_value(const ArenaResults::Of& cell, std::size_t contestant,
                                  double ArenaRun::*value) {
  const auto* const runs = finished_runs(cell, contestant);
  if (runs == nullptr) return std::nullopt;
  return std::exp(mean_of(logarithms(*runs, value)));
}

std::optional<double> times_bound(const ArenaResults::Of& cell, std::size_t contestant) {
  const auto* const runs = finished_runs(cell, contestant);
  if (runs == nullptr) return std::nullopt;
  std::vector<double> all;
  for (std::size_t seed = 0; seed < runs->size(); ++seed) {
    const ArenaRun& run = (*runs)[seed];
    const TimeBounds& bound = run.shares ? cell.bounds[seed].shared : cell.bounds[seed].apart;
    if (bound.turnaround_mean_s <= 0) return std::nullopt;
    all.push_back(std::log(run.turnaround_s / bound.turnaround_mean_s));
  }
  return std::exp(mean_of(all));
}

std::optional<double> arena_mean(const ArenaResults::Of& cell, std::size_t contestant,
                                 double ArenaRun::*value) {
  const auto* const runs = finished_runs(cell, contestant);
  if (runs == nullptr) return std::nullopt;
  std::vector<double> all;
  for (const ArenaRun& run : *runs) all.push_back(run.*value);
  return mean_of(all);
}

ArenaSummary summary_of(const std::vector<ArenaScore>& scores, const std::vector<bool>& which) {
  ArenaSummary summary;
  double logs = 0;
  for (std::size_t cell = 0; cell < scores.size(); ++cell) {
    if (!which[cell]) continue;
    const ArenaScore& score = scores[cell];
    summary.unfinished += score.state == ArenaScore::State::unfinished ? 1 : 0;
    summary.lost += score.lost() ? 1 : 0;
    summary.lost_beyond_noise += score.lost() && score.beyond_noise() ? 1 : 0;
    summary.badly_lost += score.lost(badly_lost_ratio) ? 1 : 0;
    if (score.state != ArenaScore::State::compared) continue;
    if (summary.cells == 0 || score.ratio > summary.worst) {
      summary.worst = score.ratio;
      summary.worst_cell = cell;
    }
    ++summary.cells;
    logs += std::log(score.ratio);
  }
  if (summary.cells > 0) summary.mean = std::exp(logs / static_cast<double>(summary.cells));
  return summary;
}

std::vector<bool> cells_of(const ArenaResults& results, const ArenaGroup& group) {
  std::vector<bool> which;
  for (const ArenaResults::Of& cell : results.cells) which.push_back(group.has(cell.cell));
  return which;
}

}  // namespace cleave
