#include "simulate/advice/conclusion.hpp"

#include <functional>

namespace cleave {

namespace {

/// Some of the candidates: their places, and their times.
struct Part {
  std::vector<std::size_t> places;
  TimesByDraw times;

  [[nodiscard]] bool empty() const { return places.empty(); }
  /// Its place among all candidates.
  [[nodiscard]] std::optional<std::size_t> best() const {
    return empty() ? std::nullopt : std::optional(places[lowest(times)]);
  }
};

Part part_of(std::span<const CandidateTimes> candidates,
             const std::function<bool(CandidateRole)>& is_in) {
  Part part;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (!is_in(candidates[i].role) || candidates[i].turnaround_s.empty()) continue;
    part.places.push_back(i);
    part.times.push_back(candidates[i].turnaround_s);
  }
  return part;
}

std::optional<PairedRatio> best_over(const Part& part, const Part& others, DrawKind kind) {
  if (part.empty() || others.empty()) return std::nullopt;
  return paired_ratio(chosen_elsewhere(part.times), chosen_elsewhere(others.times), kind);
}

/// Whether a fixed layout stands for MIG. Only where it is shorter beyond the spread: it was chosen
/// for jobs like these, and does not follow when they change.
bool fixed_is_better(const Part& fixed, const Part& changing, DrawKind kind) {
  if (fixed.empty() || changing.empty()) return changing.empty();
  return best_over(fixed, changing, kind)->difference == Difference::shorter;
}

bool may_be_advised(CandidateRole role) {
  return role != CandidateRole::hindsight;
}

}  // namespace

Conclusion conclude(std::span<const CandidateTimes> candidates, DrawKind kind) {
  using enum CandidateRole;
  const auto of_role = [&](CandidateRole wanted) {
    return part_of(candidates, [wanted](CandidateRole role) { return role == wanted; });
  };
  const Part whole = of_role(whole_gpus), fixed = of_role(fixed_layout),
             follows = of_role(changing);
  const Part not_fixed = part_of(
      candidates, [](CandidateRole role) { return role == whole_gpus || role == changing; });
  const Part& mig = fixed_is_better(fixed, follows, kind) ? fixed : follows;
  Conclusion conclusion;
  conclusion.whole_gpus = whole.best();
  conclusion.mig = mig.best();
  conclusion.fixed_layout = fixed.best();
  conclusion.mig_over_whole = best_over(mig, whole, kind);
  conclusion.fixed_over_others = best_over(fixed, not_fixed, kind);
  conclusion.fixed_over_whole = best_over(fixed, whole, kind);
  const bool helps =
      conclusion.mig_over_whole && conclusion.mig_over_whole->difference == Difference::shorter;
  conclusion.scheduler = helps || whole.empty() ? conclusion.mig : conclusion.whole_gpus;
  if (!conclusion.scheduler) return conclusion;
  for (const std::size_t i : part_of(candidates, may_be_advised).places) {
    if (i == *conclusion.scheduler) continue;
    const PairedRatio ratio = paired_ratio(candidates[i].turnaround_s,
                                           candidates[*conclusion.scheduler].turnaround_s, kind);
    if (ratio.difference != Difference::longer) conclusion.as_good.push_back(i);
  }
  return conclusion;
}

std::vector<double> best_times(std::span<const CandidateTimes> candidates) {
  const Part all = part_of(candidates, may_be_advised);
  return all.empty() ? std::vector<double>() : chosen_elsewhere(all.times);
}

}  // namespace cleave
