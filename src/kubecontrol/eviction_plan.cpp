#include "kubecontrol/eviction_plan.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/human_time.hpp"
#include "kube/device_classes.hpp"

namespace cleave {

namespace {

/// Kinds whose pods come back wherever there is room. A DaemonSet's come back to their node.
constexpr std::string_view moving_kinds[] = {"ReplicaSet", "Job", "StatefulSet",
                                             "ReplicationController"};

/// A pod of a Job begins its work anew; another is away for about this long.
constexpr Duration usual_restart = std::chrono::seconds(30);

/// The part of a profile in names of classes and resources, "mig-1g.10gb", of a claim or pod that
/// wants one instance of one profile.
std::string wanted_by(const ControlPod& pod, const ClusterScene& scene) {
  if (!pod.extended.empty()) return pod.extended;
  if (pod.claims.size() != 1) return {};
  const auto claim = scene.claims.find({pod.at.space, pod.claims.front()});
  if (claim == scene.claims.end()) return {};
  const std::string suffix = fmt::format(".{}", kube_driver);
  const std::string& of = claim->second.wanted_class;
  return of.starts_with("mig-") && of.ends_with(suffix) ? of.substr(0, of.size() - suffix.size())
                                                        : std::string();
}

/// The cluster as the planner wants it.
class SceneBoard {
 public:
  /// `tolerant`: the pod whose nodes count; null: nodes without taints.
  SceneBoard(const ClusterScene& scene, const ControlPod* tolerant, const EvictionRules& rules,
             Instant now)
      : scene_(scene), rules_(rules), now_(now) {
    for (const NodeReadiness& state : scene.states) {
      const bool may = state.open && std::ranges::all_of(state.taints, [&](const NodeTaint& each) {
                         return tolerant != nullptr && tolerant->tolerates(each);
                       });
      const auto node = scene.nodes.find(state.name);
      if (!may || node == scene.nodes.end()) continue;
      taints_.insert(taints_.end(), state.taints.begin(), state.taints.end());
      for (const ControlGpu& gpu : node->second.gpus) add_gpu(node->second, gpu);
    }
    for (const auto& [uid, pod] : scene.pods)
      for (const std::string& each : pod.claims) by_claim_[{pod.at.space, each}] = &pod;
    for (const auto& [name, claim] : scene.claims)
      if (!claim.pool.empty()) add_claim(claim);
  }

  [[nodiscard]] RoomAsk ask_for(const std::string& part) const {
    RoomAsk ask;
    for (const Geometry& geometry : shelf_) {
      PlacementSet& set = ask.candidates.emplace_back();
      for (const PlacementId each : geometry.all())
        if (resource_part(geometry[each].profile->name) == part) set.insert(each);
    }
    return ask;
  }
  [[nodiscard]] std::vector<const Geometry*> geometries() const {
    std::vector<const Geometry*> all;
    for (const Geometry& each : shelf_) all.push_back(&each);
    return all;
  }
  [[nodiscard]] const std::vector<RoomGpu>& gpus() const { return gpus_; }
  [[nodiscard]] const std::vector<StayingPod>& stays() const { return stays_; }
  [[nodiscard]] EvictionPlan plan_of(const RoomFound& found) const;

 private:
  struct Spot {
    std::string node;
    KubeGpu gpu;
  };

  void add_gpu(const ControlNode& node, const ControlGpu& gpu) {
    const auto model = find_gpu_model(gpu.model);
    if (gpu.closed || !model) return;
    const Geometry geometry(**model, ProfileChoice().on(**model));
    std::size_t kind = 0;
    while (kind < shelf_.size() && shelf_[kind].model().key != (*model)->key) ++kind;
    if (kind == shelf_.size()) shelf_.push_back(geometry);
    RoomGpu& room = gpus_.emplace_back();
    room.kind = kind;
    Spot& spot = spots_.emplace_back(Spot{node.name, {gpu.uuid, gpu.index, geometry, {}, true}});
    for (const std::string& each : gpu.others)
      if (const auto device = find_device({&spot.gpu, 1}, each))
        room.walls.insert(device->placement);
    by_label_[gpu_label(gpu.uuid)] = gpus_.size() - 1;
  }

  void add_claim(const ControlClaim& claim) {
    for (const std::string& name : claim.devices) {
      const auto known = by_label_.find(name.substr(0, name.find('-')));
      if (known == by_label_.end()) continue;
      const Spot& spot = spots_[known->second];
      const auto device = find_device({&spot.gpu, 1}, name);
      if (!device) continue;
      const ControlPod* pod = holder_of(claim);
      const std::string why = why_it_stays(claim, pod);
      RoomWork work{device->placement, why.empty(), usual_restart, usual_restart,
                    static_cast<std::int64_t>(works_.size())};
      if (pod != nullptr && pod->owner && pod->owner->kind == "Job" && pod->started)
        work.interrupted = std::max(usual_restart, now_ - *pod->started);
      gpus_[known->second].works.push_back(work);
      works_.push_back(pod);
      if (pod != nullptr && !why.empty())
        stays_.push_back({pod->at, place(known->second, device->placement), why});
    }
  }

