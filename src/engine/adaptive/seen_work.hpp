#pragma once
// How much work jobs have turned out to have, and what that says of one that is still at work: the
// longer the tail of what was seen, the more is to be expected of a job that has done much.

#include <deque>
#include <vector>

namespace cleave {

/// The work of the last jobs that ended, in seconds at full speed.
class SeenWork {
 public:
  void add(double work_s);

  /// What a job that has done so much, and of which nothing is known, has still to do on average:
  /// the mean rest of those seen that had more, drawn to the mean of all as long as these are few.
  [[nodiscard]] double rest(double done_s) const;
  /// A guess until the first has ended.
  [[nodiscard]] double mean() const { return mean_; }

 private:
  static constexpr std::size_t most = 1000;  // older ones are forgotten
  static constexpr double first_guess_s = 300;

  std::deque<double> recent_;
  std::vector<double> sorted_;
  std::vector<double> sum_from_;  // of those from here on
  double mean_ = first_guess_s;
};

}  // namespace cleave
