// The kubelet's side of a node: instances for claims, and what becomes of those that cannot be
// made.

#include <thread>

#include "base/format.hpp"
#include "base/json.hpp"
#include "kubenode/kube_node.hpp"
#include "kubenode/kube_targets.hpp"

namespace cleave {

namespace {

/// Words of the daemon with which another try may do better.
bool may_pass(const Error& error) {
  return error.place == "no_room" || error.place == "fits_by_size_not_by_position" ||
         error.place == "releasing" || error.place == "paused" || error.place == "differs";
}

std::string in_words(const KubeClaim& claim) {
  return fmt::format("claim {}/{}", claim.at.space, claim.at.name);
}

}  // namespace

Result<std::vector<PreparedDevice>> KubeNode::prepare(const KubeName& name,
                                                      const std::string& uid) {
  const auto claim = read_claim(name);
  if (!claim) return std::unexpected(claim.error());
  if (!*claim || (*claim)->uid != uid)
    return fail(ErrorKind::infeasible, fmt::format("claim {}/{}", name.space, name.name),
                "there is no such claim any more");
  {
    const std::lock_guard lock(mutex_);
    book_.claim_is(**claim);
    noticed();
  }
  if (gpus().empty())
    if (const auto looked = look_at_daemon(); !looked) return std::unexpected(looked.error());
  if (const auto done = bring_about(**claim); !done) {
    // Where nobody answers, the devices are none the worse for it.
    if (daemon_.find(*claim_key_of(uid))) refused(**claim, done.error().text());
    return std::unexpected(done.error());
  }
  const std::lock_guard lock(mutex_);
  refusals_.erase(uid);
  std::vector<PreparedDevice> devices;
  for (std::size_t i = 0; i < (*claim)->grants.size(); ++i) {
    const KubeGrant& grant = (*claim)->grants[i];
    devices.push_back({grant.request, settings_.node, grant.device, cdi_device_id(uid, i)});
  }
  return devices;
}

Result<void> KubeNode::bring_about(const KubeClaim& claim) {
  constexpr std::chrono::milliseconds first_pause{5}, longest_pause{200};
  const auto all = gpus();
  const auto order = order_for(claim, all);
  if (!order) return std::unexpected(order.error());
  const auto until = Steady::now() + settings_.patience;
  auto pause = first_pause;
  bool tried = false;
  Error waits{ErrorKind::infeasible, in_words(claim), "its instances are still being made", {}};
  while (Steady::now() < until) {
    const auto view = view_of(claim, all);
    if (!view) return std::unexpected(view.error());
    const PrepareVerdict verdict = judge_prepare(claim, *view, tried);
    Result<void> done;
    switch (verdict.step) {
      case PrepareStep::done:
        return {};
      case PrepareStep::refuse:
        return fail(ErrorKind::infeasible, in_words(claim), verdict.why);
      case PrepareStep::claim_it:
        tried = view->at_daemon.has_value();
        done = ask_daemon_for(claim, *order);
        break;
      case PrepareStep::give_back:
        done = daemon_.release(*claim_key_of(claim.uid));
        break;
      case PrepareStep::write: {
        const std::lock_guard lock(mutex_);  // two calls for one claim write one file
        done = files_.write(claim.uid, *view->wanted_file);
        break;
      }
      case PrepareStep::wait:
        break;
    }
    if (!done && !may_pass(done.error())) return done;
    if (!done) waits = done.error();
    if (done && verdict.step != PrepareStep::wait) continue;
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, longest_pause);
  }
  return std::unexpected(waits);
}

Result<void> KubeNode::ask_daemon_for(const KubeClaim& claim, const ClaimOrder& order) {
  const auto made = daemon_.make(*claim_key_of(claim.uid), order);
  if (!made) return std::unexpected(made.error());
  return {};
}