  [[nodiscard]] const ControlPod* holder_of(const ControlClaim& claim) const {
    if (const auto own = scene_.pods.find(claim.pod_uid); own != scene_.pods.end())
      return &own->second;
    const auto user = by_claim_.find(claim.at);
    return user == by_claim_.end() ? nullptr : user->second;
  }

  /// Empty: it may be evicted.
  [[nodiscard]] std::string why_it_stays(const ControlClaim& claim, const ControlPod* pod) const {
    if (pod == nullptr) return "no pod is known that has it";
    const auto label = pod->labels.find(compact_label);
    const bool asked = label == pod->labels.end() ? scene_.compacted_spaces.contains(pod->at.space)
                                                  : label->second == "true";
    if (!pod->owner) return "it is a bare pod: nobody makes it again";
    if (!asked) return fmt::format("neither it nor its namespace has the label {}", compact_label);
    if (std::ranges::find(moving_kinds, pod->owner->kind) == std::end(moving_kinds))
      return fmt::format("its owner is a {}", pod->owner->kind);
    if (pod->leaves || pod->over || !pod->started) return "it is coming or going";
    if (pod->claims.size() != 1 || claim.devices.size() != 1 || claim.of_others)
      return "it has several devices";
    if (claim.pod_uid != pod->uid || claim.users > 1) return "its claim is not its own";
    if (!pod->anchored.empty()) return pod->anchored;
    for (const NodeTaint& each : taints_)
      if (!pod->tolerates(each)) return fmt::format("it does not tolerate taint {}", each.key);
    if (went_lately(*pod)) return "its owner's pods went a short time ago";
    return why_budgets_keep(*pod);
  }

  [[nodiscard]] std::string why_budgets_keep(const ControlPod& pod) const {
    std::size_t budgets = 0;
    for (const DisruptionBudget& each : scene_.budgets) {
      if (!each.covers(pod)) continue;
      if (each.allowed < 1) return fmt::format("budget {} allows no disruption", each.at.name);
      ++budgets;
    }
    return budgets > 1 ? "several budgets cover it, which evictions do not serve" : std::string();
  }

  /// As many pods as the owner has may go within the time of the rules.
  [[nodiscard]] bool went_lately(const ControlPod& pod) const {
    const auto [first, last] = scene_.evicted.equal_range(pod.owner->uid);
    const auto went = std::count_if(
        first, last, [&](const auto& each) { return now_ - each.second < rules_.every; });
    const auto has = std::ranges::count_if(scene_.pods, [&](const auto& each) {
      return each.second.owner && each.second.owner->uid == pod.owner->uid && !each.second.leaves &&
             !each.second.over;
    });
    return went > 0 && went >= has;
  }

  [[nodiscard]] std::string place(std::size_t gpu, PlacementId placement) const {
    const Placement& at = spots_[gpu].gpu.geometry[placement];
    return fmt::format("{}/{} {}@{}", spots_[gpu].node, spots_[gpu].gpu.index, at.profile->name,
                       at.start);
  }

