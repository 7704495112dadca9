#include "kubenode/kube_node.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "kubenode/kube_targets.hpp"

namespace cleave {

namespace {

std::string name_of(const Json& object) {
  const auto metadata = object.find("metadata");
  if (metadata == object.end() || !metadata->is_object()) return {};
  const auto name = metadata->find("name");
  return name == metadata->end() || !name->is_string() ? std::string() : name->get<std::string>();
}

bool is_of_this_driver(const Json& slice) {
  const auto spec = slice.find("spec");
  if (spec == slice.end() || !spec->is_object()) return false;
  const auto driver = spec->find("driver");
  return driver != spec->end() && driver->is_string() && driver->get<std::string>() == kube_driver;
}

}  // namespace

KubeNode::KubeNode(KubeNodeSettings settings, KubeDoor& kube, DaemonDoor& daemon, HostDoor& host,
                   CdiFolder files, std::function<void(const std::string&)> say)
    : settings_(std::move(settings)),
      kube_(kube),
      daemon_(daemon),
      host_(host),
      files_(std::move(files)),
      say_(std::move(say)),
      window_(settings_.offered_for) {}

// What changes.

void KubeNode::noticed() {
  dirty_ = true;
  ++changes_;
  changed_.notify_all();
}

void KubeNode::wake() {
  const std::lock_guard lock(mutex_);
  dirty_ = true;
  changed_.notify_all();
}

void KubeNode::wait_for_change(std::chrono::milliseconds longest) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, longest, [this] { return dirty_; });
}

KubeListener KubeNode::pod_listener() {
  return {[this](const std::vector<Json>& all) {
            std::vector<KubePod> pods;
            for (const Json& each : all)
              if (auto pod = read_kube_pod(each)) pods.push_back(std::move(*pod));
            const std::lock_guard lock(mutex_);
            book_.pods_are(pods);
            noticed();
          },
          [this](const Json& object, bool gone) {
            const auto pod = read_kube_pod(object);
            if (!pod) return;
            const std::lock_guard lock(mutex_);
            gone ? book_.pod_gone(pod->uid) : book_.pod_is(*pod);
            noticed();
          },
          [this](const std::string& what) { say_("pods: " + what); }};
}

KubeListener KubeNode::slice_listener() {
  return {[this](const std::vector<Json>& all) {
            const std::lock_guard lock(mutex_);
            slices_.clear();
            for (const Json& each : all)
              if (is_of_this_driver(each)) slices_[name_of(each)] = each;
            slices_known_ = dirty_ = true;
            changed_.notify_all();
          },
          [this](const Json& object, bool gone) {
            if (!is_of_this_driver(object)) return;
            const std::lock_guard lock(mutex_);
            if (!gone)
              slices_[name_of(object)] = object;
            else
              slices_.erase(name_of(object));
            dirty_ = true;
            changed_.notify_all();
          },
          [this](const std::string& what) { say_("slices: " + what); }};
}

KubeListener KubeNode::notes_listener() {
  const auto take = [this](const Json* notes) {
    std::vector<KeptRoom> kept;
    if (notes != nullptr) kept = read_kept_room(*notes);
    std::erase_if(kept, [&](const KeptRoom& each) { return each.node != settings_.node; });
    const std::lock_guard lock(mutex_);
    if (kept == kept_) return;
    kept_ = std::move(kept);
    dirty_ = true;
    changed_.notify_all();
  };
  return {[take](const std::vector<Json>& all) {
            const auto notes = std::ranges::find(all, notes_name, name_of);
            take(notes == all.end() ? nullptr : &*notes);
          },
          [take](const Json& object, bool gone) {
            if (name_of(object) == notes_name) take(gone ? nullptr : &object);
          },
          [this](const std::string& what) { say_("kept places: " + what); }};
}

// Reading.

std::vector<KubeGpu> KubeNode::gpus() const {
  const std::lock_guard lock(mutex_);
  return gpus_;
}

