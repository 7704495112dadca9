#pragma once
// Where the instances of a claim go, what is still to be done for them, and what room is left.
// Pure functions of the node; loop/claim_keeper.hpp carries them out.
//
// Claims do not queue: one that has no room is refused, with the reason. They go before jobs that
// wait, since their holder's engine has given its own queue's word for them, and never before
// anything that runs.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "control/claim_status.hpp"
#include "control/node/node_state.hpp"
#include "control/verdicts/gpu_verdicts.hpp"

namespace cleave {

/// What decisions on claims need beside the node.
struct ClaimRules {
  MigRules mig;
  bool across_users = false;         // idle instances are given to other users as they are
  std::set<GpuId> reserved = {};     // GPUs that the operator set aside, now or later
  std::set<std::string> avoid = {};  // UUIDs of GPUs that have just refused
};

/// Places for all that is asked for. Fails with one of these words as the error's place: paused,
/// too_large, no_room, or fits_by_size_not_by_position.
[[nodiscard]] Result<std::vector<ClaimPlace>> place_claim(const NodeState& node,
                                                          const ClaimOrder& order,
                                                          const ClaimRules& rules);

/// What could be made now, GPU by GPU.
[[nodiscard]] NodeRoom room_of(const NodeState& node, const ClaimRules& rules);

/// The placements that claims have on a GPU, made or not.
[[nodiscard]] PlacementSet claimed_on(const NodeState& node, GpuId id);

/// What is next for a place of a claim that is to be made.
struct ClaimStep {
  enum class Kind : std::uint8_t {
    wait,     // for an operation, or for a driver that does not answer
    take,     // the instance is there
    destroy,  // `placement` is in the way, or has another user's memory
    create,
    switch_mig,
    refused,  // it cannot be made there, for `why`
  };
  Kind kind = Kind::wait;
  PlacementId placement = 0;
  std::string why = {};
};
[[nodiscard]] ClaimStep judge_claim(const NodeState& node, const JobPlace& at,
                                    const ClaimPlace& place, bool may_switch_mig);

/// Whether an instance that is given back has been seen without processes since.
[[nodiscard]] bool is_left(const ManagedGpu& gpu, PlacementId placement,
                           std::uint64_t released_after);

}  // namespace cleave
