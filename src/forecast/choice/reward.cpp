#include "forecast/choice/reward.hpp"

#include <algorithm>
#include <array>

#include "base/format.hpp"
#include "forecast/choice/batch_partition.hpp"

namespace cleave {

namespace {

constexpr std::array<std::string_view, 3> form_names = {"sum", "mean", "convex"};

double weighed(const Reward& parts, const RewardBasis& basis) {
  const double gain = basis.alpha * parts.relative_performance;
  const double waste = parts.sm_waste + parts.memory_waste;
  switch (basis.form) {
    case RewardForm::sum:
      return gain - waste;
    case RewardForm::mean:
      return gain - waste / 2;
    case RewardForm::convex:
      return gain - (1 - basis.alpha) * waste;
  }
  return 0;
}

/// A reward as a straight line over alpha.
struct Line {
  double at_zero = 0, slope = 0;
};

Line line_of(const MeasuredInstance& instance, RewardBasis basis) {
  basis.alpha = 0;
  const double at_zero = reward(instance, basis).reward;
  basis.alpha = 1;
  return {at_zero, reward(instance, basis).reward - at_zero};
}

}  // namespace

std::string_view name(RewardForm form) {
  return form_names[static_cast<std::size_t>(form)];
}

std::optional<RewardForm> reward_form(std::string_view name) {
  const auto* const found = std::ranges::find(form_names, name);
  if (found == form_names.end()) return std::nullopt;
  return static_cast<RewardForm>(found - form_names.begin());
}

std::optional<Impossible> impossible(const MeasuredInstance& instance, double gpu_sms) {
  constexpr double rounded = 1.01;
  if (instance.sms > gpu_sms)
    return Impossible{"sms", fmt::format("{} SMs, and the GPU has {}", instance.sms, gpu_sms), ""};
  if (const double busy = instance.occupancy.value_or(0) * gpu_sms; busy > instance.sms * rounded)
    return Impossible{
        "occupancy",
        fmt::format("{} of the GPU's {} SMs are {:.4g} busy ones, and the instance has {}",
                    *instance.occupancy, gpu_sms, busy, instance.sms),
        "an average over the instance is 'instance_occupancy'"};
  if (!instance.offloaded && instance.peak > instance.capacity * rounded)
    return Impossible{
        "peak", fmt::format("{} is more than the capacity {}", instance.peak, instance.capacity),
        "where part of the data was in host memory, set \"offload\": true; the peak is then what "
        "was resident on the GPU"};
  return std::nullopt;
}

Reward reward(const MeasuredInstance& instance, const RewardBasis& basis) {
  Reward result;
  const double occupied = instance.instance_occupancy
                              ? *instance.instance_occupancy
                              : instance.occupancy.value_or(0) * basis.gpu_sms / instance.sms;
  result.sm_waste = 1 - occupied;
  result.memory_waste = std::max(0.0, 1 - instance.peak / instance.capacity);
  result.relative_performance = instance.performance / basis.full_performance;
  result.reward = weighed(result, basis);
  return result;
}

Recommendation recommend(std::span<const MeasuredInstance> instances, const RewardBasis& basis) {
  Recommendation answer;
  for (const MeasuredInstance& instance : instances)
    answer.rewards.push_back(reward(instance, basis));
  if (instances.empty()) return answer;
  const double most = std::ranges::max(answer.rewards, {}, &Reward::reward).reward;
  for (std::size_t i = 0; i < instances.size(); ++i) {
    if (clearly_greater(most, answer.rewards[i].reward)) continue;
    answer.equal.push_back(i);
    if (!answer.best || instances[i].sms < instances[*answer.best].sms) answer.best = i;
  }
  return answer;
}

std::vector<BestFrom> best_by_alpha(std::span<const MeasuredInstance> instances,
                                    const RewardBasis& basis, double most) {
  std::vector<BestFrom> corners;
  if (instances.empty()) return corners;
  std::vector<Line> lines;
  for (const MeasuredInstance& instance : instances) lines.push_back(line_of(instance, basis));
  RewardBasis at = basis;
  at.alpha = 0;
  std::size_t best = *recommend(instances, at).best;
  for (double alpha = 0;;) {
    // Among several that are equal where it begins, the steepest wins right after.
    if (!corners.empty() && corners.back().alpha == alpha) corners.pop_back();
    corners.push_back({alpha, best});
    std::optional<std::size_t> next;
    double where = most;
    for (std::size_t i = 0; i < lines.size(); ++i) {
      const double faster = lines[i].slope - lines[best].slope;
      if (!(faster > 1e-12)) continue;
      const double crossing = std::max(alpha, (lines[best].at_zero - lines[i].at_zero) / faster);
      if (crossing > where || (next && crossing == where && lines[i].slope <= lines[*next].slope))
        continue;
      next = i;
      where = crossing;
    }
    if (!next) return corners;
    best = *next;
    alpha = where;
  }
}

}  // namespace cleave
