#include "slurm/slurm_compaction.hpp"

#include <algorithm>
#include <bit>

#include "base/format.hpp"
#include "base/human_time.hpp"
#include "placement/policy.hpp"
#include "placement/why_not.hpp"
#include "slurm/cluster_fleet.hpp"
#include "slurm/cluster_round.hpp"

namespace cleave {

namespace {

/// A claim that may go.
struct Movable {
  const SlurmJob* job;
  PlacementId placement;
  Duration ran;
};

/// The fleet with everything where it is, and plans taken out of it as they are made.
class Compactor {
 public:
  Compactor(const std::vector<NodeView>& views, Instant now)
      : views_(&views), now_(now), cluster_(cluster_fleet(views, false)), fleet_(cluster_.file) {
    for (std::size_t g = 0; g < cluster_.serves.size(); ++g)
      if (!cluster_.serves[g]) fleet_.withdraw(static_cast<GpuId>(g));
  }

  /// With `most` 0: whether it fits as it is.
  std::optional<CompactPlan> plan(const SlurmJob& job, std::size_t most);
  [[nodiscard]] const Fleet& fleet() const { return fleet_; }
  [[nodiscard]] const ClusterFleet& cluster() const { return cluster_; }
  [[nodiscard]] ResolvedRequest request(const std::string& profile) const {
    return resolve({ByProfile{profile}, std::vector<std::string>{profile}},
                   cluster_.file.geometries);
  }

 private:
  /// A way to make room on one GPU.
  struct Way {
    std::size_t moves = 0;
    Duration lost{};
    CompactPlan plan;
    Fleet after;
  };
  [[nodiscard]] std::vector<Movable> movable(GpuId gpu) const;
  [[nodiscard]] std::string place(GpuId gpu, PlacementId placement) const {
    const Placement& at = fleet_.geometry(fleet_[gpu])[placement];
    return fmt::format("{} {}@{}", cluster_.file.gpus[index(gpu)].name, at.profile->name, at.start);
  }
  std::optional<Way> way(const SlurmJob& job, GpuId gpu, const std::vector<Movable>& goes) const;

