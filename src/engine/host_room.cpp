#include "engine/host_room.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/overloads.hpp"

namespace cleave {

namespace {

std::string cpus_text(std::int64_t thousandths) {
  return fmt::format("{:g}", static_cast<double>(thousandths) / 1000);
}

/// "8 CPUs", "64000 MiB of host memory", or both.
std::string in_words(const HostAsk& ask) {
  std::vector<std::string> parts;
  if (ask.millicpus)
    parts.push_back(
        fmt::format("{} {}", cpus_text(*ask.millicpus), *ask.millicpus == 1000 ? "CPU" : "CPUs"));
  if (ask.memory) parts.push_back(fmt::format("{} MiB of host memory", ask.memory->value));
  return fmt::format("{}", fmt::join(parts, " and "));
}

}  // namespace

HostRoom::HostRoom(const Fleet& fleet, const RequestTable& requests)
    : requests_(&requests),
      nodes_(fleet.hosts()),
      graphs_(fleet.graphs()),
      used_(nodes_.size()),
      jobs_on_(nodes_.size()) {
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    node_of_.push_back(fleet.node(gpu));
    kind_of_.push_back(fleet[gpu].kind);
    geometry_of_.push_back(&graphs_[fleet[gpu].kind]->geometry());
  }
}

// What the engine tells.

void HostRoom::asks(JobId job, RequestId request) {
  if (request_of_.size() <= index(job)) request_of_.resize(index(job) + 1);
  request_of_[index(job)] = request;
}

void HostRoom::follow(const std::vector<Command>& commands) {
  commands_ = &commands;
  read_ = commands.size();
}

void HostRoom::unfollow() {
  catch_up();
  commands_ = nullptr;
}

void HostRoom::catch_up() {
  if (commands_ == nullptr) return;
  while (read_ < commands_->size()) read((*commands_)[read_++]);
}

void HostRoom::read(const Command& command) {
  std::visit(Overloads{[&](const StartJob& it) {
                         start(it.job, {it.gpu, it.placement}, false);
                       },
                       [&](const StartShared& it) {
                         start(it.job, {it.gpu, it.placement}, true);
                       },
                       [&](const StartOnWholeGpu& it) {
                         start(it.job, {it.gpu, {}}, false);
                       },
                       [&](const MigrateJob& it) {
                         drop(it.job);
                         start(it.job, {it.gpu, it.placement}, false);
                       },
                       [&](const StopJob& it) { drop(it.job); },
                       [&](const CheckpointJob& it) { drop(it.job); }, [](const auto&) {}},
             command);
}

void HostRoom::adopt(const Adopted& adopted) {
  start(adopted.job, {adopted.gpu, adopted.placement}, false);
}

void HostRoom::start(JobId job, Spot spot, bool shares) {
  if (charges_.size() <= index(job)) charges_.resize(index(job) + 1);
  const RequestId request = request_of_[index(job)];
  Charge& charge = charges_[index(job)];
  charge = {true, shares, spot, {}};
  if (shares) {
    // A default of zero slices: what it has by itself is what it asked for.
    charge.own = host_share(asked(request), nodes_[node(spot.gpu)], {});
    share(job, spot, true);
  } else {
    charge.own = amount(request, spot);
  }
  ++version_;
  used_[node(spot.gpu)] += charge.own;
  jobs_on_[node(spot.gpu)].push_back(job);
}

void HostRoom::share(JobId job, Spot spot, bool enters) {
  const HostAsk& ask = asked(request_of_[index(job)]);
  const HostAmount all = host_share({}, nodes_[node(spot.gpu)], slices(spot));
  Sharers& there = sharers_[{spot.gpu, *spot.placement}];
  HostAmount changes;
  const auto count = [&](std::uint32_t& of) {
    if (enters) return of++ == 0;
    return --of == 0;
  };
  if (!ask.millicpus && count(there.of_cpus)) changes.millicpus = all.millicpus;
  if (!ask.memory && count(there.of_memory)) changes.memory = all.memory;
  if (enters) {
    used_[node(spot.gpu)] += changes;
  } else {
    used_[node(spot.gpu)] -= changes;
  }
  if (there.of_cpus == 0 && there.of_memory == 0) sharers_.erase({spot.gpu, *spot.placement});
}

void HostRoom::leave(JobId job) {
  catch_up();
  drop(job);
}

void HostRoom::drop(JobId job) {
  if (index(job) >= charges_.size() || !charges_[index(job)].runs) return;
  ++version_;
  Charge& charge = charges_[index(job)];
  used_[node(charge.spot.gpu)] -= charge.own;
  if (charge.shares) share(job, charge.spot, false);
  std::erase(jobs_on_[node(charge.spot.gpu)], job);
  charge = {};
}

void HostRoom::gone(GpuId gpu) {
  catch_up();
  for (const JobId job : std::vector(jobs_on_[node(gpu)]))
    if (charges_[index(job)].spot.gpu == gpu) drop(job);
}

