#pragma once
// The peak memory of a running job from what it reports each iteration (*Managing Multi Instance
// GPUs*, 3.2.3 and Algorithm 1): a line through the requested memory and another through the
// inverse reuse ratio, requested / physical, each fitted by least squares; the peak is what the
// first line and its 99 % interval say for the last iteration, over what the second says, plus a
// constant for context. It counts once consecutive predictions agree. What the paper leaves open is
// an option with the reading as its default (M7-M16); what goes beyond the paper is off.
//
// Constant memory and time a sample. Sizes are in any one unit: answers are in that of the samples.

#include <array>
#include <cstdint>
#include <optional>

#include "forecast/memory/distributions.hpp"
#include "forecast/memory/line_fit.hpp"
#include "forecast/memory/quantile_sketch.hpp"

namespace cleave {

struct TrendOptions {
  enum class Inverse { mean, lower, upper };  // which side of the inverse ratio's interval
  enum class Interval {
    normal,
    prediction
  };  // z times the spread, or with what the line itself is unsure of
  enum class At { last_iteration, most_ahead };  // where a falling trend is asked for the peak
  enum class Noise { normal, any };              // what the interval assumes of the residuals

  int divisor = 2;  // residuals' squares are divided by count - this
  double z = two_sided_99;
  Inverse inverse = Inverse::mean;
  Interval interval = Interval::normal;
  At at = At::last_iteration;
  double agreement = 0.05;  // consecutive predictions agree when they differ by at most this share
  int agreements = 3;       // so many in a row make a prediction count
  int least_samples = 3;    // of the first prediction
  bool wait = true;         // for them to agree
  double overhead = 0;      // CUDA context and what else is constant, added to the peak

  std::int64_t warm_up = 0;  // iterations at the beginning that are left out
  bool shift = false;        // whether a lasting jump starts the fit anew
  bool plateau = false;      // whether memory that has stopped growing stays where it is
  Noise noise = Noise::normal;
};

class TrendForecast {
 public:
  explicit TrendForecast(const TrendOptions& options) : options_(options) {}

  struct Prediction {
    double requested = 0;  // upper end of its interval, at the last iteration
    double inverse = 0;    // requested over physical, there
    double peak = 0;
  };

  /// What a job held during an iteration: by request, and physically, without context. Iterations
  /// that are missing leave a gap; one that is no later than the last, or holds nothing, is passed
  /// over.
  void add(std::int64_t iteration, double requested, double physical);
  /// Brings the forecast up to date, as one does after each sample: asks for the peak at `last`,
  /// the job's last iteration, and compares it with the prediction before. Nullopt with too few
  /// samples or where the inverse ratio comes out as nothing.
  const std::optional<Prediction>& predict(std::int64_t last);

  /// By how much the last two predictions differ, as a share of the earlier.
  [[nodiscard]] std::optional<double> change() const { return change_; }
  [[nodiscard]] bool converged() const { return agreeing_ >= options_.agreements; }
  /// The last prediction, once it counts.
  [[nodiscard]] std::optional<double> peak() const;

  /// Samples of the fit, and those that were passed over.
  [[nodiscard]] std::int64_t count() const { return requested_.count(); }
  [[nodiscard]] std::int64_t passed_over() const { return passed_over_; }
  [[nodiscard]] int shifts() const { return shifts_; }
  [[nodiscard]] bool level() const { return level_; }  // whether the last prediction saw a plateau
  [[nodiscard]] const LineFit& requested() const { return requested_; }
  [[nodiscard]] const LineFit& inverse() const { return inverse_; }
  /// Half the width of the interval of the requested memory at an iteration.
  [[nodiscard]] double margin(double iteration) const;
  /// The most that was held physically since the fit began.
  [[nodiscard]] double highest() const { return highest_; }

 private:
  struct Sample {
    std::int64_t iteration = 0;
    double requested = 0, physical = 0;
  };
  static constexpr std::size_t recent_samples = 32;  // what a plateau is judged by

  void fit(const Sample& sample);
  void look_for_shift(double residual);
  [[nodiscard]] std::optional<double> plateau() const;
  [[nodiscard]] std::optional<Prediction> predicted(std::int64_t last);

  TrendOptions options_;
  LineFit requested_, inverse_;
  QuantileSketch residuals_{0.99};
  std::int64_t last_iteration_ = 0, passed_over_ = 0;
  double highest_ = 0;  // physical, of all samples
  std::array<Sample, recent_samples> recent_{};
  std::int64_t seen_ = 0;  // samples since the fit began, of which the last are in `recent_`
  int outside_ = 0;  // consecutive samples far from the line: above it positive, below negative
  int shifts_ = 0;
  bool level_ = false;
  std::optional<Prediction> prediction_;
  std::optional<double> change_;
  int agreeing_ = 0;
};

}  // namespace cleave
