#pragma once
// How long a job will take on a profile, learnt from measured jobs: Dyna-P, 3.1.2, estimates the
// completion time of each job by XGBoost regression from the performance counters of its profile
// (GRACT, DRAMA, TENSOR, memory usage; 3.2.1). The paper names neither the loss, the parameters nor
// an error. Here:
//
// - features are all columns of numbers that the measured jobs have;
// - the trees learn one of TimeForm, with squared error;
// - every forecast has an interval, from the errors on jobs that training did not see
// (held_out_times.hpp);
// - a job that differs from all measured ones is refused, with the feature that is to blame.
//
// docs/forecast-time.md has the formulas and their accuracy on measured data.

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "forecast/time/boosted_trees.hpp"
#include "forecast/time/job_distance.hpp"
#include "forecast/time/measured_jobs.hpp"
#include "forecast/time/time_baselines.hpp"

namespace cleave {

/// The quantity that the trees predict.
enum class TimeForm {
  seconds,  // the time itself
  log,      // its logarithm: errors count relative to the time
  /// The logarithm of time / time on the whole GPU. In addition, that time / each other feature
  /// that is above 0 is a feature too, since trees cannot divide.
  ratio,
};
std::string_view name(TimeForm form);
/// "seconds", "log" or "ratio".
[[nodiscard]] Result<TimeForm> parse_time_form(std::string_view text);

/// How a model is trained.
struct CompletionTimeOptions {
  TimeForm form = TimeForm::log;
  std::string whole;   // the feature that is the time on the whole GPU; `ratio` needs it
  std::string slices;  // the feature that is the profile's compute slices, for the linear baseline
  double whole_slices = 0;  // of the whole GPU; 0: the largest value of a row
  int folds = 5;        // into which rows, or groups of them, are divided to be held out in turn
  double level = 0.9;   // of the interval
  double margin = 0.1;  // beyond the range of the measured jobs (job_distance.hpp)
  BoostingOptions boosting;
};

/// A predicted time with its interval.
struct TimeForecast {
  double seconds = 0;
  double lower = 0, upper = 0;  // this range holds a share `level` of the held-out jobs
};

/// The error of predictions: |predicted / measured - 1|.
struct TimeErrors {
  double median = 0, p90 = 0;
  friend bool operator==(const TimeErrors&, const TimeErrors&) = default;
};
/// Asserts that there are errors.
TimeErrors time_errors(std::vector<double> errors);

/// What training reports about itself.
struct CompletionTimeFigures {
  std::size_t rows = 0;      // measured jobs
  std::size_t held_out = 0;  // of these, answered while they were held out
  TimeErrors trees, nearest;
  std::optional<TimeErrors> linear;
  friend bool operator==(const CompletionTimeFigures&, const CompletionTimeFigures&) = default;
};

/// A trained model with its interval and reach.
class CompletionTime final : public TimePredictor {
 public:
  /// Trains on all jobs, after holding out each of them once for interval, reach and figures.
  /// Refuses fewer than least_rows jobs, fewer than two groups, and inconsistent options
  /// (bad_usage).
  static constexpr std::size_t least_rows = 20;
  [[nodiscard]] static Result<CompletionTime> train(const MeasuredJobs& jobs,
                                                    const std::string& target,
                                                    const CompletionTimeOptions& options);

  /// Refuses (infeasible) a row outside the ranges, and one that is farther from every measured job
  /// than 99 % of the held-out ones were.
  [[nodiscard]] Result<TimeForecast> forecast(std::span<const double> row) const;
  /// Without refusing.
  [[nodiscard]] double seconds(std::span<const double> row) const override;

  /// Names of the features, in the order of a row.
  [[nodiscard]] std::vector<std::string> features() const;
  /// Features that a row may lack (NaN), since some of the measured jobs did.
  [[nodiscard]] std::vector<std::string> features_that_may_miss() const;
  [[nodiscard]] const std::vector<FeatureRange>& ranges() const { return distance_.ranges(); }
  [[nodiscard]] const CompletionTimeFigures& figures() const { return figures_; }
  [[nodiscard]] const std::string& target() const { return target_; }
  [[nodiscard]] TimeForm form() const { return form_; }
  [[nodiscard]] double level() const { return level_; }
  [[nodiscard]] double margin() const { return margin_; }

  /// One JSON document with a version; the same training gives the same bytes.
  [[nodiscard]] std::string save() const;
  /// Accepts any bytes: anything but a complete, sound model is an error (bad_input).
  [[nodiscard]] static Result<CompletionTime> load(std::string_view text, const std::string& place);

 private:
  friend class HeldOutTimes;
  CompletionTime(JobDistance distance, BoostedTrees trees)
      : distance_(std::move(distance)), trees_(std::move(trees)) {}
  /// A row as the trees see it.
  [[nodiscard]] std::vector<double> columns_of(std::span<const double> row) const;
  /// The typical error of the logarithm of the time.
  [[nodiscard]] double typical_error(const BoostedTrees& spread, std::span<const double> row) const;
  /// The trees alone; interval and reach come from held-out jobs.
  [[nodiscard]] static Result<CompletionTime> fit(const MeasuredJobs& jobs,
                                                  const CompletionTimeOptions& options);
  [[nodiscard]] Result<void> check_range(std::span<const double> row) const;
  [[nodiscard]] Result<void> check_reach(std::span<const double> row) const;

  JobDistance distance_;
  BoostedTrees trees_;
  TimeForm form_ = TimeForm::log;
  std::size_t whole_ = 0;  // the feature, if form_ is ratio
  std::string target_;
  double level_ = 0.9, margin_ = 0.1;
  double reach_ = 0;              // distance up to which a job is answered
  BoostedTrees spread_;           // the logarithm of a typical error, as a logarithm of the time
  double lower_ = 0, upper_ = 0;  // the interval, in typical errors
  CompletionTimeFigures figures_;
};

}  // namespace cleave
