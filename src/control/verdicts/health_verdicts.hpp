#pragma once
// What the signs of a GPU's health mean, by the table of model/health_facts.hpp. Pure functions of
// the node; loop/health_keeper.hpp does what they say.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "control/node/node_state.hpp"

namespace cleave {

/// A job runs again after the GPU's faults this often within a day at no cost to its retries.
inline constexpr std::int64_t most_free_runs = 3;
/// A job that fails within this time after a sign may have failed for it.
inline constexpr Duration soon_after_sign = std::chrono::seconds(60);
/// Faults count that long.
inline constexpr Duration faults_count_for = std::chrono::hours(24);
/// So many GPUs are drained for Xids that jobs of one user met alone, at most.
inline constexpr std::size_t most_gpus_of_user = 2;

/// A sign that was seen with news of a GPU.
struct HealthFinding {
  const HealthFact* fact = nullptr;  // null: an Xid without a row, which is ignored
  std::uint64_t number = 0;          // of the Xid
  HealthReaction reaction = HealthReaction::ignore;
  std::optional<PlacementId> placement;  // of the instance of ours, where it is of one
  std::int64_t times = 1;
  friend bool operator==(const HealthFinding&, const HealthFinding&) = default;
};
/// Signs that come and go: events, and memory errors by which counts have risen. Each once, with
/// how often it came. `gpu` is as it was before the news.
[[nodiscard]] std::vector<HealthFinding> findings_of(const ManagedGpu& gpu, const GpuNews& news);

/// The row of a state that the driver tells of a GPU; empty where it does not tell it, null where
/// there is nothing to say.
[[nodiscard]] std::optional<const HealthFact*> state_of(const GpuHealth& health, HealthSign sign);
/// The signs that are states.
[[nodiscard]] std::span<const HealthSign> health_states();

/// The faults that still count.
[[nodiscard]] std::vector<JobFault> recent_faults(std::span<const JobFault> faults, Instant now);
/// Whether a job that meets a grave sign here is taken for its cause: it has met one on another
/// GPU.
[[nodiscard]] bool is_taken_for_cause(std::span<const JobFault> faults, const std::string& gpu,
                                      Instant now);
/// Whether jobs of this user have had as many other GPUs drained by signs alone as they may.
[[nodiscard]] bool has_drained_enough(const NodeState& node, GpuId gpu, std::uint32_t uid);

/// Whether a GPU that was reset, or a machine that was started again, ends the condition.
[[nodiscard]] bool ends_with_reset(const GpuCondition& condition);

/// "Xid 95 (uncontained memory error) while job 3 ran: ...; it takes jobs again after a reset of
/// the GPU or a start of the machine, or with `cleave undrain 0`".
[[nodiscard]] std::string in_words(const GpuCondition& condition, std::uint32_t gpu_index,
                                   Instant now);

}  // namespace cleave
