#include "control/verdicts/claim_verdicts.hpp"

#include <algorithm>
#include <functional>

#include "base/format.hpp"
#include "graph/state_graph.hpp"
#include "placement/policy.hpp"
#include "placement/request_table.hpp"
#include "placement/why_not.hpp"

namespace cleave {

namespace {

using State = ManagedInstance::State;

/// A search over combinations ends after this many places, and then there is no room.
constexpr int most_tried = 20'000;

Request request_of(const ClaimAsk& ask) {
  if (ask.profile.empty()) return {BySize{ask.memory.value_or(MiB{1}), {1}}, {}};
  return {ByProfile{ask.profile}, {}};
}

/// What nothing may be put beside: all that stands on the GPU but idle instances of ours.
PlacementSet taken_on(const NodeState& node, GpuId id) {
  const ManagedGpu& gpu = node.gpu(id);
  PlacementSet taken = gpu.immovable() | node.held_of(id).places;
  for (const auto& [placement, instance] : gpu.instances)
    if (instance.state != State::ready || node.occupied(id, placement)) taken.insert(placement);
  return taken;
}

bool is_usable(const NodeState& node, GpuId id, const ClaimRules& rules) {
  const ManagedGpu& gpu = node.gpu(id);
  MigRules mig = rules.mig;
  mig.wants_whole_gpus = false;
  return !gpu.lost && takes_work(gpu, mig) && !node.held_of(id).all &&
         !node.occupied(id, std::nullopt) && !rules.reserved.contains(id) &&
         !rules.avoid.contains(gpu.identity->uuid);
}

/// The node for the placement of claims: what is taken are walls, and the rest of ours is idle.
FleetFile file_of(const NodeState& node, const ClaimRules& rules) {
  FleetFile file;
  for (const GpuId id : node.all_gpus()) {
    const ManagedGpu& gpu = node.gpu(id);
    GpuEntry entry{fmt::format("gpu/{}", gpu.identity->index), file.geometries.size(), {}};
    file.geometries.push_back(gpu.geometry());
    const PlacementSet taken = taken_on(node, id);
    const PlacementSet idle = gpu.ready_instances() - taken;
    if (is_usable(node, id, rules) && gpu.geometry().legal(taken | idle)) {
      for (const PlacementId placement : taken | idle) {
        InstanceEntry instance;
        instance.placement = placement;
        instance.owned = idle.contains(placement);
        entry.instances.push_back(std::move(instance));
      }
    }
    file.gpus.push_back(std::move(entry));
  }
  return file;
}

/// GPUs that take no claim are absent.
Fleet fleet_for_claims(const NodeState& node, const ClaimRules& rules) {
  Fleet fleet(file_of(node, rules));
  for (const GpuId id : node.all_gpus()) {
    const ManagedGpu& gpu = node.gpu(id);
    const PlacementSet taken = taken_on(node, id);
    if (!is_usable(node, id, rules) ||
        !gpu.geometry().legal(taken | (gpu.ready_instances() - taken)))
      fleet.withdraw(id);
  }
  return fleet;
}

/// One instance that is asked for, with where it may be on each GPU.
struct Wanted {
  Request request;
  std::vector<PlacementSet> candidates;  // by GPU
  int size = 0;                          // slices of the smallest candidate, to place large first
};

Wanted wanted_of(const NodeState& node, const ClaimAsk& ask) {
  Wanted wanted{request_of(ask), {}, 0};
  for (const GpuId id : node.all_gpus()) {
    const ManagedGpu& gpu = node.gpu(id);
    PlacementSet fine = resolve(wanted.request, {gpu.geometry()}).candidates.front();
    if (ask.gpu && *ask.gpu != gpu.identity->index) fine = {};
    for (const PlacementId placement : fine) {
      const Placement& at = gpu.geometry()[placement];
      if (ask.start && *ask.start != at.start) fine.erase(placement);
      const int slices = at.profile->memory.value + at.profile->compute.value;
      if (wanted.size == 0 || slices < wanted.size) wanted.size = slices;
    }
    wanted.candidates.push_back(fine);
  }
  return wanted;
}

/// The least rise of fragmentation, also where a GPU is empty: the holder's engine keeps a queue,
/// and may have a large instance waiting there.
ChosenPolicy claim_policy() {
  return choose_policy("fragmentation", {{"threshold", "0"}, {"across", "rise"}}).value();
}

/// By that policy: the best of each GPU, and of these the best.
std::optional<JobPlace> best_place(const Fleet& fleet, const Wanted& wanted) {
  static const ChosenPolicy chosen = claim_policy();
  std::optional<JobPlace> best;
  std::optional<Rank> rank;
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    const GpuId id{static_cast<std::uint32_t>(i)};
    const GpuState& state = fleet[id];
    if (state.absent) continue;
    const auto found = best_on({fleet.graph(state), state}, wanted.candidates[i], chosen);
    if (!found || (rank && !(found->rank < *rank))) continue;
    rank = found->rank;
    best = JobPlace{id, found->placement};
  }
  return best;
}

/// All by the policy, one after the other; nothing where one has no place then.
std::optional<std::vector<JobPlace>> by_policy(Fleet& fleet, const std::vector<Wanted>& all) {
  std::vector<JobPlace> places;
  for (const Wanted& wanted : all) {
    const auto place = best_place(fleet, wanted);
    if (!place) break;
    fleet.hold(place->gpu, *place->placement);
    places.push_back(*place);
  }
  if (places.size() == all.size()) return places;
  for (const JobPlace& place : places) fleet.release(place.gpu, *place.placement);
  return std::nullopt;
}

/// Any combination, where the policy's was none.
std::optional<std::vector<JobPlace>> by_search(Fleet& fleet, const std::vector<Wanted>& all) {
  std::vector<JobPlace> places;
  int tried = 0;
  const std::function<bool(std::size_t)> place_from = [&](std::size_t next) {
    if (next == all.size()) return true;
    for (std::size_t i = 0; i < fleet.size(); ++i) {
      const GpuId id{static_cast<std::uint32_t>(i)};
      const GpuState state = fleet[id];
      if (state.absent) continue;
      const PlacementSet free = fleet.graph(state).free(state.occupied);
      for (const PlacementId placement : all[next].candidates[i] & free) {
        if (++tried > most_tried) return false;
        fleet.hold(id, placement);
        places.push_back({id, placement});
        if (place_from(next + 1)) return true;
        places.pop_back();
        fleet.release(id, placement);
      }
    }
    return false;
  };
  return place_from(0) ? std::optional(places) : std::nullopt;
}

/// An idle instance in the same place is taken as it is, or made anew for another user.
ClaimPlace place_of(const NodeState& node, const JobPlace& at, std::int64_t uid,
                    bool across_users) {
  const ManagedGpu& gpu = node.gpu(at.gpu);
  const Placement& where = gpu.geometry()[*at.placement];
  ClaimPlace place{gpu.identity->uuid, std::string(where.profile->name), where.start, {}, {}};
  const auto there = gpu.instances.find(*at.placement);
  if (there == gpu.instances.end()) return place;
  const ManagedInstance& idle = there->second;
  const bool clean = across_users || idle.fresh || (idle.user && std::int64_t{*idle.user} == uid);
  // What nobody has looked at since its last user left may have programs yet.
  const bool seen = !idle.vacancy.unseen && idle.vacancy.strangers.empty();
  (clean && seen ? place.device : place.replaces) = idle.device;
  return place;
}

Error no_room(const Fleet& fleet, const NodeState& node, const std::vector<Wanted>& all) {
  for (const Wanted& wanted : all) {
    if (best_place(fleet, wanted)) continue;
    std::vector<Geometry> geometries;
    for (const GpuId id : node.all_gpus()) geometries.push_back(node.gpu(id).geometry());
    ResolvedRequest resolved = resolve(wanted.request, geometries);
    if (!resolved.impossible.empty())
      return {ErrorKind::infeasible, "too_large", resolved.impossible, WhyNot{}.remedy()};
    resolved.candidates = wanted.candidates;
    const WhyNot why = why_not(fleet, resolved);
    return {ErrorKind::infeasible, why.fit_by_size > 0 ? "fits_by_size_not_by_position" : "no_room",
            why.message(wanted.request), why.remedy()};
  }
  return {
      ErrorKind::infeasible, "no_room",
      fmt::format("each of the {} instances has room, but not all of them together", all.size()),
      "ask for fewer at a time, or wait for work to end"};
}

/// The most placements of this profile that can be added, by trying all.
int most_of(const Geometry& geometry, PlacementSet state, PlacementSet of_profile) {
  int most = 0;
  for (const PlacementId placement : of_profile& geometry.free(state)) {
    // Placements are tried in one order only.
    const PlacementSet later(of_profile.bits() & ~((std::uint32_t{2} << placement) - 1));
    most = std::max(most, 1 + most_of(geometry, state | PlacementSet::of(placement), later));
  }
  return most;
}

}  // namespace

