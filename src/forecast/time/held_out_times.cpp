#include "forecast/time/held_out_times.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "base/format.hpp"
#include "base/random.hpp"

namespace cleave {

namespace {

/// The share of held-out jobs whose distance a model still answers.
constexpr double reached = 0.99;

/// 0 .. count - 1 in an order drawn from the seed (Fisher and Yates).
std::vector<std::size_t> shuffled(std::size_t count, std::uint64_t seed) {
  std::vector<std::size_t> order(count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  Random random(seed);
  for (std::size_t i = count; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  return order;
}

/// A number for every row; rows of one group share it.
std::vector<std::size_t> groups_of(const MeasuredJobs& jobs) {
  std::vector<std::size_t> groups(jobs.size());
  std::iota(groups.begin(), groups.end(), std::size_t{0});
  std::map<std::string_view, std::size_t> numbers;
  for (std::size_t i = 0; i < jobs.groups.size(); ++i)
    groups[i] = numbers.emplace(jobs.groups[i], numbers.size()).first->second;
  return groups;
}

double error_of(double predicted, double measured) {
  return std::abs(predicted / measured - 1);
}

}  // namespace

std::vector<std::size_t> HeldOutTimes::deal(const MeasuredJobs& jobs, int folds,
                                            std::uint64_t seed) {
  std::vector<std::size_t> fold = groups_of(jobs);
  const std::size_t groups = fold.empty() ? 0 : std::ranges::max(fold) + 1;
  const std::size_t count = std::min(groups, static_cast<std::size_t>(folds));
  std::vector<std::size_t> of_group(groups);
  const std::vector<std::size_t> order = shuffled(groups, seed);
  for (std::size_t i = 0; i < groups; ++i) of_group[order[i]] = i % count;
  for (std::size_t& each : fold) each = of_group[each];
  return fold;
}

Result<std::vector<HeldOutTime>> HeldOutTimes::of(const MeasuredJobs& jobs,
                                                  const CompletionTimeOptions& options) {
  const std::vector<std::size_t> fold = deal(jobs, options.folds, options.boosting.seed);
  std::vector<HeldOutTime> times(jobs.size());
  for (std::size_t out = 0; out <= std::ranges::max(fold); ++out) {
    std::vector<std::size_t> seen;
    for (std::size_t i = 0; i < fold.size(); ++i)
      if (fold[i] != out) seen.push_back(i);
    const MeasuredJobs others = jobs.part(seen);
    const auto model = CompletionTime::fit(others, options);
    if (!model) return std::unexpected(model.error());
    const NearestMeasuredJob nearest(others);
    const auto linear =
        LinearInSlices::make(others, options.slices, options.whole, options.whole_slices);
    for (std::size_t i = 0; i < fold.size(); ++i) {
      if (fold[i] != out) continue;
      const auto row = jobs.rows[i];
      times[i] = {i, out, jobs.seconds[i], model->seconds(row), nearest.seconds(row), 0, false, 0};
      if (linear) times[i].linear = linear->seconds(row);
      times[i].in_range = model->check_range(row).has_value();
      times[i].distance = model->distance_.nearest(row).distance;
    }
  }
  return times;
}

namespace {

/// Errors vary smoothly, with one per job: few and shallow trees, many jobs in a leaf.
BoostingOptions for_spread(std::uint64_t seed) {
  BoostingOptions options;
  options.rounds = 60;
  options.depth = 3;
  options.least_weight = 20;
  options.seed = seed;
  return options;
}

/// An error below this counts as none; its logarithm would otherwise outweigh all others.
constexpr double least_error = 1e-3;

double residual_of(const HeldOutTime& time) {
  return std::log(time.measured / time.trees);
}

}  // namespace

Result<void> HeldOutTimes::settle_interval(const MeasuredJobs& jobs,
                                           const std::vector<HeldOutTime>& answered,
                                           CompletionTime& model) {
  const auto train = [&](const auto& wanted) {
    NumberRows rows;
    std::vector<double> errors;
    for (const HeldOutTime& time : answered) {
      if (!wanted(time)) continue;
      const auto columns = model.columns_of(jobs.rows[time.row]);
      rows.width = columns.size();
      rows.add(columns);
      errors.push_back(std::log(std::abs(residual_of(time)) + least_error));
    }
    return BoostedTrees::train(rows, errors, for_spread(1));
  };
  auto spread = train([](const HeldOutTime&) { return true; });
  if (!spread) return std::unexpected(spread.error());
  // The errors that a spread was learnt from are smaller in its units than new ones: again by
  // folds.
  std::vector<double> scores;
  const std::size_t last = std::ranges::max(answered, {}, &HeldOutTime::fold).fold;
  for (std::size_t fold = 0; fold <= last; ++fold) {
    const auto others = train([&](const HeldOutTime& time) { return time.fold != fold; });
    for (const HeldOutTime& time : answered)
      if (time.fold == fold)
        scores.push_back(residual_of(time) /
                         model.typical_error(others ? *others : *spread, jobs.rows[time.row]));
  }
  // Split conformal prediction: among n + 1 exchangeable scores the last has each rank with equal
  // probability.
  std::ranges::sort(scores);
  const auto count = static_cast<double>(scores.size());
  const double tail = (1 - model.level_) / 2;
  const double low = std::floor((count + 1) * tail), high = std::ceil((count + 1) * (1 - tail));
  // The forecast itself is always inside.
  model.lower_ = std::min(scores[static_cast<std::size_t>(std::max(low, 1.0)) - 1], 0.0);
  model.upper_ = std::max(scores[static_cast<std::size_t>(std::min(high, count)) - 1], 0.0);
  model.spread_ = std::move(*spread);
  return {};
}

Result<void> HeldOutTimes::settle(const MeasuredJobs& jobs, std::vector<HeldOutTime> times,
                                  const CompletionTimeOptions& options, CompletionTime& model) {
  const std::size_t all = times.size();
  std::erase_if(times, [](const HeldOutTime& time) { return !time.in_range; });
  if (times.size() < CompletionTime::least_rows)
    return fail(
        ErrorKind::bad_input, "",
        fmt::format("only {} of {} jobs are within the range of the others, so that nothing can be "
                    "said of the errors",
                    times.size(), all),
        "more measured jobs, or other groups, are needed");
  std::vector<double> distances, trees, nearest, linear;
  for (const HeldOutTime& time : times) distances.push_back(time.distance);
  std::ranges::sort(distances);
  model.reach_ = distances[static_cast<std::size_t>(
      std::ceil(reached * static_cast<double>(distances.size())) - 1)];
  std::erase_if(times, [&](const HeldOutTime& time) { return time.distance > model.reach_; });
  for (const HeldOutTime& time : times) {
    trees.push_back(error_of(time.trees, time.measured));
    nearest.push_back(error_of(time.nearest, time.measured));
    linear.push_back(error_of(time.linear, time.measured));
  }
  model.figures_.held_out = times.size();
  model.figures_.trees = time_errors(std::move(trees));
  model.figures_.nearest = time_errors(std::move(nearest));
  if (!options.slices.empty() && !options.whole.empty())
    model.figures_.linear = time_errors(std::move(linear));
  return settle_interval(jobs, times, model);
}

}  // namespace cleave