Result<void> KubeNode::look_at_daemon() {
  const auto view = daemon_.look();
  if (!view) return std::unexpected(view.error());
  const std::lock_guard lock(mutex_);
  for (KubeGpu& known : gpus_) known.usable = false;  // until it is seen
  for (const KubeGpu& seen : view->gpus) {
    const auto known = std::ranges::find(gpus_, seen.uuid, &KubeGpu::uuid);
    if (known != gpus_.end())
      *known = seen;
    else
      gpus_.push_back(seen);
  }
  made_.clear();
  made_uids_.clear();
  for (const DaemonClaim& each : view->claims) {
    made_uids_.emplace(*uid_of_key(each.claim.key));
    for (const ClaimPlace& place : each.claim.places)
      for (std::size_t i = 0; i < gpus_.size(); ++i)
        if (gpus_[i].uuid == place.gpu)
          if (const auto at = gpus_[i].geometry.find(place.profile, static_cast<int>(place.start)))
            made_.insert({i, *at});
  }
  for (const std::string& each : view->not_published)
    if (not_published_.insert(each).second)
      say_(each + " is not published: eight GPUs at most, of models that `cleave gpu` knows");
  return {};
}

Result<std::optional<KubeClaim>> KubeNode::read_claim(const KubeName& name) {
  const auto answer = kube_.ask("GET", claim_target(name), nullptr);
  if (!answer) return std::unexpected(answer.error());
  if (answer->status == 404) return std::optional<KubeClaim>();
  if (!answer->fine()) return fail(ErrorKind::infeasible, claim_target(name), answer->message());
  auto claim = read_kube_claim(answer->body, settings_.node);
  if (!claim) return std::unexpected(claim.error());
  return std::move(*claim);
}

void KubeNode::read_named_claims() {
  std::vector<KubeName> names;
  {
    const std::lock_guard lock(mutex_);
    names = book_.take_unread();
    for (const KubeName& each : book_.without_pod())
      if (std::ranges::find(names, each) == names.end()) names.push_back(each);
  }
  for (const KubeName& name : names) {
    const auto claim = read_claim(name);
    const std::lock_guard lock(mutex_);
    if (!claim)
      book_.read_again(name);
    else if (*claim)
      book_.claim_is(**claim);
    else
      book_.claim_gone(name);
  }
}

/// The UIDs of all claims that are allocated on this node.
Result<std::set<std::string>> KubeNode::read_all_claims() {
  const auto all = kube_.list(all_claims_target);
  if (!all) return std::unexpected(all.error());
  std::set<std::string> uids;
  for (const Json& each : all->items) {
    const auto claim = read_kube_claim(each, settings_.node);
    if (!claim) return std::unexpected(claim.error());  // as good as unread
    if (claim->grants.empty()) continue;
    uids.insert(claim->uid);
    const std::lock_guard lock(mutex_);
    book_.claim_is(*claim);
  }
  return uids;
}

// Rounds.

Result<void> KubeNode::round() {
  {
    const std::lock_guard lock(mutex_);
    dirty_ = false;
  }
  if (const auto looked = look_at_daemon(); !looked) {
    if (gpus().empty()) return looked;
    say_(looked.error().text());
  }
  read_named_claims();
  tidy();
  {
    const std::lock_guard lock(mutex_);
    if (!claims_known_ || !slices_known_) return {};
  }
  make_ahead();
  return publish();
}

/// The daemon begins before the kubelet asks.
void KubeNode::make_ahead() {
  std::vector<KubeClaim> claims;
  {
    const std::lock_guard lock(mutex_);
    for (KubeClaim& each : book_.to_make())
      if (!made_uids_.contains(each.uid) && !refusals_.contains(each.uid))
        claims.push_back(std::move(each));
  }
  for (const KubeClaim& each : claims)
    if (const auto order = order_for(each, gpus()))
      (void)daemon_.make(*claim_key_of(each.uid), *order);  // the kubelet's call says what is wrong
}

/// What the daemon holds for Kubernetes, and what has a file.
std::vector<std::string> KubeNode::keys_here() const {
  std::set<std::string> uids = made_uids_;
  for (std::string& uid : files_.uids()) uids.insert(std::move(uid));
  std::vector<std::string> keys;
  for (const std::string& uid : uids) keys.push_back(*claim_key_of(uid));
  return keys;
}