Result<std::vector<ClaimPlace>> place_claim(const NodeState& node, const ClaimOrder& order,
                                            const ClaimRules& rules) {
  if (node.paused)
    return fail(ErrorKind::infeasible, "paused", "the daemon is paused, and starts nothing",
                "have an operator resume it: cleave resume");
  std::vector<Wanted> all;
  for (const ClaimAsk& ask : order.asks)
    for (std::int64_t i = 0; i < ask.count; ++i) all.push_back(wanted_of(node, ask));
  std::ranges::stable_sort(all, std::greater{}, &Wanted::size);
  Fleet fleet = fleet_for_claims(node, rules);
  auto places = by_policy(fleet, all);
  if (!places) places = by_search(fleet, all);
  if (!places) return std::unexpected(no_room(fleet, node, all));
  std::vector<ClaimPlace> result;
  for (const JobPlace& each : *places)
    result.push_back(place_of(node, each, order.uid, rules.across_users));
  return result;
}

NodeRoom room_of(const NodeState& node, const ClaimRules& rules) {
  NodeRoom room;
  for (const GpuId id : node.all_gpus()) {
    const ManagedGpu& gpu = node.gpu(id);
    const Geometry& geometry = gpu.geometry();
    NodeRoom::Gpu& here = room.gpus.emplace_back();
    here.index = gpu.identity->index;
    here.uuid = gpu.identity->uuid;
    const PlacementSet taken = taken_on(node, id);
    const bool usable = !node.paused && is_usable(node, id, rules) && geometry.legal(taken);
    for (const Profile* profile : geometry.profile_list()) {
      const int index = static_cast<int>(profile - geometry.model().profiles.data());
      const int most = usable ? most_of(geometry, taken, geometry.of_profile(index)) : 0;
      here.profiles[std::string(profile->name)] = most;
      room.profiles[std::string(profile->name)] += most;
    }
  }
  return room;
}

