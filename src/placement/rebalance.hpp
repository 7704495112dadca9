#pragma once
// Migration on departure (*An Online Fragmentation-Aware Scheduler*, IV-D): which jobs move when
// work has just left a GPU, the target. The departed job is already released, its instance stands
// idle.
//
//   intra   The target is still busy. Its own jobs move to other places on it while that lowers its
//           fragmentation cost; each move is the one with the least cost after it.
//   inter   The target is lazy. It pulls jobs from busy GPUs of its own model; each move is the one
//   with the
//           least cost of the target after it. The kind is not decided again when the target turns
//           busy (reading F13); it ends when no job is eligible.
//
// A move makes the new place before it gives up the old one (F14), so both must be free side by
// side. The old instance stays behind idle; idle instances go only where the new one overlaps them
// (F15). Ties: an idle instance that exists already, the lowest start, the lowest source GPU, the
// lowest job.
//
// A job keeps its profile, and goes to GPUs of its own model only: another model's instances are of
// other sizes, and what the job asked for is not known here. GPUs that are absent neither give nor
// take.
//
// This is the definition, by looking at every job. Rebalancer (rebalancer.hpp) has the same answers
// quickly.

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "placement/fleet.hpp"
#include "placement/policy.hpp"

namespace cleave {

/// When a job may be pulled from a busy GPU (reading F11).
enum class Eligibility {
  both_after,        // the target's load after the move is below the source's load after it
  lowers_imbalance,  // the target's load after the move is below the source's load before it
};

/// Which moves are allowed.
struct RebalanceOptions {
  Ratio threshold{2, 5};  // busy from this load on
  LoadMetric load = LoadMetric::compute;
  Eligibility eligibility = Eligibility::both_after;
  bool intra = true, inter = true;
  bool guard =
      false;  // no pulled job may raise the target's fragmentation cost; the paper allows it (F12)
  bool existing_only = false;  // only to idle instances, none is made
};

/// Where a job may go on a GPU in this state, whatever its profile.
PlacementSet open_places(const StateGraph& graph, const GpuState& gpu,
                         const RebalanceOptions& options);

/// What a decision asks about the jobs that the fleet holds without knowing them. The functions are
/// asked of placements as the fleet has them then: after each move the answers must be those after
/// it.
struct HeldJobs {
  /// The placements of a GPU whose jobs may not move, now or to this target. Empty function: all
  /// may move.
  std::function<PlacementSet(GpuId)> fixed;
  /// A number for the job that holds a placement; of several that are equally good the lowest
  /// moves. Never empty.
  std::function<std::uint64_t(GpuId, PlacementId)> number;
};

/// Within the target, or from other GPUs to it.
enum class RebalanceKind { intra, inter };

/// One job's move. Both placements are of one model and one profile.
struct JobMove {
  GpuId from{};
  PlacementId from_placement = 0;
  GpuId to{};
  PlacementId to_placement = 0;
  bool reuse = false;                         // an idle instance stands at the new place already
  PlacementSet destroys;                      // idle instances of the target that go first
  FragmentationCost cost_before, cost_after;  // of the target
  friend bool operator==(const JobMove&, const JobMove&) = default;
};

/// Slices of a GPU, of the work held on it, and of one profile, in the measure of the load.
int total_slices(const GpuModel& model, LoadMetric metric);
int held_slices(const GpuState& gpu, LoadMetric metric);
int slices_of(const Profile& profile, LoadMetric metric);

/// Intra where the GPU is busy now that the work has left it.
RebalanceKind rebalance_kind(const Fleet& fleet, GpuId target, const RebalanceOptions& options);

/// The next move of this kind with the fleet as it is; nullopt when there is none. For both kinds
/// it ends after finitely many: cost falls with each intra move, and room on the target with each
/// inter move.
std::optional<JobMove> next_move(const Fleet& fleet, GpuId target, RebalanceKind kind,
                                 const RebalanceOptions& options, const HeldJobs& jobs);

/// Replica first: the new place is held, then the old one released.
void carry_out(Fleet& fleet, const JobMove& move);

/// All moves that follow a departure.
struct Rebalance {
  RebalanceKind kind;
  std::vector<JobMove> moves;
};

/// Every move until there is none, each carried out on the fleet and then told to `moved` (which
/// may be empty), so that `jobs` can follow.
Rebalance rebalance(Fleet& fleet, GpuId target, const RebalanceOptions& options,
                    const HeldJobs& jobs, const std::function<void(const JobMove&)>& moved);

}  // namespace cleave