/// Reads all claims, which is dear in a large cluster: first of all, and from time to time where
/// something may be left over. Gives back what no claim has any more. What the daemon holds is read
/// before the claims, so that none that was made in between is taken for left over.
void KubeNode::tidy() {
  std::vector<std::string> keys;
  {
    const std::lock_guard lock(mutex_);
    keys = keys_here();
    const bool left_over = std::ranges::any_of(keys, [&](const std::string& key) {
      return !book_.claims().contains(std::string(*uid_of_key(key)));
    });
    if (claims_known_ &&
        (now() - tidied_ < settings_.tidy_every || !(left_over || (full_ && window_.shrinks()))))
      return;
  }
  const Duration begun = now();
  const auto read = read_all_claims();
  if (!read) return say_("claims: " + read.error().text());
  {
    const std::lock_guard lock(mutex_);
    tidied_ = begun;
    claims_known_ = true;
    std::erase_if(refusals_, [&](const auto& each) { return !read->contains(each.first); });
  }
  for (const std::string& key : keys_to_give_back(keys, *read))
    if (const auto done = unprepare(std::string(*uid_of_key(key))); !done)
      say_(done.error().text());
}

// Slices.

KubeDevices KubeNode::taints() {
  std::erase_if(refused_, [](const auto& each) { return each.second <= now(); });
  KubeDevices tainted;
  for (const auto& [device, until] : refused_) tainted.insert(device);
  return tainted;
}

/// What shares slices with a place that is kept.
KubeDevices KubeNode::kept_back() {
  const auto today = std::chrono::system_clock::now().time_since_epoch();
  KubeDevices held;
  for (const KeptRoom& each : kept_)
    if (std::chrono::seconds(each.until_s) > today)
      if (const auto device = find_device(gpus_, each.device)) held.merge(held_for(gpus_, *device));
  return held;
}

Result<void> KubeNode::publish() {
  std::vector<Json> slices;
  KubeDevices next, before;
  {
    const std::lock_guard lock(mutex_);
    const std::string name = devices_slice_name(settings_.node);
    if (shown_.empty() && slices_.contains(name)) {
      shown_ = published_devices(slices_.at(name), gpus_);
      window_.offer(shown_, now());
    }
    KubeUse use{book_.allocated(gpus_), window_.offered(tidied_)};
    use.allocated.insert(made_.begin(), made_.end());
    const auto order = changes_ > settings_.changes_in_order ? KubeOrder::fixed : settings_.order;
    const auto devices = devices_in_order(gpus_, use, order);
    KubeDevices tainted = taints();
    tainted.merge(surplus_of(gpus_, use, devices, order));
    tainted.merge(kept_back());
    full_ = devices.size() == most_kube_devices;
    changes_ = 0;
    const KubePool pool{settings_.node, settings_.node_uid, 1};
    slices.push_back(counters_slice(pool, gpus_));
    slices.push_back(devices_slice(pool, gpus_, devices, tainted));
    for (const KubeDevice& each : devices)
      if (!tainted.contains(each) && !is_in_the_way(gpus_, each)) next.insert(each);
    before = shown_;
    // Before it is written: nobody knows how far a write came whose answer is lost.
    if (next != shown_) window_.offer(next, now());
    shown_ = next;
  }
  for (const Json& slice : slices)
    if (const auto written = write_slice(slice); !written) {
      const std::lock_guard lock(mutex_);
      window_.offer(before, now());
      shown_ = before;
      return written;
    }
  return {};
}

/// Creates it, replaces it, or does nothing where it is as it should be.
Result<void> KubeNode::write_slice(const Json& ours) {
  const std::string name = ours.at("metadata").at("name").get<std::string>();
  constexpr int tries = 3;
  for (int i = 0; i < tries; ++i) {
    Json body = ours;
    bool there = false;
    {
      const std::lock_guard lock(mutex_);
      const auto theirs = slices_.find(name);
      there = theirs != slices_.end();
      if (there && says_the_same(theirs->second, ours)) return {};
      if (there)
        body["metadata"]["resourceVersion"] = theirs->second["metadata"]["resourceVersion"];
    }
    const auto answer = there ? kube_.ask("PUT", slice_target(name), &body)
                              : kube_.ask("POST", slices_target, &body);
    if (!answer) return std::unexpected(answer.error());
    if (!answer->fine() && answer->status != 409 && answer->status != 404)
      return fail(ErrorKind::infeasible, name, answer->message());
    const auto now_there = answer->fine() ? answer : kube_.ask("GET", slice_target(name), nullptr);
    if (!now_there) return std::unexpected(now_there.error());
    const std::lock_guard lock(mutex_);
    if (now_there->fine())
      slices_[name] = now_there->body;
    else
      slices_.erase(name);
    if (answer->fine()) return {};
  }
  return fail(ErrorKind::infeasible, name, "somebody else changes this slice too",
              "one cleave-kube runs on a node");
}

}  // namespace cleave
