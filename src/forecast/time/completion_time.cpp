#include "forecast/time/completion_time.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "base/format.hpp"
#include "base/options.hpp"
#include "base/text.hpp"
#include "forecast/time/held_out_times.hpp"

namespace cleave {

namespace {

struct Form {
  TimeForm form;
  std::string_view name;
};
constexpr Form forms[] = {
    {TimeForm::seconds, "seconds"}, {TimeForm::log, "log"}, {TimeForm::ratio, "ratio"}};

/// Keeps impossible times out of predictions: neither zero nor too large for the multiplications of
/// a double.
double sane(double seconds) {
  return seconds > 1e-12 ? std::min(seconds, largest_number) : 1e-12;  // also what is not a number
}

/// The row as the trees see it.
std::vector<double> tree_columns(std::span<const double> row, TimeForm form, std::size_t whole,
                                 const std::vector<FeatureRange>& ranges) {
  std::vector<double> columns(row.begin(), row.end());
  if (form != TimeForm::ratio) return columns;
  for (std::size_t f = 0; f < row.size(); ++f) {
    if (f == whole || !ranges[f].logarithmic) continue;
    const double quotient = std::isnan(row[f]) || row[f] > 0 ? row[whole] / row[f] : 0;
    columns.push_back(std::clamp(quotient, -largest_number, largest_number));
  }
  return columns;
}

Result<void> check_options(const MeasuredJobs& jobs, const CompletionTimeOptions& options) {
  const auto refuse = [](std::string message, std::string remedy = {}) {
    return fail(ErrorKind::bad_usage, "", std::move(message), std::move(remedy));
  };
  if (!(options.level > 0 && options.level < 1))
    return refuse(fmt::format("the level {} is not between 0 and 1", options.level));
  if (!(options.margin >= 0 && options.margin <= 10))
    return refuse(fmt::format("the margin {} is not between 0 and 10", options.margin));
  if (options.folds < 2) return refuse("at least two folds are needed");
  if (jobs.size() < CompletionTime::least_rows)
    return fail(ErrorKind::bad_input, "",
                fmt::format("{} measured jobs are too few to learn from", jobs.size()),
                fmt::format("{} are the least", CompletionTime::least_rows));
  if (!jobs.groups.empty() && std::ranges::count(jobs.groups, jobs.groups.front()) ==
                                  static_cast<std::ptrdiff_t>(jobs.groups.size()))
    return refuse("all jobs are of one group, so that none can be held out",
                  "choose another group column");
  for (const std::string* column : {&options.whole, &options.slices})
    if (!column->empty() && !jobs.feature(*column))
      return std::unexpected(no_such("feature", *column, jobs.features));
  if (options.form != TimeForm::ratio) return {};
  const auto whole = jobs.feature(options.whole);
  if (!whole)
    return refuse("the form 'ratio' needs to know which feature is the time on the whole GPU",
                  "name it, or choose the form 'log'");
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (!(jobs.rows[i][*whole] > 0))
      return refuse(fmt::format("the time on the whole GPU, '{}', is not above 0 in every row",
                                shown(options.whole)));
  return {};
}

}  // namespace

std::string_view name(TimeForm form) {
  return forms[static_cast<std::size_t>(form)].name;
}

Result<TimeForm> parse_time_form(std::string_view text) {
  const auto row = find_row(std::span<const Form>(forms), text, "form");
  if (!row) return std::unexpected(row.error());
  return (*row)->form;
}

TimeErrors time_errors(std::vector<double> errors) {
  assert(!errors.empty());
  std::ranges::sort(errors);
  const std::size_t last = errors.size() - 1;
  return {(errors[last / 2] + errors[errors.size() / 2]) / 2,
          errors[(errors.size() * 9 + 9) / 10 - 1]};
}

Result<CompletionTime> CompletionTime::fit(const MeasuredJobs& jobs,
                                           const CompletionTimeOptions& options) {
  JobDistance distance(jobs.features, jobs.rows);
  const std::size_t whole = jobs.feature(options.whole).value_or(0);
  NumberRows rows;
  std::vector<double> targets;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const auto columns = tree_columns(jobs.rows[i], options.form, whole, distance.ranges());
    rows.width = columns.size();
    rows.add(columns);
    const double seconds = jobs.seconds[i];
    targets.push_back(options.form == TimeForm::seconds ? seconds
                      : options.form == TimeForm::log   ? std::log(seconds)
                                                        : std::log(seconds / jobs.rows[i][whole]));
  }
  auto trees = BoostedTrees::train(rows, targets, options.boosting);
  if (!trees) return std::unexpected(trees.error());
  CompletionTime model(std::move(distance), std::move(*trees));
  model.form_ = options.form;
  model.whole_ = whole;
  model.level_ = options.level;
  model.margin_ = options.margin;
  return model;
}

