#include "slurm/cluster_round.hpp"

#include <algorithm>
#include <map>

#include "base/format.hpp"
#include "engine/engine.hpp"
#include "placement/policy.hpp"
#include "slurm/cluster_fleet.hpp"
#include "slurm/held_jobs.hpp"

namespace cleave {

namespace {

/// A job's instances, in the order of its mark.
struct PlacedInstance {
  GpuId gpu;
  PlacementId placement;
};

/// A job of the round: a number of the engine's for each of its instances.
struct RoundJob {
  const SlurmJob* slurm;
  std::string profile;
  std::uint32_t places = 1;
  std::vector<PlacedInstance> at;  // where it is, or was released to
};

class RoundFacts final : public JobFacts {
 public:
  /// The first of the numbers of its instances.
  JobId add(const RoundJob& job) {
    const auto first = static_cast<JobId>(jobs_.size());
    for (std::uint32_t i = 0; i < job.places; ++i) {
      jobs_.push_back(job.slurm);
      gangs_.push_back({first, static_cast<JobId>(index(first) + 1), job.places});
      users_.push_back(fmt::format("{}", job.slurm->uid));
    }
    return first;
  }
  [[nodiscard]] const SlurmJob& slurm(JobId job) const { return *jobs_[index(job)]; }

  [[nodiscard]] std::int64_t priority(JobId job) const override { return slurm(job).priority; }
  [[nodiscard]] Gang gang(JobId job) const override { return gangs_[index(job)]; }
  [[nodiscard]] std::optional<Instant> running_since(JobId job) const override {
    return slurm(job).state == SlurmJobState::running ? slurm(job).starts : std::nullopt;
  }
  [[nodiscard]] std::optional<Duration> most_time(JobId job) const override {
    return slurm(job).limit;
  }
  [[nodiscard]] bool predicts() const override { return true; }
  [[nodiscard]] const std::string* user(JobId job) const override { return &users_[index(job)]; }

 private:
  std::vector<const SlurmJob*> jobs_;
  std::vector<Gang> gangs_;
  std::vector<std::string> users_;
};

/// Everything of one round.
class Round {
 public:
  Round(const std::vector<NodeView>& views, Instant now, const ClusterRules& rules)
      : views_(&views), now_(now), rules_(&rules), cluster_(cluster_fleet(views, true)) {
    for (std::size_t v = 0; v < views.size(); ++v) view_of_.emplace(views[v].name(), v);
    for (const NodeView& view : views) counts_.push_back(view.counted());
  }

  Result<ClusterRound> decide(const std::vector<SlurmJob>& jobs);

 private:
  void sort_out(const std::vector<SlurmJob>& jobs);
  void gate(const SlurmJob& job, std::string why);
  void gate_elsewhere(const SlurmJob& job, const PlaceMark& mark);
  [[nodiscard]] bool may_run_anywhere(const SlurmJob& job);
  void adopt_started();
  /// The instances that a mark names, where they can still be had; `held` collects them.
  std::optional<std::vector<PlacedInstance>> places_of(const SlurmJob& job, const PlaceMark& mark);
  bool take(GpuId gpu, PlacementId placement);
  void add_idle();
  void place_by_hand(const Fleet& fleet);
  [[nodiscard]] std::vector<std::size_t> order_for(const SlurmJob& job, const NodeWish& wish,
                                                   const std::vector<std::string>& listed) const;
  std::optional<std::vector<PlacedInstance>> place_on(const SlurmJob& job, std::size_t view,
                                                      Fleet& fleet);
  Result<void> run_engine();
  [[nodiscard]] bool first_was_overtaken() const;
  void release(const SlurmJob& job, const std::vector<PlacedInstance>& at);
  void tell_counts();
  [[nodiscard]] Request request_of(const RoundJob& job) const;
  [[nodiscard]] const Geometry& geometry(GpuId gpu) const {
    return cluster_.file.geometries[cluster_.file.gpus[index(gpu)].geometry];
  }