void HostRoom::gone(Spot spot) {
  catch_up();
  for (const JobId job : std::vector(jobs_on_[node(spot.gpu)]))
    if (charges_[index(job)].spot == spot) drop(job);
}

// What schedulers ask.

HostSlices HostRoom::slices(Spot spot) const {
  const Geometry& geometry = *geometry_of_[index(spot.gpu)];
  return spot.placement ? host_slices(*geometry[*spot.placement].profile)
                        : host_slices(geometry.model());
}

HostAmount HostRoom::amount(RequestId request, Spot spot) const {
  HostAmount amount = host_share(asked(request), nodes_[node(spot.gpu)], slices(spot));
  if (sharers_.empty() || !spot.placement) return amount;
  const auto there = sharers_.find({spot.gpu, *spot.placement});
  if (there == sharers_.end()) return amount;
  if (!asked(request).millicpus && there->second.of_cpus > 0) amount.millicpus = 0;
  if (!asked(request).memory && there->second.of_memory > 0) amount.memory = MiB{0};
  return amount;
}

bool HostRoom::takes(RequestId request, Spot spot, std::optional<JobId> own) {
  catch_up();
  const std::uint32_t at = node(spot.gpu);
  HostAmount used = used_[at];
  if (own && index(*own) < charges_.size() && charges_[index(*own)].runs &&
      node(charges_[index(*own)].spot.gpu) == at)
    used -= charges_[index(*own)].own;
  return holds(nodes_[at], used, amount(request, spot));
}

PlacementSet HostRoom::taking(RequestId request, GpuId gpu, PlacementSet among,
                              std::optional<JobId> own) {
  for (const PlacementId id : among)
    if (!takes(request, {gpu, id}, own)) among.erase(id);
  return among;
}

bool HostRoom::could_hold(RequestId request, Spot spot) const {
  return holds(nodes_[node(spot.gpu)], {}, amount(request, spot));
}

bool HostRoom::could_hold(RequestId request, GpuId gpu) const {
  const HostNode& host = nodes_[node(gpu)];
  return holds(host, {}, host_share(asked(request), host, {}));
}

std::uint32_t HostRoom::times(const HostNode& node, const HostAmount& left,
                              const HostAmount& each) {
  std::int64_t most = INT32_MAX;
  if (node.has.millicpus && each.millicpus > 0)
    most = std::min(most, left.millicpus / each.millicpus);
  if (node.has.memory && each.memory > MiB{0})
    most = std::min(most, left.memory.value / each.memory.value);
  return static_cast<std::uint32_t>(std::max<std::int64_t>(0, most));
}

HostAmount HostRoom::left(std::uint32_t node) {
  catch_up();
  HostAmount left{nodes_[node].has.millicpus.value_or(0), nodes_[node].has.memory.value_or(MiB{0})};
  left -= used_[node];
  return left;
}

HostAmount HostRoom::has(JobId job) {
  catch_up();
  return index(job) < charges_.size() ? charges_[index(job)].own : HostAmount{};
}

const std::vector<JobId>& HostRoom::jobs_on(std::uint32_t node) {
  catch_up();
  return jobs_on_[node];
}

std::string HostRoom::why_never(RequestId request) const {
  return fmt::format("no node with a GPU for it has {}", in_words(asked(request)));
}

std::string HostRoom::why_waits(RequestId request, bool whole_gpus) {
  const ResolvedRequest& resolved = (*requests_)[request];
  std::optional<Spot> lacks;
  for (std::size_t i = 0; i < node_of_.size(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    const std::size_t kind = kind_of_[i];
    const auto look_at = [&](Spot spot) {
      if (!could_hold(request, spot)) return false;
      if (takes(request, spot)) return true;
      if (!lacks) lacks = spot;
      return false;
    };
    if (whole_gpus || std::holds_alternative<WholeGpu>(resolved.request.wanted)) {
      if (!resolved.candidates[kind].empty() && look_at({gpu, std::nullopt})) return {};
      continue;
    }
    for (const PlacementId id : resolved.candidates[kind])
      if (look_at({gpu, id})) return {};
  }
  if (!lacks) return {};
  const HostNode& host = nodes_[node(lacks->gpu)];
  const HostAmount left = this->left(node(lacks->gpu)), needs = amount(request, *lacks);
  std::vector<std::string> short_of;
  if (host.has.millicpus && needs.millicpus > left.millicpus)
    short_of.push_back(fmt::format("{} of {} CPUs, of which it needs {}",
                                   cpus_text(std::max<std::int64_t>(0, left.millicpus)),
                                   cpus_text(*host.has.millicpus), cpus_text(needs.millicpus)));
  if (host.has.memory && needs.memory > left.memory)
    short_of.push_back(fmt::format("{} of {} MiB of host memory, of which it needs {}",
                                   std::max<std::int64_t>(0, left.memory.value),
                                   host.has.memory->value, needs.memory.value));
  return fmt::format("running jobs leave {}", fmt::join(short_of, ", and "));
}

}  // namespace cleave