Result<CompletionTime> CompletionTime::train(const MeasuredJobs& jobs, const std::string& target,
                                             const CompletionTimeOptions& options) {
  if (const auto fine = check_options(jobs, options); !fine) return std::unexpected(fine.error());
  const bool linear = !options.slices.empty() && !options.whole.empty();
  if (linear)
    if (const auto baseline =
            LinearInSlices::make(jobs, options.slices, options.whole, options.whole_slices);
        !baseline)
      return std::unexpected(baseline.error());
  const auto times = HeldOutTimes::of(jobs, options);
  if (!times) return std::unexpected(times.error());
  auto model = fit(jobs, options);
  if (!model) return model;
  model->target_ = target;
  model->figures_.rows = jobs.size();
  if (const auto settled = HeldOutTimes::settle(jobs, *times, options, *model); !settled)
    return std::unexpected(settled.error());
  return model;
}

std::vector<double> CompletionTime::columns_of(std::span<const double> row) const {
  return tree_columns(row, form_, whole_, distance_.ranges());
}

double CompletionTime::typical_error(const BoostedTrees& spread,
                                     std::span<const double> row) const {
  return std::exp(std::clamp(spread.predict(columns_of(row)), -20.0, 20.0));
}

double CompletionTime::seconds(std::span<const double> row) const {
  const double answer = trees_.predict(columns_of(row));
  switch (form_) {
    case TimeForm::seconds:
      return sane(answer);
    case TimeForm::log:
      return sane(std::exp(answer));
    case TimeForm::ratio:
      return sane(row[whole_] * std::exp(answer));
  }
  return sane(answer);
}

Result<void> CompletionTime::check_range(std::span<const double> row) const {
  for (std::size_t f = 0; f < row.size(); ++f) {
    const FeatureRange& range = ranges()[f];
    if (std::isnan(row[f]) && range.may_miss) continue;
    if (std::isnan(row[f]))
      return fail(ErrorKind::infeasible, "", fmt::format("{} is missing", shown(range.name)));
    if (row[f] >= range.least_with(margin_) && row[f] <= range.most_with(margin_)) continue;
    return fail(ErrorKind::infeasible, "",
                fmt::format("{} is {:g}, the measured jobs have {:g} to {:g}", shown(range.name),
                            row[f], range.least, range.most));
  }
  return {};
}

Result<void> CompletionTime::check_reach(std::span<const double> row) const {
  const NearestJob nearest = distance_.nearest(row);
  if (nearest.distance <= reach_) return {};
  std::string job;
  for (std::size_t f = 0; f < row.size(); ++f)
    if (const double cell = distance_.kept()[nearest.row][f]; !std::isnan(cell))
      job += fmt::format("{}{} {:g}", job.empty() ? "" : ", ", shown(ranges()[f].name), cell);
  const std::size_t f = nearest.feature;
  return fail(
      ErrorKind::infeasible, "",
      fmt::format(
          "no measured job is near: {} is {:g}, the nearest job has {} (distance {:.2f}, at "
          "most {:.2f} is answered)",
          shown(ranges()[f].name), row[f], job, nearest.distance, reach_));
}

Result<TimeForecast> CompletionTime::forecast(std::span<const double> row) const {
  assert(row.size() == ranges().size());
  for (const auto check : {&CompletionTime::check_range, &CompletionTime::check_reach})
    if (const auto fine = (this->*check)(row); !fine) return std::unexpected(fine.error());
  const double expected = seconds(row);
  const double error = typical_error(spread_, row);
  return TimeForecast{expected, sane(expected * std::exp(lower_ * error)),
                      sane(expected * std::exp(upper_ * error))};
}

std::vector<std::string> CompletionTime::features() const {
  std::vector<std::string> names;
  for (const FeatureRange& range : ranges()) names.push_back(range.name);
  return names;
}

std::vector<std::string> CompletionTime::features_that_may_miss() const {
  std::vector<std::string> names;
  for (const FeatureRange& range : ranges())
    if (range.may_miss) names.push_back(range.name);
  return names;
}

}  // namespace cleave
