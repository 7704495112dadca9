#pragma once
// From the times of candidates, draw by draw, to an answer: whether MIG helps, which scheduler,
// which fixed layout. Nothing here runs anything; the answer to made-up times can be worked out by
// hand.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "simulate/advice/candidates.hpp"
#include "simulate/advice/paired.hpp"

namespace cleave {

/// The mean turnaround under one candidate, by draw, over the same jobs for all.
struct CandidateTimes {
  CandidateRole role;
  std::vector<double> turnaround_s;
};

/// The answer. Numbers are places among the candidates.
struct Conclusion {
  std::optional<std::size_t> whole_gpus, fixed_layout;  // the best of each; nothing: none ran
  /// The best with MIG. A fixed layout only where it is shorter beyond the spread than all that
  /// follow the jobs.
  std::optional<std::size_t> mig;
  /// What is advised. Where MIG makes no difference, whole GPUs: there is nothing to set up.
  std::optional<std::size_t> scheduler;
  /// Others that are not beyond the spread longer than it; in the candidates' order.
  std::vector<std::size_t> as_good;
  /// The best with MIG over the best without, each chosen by other draws than those that judge it.
  std::optional<PairedRatio> mig_over_whole;
  /// In the same way: the best fixed layout over the best of all others, and over whole GPUs.
  std::optional<PairedRatio> fixed_over_others, fixed_over_whole;
};

[[nodiscard]] Conclusion conclude(std::span<const CandidateTimes> candidates, DrawKind kind);

/// By draw: the time of the best that may be advised, chosen by other draws. Nothing where none may
/// be.
[[nodiscard]] std::vector<double> best_times(std::span<const CandidateTimes> candidates);

}  // namespace cleave
