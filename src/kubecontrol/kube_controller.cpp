#include "kubecontrol/kube_controller.hpp"

#include <algorithm>
#include <chrono>

#include "base/format.hpp"
#include "base/json.hpp"
#include "kube/resource_slice.hpp"
#include "kubenode/kube_targets.hpp"

namespace cleave {

namespace {

constexpr const char *lease_name = "cleave-kube-controller",
                     *budgets_target = "/apis/policy/v1/poddisruptionbudgets",
                     *nodes_target = "/api/v1/nodes", *spaces_target = "/api/v1/namespaces";

std::string notes_target(const std::string& space) {
  return fmt::format("/api/v1/namespaces/{}/configmaps", space);
}

std::int64_t unix_seconds_of(Instant at) {
  return std::chrono::duration_cast<std::chrono::seconds>(at.time_since_epoch()).count();
}

std::string pod_words(const KubeName& name) {
  return fmt::format("pod {}/{}", name.space, name.name);
}

}  // namespace

RoundTime time_now() {
  return {std::chrono::steady_clock::now().time_since_epoch(), std::chrono::system_clock::now()};
}

KubeController::KubeController(KubeControllerSettings settings, KubeDoor& kube,
                               std::function<void(const std::string&)> say)
    : settings_(std::move(settings)),
      kube_(kube),
      say_(std::move(say)),
      lease_(kube, settings_.space, lease_name, settings_.holder) {}

// What changes.

KubeListener KubeController::pod_listener() {
  const auto one = [this](const Json& object, bool gone) {
    const auto pod = read_control_pod(object);
    if (!pod) return;
    if (gone)
      pods_.erase(pod->uid);
    else
      pods_[pod->uid] = *pod;
  };
  return {[this, one](const std::vector<Json>& all) {
            const std::lock_guard lock(mutex_);
            pods_.clear();
            for (const Json& each : all) one(each, false);
            pods_known_ = true;
          },
          [this, one](const Json& object, bool gone) {
            const std::lock_guard lock(mutex_);
            one(object, gone);
          },
          [this](const std::string& what) { say_("pods: " + what); }};
}

KubeListener KubeController::claim_listener() {
  const auto one = [this](const Json& object, bool gone) {
    const auto claim = read_control_claim(object);
    if (!claim) return;
    if (!gone) {
      claims_[claim->at] = *claim;
    } else if (const auto known = claims_.find(claim->at);
               known != claims_.end() && known->second.uid == claim->uid) {
      claims_.erase(known);
    }
  };
  return {[this, one](const std::vector<Json>& all) {
            const std::lock_guard lock(mutex_);
            claims_.clear();
            for (const Json& each : all) one(each, false);
            claims_known_ = true;
          },
          [this, one](const Json& object, bool gone) {
            const std::lock_guard lock(mutex_);
            one(object, gone);
          },
          [this](const std::string& what) { say_("claims: " + what); }};
}

KubeListener KubeController::slice_listener() {
  const auto one = [this](const Json& object, bool gone) {
    const auto node = read_control_node(object);
    if (!node) return;
    if (gone)
      nodes_.erase(node->name);
    else
      nodes_[node->name] = *node;
  };
  return {[this, one](const std::vector<Json>& all) {
            const std::lock_guard lock(mutex_);
            nodes_.clear();
            for (const Json& each : all) one(each, false);
            nodes_known_ = true;
          },
          [this, one](const Json& object, bool gone) {
            const std::lock_guard lock(mutex_);
            one(object, gone);
          },
          [this](const std::string& what) { say_("slices: " + what); }};
}

// Reading.

bool KubeController::knows_all() const {
  const std::lock_guard lock(mutex_);
  return pods_known_ && claims_known_ && nodes_known_;
}

/// What is asked for only when a plan is to be made.
Result<void> KubeController::read_rest() {
  const auto nodes = kube_.list(nodes_target);
  if (!nodes) return std::unexpected(nodes.error());
  const auto budgets = kube_.list(budgets_target);
  if (!budgets) return std::unexpected(budgets.error());
  const auto spaces = kube_.list(spaces_target);
  if (!spaces) return std::unexpected(spaces.error());
  states_.clear();
  for (const Json& each : nodes->items) states_.push_back(read_node_readiness(each));
  budgets_.clear();
  for (const Json& each : budgets->items)
    if (auto budget = read_budget(each)) budgets_.push_back(std::move(*budget));
  compacted_spaces_.clear();
  for (const Json& each : spaces->items)
    if (has_compact_label(each)) compacted_spaces_.insert(text_below(each, {"metadata", "name"}));
  return {};
}

/// What the one before has written down. Places that it kept are not kept any longer.
Result<void> KubeController::take_over() {
  const auto there =
      kube_.ask("GET", fmt::format("{}/{}", notes_target(settings_.space), notes_name), nullptr);
  if (!there) return std::unexpected(there.error());
  if (!there->fine() && there->status != 404)
    return fail(ErrorKind::infeasible, notes_name, there->message());
  evicted_ = read_notes(there->body).evicted;
  return {};
}

ClusterScene KubeController::scene() const {
  ClusterScene all;
  {
    const std::lock_guard lock(mutex_);
    all.pods = pods_;
    all.claims = claims_;
    all.nodes = nodes_;
  }
  all.states = states_;
  all.budgets = budgets_;
  all.compacted_spaces = compacted_spaces_;
  all.evicted = evicted_;
  return all;
}

std::optional<ControlPod> KubeController::pod_of(const std::string& uid) const {
  const std::lock_guard lock(mutex_);
  const auto known = pods_.find(uid);
  return known == pods_.end() ? std::nullopt : std::optional(known->second);
}

ControllerCounts KubeController::counts() const {
  const std::lock_guard lock(mutex_);
  return counts_;
}

// Deciding.

Result<EvictionDecision> KubeController::decide(const std::string& profile) {
  const Instant now = settings_.clock().now;
  if (const auto read = read_rest(); !read) return std::unexpected(read.error());
  if (const auto notes = take_over(); !notes) return std::unexpected(notes.error());
  EvictionRules rules = settings_.rules;
  rules.when_waiting = {};
  return profile.empty() ? plan_evictions(scene(), {}, rules, now)
                         : plan_for_profile(scene(), profile, rules, now);
}

Result<void> KubeController::round() {
  const RoundTime time = settings_.clock();
  if (const auto looked = lease_.look(time.steady, time.now); !looked) {
    if (!lease_.held(time.steady)) work_.reset();
    return looked;
  }
  if (!lease_.held(time.steady)) {
    led_ = false;
    work_.reset();
    return {};
  }
  if (!knows_all()) return {};
  if (!led_) {
    if (const auto taken = take_over(); !taken) return taken;
    if (const auto written = write_notes(time); !written) return written;
    led_ = true;
    say_("acts: it holds the lease");
  }
  return work_ ? go_on(time) : begin(time);
}

Result<void> KubeController::begin(RoundTime time) {
  constexpr Duration between = std::chrono::seconds(1);
  if (looked_ && time.steady - *looked_ < between) return {};
  looked_ = time.steady;
  std::erase_if(passed_, [&](const auto& each) { return each.second <= time.steady; });
  std::set<std::string> passed;
  for (const auto& [uid, until] : passed_) passed.insert(uid);
  {
    const std::lock_guard lock(mutex_);
    if (std::ranges::none_of(pods_, [&](const auto& each) {
          return each.second.refused && !each.second.leaves && !passed.contains(each.first) &&
                 time.now - *each.second.refused >= settings_.rules.when_waiting;
        }))
      return {};
  }
  if (const auto read = read_rest(); !read) return read;
  const EvictionDecision decision = plan_evictions(scene(), passed, settings_.rules, time.now);
  const std::string words = in_words(decision);
  if (words != said_ && (decision.plan || !decision.why_not.empty())) say_(words);
  said_ = words;
  if (!decision.plan) return {};
  if (settings_.dry_run) {
    passed_[decision.plan->uid] = time.steady + settings_.passed_for;
    return {};
  }
  {
    const std::lock_guard lock(mutex_);
    ++counts_.plans;
  }
  work_ = Work{*decision.plan, Stage::keep, time.steady, {}, {}, 0, {}};
  return write_notes(time);
}

/// Whether the node has seen that the place is kept.
bool KubeController::is_kept() const {
  const std::lock_guard lock(mutex_);
  const auto node = nodes_.find(work_->plan.node);
  if (node == nodes_.end()) return false;
  for (const ControlGpu& gpu : node->second.gpus) {
    const auto model = find_gpu_model(gpu.model);
    if (!model || !work_->plan.device.starts_with(gpu_label(gpu.uuid))) continue;
    const KubeGpu one{
        gpu.uuid, gpu.index, Geometry(**model, ProfileChoice().on(**model)), {}, true};
    const auto kept = find_device({&one, 1}, work_->plan.device);
    if (!kept) return false;
    return std::ranges::all_of(held_for({&one, 1}, *kept), [&](const KubeDevice& each) {
      const std::string name = device_name(one, each.placement);
      return !node->second.devices.contains(name) || node->second.tainted.contains(name);
    });
  }
  return false;
}

bool KubeController::have_left() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::none_of(pods_,
                              [&](const auto& each) {
                                return work_->done.contains(each.first) && !each.second.over;
                              }) &&
         std::ranges::none_of(claims_, [&](const auto& each) {
           return !each.second.pool.empty() && work_->done.contains(each.second.pod_uid);
         });
}

