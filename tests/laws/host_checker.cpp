#include "host_checker.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/format.hpp"

namespace cleave::laws {

using Kind = RunEvent::Kind;

HostChecker::HostChecker(const FleetFile& fleet, const Workload& workload)
    : fleet_(fleet), workload_(workload) {
  for (const GpuEntry& gpu : fleet.gpus) {
    Host& host = hosts_[gpu.name.substr(0, gpu.name.rfind('/'))];
    const GpuModel& model = fleet.geometries[gpu.geometry].model();
    host.compute_slices += model.compute.value;
    host.memory_slices += model.memory_slices.value;
  }
  for (const NodeEntry& node : fleet.nodes) {
    const auto host = hosts_.find(node.name);
    if (host == hosts_.end()) continue;
    if (node.cpus) host->second.cpus = *node.cpus;
    if (node.host_memory) host->second.memory = static_cast<double>(node.host_memory->value);
  }
}

double HostChecker::part(const Host& host, const Holding& holding, bool cpus) const {
  const JobDetails* details = workload_.details_of(workload_.jobs[index(holding.job)]);
  if (details != nullptr && cpus && details->cpus) return std::round(*details->cpus * 1000) / 1000;
  if (details != nullptr && !cpus && details->host_memory)
    return static_cast<double>(details->host_memory->value);
  const Geometry& geometry = fleet_.geometries[fleet_.gpus[index(holding.gpu)].geometry];
  const Profile* profile = holding.placement ? geometry[*holding.placement].profile : nullptr;
  if (cpus)
    return std::floor(
               *host.cpus * 1000 *
               (profile != nullptr ? profile->compute.value : geometry.model().compute.value) /
               host.compute_slices) /
           1000;
  return std::floor(
      *host.memory *
      (profile != nullptr ? profile->memory.value : geometry.model().memory_slices.value) /
      host.memory_slices);
}

double HostChecker::given(const Host& host, Instant at, bool cpus) const {
  double sum = 0;
  std::set<std::pair<GpuId, PlacementId>> shared;
  for (const Holding& each : host.holdings) {
    if (each.from > at || (each.until && *each.until <= at)) continue;
    const JobDetails* details = workload_.details_of(workload_.jobs[index(each.job)]);
    const bool says =
        details != nullptr && (cpus ? details->cpus.has_value() : details->host_memory.has_value());
    if (each.shared && !says && !shared.emplace(each.gpu, *each.placement).second) continue;
    sum += part(host, each, cpus);
  }
  return sum;
}

void HostChecker::check(const RunEvent& event, Host& host) {
  ++checked_;
  std::erase_if(host.holdings,
                [&](const Holding& each) { return each.until && *each.until <= event.at; });
  for (const Holding& each : host.holdings) {
    const Instant at = std::max(event.at, each.from);
    for (const bool cpus : {true, false}) {
      const auto& has = cpus ? host.cpus : host.memory;
      if (!has) continue;
      const double out = given(host, at, cpus);
      if (*has > 0) fullest_ = std::max(fullest_, out / *has);
      if (out > *has + 1e-6 && violations_.size() < 10)
        violations_.push_back(
            fmt::format("at {} s: job {} {} on GPU {}, and its host gives out {} of {} {} then",
                        in_seconds(event.at.time_since_epoch()), index(*event.job),
                        name(event.kind), index(*event.gpu), out, *has, cpus ? "CPUs" : "MiB"));
    }
  }
}

void HostChecker::enter(const RunEvent& event) {
  const std::string& gpu = fleet_.gpus[index(*event.gpu)].name;
  Host& host = hosts_.find(gpu.substr(0, gpu.rfind('/')))->second;
  host.holdings.push_back({*event.job, event.rank.value_or(0), *event.gpu, event.placement,
                           event.share.has_value(), event.until.value_or(event.at), std::nullopt});
  check(event, host);
}

/// With it goes what it had for a while yet where it was before a move: a job that ends before its
/// replica takes over is gone from both places.
void HostChecker::leave(const RunEvent& event, Instant until) {
  for (auto& [name, host] : hosts_)
    for (Holding& each : host.holdings)
      if (each.job == *event.job && each.rank == event.rank.value_or(0))
        each.until = std::min(each.until.value_or(until), until);
}

void HostChecker::on(const RunEvent& event) {
  switch (event.kind) {
    case Kind::started:
      return enter(event);
    case Kind::migrated:
      leave(event, event.until.value_or(event.at));
      return enter(event);
    case Kind::finished:
    case Kind::failed:
    case Kind::ran_out:
    case Kind::stopped:
    case Kind::restarted_early:
    case Kind::checkpointed:
    case Kind::evicted:
      return leave(event, event.until.value_or(event.at));
    default:
      return;
  }
}

}  // namespace cleave::laws