PlacementSet claimed_on(const NodeState& node, GpuId id) {
  PlacementSet claimed;
  const ManagedGpu& gpu = node.gpu(id);
  for (const auto& [key, claim] : node.claims) {
    if (claim.record.state == ClaimState::failed) continue;
    for (const ClaimPlace& place : claim.record.places)
      if (!place.lost && place.gpu == gpu.identity->uuid)
        if (const auto at = gpu.geometry().find(place.profile, static_cast<int>(place.start)))
          claimed.insert(*at);
  }
  return claimed;
}

namespace {

/// An idle instance that must go before this placement can be made; nothing: none must.
std::optional<PlacementId> in_the_way(const NodeState& node, GpuId id, PlacementId placement) {
  const ManagedGpu& gpu = node.gpu(id);
  PlacementSet stays = taken_on(node, id) | PlacementSet::of(placement);
  for (const auto& [other, instance] : gpu.instances) {
    if (stays.contains(other)) continue;
    if (!gpu.geometry().legal(stays | PlacementSet::of(other))) return other;
    stays.insert(other);
  }
  return std::nullopt;
}

ClaimStep to_destroy(const ManagedGpu& gpu, PlacementId placement) {
  const ManagedInstance& instance = gpu.instances.at(placement);
  if (!instance.held.empty())
    return {ClaimStep::Kind::refused, placement,
            fmt::format("an instance in its place could not be destroyed: {}", instance.held)};
  return {ClaimStep::Kind::destroy, placement};
}

}  // namespace

ClaimStep judge_claim(const NodeState& node, const JobPlace& at, const ClaimPlace& place,
                      bool may_switch_mig) {
  using enum ClaimStep::Kind;
  const ManagedGpu& gpu = node.gpu(at.gpu);
  const PlacementId placement = *at.placement;
  if (gpu.lost) return {refused, placement, fmt::format("{} is lost", node.in_words(at.gpu))};
  if (gpu.hung || !gpu.observation || !gpu.trouble.empty()) return {wait, placement};
  if (const auto there = gpu.instances.find(placement); there != gpu.instances.end()) {
    if (there->second.state != State::ready) return {wait, placement};
    if (there->second.device != place.replaces) return {take, placement};
    return to_destroy(gpu, placement);
  }
  if (gpu.walls.contains(placement) || gpu.geometry().blocked(gpu.walls).contains(placement))
    return {refused, placement, "somebody else has made an instance in its place"};
  if (std::ranges::any_of(gpu.asked, [](const auto& each) {
        return !std::holds_alternative<LookAtGpu>(each.second.operation);
      }))
    return {wait, placement};
  if (const auto other = in_the_way(node, at.gpu, placement)) return to_destroy(gpu, *other);
  switch (mig_for(gpu, GpuStep::Kind::create, may_switch_mig)) {
    case MigAnswer::right:
      return {create, placement};
    case MigAnswer::switch_first:
      return {switch_mig, placement};
    case MigAnswer::wait:
      break;
  }
  return may_switch_mig ? ClaimStep{wait, placement}
                        : ClaimStep{refused, placement,
                                    fmt::format("MIG mode is off on {}", node.in_words(at.gpu))};
}

bool is_left(const ManagedGpu& gpu, PlacementId placement, std::uint64_t released_after) {
  if (gpu.lost) return true;
  if (gpu.hung || !gpu.observation || gpu.shown <= released_after) return false;
  return std::ranges::none_of(gpu.observation->instances, [&](const ObservedInstance& seen) {
    return seen.placement == placement && !seen.processes.empty();
  });
}

}  // namespace cleave