  const std::vector<NodeView>* views_;
  Instant now_;
  const ClusterRules* rules_;
  ClusterFleet cluster_;
  std::map<std::string, std::size_t, std::less<>> view_of_;
  std::vector<GresCounts> counts_;           // by view
  std::map<std::string, bool> everywhere_;   // whether these partitions have all nodes with GPUs
  std::map<GpuId, PlacementSet> set_aside_;  // for jobs that were released
  std::vector<RoundJob> running_, waiting_;
  std::vector<const SlurmJob*> by_hand_;
  ClusterRound round_;
};

Result<ClusterRound> Round::decide(const std::vector<SlurmJob>& jobs) {
  adopt_started();
  sort_out(jobs);
  if (!by_hand_.empty()) place_by_hand(Fleet(cluster_.file));
  if (auto ran = run_engine(); !ran) return std::unexpected(ran.error());
  tell_counts();
  return std::move(round_);
}

void Round::gate(const SlurmJob& job, std::string why) {
  round_.gated.push_back(
      {job.number, job.shown, asking_for(job.comment, wish_of(job)), std::move(why), false, false});
}

/// Slurm had its time, and did not start it there.
void Round::gate_elsewhere(const SlurmJob& job, const PlaceMark& mark) {
  gate(job, "Slurm did not start it where it was released to");
  NodeWish wish = mark.was;
  for (const MarkedNode& node : mark.nodes)
    if (!names(wish.wanted, node.node) && !names(wish.tried, node.node))
      wish.tried += fmt::format("{}{}", wish.tried.empty() ? "" : ",", node.node);
  round_.gated.back().comment = asking_for(job.comment, wish);
}

/// Whether the engine, which knows no nodes, may put it anywhere.
bool Round::may_run_anywhere(const SlurmJob& job) {
  if (wish_of(job) != NodeWish{}) return false;
  const auto known = everywhere_.find(job.partitions);
  if (known != everywhere_.end()) return known->second;
  bool all = true;
  for (std::size_t v = 0; v < views_->size(); ++v)
    all = all && (cluster_.of_view[v].empty() || share_a_partition(job, *(*views_)[v].slurm));
  everywhere_.emplace(job.partitions, all);
  return all;
}

/// False: something is there.
bool Round::take(GpuId gpu, PlacementId placement) {
  GpuEntry& entry = cluster_.file.gpus[index(gpu)];
  const Geometry& rules = geometry(gpu);
  PlacementSet there;
  for (const InstanceEntry& instance : entry.instances) there.insert(instance.placement);
  if (!rules.free(there).contains(placement)) return false;
  InstanceEntry instance;
  instance.placement = placement;
  entry.instances.push_back(std::move(instance));
  return true;
}

std::optional<std::vector<PlacedInstance>> Round::places_of(const SlurmJob& job,
                                                            const PlaceMark& mark) {
  std::vector<PlacedInstance> places;
  for (const MarkedNode& node : mark.nodes) {
    const auto view = view_of_.find(node.node);
    if (view == view_of_.end() || (*views_)[view->second].report == nullptr) return std::nullopt;
    GresCounts left = job.asks;
    for (const MarkedPlace& place : node.places) {
      const auto& gpus = (*views_)[view->second].report->gpus;
      const auto gpu = std::ranges::find(gpus, place.gpu, &ReportedGpu::index);
      if (gpu == gpus.end() || !gpu->serves) return std::nullopt;
      const Geometry& rules = gpu->graph->geometry();
      // Places stand in the order of the profiles' names.
      while (!left.empty() && left.begin()->second == 0) left.erase(left.begin());
      if (left.empty()) return std::nullopt;
      --left.begin()->second;
      const auto placement = rules.find(left.begin()->first, static_cast<int>(place.start));
      if (!placement) return std::nullopt;
      places.push_back(
          {cluster_.at({view->second, static_cast<std::size_t>(gpu - gpus.begin())}), *placement});
    }
    if (sum_of(left) > 0) return std::nullopt;
  }
  for (std::size_t i = 0; i < places.size(); ++i)
    if (!take(places[i].gpu, places[i].placement)) {
      for (; i > 0; --i) cluster_.file.gpus[index(places[i - 1].gpu)].instances.pop_back();
      return std::nullopt;
    }
  return places;
}

/// Its time to begin is that of the release, by slurmctld's clock, and not two minutes later.
bool was_released_to(const SlurmJob& job, const PlaceMark& mark) {
  constexpr Duration clocks = std::chrono::seconds(30);
  return job.starts && *job.starts - mark.released < clocks;
}

RoundJob round_job(const SlurmJob& job, std::vector<PlacedInstance> at) {
  const auto asked = std::ranges::find_if(job.asks, [](const auto& ask) { return ask.second > 0; });
  const std::string profile = asked == job.asks.end() ? std::string() : asked->first;
  const auto places = static_cast<std::uint32_t>(at.empty() ? sum_of(job.asks) : 1);
  return {&job, profile, places, std::move(at)};
}

/// Each instance of a running job is one to the engine: they end, and none is stopped by it.
void Round::adopt_started() {
  for (std::size_t v = 0; v < views_->size(); ++v) {
    const NodeView& view = (*views_)[v];
    if (view.report == nullptr) continue;
    for (const SlurmClaim& claim : view.report->claims)
      for (const SlurmJob* job : view.started)
        if (claim.job() == job->number && view.occupied(claim.gpu) != no_state)
          running_.push_back(round_job(*job, {{cluster_.at({v, claim.gpu}), claim.placement}}));
    // Where a job without a mark goes is not known before it has its instance.
    for (const SlurmJob* job : view.unclaimed) {
      const auto mark = parse_mark(job->comment);
      const auto places = mark ? places_of(*job, *mark) : std::nullopt;
      if (!places) {
        for (const GpuId gpu : cluster_.of_view[v]) cluster_.serves[index(gpu)] = false;
        continue;
      }
      for (const PlacedInstance& each : *places) running_.push_back(round_job(*job, {each}));
    }
  }
}

void Round::sort_out(const std::vector<SlurmJob>& jobs) {
  for (const SlurmJob& job : jobs)
    if (held_by_counts(job) && parse_mark(job.comment)) {
      gate(job, "slurmctld had forgotten what its node has");
      round_.gated.back().held = true;
    }
  for (const SlurmJob* job : waiting_in_order(jobs)) {
    if (job->starts >= slurm_gate) {
      const bool one_profile =
          std::ranges::count_if(job->asks, [](const auto& ask) { return ask.second > 0; }) == 1;
      if (one_profile && job->nodes == 1 && may_run_anywhere(*job))
        waiting_.push_back(round_job(*job, {}));
      else
        by_hand_.push_back(job);
      continue;
    }
    const auto mark = parse_mark(job->comment);
    if (rests(*job, now_) && !(mark && was_released_to(*job, *mark))) {
      if (!mark) continue;
      gate(*job, "it was put back in the queue");
      round_.gated.back().rests = true;
      continue;
    }
    if (!mark) {
      // Until its own time to begin it is no matter of ours; nor is one that waits for others.
      if (restarts_at_once(*job, now_))
        gate(*job, "it was put back in the queue");
      else if ((job->reason != "BeginTime" || job->starts <= now_) && job->reason != "Dependency")
        gate(*job, "it came without the gate");
      continue;
    }
    if (now_ - mark->released > rules_->patience) {
      gate_elsewhere(*job, *mark);
      continue;
    }
    const auto places = places_of(*job, *mark);
    if (!places) {
      gate(*job, "its place is gone");
      continue;
    }
    for (const PlacedInstance& each : *places) running_.push_back(round_job(*job, {each}));
    for (const MarkedNode& node : mark->nodes)
      for (const auto& [profile, count] : job->asks)
        counts_[view_of_.find(node.node)->second][profile] += count;
  }
}

Request Round::request_of(const RoundJob& job) const {
  Request request{ByProfile{job.profile}, std::vector<std::string>{job.profile}};
  request.places = job.places;
  if (job.places > 1) request.together = Together::node;
  const auto all = sum_of(job.slurm->asks) * job.slurm->nodes;
  request.host.millicpus = job.slurm->cpus * 1000 / std::max<std::int64_t>(all, 1);
  return request;
}

std::optional<std::vector<PlacedInstance>> Round::place_on(const SlurmJob& job, std::size_t view,
                                                           Fleet& fleet) {
  static const ChosenPolicy policy = *choose_policy(default_policy, {});
  const SlurmNode& node = *(*views_)[view].slurm;
  if (!node.takes_jobs || job.cpus / job.nodes > node.cpus - node.cpus_used) return std::nullopt;
  std::vector<PlacedInstance> places;
  for (const auto& [profile, count] : job.asks)
    for (std::int64_t i = 0; i < count; ++i) {
      std::optional<std::pair<Rank, PlacedInstance>> best;
      const ResolvedRequest request = resolve(
          {ByProfile{profile}, std::vector<std::string>{profile}}, cluster_.file.geometries);
      for (const GpuId gpu : cluster_.of_view[view]) {
        if (!cluster_.serves[index(gpu)]) continue;
        const GpuState& state = fleet[gpu];
        const auto found =
            best_on({fleet.graph(state), state}, request.candidates[state.kind], policy);
        if (found && (!best || found->rank < best->first))
          best = {found->rank, {gpu, found->placement}};
      }
      if (!best) {
        for (const PlacedInstance& each : places) fleet.vacate(each.gpu, each.placement);
        return std::nullopt;
      }
      fleet.hold(best->second.gpu, best->second.placement);
      places.push_back(best->second);
    }
  return places;
}

/// Numbers of views: those that a job names, then all others on which it may run. A name that no
/// node has is none's, so that the job waits. Nodes that were tried are left out, until all were.
std::vector<std::size_t> Round::order_for(const SlurmJob& job, const NodeWish& wish,
                                          const std::vector<std::string>& listed) const {
  std::vector<std::size_t> order;
  for (const std::string& name : listed) {
    const auto view = view_of_.find(name);
    if (view == view_of_.end()) return {};
    order.push_back(view->second);
  }
  std::vector<std::size_t> again;
  for (std::size_t v = 0; v < views_->size(); ++v) {
    if (cluster_.of_view[v].empty() || !may_be_on(job, wish, *(*views_)[v].slurm) ||
        std::ranges::find(order, v) != order.end())
      continue;
    (names(wish.tried, (*views_)[v].name()) ? again : order).push_back(v);
  }
  if (order.size() == listed.size()) order.insert(order.end(), again.begin(), again.end());
  return order;
}

/// What is taken here is taken before the engine sees it.
void Round::place_by_hand(const Fleet& now) {
  Fleet fleet = now;
  for (std::size_t g = 0; g < cluster_.file.gpus.size(); ++g)
    for (const InstanceEntry& instance : cluster_.file.gpus[g].instances)
      if (instance.owned) fleet.hold(static_cast<GpuId>(g), instance.placement);
  for (const SlurmJob* job : by_hand_) {
    const NodeWish wish = wish_of(*job);
    const auto listed = nodes_of_list(wish.wanted);
    const std::vector<std::size_t> order = order_for(*job, wish, listed);
    const auto named = static_cast<std::int64_t>(listed.size());
    const std::int64_t wanted = std::max(job->nodes, named);
    std::vector<PlacedInstance> all;
    std::int64_t nodes = 0;
    for (std::size_t i = 0; i < order.size() && nodes < wanted; ++i) {
      const auto places =
          cluster_.of_view[order[i]].empty() ? std::nullopt : place_on(*job, order[i], fleet);
      if (!places && std::cmp_less(i, named)) break;  // each that it names
      if (!places) continue;
      ++nodes;
      all.insert(all.end(), places->begin(), places->end());
    }
    if (nodes < wanted) {
      for (const PlacedInstance& each : all) fleet.vacate(each.gpu, each.placement);
      ++round_.waiting;
      continue;
    }
    for (const PlacedInstance& each : all) {
      take(each.gpu, each.placement);
      running_.push_back(round_job(*job, {each}));
    }
    release(*job, all);
  }
}

void Round::release(const SlurmJob& job, const std::vector<PlacedInstance>& at) {
  PlaceMark mark{now_, {}, wish_of(job)};
  for (const PlacedInstance& each : at) {
    const ClusterGpu gpu = cluster_.gpus[index(each.gpu)];
    const NodeView& view = (*views_)[gpu.view];
    if (mark.nodes.empty() || mark.nodes.back().node != view.name())
      mark.nodes.push_back({view.name(), {}});
    const Placement& placement = geometry(each.gpu)[each.placement];
    mark.nodes.back().places.push_back({view.report->gpus[gpu.gpu].index, placement.start});
    ++counts_[gpu.view][std::string(placement.profile->name)];
  }
  const auto names = names_of(mark.nodes, &MarkedNode::node);
  round_.released.push_back(
      {job.number, job.shown, fmt::format("{}", fmt::join(names, ",")), marked(job.comment, mark)});
}

bool Round::first_was_overtaken() const {
  const SlurmJob& first = *waiting_.front().slurm;
  if (!first.submitted || now_ - *first.submitted < rules_->overtaken) return false;
  return std::ranges::any_of(running_, [&](const RoundJob& job) {
    return job.slurm->priority < first.priority && job.slurm->starts > first.submitted;
  });
}

/// Instances that stand and are not in the way of what is taken: of places that are as good, those
/// come first, since nothing has to be made there.
void Round::add_idle() {
  for (std::size_t g = 0; g < cluster_.file.gpus.size(); ++g) {
    const ClusterGpu gpu = cluster_.gpus[g];
    for (const PlacementId idle : (*views_)[gpu.view].report->gpus[gpu.gpu].idle)
      take(static_cast<GpuId>(g), idle);
  }
}

Result<void> Round::run_engine() {
  const bool keeps = !waiting_.empty() && first_was_overtaken();
  const auto spec = parse_scheduler(keeps ? rules_->keeping : rules_->scheduler);
  if (!spec) return std::unexpected(spec.error());
  if (waiting_.empty()) return {};
  add_idle();
  const Fleet fleet(cluster_.file);
  RequestTable requests(cluster_.file.geometries);
  RoundFacts facts;
  const bool gangs = std::ranges::any_of(waiting_, [](const auto& job) { return job.places > 1; });
  auto engine = Engine::make(
      *spec, {.fleet = fleet, .requests = requests, .facts = &facts, .live = true, .gangs = gangs},
      requests, nullptr);
  if (!engine) return std::unexpected(engine.error());
  std::vector<Command> commands;
  for (std::size_t gpu = 0; gpu < cluster_.serves.size(); ++gpu)
    if (!cluster_.serves[gpu]) engine->on(GpuDrained{static_cast<GpuId>(gpu)}, now_, commands);
  for (const RoundJob& job : running_)
    engine->on(Adopted{facts.add(job), requests.intern(request_of(job)), job.at.front().gpu,
                       job.at.front().placement},
               now_, commands);
  for (const RoundJob& job : waiting_)
    engine->on(Submitted{facts.add(job), requests.intern(request_of(job))}, now_, commands);
  engine->settle(now_, commands);
  std::map<JobId, std::vector<PlacedInstance>> started;  // by leader
  for (const Command& command : commands)
    if (const auto* start = std::get_if<StartJob>(&command))
      started[facts.gang(start->job).leader].push_back({start->gpu, start->placement});
  for (const auto& [leader, at] : started)
    if (at.size() == facts.gang(leader).size) release(facts.slurm(leader), at);
  round_.waiting += waiting_.size() - started.size();
  return {};
}

void Round::tell_counts() {
  for (std::size_t v = 0; v < views_->size(); ++v) {
    const SlurmNode& node = *(*views_)[v].slurm;
    if (names(rules_->template_nodes, node.name) || node.has.empty()) continue;
    NodeUpdate update{node.name, node.has, false};
    for (auto& [profile, count] : update.counts) {
      update.lowers = update.lowers || count_of(counts_[v], profile) < count;
      count = count_of(counts_[v], profile);
    }
    if (update.counts != node.has) round_.updates.push_back(std::move(update));
  }
}

}  // namespace

Result<ClusterRound> cluster_round(const std::vector<NodeView>& views,
                                   const std::vector<SlurmJob>& jobs, Instant now,
                                   const ClusterRules& rules) {
  return Round(views, now, rules).decide(jobs);
}

}  // namespace cleave
