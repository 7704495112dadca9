#include "slurm/node_view.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <set>

#include "base/text.hpp"

namespace cleave {

std::optional<std::int64_t> SlurmClaim::job() const {
  constexpr std::string_view front = "slurm:";
  if (!key.starts_with(front)) return std::nullopt;
  const std::string_view rest = std::string_view(key).substr(front.size());
  return parse_integer(rest.substr(0, rest.find('.')));
}

StateId NodeView::occupied(std::size_t gpu) const {
  const ReportedGpu& of = report->gpus[gpu];
  PlacementSet all = of.walls;
  for (const SlurmClaim& claim : report->claims)
    if (claim.gpu == gpu) all.insert(claim.placement);
  return of.graph->find(all);
}

GresCounts NodeView::counted() const {
  if (report == nullptr) return slurm->used;
  GresCounts counts = claimed;
  for (const auto& [profile, count] : coming) counts[profile] += count;
  for (auto& [profile, count] : counts) count = std::min(count, count_of(slurm->used, profile));
  return counts;
}

namespace {

constexpr std::int64_t most_quick_restarts = 2;
/// Until its time to begin, of Slurm's two minutes: just put back, and five seconds later.
constexpr Duration put_back_now = std::chrono::seconds(123),
                   after_its_end = std::chrono::seconds(116);

/// Slurm says "BeginTime" at the next look of its scheduler only. Of a job that waits for room the
/// time is when backfill expects it to begin.
bool waits_after_restart(const SlurmJob& job, Instant now) {
  return job.state == SlurmJobState::pending && job.restarts > 0 && sum_of(job.asks) > 0 &&
         job.starts && *job.starts > now && *job.starts - now < put_back_now &&
         job.reason != "Resources" && job.reason != "Priority";
}

void add(const GresCounts& more, GresCounts& counts) {
  for (const auto& [profile, count] : more) counts[profile] += count;
}

void add_claims(NodeView& view) {
  std::set<std::int64_t> claiming;
  for (const SlurmClaim& claim : view.report->claims) {
    const Geometry& geometry = view.report->gpus[claim.gpu].graph->geometry();
    ++view.claimed[std::string(geometry[claim.placement].profile->name)];
    if (const auto job = claim.job()) claiming.insert(*job);
  }
  for (const SlurmJob* job : view.started)
    if (!claiming.contains(job->number)) view.unclaimed.push_back(job);
}

}  // namespace

std::vector<NodeView> views_of(const SlurmSight& sight) {
  std::vector<NodeView> views;
  std::map<std::string_view, std::size_t> places;
  for (const SlurmNode& node : sight.nodes) {
    places.emplace(node.name, views.size());
    views.push_back({&node, nullptr, {}, {}, {}, {}});
  }
  for (const NodeReport& report : sight.reports)
    if (const auto at = places.find(report.node); at != places.end())
      views[at->second].report = &report;
  for (const SlurmJob& job : sight.jobs) {
    if (job.state != SlurmJobState::running || job.asks.empty()) continue;
    for (const std::string& node : nodes_of_list(job.runs_on))
      if (const auto at = places.find(node); at != places.end())
        views[at->second].started.push_back(&job);
  }
  for (NodeView& view : views) {
    if (view.report != nullptr)
      add_claims(view);
    else
      view.unclaimed = view.started;
    for (const SlurmJob* job : view.unclaimed) add(job->asks, view.coming);
  }
  return views;
}

bool rests(const SlurmJob& job, Instant now) {
  return waits_after_restart(job, now) &&
         (job.restarts > most_quick_restarts || *job.starts - now >= after_its_end);
}

bool restarts_at_once(const SlurmJob& job, Instant now) {
  return waits_after_restart(job, now) && !rests(job, now);
}

NodeWish wish_of(const SlurmJob& job) {
  if (const auto mark = parse_mark(job.comment)) return mark->was;
  NodeWish wish = asked_nodes(job.comment);
  if (wish.wanted.empty()) wish.wanted = job.wanted_nodes;
  return wish;
}

bool share_a_partition(const SlurmJob& job, const SlurmNode& node) {
  if (job.partitions.empty() || node.partitions.empty()) return true;
  const auto theirs = split(node.partitions, ',');
  return std::ranges::any_of(split(job.partitions, ','), [&](std::string_view each) {
    return std::ranges::find(theirs, each) != theirs.end();
  });
}

bool may_be_on(const SlurmJob& job, const NodeWish& wish, const SlurmNode& node) {
  return share_a_partition(job, node) && !names(wish.excluded, node.name);
}

bool waits_for_others(const SlurmJob& job) {
  return !job.depends_on.empty() || job.reason.starts_with("Dependency") ||
         job.reason == "PartitionDown" || job.reason == "PartitionInactive";
}

std::vector<const SlurmJob*> waiting_in_order(const std::vector<SlurmJob>& jobs) {
  std::vector<const SlurmJob*> waiting;
  for (const SlurmJob& job : jobs)
    if (job.state == SlurmJobState::pending && job.priority > 0 && sum_of(job.asks) > 0 &&
        !waits_for_others(job))
      waiting.push_back(&job);
  std::ranges::sort(waiting, [](const SlurmJob* a, const SlurmJob* b) {
    return a->priority != b->priority ? a->priority > b->priority : a->number < b->number;
  });
  return waiting;
}

}  // namespace cleave