bool KubeController::have_settled() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::none_of(pods_, [&](const auto& each) {
    return each.second.node.empty() && !each.second.leaves && each.second.owner &&
           work_->owners.contains(each.second.owner->uid);
  });
}

Result<void> KubeController::go_on(RoundTime time) {
  const auto pod = pod_of(work_->plan.uid);
  if (!pod || pod->leaves || pod->over) return finish("it is gone", false, time);
  if (!pod->node.empty()) return finish("it has its place", true, time);
  if (time.steady - work_->kept_at > settings_.kept_for / 2)
    if (const auto kept = write_notes(time); !kept) return kept;
  const Duration passed = time.steady - work_->since;
  switch (work_->stage) {
    case Stage::keep:
      if (is_kept())
        turn_to(Stage::evict, time);
      else if (passed > settings_.keeping)
        return finish("its node does not keep the place", false, time);
      return {};
    case Stage::evict:
      return evict_wave(time);
    case Stage::leave:
      if (have_left())
        turn_to(Stage::settle, time);
      else if (passed > settings_.leaving)
        return finish("evicted pods do not end", false, time);
      return {};
    case Stage::settle:
      return have_settled() || passed > settings_.settling ? plan_again(time) : Result<void>();
    case Stage::start:
      return passed > settings_.starting ? finish("it has room and does not start", false, time)
                                         : Result<void>();
  }
  return {};
}

