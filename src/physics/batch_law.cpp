#include "physics/batch_law.hpp"

#include <algorithm>
#include <cmath>

#include "physics/least_squares.hpp"
#include "physics/slice_law.hpp"

namespace cleave {

namespace {

/// Logarithms of an application's costs, relative to its shortest time. Bounded below, where a cost
/// no longer matters.
using LogCosts = std::span<const double>;
constexpr double least_log = -14;

double cost(double logarithm, double unit) {
  return logarithm <= least_log ? 0 : unit * std::exp(std::min(logarithm, 30.0));
}

BatchLaw law_of(LogCosts costs, double unit) {
  return {cost(costs[0], unit), cost(costs[1], unit), cost(costs[2], unit), cost(costs[3], unit)};
}

/// Where the fit begins: the fixed part is the shortest time, and the largest batch is GPU-bound.
std::vector<double> first_guess(std::span<const MeasuredBatch> rows,
                                std::span<const double> gpu_bound, double unit) {
  double per_sample = 1e-3;
  for (const MeasuredBatch& row : rows)
    per_sample = std::max(
        per_sample, row.time / unit / (row.batch + 1) / gpu_bound[row.size] / row.processes * 0.5);
  double largest = 1;
  for (const MeasuredBatch& row : rows) largest = std::max(largest, row.batch);
  for (const MeasuredBatch& row : rows)
    if (row.batch == largest)
      per_sample = row.time / unit / row.batch / gpu_bound[row.size] / row.processes;
  return {std::log(0.9), std::log(0.5 * per_sample), std::log(per_sample),
          std::log(0.05 * per_sample)};
}

double shortest(std::span<const MeasuredBatch> rows) {
  double unit = rows.front().time;
  for (const MeasuredBatch& row : rows) unit = std::min(unit, row.time);
  return unit;
}

double error_of(const MeasuredBatch& row, const BatchLaw& law, double gpu_bound,
                const BatchConstants& constants) {
  const double time = batch_time(law, row.batch, gpu_bound, row.processes, constants);
  return softened(std::log(time / row.time), batch_error_scale);
}

bool measured(std::span<const MeasuredBatch> rows, std::size_t sizes) {
  return !rows.empty() && std::ranges::all_of(rows, [&](const MeasuredBatch& row) {
    return row.time > 0 && std::isfinite(row.time) && row.batch > 0 && row.processes > 0 &&
           row.size < sizes;
  });
}

}  // namespace

double batch_time(const BatchLaw& law, double batch, double gpu_bound, int processes,
                  const BatchConstants& constants) {
  const double more = processes - 1;
  const double floor = law.fixed * (1 + constants.floor_growth * more);
  const double work = (law.per_batch + law.per_sample * batch) * gpu_bound *
                      (1 + (1 + constants.work_growth) * more);
  return joined_time(floor, law.host_per_sample * batch + work, 1, constants.overlap);
}

double batch_busy(const BatchLaw& law, double batch, double gpu_bound, int processes,
                  const BatchConstants& constants) {
  const double time = batch_time(law, batch, gpu_bound, processes, constants);
  if (!(time > 0)) return 0;
  return std::min(1.0, processes * (law.per_batch + law.per_sample * batch) * gpu_bound / time);
}

std::optional<BatchLaw> fit_batch_law(std::span<const MeasuredBatch> rows,
                                      std::span<const double> gpu_bound,
                                      const BatchConstants& constants) {
  if (!measured(rows, gpu_bound.size())) return std::nullopt;
  const double unit = shortest(rows);
  FitProblem problem;
  problem.start.own = {first_guess(rows, gpu_bound, unit)};
  problem.group.assign(rows.size(), 0);
  problem.residual = [&](LogCosts, LogCosts own, std::size_t row) {
    const MeasuredBatch& each = rows[row];
    return error_of(each, law_of(own, unit), gpu_bound[each.size], constants);
  };
  return law_of(least_squares(std::move(problem)).at.own.front(), unit);
}

namespace {

/// The shared parameters of the fit, in this order: log p, log h of each size but the last, ga, ov.
class SharedParameters {
 public:
  SharedParameters(const BatchLaws& start, bool processes)
      : start_(&start), sizes_(start.gpu_bound.size()), processes_(processes) {}

  [[nodiscard]] std::vector<double> first() const {
    std::vector<double> values = {std::log(start_->constants.overlap)};
    for (std::size_t i = 0; i + 1 < sizes_; ++i) values.push_back(std::log(start_->gpu_bound[i]));
    if (processes_) {
      values.push_back(start_->constants.floor_growth);
      values.push_back(start_->constants.work_growth);
    }
    return values;
  }
  [[nodiscard]] BatchConstants constants(std::span<const double> values) const {
    BatchConstants all = start_->constants;
    all.overlap = std::exp(std::clamp(values[0], 0.0, 4.0));
    if (processes_) {
      all.floor_growth = values[sizes_];
      all.work_growth = values[sizes_ + 1];
    }
    return all;
  }
  [[nodiscard]] double gpu_bound(std::span<const double> values, std::size_t size) const {
    return size + 1 == sizes_ ? 1 : std::exp(values[1 + size]);
  }

 private:
  const BatchLaws* start_;
  std::size_t sizes_;
  bool processes_;
};

}  // namespace

std::optional<BatchLaws> fit_batch_laws(std::span<const MeasuredBatch> rows, const BatchLaws& start,
                                        bool processes) {
  if (!measured(rows, start.gpu_bound.size())) return std::nullopt;
  std::vector<std::vector<MeasuredBatch>> by_application;
  FitProblem problem;
  for (const MeasuredBatch& row : rows) {
    by_application.resize(std::max(by_application.size(), row.application + 1));
    by_application[row.application].push_back(row);
    problem.group.push_back(row.application);
  }
  const SharedParameters parameters(start, processes);
  problem.start.shared = parameters.first();
  std::vector<double> units;
  for (const auto& each : by_application) {
    units.push_back(each.empty() ? 1 : shortest(each));
    problem.start.own.push_back(each.empty() ? std::vector<double>()
                                             : first_guess(each, start.gpu_bound, units.back()));
  }
  problem.residual = [&](std::span<const double> shared, LogCosts own, std::size_t row) {
    const MeasuredBatch& each = rows[row];
    return error_of(each, law_of(own, units[each.application]),
                    parameters.gpu_bound(shared, each.size), parameters.constants(shared));
  };
  const Parameters at = least_squares(std::move(problem)).at;
  BatchLaws laws{parameters.constants(at.shared), {}, {}};
  for (std::size_t i = 0; i < start.gpu_bound.size(); ++i)
    laws.gpu_bound.push_back(parameters.gpu_bound(at.shared, i));
  for (std::size_t g = 0; g < at.own.size(); ++g)
    laws.applications.push_back(at.own[g].empty() ? BatchLaw{} : law_of(at.own[g], units[g]));
  return laws;
}

}  // namespace cleave
