#include "cli/daemon/claimed_instances.hpp"

#include "base/format.hpp"
#include "cli/daemon/daemon_client.hpp"
#include "cli/daemon/job_text.hpp"

namespace cleave::cli {

namespace {

Result<std::vector<ApiGpu>> gpus_of_daemon() {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::seconds(1);
  auto daemon = open_daemon({}, [until] { return Clock::now() > until; });
  if (!daemon) return std::unexpected(daemon.error());
  const auto document = daemon->ask_json("GET", "/v1/gpus");
  if (!document) return std::unexpected(document.error());
  return read_gpus(*document, "the daemon's answer");
}

}  // namespace

ClaimedInstances ClaimedInstances::of_daemon() {
  ClaimedInstances claimed;
  const auto gpus = gpus_of_daemon();
  if (!gpus) return claimed;
  for (const ApiGpu& gpu : *gpus)
    for (const ApiInstance& each : gpu.instances)
      if (each.claim)
        claimed.all_[{gpu.uuid, each.start}] = {
            *each.claim, claim_text(*each.claim, each.claim_holder.value_or(""))};
  return claimed;
}

const ClaimedInstances::Claimed* ClaimedInstances::find(const LiveGpu& gpu,
                                                        std::int64_t start) const {
  const auto found = all_.find({gpu.facts.uuid, start});
  return found == all_.end() ? nullptr : &found->second;
}

Json ClaimedInstances::key(const LiveGpu& gpu, std::int64_t start) const {
  const Claimed* found = find(gpu, start);
  return found == nullptr ? Json(nullptr) : Json(found->key);
}

std::string ClaimedInstances::lines(const LiveGpu& gpu) const {
  std::string text;
  for (const InstanceView& each : gpu.instances)
    if (const Claimed* found = find(gpu, each.live.placement.start))
      text += fmt::format("{}@{} on {}: {}\n", each.live.profile, each.live.placement.start,
                          gpu.place(), found->words);
  return text;
}

}  // namespace cleave::cli