/// The pods of the first wave; those that a budget refuses are asked for again.
Result<void> KubeController::evict_wave(RoundTime time) {
  const std::int64_t wave = work_->plan.evictions.front().wave;
  bool all = true;
  for (const PlannedEviction& each : work_->plan.evictions) {
    if (each.wave != wave || work_->done.contains(each.uid)) continue;
    if (!lease_.held(settings_.clock().steady)) return {};
    const auto gone = evict(each, time);
    if (!gone) {
      say_(gone.error().text());
      return finish(gone.error().text(), false, time);
    }
    if (*gone) work_->done.insert(each.uid);
    all = all && *gone;
  }
  if (all) {
    turn_to(Stage::leave, time);
  } else if (time.steady - work_->since > settings_.evicting) {
    if (work_->done.empty()) return finish("disruption budgets allow no eviction", false, time);
    turn_to(Stage::leave, time);
  }
  return {};
}

/// True: it is on its way, or is not what was planned any more; false: a budget does not allow it.
Result<bool> KubeController::evict(const PlannedEviction& each, RoundTime time) {
  const auto pod = pod_of(each.uid);
  if (!pod || pod->leaves || pod->over) return true;
  KubePod named;
  named.uid = each.uid;
  named.at = each.pod;
  const Json body = eviction_of(named);
  const auto answer = kube_.ask("POST", eviction_target(each.pod), &body);
  if (!answer) return std::unexpected(answer.error());
  constexpr int missing = 404, another = 409, not_now = 429;
  if (answer->status == missing || answer->status == another) return true;
  if (answer->status == not_now) {
    const std::lock_guard lock(mutex_);
    ++counts_.refused;
    return false;
  }
  if (!answer->fine())
    return fail(ErrorKind::infeasible, pod_words(each.pod), answer->message(),
                "see the controller's role, and that one budget covers the pod");
  {
    const std::lock_guard lock(mutex_);
    ++counts_.evictions;
  }
  ++work_->evicted;
  work_->owners.insert(each.owner.uid);
  evicted_.emplace(each.owner.uid, time.now);
  say_(fmt::format("{} of {} {} is evicted from {}", pod_words(each.pod), each.owner.kind,
                   each.owner.name, each.from));
  tell(each.pod, each.uid, "Compacted",
       fmt::format("evicted from {} to make room for {}; there was room for another at {}",
                   each.from, pod_words(work_->plan.pod), each.to));
  return true;
}