  const std::vector<NodeView>* views_;
  Instant now_;
  ClusterFleet cluster_;
  Fleet fleet_;
};

const ChosenPolicy& usual_policy() {
  static const ChosenPolicy policy = *choose_policy(default_policy, {});
  return policy;
}

std::vector<Movable> Compactor::movable(GpuId gpu) const {
  const ClusterGpu at = cluster_.gpus[index(gpu)];
  const NodeView& view = (*views_)[at.view];
  std::vector<Movable> movable;
  for (const SlurmClaim& claim : view.report->claims) {
    if (claim.gpu != at.gpu || !fleet_[gpu].held.contains(claim.placement)) continue;
    for (const SlurmJob* job : view.started)
      if (claim.job() == job->number && job->requeueable && wish_of(*job) == NodeWish{} &&
          job->nodes == 1 && sum_of(job->asks) == 1)
        movable.push_back({job, claim.placement, job->starts ? now_ - *job->starts : Duration{}});
  }
  return movable;
}

/// The job takes its place first; then each that went takes the best of what is left.
std::optional<Compactor::Way> Compactor::way(const SlurmJob& job, GpuId gpu,
                                             const std::vector<Movable>& goes) const {
  Way way{goes.size(), {}, {job.number, job.shown, {}, {}}, fleet_};
  for (const Movable& each : goes) way.after.vacate(gpu, each.placement);
  const GpuState& state = way.after[gpu];
  const auto best =
      best_on({way.after.graph(state), state},
              request(job.asks.begin()->first).candidates[state.kind], usual_policy());
  if (!best) return std::nullopt;
  way.after.hold(gpu, best->placement);
  way.plan.place = place(gpu, best->placement);
  for (const Movable& each : goes) {
    const std::string profile(fleet_.geometry(fleet_[gpu])[each.placement].profile->name);
    const auto to = decide_by_scan(way.after, request(profile), usual_policy());
    if (!to) return std::nullopt;
    way.after.hold(to->gpu, to->placement);
    way.lost += each.ran;
    way.plan.moves.push_back({each.job->number, each.job->shown, place(gpu, each.placement),
                              place(to->gpu, to->placement), each.ran});
  }
  return way;
}

std::optional<CompactPlan> Compactor::plan(const SlurmJob& job, std::size_t most) {
  const auto listed = nodes_of_list(wish_of(job).wanted);
  std::optional<Way> best;
  for (std::size_t g = 0; g < cluster_.gpus.size(); ++g) {
    const auto gpu = static_cast<GpuId>(g);
    const std::string& node = (*views_)[cluster_.gpus[g].view].name();
    if (fleet_[gpu].absent) continue;
    if (!listed.empty() && std::ranges::find(listed, node) == listed.end()) continue;
    const std::vector<Movable> all = most == 0 ? std::vector<Movable>() : movable(gpu);
    for (std::uint32_t set = 0; set < 1U << std::min<std::size_t>(all.size(), 12); ++set) {
      const auto moves = static_cast<std::size_t>(std::popcount(set));
      if (moves > most || (best && moves > best->moves)) continue;
      std::vector<Movable> goes;
      for (std::size_t i = 0; i < all.size(); ++i)
        if ((set >> i & 1U) != 0) goes.push_back(all[i]);
      auto found = way(job, gpu, goes);
      if (found &&
          (!best || std::pair(found->moves, found->lost) < std::pair(best->moves, best->lost)))
        best = std::move(found);
      if (best && best->moves == 0) break;
    }
    if (best && best->moves == 0) break;
  }
  if (!best) return std::nullopt;
  fleet_ = std::move(best->after);
  return std::move(best->plan);
}

/// Jobs that have been released, or started and have no instance yet, have a place by their mark.
bool is_simple(const SlurmJob& job) {
  return job.nodes == 1 && sum_of(job.asks) == 1 && job.asks.begin()->second == 1;
}

std::string earliest_end(const std::vector<NodeView>& views, Instant now) {
  std::optional<std::pair<Instant, const SlurmJob*>> first;
  for (const NodeView& view : views)
    for (const SlurmJob* job : view.started)
      if (job->limit && job->starts)
        if (const Instant end = *job->starts + *job->limit; !first || end < first->first)
          first = {end, job};
  if (!first) return "wait for work to end";
  return fmt::format("wait for work to end: job {} ends within {}", first->second->shown,
                     human(std::max(first->first - now, Duration{})));
}

}  // namespace

std::optional<CompactPlan> compact_for(const std::vector<NodeView>& views, const SlurmJob& job,
                                       std::size_t most, Instant now) {
  if (!is_simple(job)) return std::nullopt;
  return Compactor(views, now).plan(job, most);
}

std::vector<CompactPlan> plan_compact(const std::vector<NodeView>& views,
                                      const std::vector<const SlurmJob*>& waiting, std::size_t most,
                                      Instant now) {
  Compactor compactor(views, now);
  std::vector<CompactPlan> plans;
  for (const SlurmJob* job : waiting) {
    if (!is_simple(*job)) continue;
    auto plan = compactor.plan(*job, most);
    if (!plan || plan->moves.empty()) continue;
    most -= plan->moves.size();
    plans.push_back(std::move(*plan));
    if (most == 0) break;
  }
  return plans;
}

SlurmWhy why_waits(const std::vector<NodeView>& views, const SlurmJob& job, Instant now) {
  if (job.priority == 0)
    return {"it is held in Slurm", fmt::format("scontrol release {}", job.shown)};
  if (sum_of(job.asks) == 0) return {"it asks for no instance: its wait is Slurm's alone", {}};
  const Compactor compactor(views, now);
  if (!is_simple(job))
    return {fmt::format("it waits for {} on {} at a time", gres_text(job.asks),
                        job.nodes == 1 ? "one node" : fmt::format("{} nodes each", job.nodes)),
            earliest_end(views, now)};
  const std::string& profile = job.asks.begin()->first;
  const ResolvedRequest request = compactor.request(profile);
  if (compact_for(views, job, 0, now))
    return {fmt::format("there is room for {}: it starts soon", profile),
            "if it does not, other jobs go before it, or its node has no CPUs or memory left"};
  const WhyNot why = why_not(compactor.fleet(), request);
  SlurmWhy said{why.message(request.request), earliest_end(views, now)};
  if (!why.impossible.empty()) said.remedy = why.remedy();
  if (const auto plan = compact_for(views, job, 3, now)) {
    std::vector<std::string> moved;
    for (const CompactMove& move : plan->moves) moved.push_back(move.shown);
    said.remedy = fmt::format(
        "putting back {} (each has another place) makes room at {}: cleave slurm plan compact",
        fmt::join(moved, ", "), plan->place);
  }
  return said;
}

}  // namespace cleave