Result<PrepareView> KubeNode::view_of(const KubeClaim& claim, const std::vector<KubeGpu>& all) {
  PrepareView view;
  const auto held = daemon_.find(*claim_key_of(claim.uid));
  if (!held) return std::unexpected(held.error());
  view.file = files_.read(claim.uid);
  if (!*held) return view;
  view.at_daemon = (*held)->claim;
  view.same_places = holds_the_same(claim, (*held)->claim, all);
  if ((*held)->claim.state != ClaimState::held || !view.same_places) return view;
  auto text = file_text(claim, **held, all);
  if (!text) return std::unexpected(text.error());
  view.wanted_file = std::move(*text);
  return view;
}

Result<std::optional<std::string>> KubeNode::file_text(const KubeClaim& claim,
                                                       const DaemonClaim& held,
                                                       const std::vector<KubeGpu>& all) {
  const auto uuids = uuids_of(claim, held.claim, all);
  if (!uuids) return std::optional<std::string>();
  std::vector<KubeInstance> instances;
  for (std::size_t i = 0; i < uuids->size(); ++i) {
    KubeInstance& instance = instances.emplace_back();
    instance.grant = claim.grants[i];
    instance.uuid = (*uuids)[i];
    for (std::size_t place = 0; place < held.claim.places.size(); ++place) {
      if (held.claim.places[place].device != instance.uuid || !held.numbers[place]) continue;
      auto nodes = host_.nodes(held.claim.places[place].gpu, *held.numbers[place]);
      if (!nodes) return std::unexpected(nodes.error());
      instance.nodes = std::move(*nodes);
    }
  }
  return claim_cdi_text(claim, instances, host_.gifts(fmt::format("{}", fmt::join(*uuids, ","))));
}

Result<void> KubeNode::unprepare(const std::string& uid) {
  const auto key = claim_key_of(uid);
  if (!key) return fail(ErrorKind::bad_input, "unprepare", "this is not the UID of a claim");
  while (true) {
    PrepareView view;
    view.file = files_.read(uid);
    const auto held = daemon_.find(*key);
    if (!held) return std::unexpected(held.error());
    if (*held) view.at_daemon = (*held)->claim;
    const PrepareStep step = judge_unprepare(view);
    if (step == PrepareStep::done) break;
    const auto done = step == PrepareStep::write ? files_.remove(uid) : daemon_.release(*key);
    if (!done) return done;
  }
  const std::lock_guard lock(mutex_);
  book_.unprepared(uid);
  refusals_.erase(uid);
  noticed();
  return {};
}

// What cannot be made.

void KubeNode::refused(const KubeClaim& claim, const std::string& why) {
  std::vector<KubePod> pods;
  int count = 0;
  {
    const std::lock_guard lock(mutex_);
    for (const KubeDevice& each : devices_of(claim, gpus_))
      refused_[each] = now() + settings_.refused_for;
    count = ++refusals_[claim.uid].count;
    pods = book_.pods_of(claim.at);
    noticed();
  }
  say_(fmt::format("{}: {}", in_words(claim), why));
  for (const KubePod& pod : pods) {
    if (count == 1) tell_pod(pod, "InstanceNotMade", why);
    if (count >= settings_.refusals_before_eviction && pod.owned && settings_.evict) evict(pod);
  }
}

void KubeNode::tell_pod(const KubePod& pod, const std::string& reason, const std::string& text) {
  const Json event = event_for(pod, reason, text, settings_.node);
  if (const auto told = kube_.ask("POST", events_target(pod.at), &event); !told || !told->fine())
    say_(fmt::format("no event for pod {}: {}", pod.at.name,
                     told ? told->message() : told.error().text()));
}

void KubeNode::evict(const KubePod& pod) {
  const Json eviction = eviction_of(pod);
  const auto done = kube_.ask("POST", eviction_target(pod.at), &eviction);
  if (done && done->fine())
    tell_pod(pod, "Evicted", "its GPU instance cannot be made here; its owner makes another pod");
  else
    say_(fmt::format("pod {} is not evicted: {}", pod.at.name,
                     done ? done->message() : done.error().text()));
}

}  // namespace cleave