/// From what is there now. Evictions are written down with the place that is kept next.
Result<void> KubeController::plan_again(RoundTime time) {
  if (const auto read = read_rest(); !read) return read;
  EvictionDecision decision = plan_for_pod(scene(), work_->plan.uid, settings_.rules, time.now);
  if (decision.has_room) {
    turn_to(Stage::start, time);
    return write_notes(time);
  }
  if (!decision.plan)
    return finish(decision.why_not.empty() ? "there is no plan any more" : decision.why_not.front(),
                  false, time);
  if (work_->evicted + decision.plan->evictions.size() > settings_.rules.limits.moves)
    return finish(fmt::format("after {} evictions it would take {} more", work_->evicted,
                              decision.plan->evictions.size()),
                  false, time);
  say_(in_words(decision));
  work_->plan = std::move(*decision.plan);
  work_->done.clear();
  turn_to(Stage::keep, time);
  return write_notes(time);
}

// Doing.

void KubeController::turn_to(Stage stage, RoundTime time) {
  work_->stage = stage;
  work_->since = time.steady;
}

Result<void> KubeController::finish(const std::string& why, bool served, RoundTime time) {
  say_(fmt::format("{}: {}", pod_words(work_->plan.pod), why));
  if (!served) passed_[work_->plan.uid] = time.steady + settings_.passed_for;
  {
    const std::lock_guard lock(mutex_);
    ++(served ? counts_.served : counts_.passed);
  }
  work_.reset();
  return write_notes(time);
}

/// The ConfigMap as it is to be; what somebody else wrote in between is written over.
Result<void> KubeController::write_notes(RoundTime time) {
  constexpr int tries = 3;
  ControlNotes notes;
  notes.evicted = evicted_;
  if (work_) {
    notes.kept.push_back(
        {work_->plan.node, work_->plan.device, unix_seconds_of(time.now + settings_.kept_for)});
    work_->kept_at = time.steady;
  }
  const std::string all = notes_target(settings_.space),
                    one = fmt::format("{}/{}", all, notes_name);
  for (int i = 0; i < tries; ++i) {
    const auto there = kube_.ask("GET", one, nullptr);
    if (!there) return std::unexpected(there.error());
    Json map = there->fine() ? there->body
                             : Json{{"apiVersion", "v1"},
                                    {"kind", "ConfigMap"},
                                    {"metadata", {{"name", notes_name}}}};
    map["data"] = notes_data(notes, time.now - settings_.rules.every);
    const auto written = there->fine() ? kube_.ask("PUT", one, &map) : kube_.ask("POST", all, &map);
    if (!written) return std::unexpected(written.error());
    if (written->fine()) return {};
    if (written->status != 409) return fail(ErrorKind::infeasible, notes_name, written->message());
  }
  return fail(ErrorKind::infeasible, notes_name, "somebody else changes it too");
}

void KubeController::tell(const KubeName& name, const std::string& uid, const std::string& reason,
                          const std::string& text) {
  KubePod pod;
  pod.at = name;
  pod.uid = uid;
  const Json event = event_for(pod, reason, text, "");
  if (const auto told = kube_.ask("POST", events_target(name), &event); !told || !told->fine())
    say_(fmt::format("no event for {}: {}", pod_words(name),
                     told ? told->message() : told.error().text()));
}

void KubeController::end() {
  const Instant now = settings_.clock().now;
  if (work_) {
    work_.reset();
    (void)write_notes({{}, now});  // otherwise it runs out
  }
  lease_.release(now);
}

}  // namespace cleave
