#pragma once
// Whether a job that offloads should take a smaller instance where none of the size it asks for is
// free (*Taming GPU Underutilization via Static Partitioning and Fine-grained CPU Offloading*, VI).
//
// `speed` goes by the speed for each memory slice that the job holds. Without a condition a job
// whose memory is touched often would hold its instance for a long time: over 20 seeds with some
// such jobs the mean turnaround was then twice to three times as long as without offloading, and a
// quarter shorter with it (docs/schedulers.md).
//
// `reward` is the paper's (VI-B, forecast/choice/reward.hpp): the smaller instance is taken if its
// reward is at least that of the size that the job asks for. The paper measures occupancies; a
// scheduler knows times alone. So a unit of work is taken to keep as many processors busy wherever
// it runs, and all of them where the job makes most of them.

#include "base/options.hpp"
#include "engine/job_facts.hpp"
#include "placement/fleet.hpp"
#include "placement/request_table.hpp"

namespace cleave {

/// By what a smaller instance is chosen.
struct OffloadRule {
  enum class By { speed, reward, never } by = By::speed;
  double alpha = 0.5;  // of the reward: the weight of performance against idle resources
};

/// The options of schedulers that offload.
inline constexpr OptionRow offload_option{
    "offload", "speed|reward|never", "speed",
    "when a job that can offload takes a smaller instance while none of its size is free: if it "
    "is as fast there for each memory slice, by the reward of performance and idle resources, or "
    "never"};
inline constexpr OptionRow offload_alpha_option{
    "alpha", "NUMBER", "0.5",
    "with offload=reward: the weight of performance against idle resources"};
/// Reads both.
[[nodiscard]] OffloadRule read_offload_rule(OptionReader& in);

/// Whether the rule prefers this placement, on a GPU of the model `kind`, to waiting for the size
/// that the job asks for. Yes where the model has no such size, no where times that the rule needs
/// are not known.
[[nodiscard]] bool worth_offloading(const OffloadRule& rule, const JobFacts* facts,
                                    const Fleet& fleet, const ResolvedRequest& asked, JobId job,
                                    std::size_t kind, PlacementId placement);

}  // namespace cleave
