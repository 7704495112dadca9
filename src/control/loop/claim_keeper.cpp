#include "control/loop/claim_keeper.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "control/node/reserved_gpus.hpp"
#include "control/record_text.hpp"

namespace cleave {

namespace {

using State = ManagedInstance::State;

std::string in_words(const Claim& claim) {
  return claim.order.holder.empty() ? fmt::format("claim {}", claim.key)
                                    : fmt::format("claim {} ({})", claim.key, claim.order.holder);
}

/// "3g.20gb, 2 x 1g.5gb"
std::string asked_in_words(const ClaimOrder& order) {
  std::vector<std::string> parts;
  for (const ClaimAsk& ask : order.asks) {
    const std::string what =
        ask.profile.empty() ? fmt::format("{} MiB", ask.memory.value_or(MiB{}).value) : ask.profile;
    parts.push_back(ask.count == 1 ? what : fmt::format("{} x {}", ask.count, what));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

ClaimRules ClaimKeeper::rules() const {
  ClaimRules rules{{settings_.may_switch_mig, false}, settings_.reuse_across_users};
  for (const GpuReservation& each : reservations_of(settings_.reservations, node_, clock_.wall()))
    rules.reserved.insert(each.gpu);
  return rules;
}

void ClaimKeeper::event(std::string kind, const Claim& claim, const std::string& text) {
  book_.event(std::move(kind), fmt::format("{}: {}", in_words(claim), text));
}

void ClaimKeeper::note(const Claim& claim) {
  book_.note_setting(claim_key(claim.key), claim_text(claim));
}

void ClaimKeeper::refresh() {
  for (const GpuId id : node_.all_gpus()) node_.gpu(id).claimed = claimed_on(node_, id);
}

std::optional<JobPlace> ClaimKeeper::where(const ClaimPlace& place) const {
  return node_.place_of(PlannedPlace{place.gpu, place.profile, place.start});
}

void ClaimKeeper::recall(const std::map<std::string, Claim>& claims, bool rebooted) {
  for (const auto& [key, claim] : claims) {
    LiveClaim& live = node_.claims[key];
    live.record = claim;
    live.written = true;
    if (!rebooted || claim.state == ClaimState::releasing) continue;
    live.record.state = ClaimState::releasing;
    live.record.why = "the machine was started again";
    event("claim-ended", claim, live.record.why);
    note(live.record);
  }
  refresh();
}

// Requests.

Result<void> ClaimKeeper::may_make(const std::string& key) const {
  const auto known = node_.claims.find(key);
  if (known == node_.claims.end())
    return node_.claims.size() < most_claims
               ? Result<void>{}
               : fail(ErrorKind::infeasible, "too_many",
                      fmt::format("there are {} claims already", most_claims),
                      "give back those whose holders have ended: cleave claim list");
  if (known->second.record.state == ClaimState::failed) return {};
  if (known->second.record.state == ClaimState::releasing)
    return fail(ErrorKind::infeasible, "releasing",
                fmt::format("claim {} is being given back", key),
                "ask again when its processes have ended");
  return fail(ErrorKind::infeasible, "differs",
              fmt::format("claim {} holds {}", key, asked_in_words(known->second.record.order)),
              "give it back first, or choose another key");
}

Result<void> ClaimKeeper::make(const std::string& key, const ClaimOrder& order,
                               const std::string& by) {
  const auto known = node_.claims.find(key);
  if (known != node_.claims.end() && known->second.record.order.asks == order.asks &&
      known->second.record.order.uid == order.uid &&
      (known->second.record.state == ClaimState::making ||
       known->second.record.state == ClaimState::held)) {
    book_.request({}, [] {});
    return {};
  }
  if (const auto may = may_make(key); !may) return may;
  auto places = place_claim(node_, order, rules());
  if (!places) return std::unexpected(places.error());
  LiveClaim live;
  live.record.key = key;
  live.record.order = order;
  live.record.places = std::move(*places);
  live.record.since = clock_.wall();
  StoreBatch batch;
  batch.settings.emplace_back(claim_key(key), claim_text(live.record));
  batch.events.push_back(book_.event_record(
      "claim-made",
      fmt::format("{}: {} for it, by {}", in_words(live.record), asked_in_words(order), by),
      nullptr));
  // One that has failed stays in the store where this one is not written.
  std::optional<LiveClaim> failed;
  if (known != node_.claims.end()) failed = std::move(known->second);
  node_.claims[key] = std::move(live);
  refresh();
  lifecycle_.rebuild("instances are claimed");
  UserRequest& request =
      book_.request(std::move(batch), [this, key] { node_.claims.at(key).written = true; });
  request.refused = [this, key, failed = std::move(failed)] {
    if (failed) {
      node_.claims[key] = *failed;
    } else {
      node_.claims.erase(key);
    }
    refresh();
    lifecycle_.rebuild("a claim was not written");
  };
  return {};
}

void ClaimKeeper::release(const std::string& key, const std::string& by) {
  StoreBatch batch;
  const auto known = node_.claims.find(key);
  if (known != node_.claims.end() && known->second.record.state != ClaimState::releasing) {
    Claim next = known->second.record;
    next.state = ClaimState::releasing;
    batch.settings.emplace_back(claim_key(key), claim_text(next));
    batch.events.push_back(book_.event_record(
        "claim-released", fmt::format("{}: given back by {}", in_words(next), by), nullptr));
  }
  book_.request(std::move(batch), [this, key] { enter_release(key); });
}

void ClaimKeeper::enter_release(const std::string& key) {
  const auto known = node_.claims.find(key);
  if (known == node_.claims.end() || known->second.record.state == ClaimState::releasing) return;
  LiveClaim& claim = known->second;
  claim.record.state = ClaimState::releasing;
  claim.record.why.clear();
  claim.released_after = node_.last_operation;
  note(claim.record);
}

// Steps.

void ClaimKeeper::step() {
  std::vector<std::string> gone;
  for (auto& [key, claim] : node_.claims) {
    if (!claim.written) continue;
    step(claim);
    if (claim.record.state == ClaimState::releasing && claim.record.places.empty())
      gone.push_back(key);
  }
  for (const std::string& key : gone) {
    book_.note_setting(claim_key(key), "");
    node_.claims.erase(key);
  }
}

void ClaimKeeper::step(LiveClaim& claim) {
  switch (claim.record.state) {
    case ClaimState::making:
      return make_places(claim);
    case ClaimState::held:
      return watch_places(claim);
    case ClaimState::releasing:
      return release_places(claim);
    case ClaimState::failed:
    case ClaimState::released:
      return;
  }
}

void ClaimKeeper::make_places(LiveClaim& claim) {
  bool all = true;
  for (ClaimPlace& place : claim.record.places) {
    std::string why;
    all = make_place(claim.record, place, why) && all;
    if (!why.empty()) return go_elsewhere(claim, std::string(place.gpu), why);
  }
  if (!all) return;
  claim.record.state = ClaimState::held;
  note(claim.record);
  std::vector<std::string> words;
  for (const ClaimPlace& place : claim.record.places)
    if (const auto at = where(place)) words.push_back(node_.in_words(*at));
  event("claim-held", claim.record, fmt::format("it holds {}", fmt::join(words, ", ")));
}

bool ClaimKeeper::make_place(Claim& claim, ClaimPlace& place, std::string& why) {
  const auto at = where(place);
  if (!at) {
    why = "its GPU is not managed any more";
    return false;
  }
  ManagedGpu& gpu = node_.gpu(at->gpu);
  if (const auto refused = gpu.claim_refusals.find(*at->placement);
      refused != gpu.claim_refusals.end()) {
    why = std::exchange(refused->second, {});
    gpu.claim_refusals.erase(refused);
    return false;
  }
  const ClaimStep step = judge_claim(node_, *at, place, settings_.may_switch_mig);
  if (step.kind == ClaimStep::Kind::refused) why = step.why;
  if (step.kind == ClaimStep::Kind::take) take(claim, place, *at);
  if (step.kind != ClaimStep::Kind::take) carry_out(*at, step);
  return step.kind == ClaimStep::Kind::take;
}

void ClaimKeeper::carry_out(const JobPlace& at, const ClaimStep& step) {
  auto& instances = node_.gpu(at.gpu).instances;
  if (step.kind == ClaimStep::Kind::create) {
    instances[step.placement].state = State::making;
    return gpus_.ask(at.gpu, CreateOnGpu{step.placement}, step.placement);
  }
  if (step.kind == ClaimStep::Kind::destroy) {
    ManagedInstance& instance = instances.at(step.placement);
    instance.state = State::going;
    return gpus_.ask(at.gpu, DestroyOnGpu{instance.device, instance.tries > 0}, step.placement);
  }
  if (step.kind == ClaimStep::Kind::switch_mig) gpus_.ask(at.gpu, SwitchMig{true}, std::nullopt);
}

/// From now on it has the memory of the claim's user.
void ClaimKeeper::take(Claim& claim, ClaimPlace& place, const JobPlace& at) {
  ManagedInstance& instance = node_.gpu(at.gpu).instances.at(*at.placement);
  const auto uid = static_cast<std::uint32_t>(claim.order.uid);
  if (place.device == instance.device && instance.user == uid) return;
  place.device = instance.device;
  place.replaces.clear();
  instance.user = uid;
  instance.fresh = false;
  book_.note_setting(user_key(instance.device), fmt::format("{}", uid));
  note(claim);
}

/// Nothing of it is kept where it was; what has been made is idle.
void ClaimKeeper::go_elsewhere(LiveClaim& claim, const std::string& gpu, const std::string& why) {
  event("claim-refused", claim.record, why);
  claim.refused.insert(gpu);
  const std::vector<ClaimPlace> before = std::exchange(claim.record.places, {});
  refresh();
  for (const ClaimPlace& place : before)
    if (const auto at = where(place); at && !place.device.empty())
      node_.leave(*at, clock_.steady());
  ClaimRules rules = this->rules();
  rules.avoid = claim.refused;
  Result<std::vector<ClaimPlace>> places = std::unexpected(Error{});
  if (++claim.record.tries < most_claim_tries)
    places = place_claim(node_, claim.record.order, rules);
  if (places) {
    claim.record.places = std::move(*places);
  } else {
    claim.record.state = ClaimState::failed;
    claim.record.why = why;
  }
  note(claim.record);
  refresh();
  lifecycle_.rebuild("a claim goes elsewhere");
}

/// What was destroyed by somebody else, or was on a GPU that is gone, is given to others again.
void ClaimKeeper::watch_places(LiveClaim& claim) {
  for (ClaimPlace& place : claim.record.places) {
    const auto at = where(place);
    if (!at || place.lost) continue;
    const ManagedGpu& gpu = node_.gpu(at->gpu);
    if (!gpu.observation || gpu.hung) continue;
    const auto there = gpu.instances.find(*at->placement);
    if (!gpu.lost && there != gpu.instances.end() && there->second.device == place.device) continue;
    place.lost = true;
    claim.record.why =
        fmt::format("{} is gone, and Cleave did not destroy it", node_.in_words(*at));
    event("claim-lost", claim.record, claim.record.why);
    note(claim.record);
    refresh();
    lifecycle_.rebuild("an instance of a claim is gone");
  }
}

void ClaimKeeper::release_places(LiveClaim& claim) {
  const std::vector<ClaimPlace> places = claim.record.places;
  for (const ClaimPlace& place : places) {
    if (!release_place(claim, place)) continue;
    std::erase(claim.record.places, place);
    refresh();
    if (const auto at = where(place); at && !place.lost) node_.leave(*at, clock_.steady());
    note(claim.record);
    lifecycle_.rebuild("a claim was given back");
  }
}

bool ClaimKeeper::release_place(LiveClaim& claim, const ClaimPlace& place) {
  const auto at = where(place);
  if (!at || place.lost) return true;
  const ManagedGpu& gpu = node_.gpu(at->gpu);
  if (gpu.lost) return true;
  if (gpu.hung || !gpu.observation) return false;
  const auto there = gpu.instances.find(*at->placement);
  if (there == gpu.instances.end()) return true;
  if (there->second.state != State::ready) return false;
  if (is_left(gpu, *at->placement, claim.released_after)) return true;
  look_again(claim, at->gpu);
  return false;
}

/// A look that was asked for since it was given back tells; where it showed processes, a later one.
void ClaimKeeper::look_again(LiveClaim& claim, GpuId id) {
  const ManagedGpu& gpu = node_.gpu(id);
  if (!gpu.asked.empty() && gpu.asked.rbegin()->first > claim.released_after) return;
  if (gpu.shown > claim.released_after) {
    claim.record.why = "processes of its holder are still there";
    claim.released_after = gpu.shown;
    claim.look_at = clock_.steady() + claim_look_pause;
    node_.timers.emplace(claim.look_at, JobKey{});
  }
  if (clock_.steady() >= claim.look_at) gpus_.look_at_once(id);
}

// What there is to see.

ClaimStatus ClaimKeeper::status_of(const Claim& claim) const {
  ClaimStatus status{claim, {}};
  for (const ClaimPlace& place : claim.places) {
    ClaimStatus::Place& each = status.places.emplace_back();
    const auto at = where(place);
    if (!at) continue;
    const ManagedGpu& gpu = node_.gpu(at->gpu);
    each.gpu = gpu.identity->index;
    const Profile& profile = *gpu.geometry()[*at->placement].profile;
    each.compute_slices = profile.compute.value;
    each.memory_slices = profile.memory.value;
    const auto there = gpu.instances.find(*at->placement);
    if (there == gpu.instances.end() || there->second.device != place.device) continue;
    each.numbers = there->second.numbers;
    each.memory = there->second.capacity;
  }
  return status;
}

std::optional<ClaimStatus> ClaimKeeper::status(const std::string& key) const {
  const auto known = node_.claims.find(key);
  if (known == node_.claims.end() || !known->second.written) return std::nullopt;
  return status_of(known->second.record);
}

std::vector<ClaimStatus> ClaimKeeper::all() const {
  std::vector<ClaimStatus> list;
  for (const auto& [key, claim] : node_.claims)
    if (claim.written) list.push_back(status_of(claim.record));
  return list;
}

}  // namespace cleave
