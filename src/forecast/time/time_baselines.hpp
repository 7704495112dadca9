#pragma once
// Predicting how long a job takes, and two plain ways that anything learnt has to beat.

#include <span>
#include <string>

#include "base/result.hpp"
#include "forecast/time/job_distance.hpp"
#include "forecast/time/measured_jobs.hpp"

namespace cleave {

/// Seconds for a row of features, in the order of the jobs that it was made from.
class TimePredictor {
 public:
  virtual ~TimePredictor() = default;
  /// Always answers, however unusual the row.
  [[nodiscard]] virtual double seconds(std::span<const double> row) const = 0;
};

/// Time on the whole GPU x slices of the whole GPU / slices: the time if only compute mattered.
class LinearInSlices final : public TimePredictor {
 public:
  /// `slices` and `whole` are columns of `jobs`; the whole GPU has `total` slices, or with 0 the
  /// largest value of a row. Refuses (bad_usage) columns that do not exist and slices that are not
  /// above 0.
  [[nodiscard]] static Result<LinearInSlices> make(const MeasuredJobs& jobs,
                                                   const std::string& slices,
                                                   const std::string& whole, double total = 0);
  [[nodiscard]] double seconds(std::span<const double> row) const override;

 private:
  LinearInSlices(std::size_t slices, std::size_t whole, double total)
      : slices_(slices), whole_(whole), total_(total) {}
  std::size_t slices_, whole_;
  double total_;
};

/// The time of the nearest measured job (job_distance.hpp).
class NearestMeasuredJob final : public TimePredictor {
 public:
  /// Asserts that there are jobs.
  explicit NearestMeasuredJob(const MeasuredJobs& jobs);
  [[nodiscard]] double seconds(std::span<const double> row) const override;

 private:
  JobDistance distance_;
  std::vector<double> seconds_;
};

}  // namespace cleave
