#pragma once
// How far an attempt says that it is, and how fast it goes, from the iterations that it reports and
// when they were heard. A plain value.
//
// A daemon that begins hears all reports of a running job at once, whenever they were sent, so that
// what comes within a second of the first counts as having come with it. The pace is that of the
// last half or more of the time since then: what a job does at its beginning counts less and less.

#include <algorithm>
#include <cstdint>
#include <optional>

#include "base/time.hpp"

namespace cleave {

/// The progress of one attempt; times are of the steady clock.
class ReportedProgress {
 public:
  void add(std::int64_t iteration, std::optional<std::int64_t> total, Duration now) {
    total_ = total;
    if (!heard_ || iteration < last_.iteration) {  // another count begins
      again_ = again_ || heard_;
      if (!heard_) begun_at_ = iteration;
      heard_ = true;
      first_ = older_ = newer_ = last_ = {iteration, now};
      return;
    }
    last_ = {iteration, now};
    if (now - first_.at < together) {
      first_ = older_ = newer_ = {iteration, first_.at};
    } else if (now - first_.at >= 2 * (newer_.at - first_.at)) {
      older_ = newer_;
      newer_ = last_;
    }
  }

  /// The time of an iteration, also of one that takes long now; empty before two seconds have
  /// passed with at least one.
  [[nodiscard]] std::optional<Duration> pace(Duration now) const {
    const std::int64_t done = last_.iteration - older_.iteration;
    if (!heard_ || done < 1 || last_.at - first_.at < enough) return std::nullopt;
    const Duration usual = (last_.at - older_.at) / done;
    return std::max(usual, (now - older_.at) / (done + 1));
  }
  /// Of its iterations, as last reported; empty where it did not say how many there are.
  [[nodiscard]] std::optional<double> share() const {
    if (!heard_ || !total_ || *total_ < 1) return std::nullopt;
    return std::clamp(static_cast<double>(last_.iteration) / static_cast<double>(*total_), 0.0,
                      1.0);
  }
  /// Of all iterations at that pace.
  [[nodiscard]] std::optional<Duration> whole(Duration now) const {
    const auto each = pace(now);
    if (!each || !total_ || *total_ < 1) return std::nullopt;
    const double ns = static_cast<double>(each->count()) * static_cast<double>(*total_);
    return Duration{
        static_cast<std::int64_t>(std::min(ns, static_cast<double>(longest_duration.count())))};
  }
  /// Whether a count began again: the iterations of one are then not all its work.
  [[nodiscard]] bool began_again() const { return again_; }
  /// The iteration that was heard first; 0 where none was.
  [[nodiscard]] std::int64_t begun_at() const { return begun_at_; }
  /// How many there are; empty where it did not say.
  [[nodiscard]] std::optional<std::int64_t> total() const { return total_; }
  /// When the last report was heard.
  [[nodiscard]] Duration heard_at() const { return last_.at; }

 private:
  static constexpr Duration together = std::chrono::seconds(1), enough = std::chrono::seconds(2);
  /// A report.
  struct Mark {
    std::int64_t iteration = 0;
    Duration at{};
  };
  bool heard_ = false, again_ = false;
  std::int64_t begun_at_ = 0;
  std::optional<std::int64_t> total_;
  Mark first_, older_, newer_, last_;
};

}  // namespace cleave
