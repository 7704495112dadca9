#pragma once
// The reward of an instance for an application that was measured on it: performance minus idle
// resources. From *Taming GPU Underutilization via Static Partitioning and Fine-grained CPU
// Offloading*, VI-B, whose formulas are missing from the text (readings T1 to T3):
//
//   sm_waste     = 1 - occupancy * S / s
//   memory_waste = 1 - peak / capacity, never below zero
//   reward       = alpha * P / P_full - (sm_waste + memory_waste) / 2
//
// The text varies alpha within [0, 1], the range of either waste. Only their mean is in that range
// too; their sum reaches 2, and then the whole GPU can fail to win at any alpha in it.
// The occupancy is averaged over the S processors of the GPU, of which the instance has s.
//
// An application may be measured on one profile twice, with part of its data in host memory and
// without; the peak is then what was resident on the GPU. Memory, processors and performance have
// the caller's units, the same for all instances; higher performance is better.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cleave {

/// One measured run of the application on an instance.
struct MeasuredInstance {
  std::string name;                          // "1g.12gb"
  double sms = 0;                            // above zero
  std::optional<double> occupancy;           // averaged over the whole GPU, 0 to 1
  std::optional<double> instance_occupancy;  // averaged over the instance; used if present
  double capacity = 0, peak = 0;             // memory; the capacity is above zero
  double performance = 0;                    // tokens a second, or 1 / run time
  bool offloaded = false;                    // part of the data was in host memory
};

/// How performance and the two wastes become one number (reading T1). At alpha = 0 all rank alike.
enum class RewardForm {
  sum,     // alpha P/P_full - (sm_waste + memory_waste)
  mean,    // alpha P/P_full - (sm_waste + memory_waste) / 2
  convex,  // alpha P/P_full - (1 - alpha) (sm_waste + memory_waste)
};
std::string_view name(RewardForm form);
std::optional<RewardForm> reward_form(std::string_view name);

/// What the rewards of all instances are relative to.
struct RewardBasis {
  double gpu_sms = 0;           // of the whole GPU; above zero
  double full_performance = 0;  // on the whole GPU; above zero
  double alpha = 0.5;           // 0: only idle resources count; larger: performance counts more
  RewardForm form = RewardForm::mean;
};

/// The reward of one instance, with its terms.
struct Reward {
  double sm_waste = 0, memory_waste = 0, relative_performance = 0, reward = 0;
};

/// Values that no measurement can have, by the key of the file: more processors than the GPU has,
/// an occupancy that keeps more of them busy than the instance has, a peak beyond the capacity
/// without offload. Rounded numbers are accepted (up to a hundredth more). Empty if the values are
/// possible.
struct Impossible {
  std::string_view key;
  std::string message, remedy;
};
[[nodiscard]] std::optional<Impossible> impossible(const MeasuredInstance& instance,
                                                   double gpu_sms);

[[nodiscard]] Reward reward(const MeasuredInstance& instance, const RewardBasis& basis);

/// The rewards of all instances, and which is the best.
struct Recommendation {
  std::vector<Reward> rewards;      // one for each instance, in their order
  std::optional<std::size_t> best;  // index; empty without instances
  std::vector<std::size_t> equal;   // all whose reward is the highest within 1e-9, including `best`
};

/// The highest reward; among equal ones the instance with the fewest processors, then the first.
[[nodiscard]] Recommendation recommend(std::span<const MeasuredInstance> instances,
                                       const RewardBasis& basis);

/// From this alpha up to the next change, this instance is the best; where the range begins it may
/// be one of two.
struct BestFrom {
  double alpha = 0;
  std::size_t instance = 0;
};

/// The best instance for every alpha from zero to `most`, ascending: each reward is a straight line
/// over alpha, and these are the corners of the highest line. Empty without instances.
[[nodiscard]] std::vector<BestFrom> best_by_alpha(std::span<const MeasuredInstance> instances,
                                                  const RewardBasis& basis, double most);

}  // namespace cleave
