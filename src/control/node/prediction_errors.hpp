#pragma once
// How far predicted times were off: each finished job's prediction beside what was seen, and what
// the latest of them come to. Plain values.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

#include "control/job_record.hpp"

namespace cleave {

/// The prediction of an attempt whose job finished with it.
struct ScoredPrediction {
  std::uint32_t uid = 0;
  TimeSource source = TimeSource::guess;
  double error = 0;  // |predicted / seen - 1|
  friend bool operator==(const ScoredPrediction&, const ScoredPrediction&) = default;
};

/// The latest that are kept.
inline constexpr std::size_t most_scored = 1000;

/// Of an attempt that ended a job of this user well; nothing where it was not predicted.
[[nodiscard]] std::optional<ScoredPrediction> score_of(std::uint32_t uid,
                                                       const AttemptRecord& attempt);
/// As the latest; the oldest goes beyond most_scored.
void add_score(std::deque<ScoredPrediction>& scores, const ScoredPrediction& score);

/// What several predictions come to.
struct PredictionErrors {
  std::optional<TimeSource> source;  // empty: of all sources
  std::size_t count = 0;
  double median = 0, p90 = 0;
  friend bool operator==(const PredictionErrors&, const PredictionErrors&) = default;
};
/// Of all users, or of one: all sources together first, then each that there is, best known first.
/// Empty where nothing was predicted.
[[nodiscard]] std::vector<PredictionErrors> errors_of(const std::deque<ScoredPrediction>& scores,
                                                      std::optional<std::uint32_t> uid);

}  // namespace cleave