  const ClusterScene& scene_;
  const EvictionRules& rules_;
  Instant now_;
  std::vector<NodeTaint> taints_;
  std::vector<Geometry> shelf_;
  std::vector<RoomGpu> gpus_;
  std::vector<Spot> spots_;  // as gpus_
  std::map<std::string, std::size_t> by_label_;
  std::map<KubeName, const ControlPod*> by_claim_;
  std::vector<const ControlPod*> works_;  // by RoomWork::name
  std::vector<StayingPod> stays_;
};

EvictionPlan SceneBoard::plan_of(const RoomFound& found) const {
  EvictionPlan plan;
  const RoomPlan& room = *found.plan;
  const Spot& spot = spots_[room.place.gpu];
  plan.node = spot.node;
  plan.device = device_name(spot.gpu, room.place.placement);
  plan.place = place(room.place.gpu, room.place.placement);
  plan.memory_slices = spot.gpu.geometry[room.place.placement].profile->memory.value;
  plan.fewest = found.fewest;
  for (const RoomMove& move : room.moves) {
    const RoomWork& work = gpus_[move.from.gpu].works[move.work];
    const ControlPod& pod = *works_[static_cast<std::size_t>(work.name)];
    PlannedEviction& each = plan.evictions.emplace_back();
    each.wave = move.wave;
    each.uid = pod.uid;
    each.pod = pod.at;
    each.owner = *pod.owner;
    each.device = device_name(spots_[move.from.gpu].gpu, move.from.placement);
    each.from = place(move.from.gpu, move.from.placement);
    each.to = place(move.to.gpu, move.to.placement);
    for (const DisruptionBudget& budget : scene_.budgets)
      if (budget.covers(pod))
        each.budgets.push_back(fmt::format("{} allows {}", budget.at.name, budget.allowed));
  }
  std::ranges::stable_sort(plan.evictions, {}, &PlannedEviction::wave);
  return plan;
}

EvictionDecision decide(const SceneBoard& board, const std::string& part,
                        const EvictionRules& rules) {
  EvictionDecision decision;
  decision.stays = board.stays();
  const RoomAsk ask = board.ask_for(part);
  const auto geometries = board.geometries();
  if (std::ranges::all_of(ask.candidates, [](PlacementSet set) { return set.empty(); })) {
    decision.why_not.push_back(fmt::format("no GPU that serves it has {}", part.substr(4)));
    return decision;
  }
  if (has_room(geometries, board.gpus(), ask)) {
    decision.has_room = true;
    return decision;
  }
  const RoomFound found = make_room(geometries, board.gpus(), ask, rules.limits);
  if (found.plan)
    decision.plan = board.plan_of(found);
  else if (found.all_seen)
    decision.why_not.push_back(fmt::format("no {} evictions at most make room for {}",
                                           rules.limits.moves, part.substr(4)));
  else
    decision.why_not.push_back(
        fmt::format("no plan was found within the effort allowed; it takes {} evictions at least",
                    found.fewest));
  return decision;
}

std::string shown_name(const KubeName& name) {
  return fmt::format("{}/{}", name.space, name.name);
}

}  // namespace

EvictionDecision plan_for_pod(const ClusterScene& scene, const std::string& uid,
                              const EvictionRules& rules, Instant now) {
  EvictionDecision decision;
  const auto known = scene.pods.find(uid);
  if (known == scene.pods.end()) return decision;
  const ControlPod& pod = known->second;
  const std::string part = wanted_by(pod, scene);
  if (part.empty()) {
    decision.why_not.push_back("it does not ask for one instance of one profile");
  } else if (!pod.anchored.empty()) {
    decision.why_not.push_back(pod.anchored);
  } else {
    decision = decide(SceneBoard(scene, &pod, rules, now), part, rules);
  }
  if (decision.plan) {
    decision.plan->uid = uid;
    decision.plan->pod = pod.at;
  }
  for (std::string& each : decision.why_not) each = fmt::format("{}: {}", shown_name(pod.at), each);
  return decision;
}

EvictionDecision plan_for_profile(const ClusterScene& scene, const std::string& profile,
                                  const EvictionRules& rules, Instant now) {
  return decide(SceneBoard(scene, nullptr, rules, now), resource_part(profile), rules);
}

EvictionDecision plan_evictions(const ClusterScene& scene, const std::set<std::string>& passed,
                                const EvictionRules& rules, Instant now) {
  constexpr std::size_t most_looked_at = 8;
  std::vector<const ControlPod*> waiting;
  for (const auto& [uid, pod] : scene.pods)
    if (pod.refused && now - *pod.refused >= rules.when_waiting && !pod.leaves && !pod.over &&
        !passed.contains(uid))
      waiting.push_back(&pod);
  std::ranges::sort(waiting, {},
                    [](const ControlPod* each) { return std::pair(*each->refused, each->at); });
  EvictionDecision all;
  std::set<std::string> asked;
  for (const ControlPod* pod : waiting) {
    const std::string part = wanted_by(*pod, scene);
    if (asked.size() == most_looked_at || (!part.empty() && !asked.insert(part).second)) continue;
    EvictionDecision found = plan_for_pod(scene, pod->uid, rules, now);
    if (all.stays.empty()) all.stays = std::move(found.stays);
    all.why_not.insert(all.why_not.end(), found.why_not.begin(), found.why_not.end());
    if (found.has_room)
      all.why_not.push_back(
          fmt::format("{}: there is room, the scheduler will find it", shown_name(pod->at)));
    if (!found.plan) continue;
    all.plan = std::move(found.plan);
    break;
  }
  return all;
}

std::string in_words(const EvictionDecision& decision) {
  std::string text;
  if (decision.plan) {
    const EvictionPlan& plan = *decision.plan;
    text += fmt::format(
        "Room at {} for {}, by evicting {}\n", plan.place,
        plan.pod.name.empty() ? "one more" : "pod " + shown_name(plan.pod),
        plan.evictions.size() == 1 ? "one pod" : fmt::format("{} pods", plan.evictions.size()));
    std::int64_t wave = 0;
    for (const PlannedEviction& each : plan.evictions) {
      if (each.wave != wave) text += fmt::format("wave {}\n", wave = each.wave);
      text +=
          fmt::format("  {} of {} {}\n    {} -> {}, if the scheduler puts it there\n",
                      shown_name(each.pod), each.owner.kind, each.owner.name, each.from, each.to);
      text += each.budgets.empty() ? "    no disruption budget\n"
                                   : fmt::format("    budget {}\n", fmt::join(each.budgets, ", "));
    }
    text += fmt::format("frees {} memory slices in one piece; no plan evicts fewer than {}\n",
                        plan.memory_slices, plan.fewest);
  } else if (decision.has_room) {
    text += "There is room without evicting a pod\n";
  } else {
    text += "No pod is to be evicted\n";
  }
  for (const std::string& each : decision.why_not) text += fmt::format("no room: {}\n", each);
  for (const StayingPod& each : decision.stays)
    text += fmt::format("stays: {} at {}: {}\n", shown_name(each.pod), each.place, each.why);
  return text;
}

}  // namespace cleave
