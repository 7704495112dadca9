#pragma once
// The peak memory of a running job from its report of each iteration (*Managing Multi Instance
// GPUs*, 3.2.3 and Algorithm 1): a line through the requested memory and another through the
// inverse reuse ratio, requested / physical, each fitted by least squares. The peak is the upper
// end of the first line's 99 % interval at the last iteration, divided by the second line's value,
// plus a constant for context and workspaces. It counts once consecutive predictions agree. Points
// that the paper leaves open are options with the reading as default (M7-M16); additions to the
// paper are off by default.
//
// Constant memory and time for each sample. Sizes are in any one unit: answers are in that of the
// samples.

#include <array>
#include <cstdint>
#include <optional>

#include "forecast/memory/distributions.hpp"
#include "forecast/memory/line_fit.hpp"
#include "forecast/memory/quantile_sketch.hpp"

namespace cleave {

/// The readings of the paper and our additions, as options.
struct TrendOptions {
  /// Which side of the inverse ratio's interval.
  enum class Inverse { mean, lower, upper };
  /// z times the spread, or with the uncertainty of the line as well.
  enum class Interval { normal, prediction };
  /// Where a falling trend is evaluated for the peak.
  enum class At { last_iteration, most_ahead };
  /// What the interval assumes about the residuals.
  enum class Noise { normal, any };

  int divisor = 2;  // residuals' squares are divided by count - this
  double z = two_sided_99;
  Inverse inverse = Inverse::mean;
  Interval interval = Interval::normal;
  At at = At::last_iteration;
  double agreement = 0.05;  // consecutive predictions agree when they differ by at most this share
  int agreements = 3;       // how many in a row make a prediction count
  int least_samples = 3;    // before the first prediction
  bool wait = true;         // for them to agree
  double overhead = 0;      // CUDA context and other constant memory, added to the peak
                            // while nothing better is known

  std::int64_t warm_up = 0;  // iterations at the beginning that are ignored
  bool shift = false;        // whether a lasting jump restarts the fit
  bool plateau = false;      // whether memory that has stopped growing is expected to stay constant
  Noise noise = Noise::normal;
};

/// The forecast of one job.
class TrendForecast {
 public:
  explicit TrendForecast(const TrendOptions& options) : options_(options) {}

  /// The parts of a prediction.
  struct Prediction {
    double requested = 0;  // upper end of its interval, at the last iteration
    double inverse = 0;    // requested over physical, there
    double peak = 0;
  };

  /// The memory that a job held during an iteration: requested and physical, without context.
  /// Missing iterations leave a gap; one that is not later than the last, or holds nothing, is
  /// ignored.
  void add(std::int64_t iteration, double requested, double physical);
  /// The constant memory beside the samples from here on, instead of `overhead`: context and
  /// workspaces are the same at every iteration, and must not be in the ratio.
  void set_constant(double constant) { options_.overhead = constant; }
  [[nodiscard]] double constant() const { return options_.overhead; }
  /// Updates the forecast, as is done after each sample: predicts the peak at `last`, the job's
  /// last iteration, and compares it with the previous prediction. Nullopt with too few samples or
  /// if the inverse ratio is not positive.
  const std::optional<Prediction>& predict(std::int64_t last);

  /// The difference of the last two predictions, as a share of the earlier one.
  [[nodiscard]] std::optional<double> change() const { return change_; }
  [[nodiscard]] bool converged() const { return agreeing_ >= options_.agreements; }
  /// The last prediction, once it counts.
  [[nodiscard]] std::optional<double> peak() const;

  /// Samples of the fit, and those that were ignored.
  [[nodiscard]] std::int64_t count() const { return requested_.count(); }
  [[nodiscard]] std::int64_t passed_over() const { return passed_over_; }
  [[nodiscard]] int shifts() const { return shifts_; }
  [[nodiscard]] bool level() const { return level_; }  // whether the last prediction saw a plateau
  [[nodiscard]] const LineFit& requested() const { return requested_; }
  [[nodiscard]] const LineFit& inverse() const { return inverse_; }
  /// Half the width of the interval of the requested memory at an iteration.
  [[nodiscard]] double margin(double iteration) const;
  /// The most memory held physically since the fit began.
  [[nodiscard]] double highest() const { return highest_; }

 private:
  /// One sample, kept for the plateau.
  struct Sample {
    std::int64_t iteration = 0;
    double requested = 0, physical = 0;
  };
  static constexpr std::size_t recent_samples = 32;  // how many decide on a plateau

  void fit(const Sample& sample);
  void look_for_shift(double residual);
  [[nodiscard]] std::optional<double> plateau() const;
  [[nodiscard]] std::optional<Prediction> predicted(std::int64_t last);

  TrendOptions options_;
  LineFit requested_, inverse_;
  QuantileSketch residuals_{0.99};
  std::int64_t last_iteration_ = 0, passed_over_ = 0;
  double highest_ = 0;  // physical, over all samples
  std::array<Sample, recent_samples> recent_{};
  std::int64_t seen_ = 0;  // samples since the fit began; the last are in `recent_`
  int outside_ = 0;  // consecutive samples far from the line: above it positive, below negative
  int shifts_ = 0;
  bool level_ = false;
  std::optional<Prediction> prediction_;
  std::optional<double> change_;
  int agreeing_ = 0;
};

}  // namespace cleave
