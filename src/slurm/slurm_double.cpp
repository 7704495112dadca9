#include "slurm/slurm_double.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "model/profile_set.hpp"

namespace cleave {

SlurmDouble::SlurmDouble(const Size& size, std::uint64_t seed) : random_(seed) {
  const GpuModel& model = **find_gpu_model(size.model);
  graph_ = StateGraph::of(model, ProfileChoice::plain().on(model));
  GresCounts none;
  for (const std::string& profile : graph_->geometry().profile_names()) none[profile] = 0;
  for (std::size_t n = 0; n < size.nodes; ++n) {
    const std::string name = fmt::format("n{}", n + 1);
    node_at_[name] = n;
    SlurmNode node;
    node.name = name;
    node.has = node.used = none;
    node.state = "IDLE";
    node.cpus = size.cpus;
    world_.nodes.push_back(std::move(node));
    NodeReport report{name, {}, {}};
    for (std::size_t g = 0; g < size.gpus; ++g)
      report.gpus.push_back({graph_, static_cast<std::int64_t>(g), {}, true, {}});
    world_.reports.push_back(std::move(report));
  }
}

Result<SlurmSight> SlurmDouble::look() {
  if (meanwhile) meanwhile();
  return world_;
}

Result<void> SlurmDouble::set_counts(const NodeUpdate& update) {
  world_.nodes[node_at_.at(update.node)].has = update.counts;
  if (meanwhile) meanwhile();
  return {};
}

Result<void> SlurmDouble::release(const ReleasedJob& released) {
  SlurmJob* const of = job(released.job);
  of->starts = now_;
  of->wanted_nodes = released.nodes;
  of->comment = released.comment;
  of->reason = "None";
  return {};
}

Result<void> SlurmDouble::gate(const GatedJob& gated) {
  SlurmJob* const of = job(gated.job);
  if (!gated.rests) of->starts = slurm_gate;
  of->wanted_nodes.clear();
  of->comment = gated.comment;
  of->reason = "BeginTime";
  if (gated.held) of->priority = 1000;
  return {};
}

Result<void> SlurmDouble::requeue(const std::string& shown) {
  return requeue(parse_integer(shown).value_or(0));
}

Result<void> SlurmDouble::requeue(std::int64_t number) {
  SlurmJob* const of = job(number);
  end(number);
  of->state = SlurmJobState::pending;
  of->starts = now_ + std::chrono::seconds(121);
  of->reason = "BeginTime";
  ++of->restarts;
  return {};
}

Result<void> SlurmDouble::hurry(std::int64_t number) {
  job(number)->starts = now_;
  job(number)->reason = "Resources";
  return {};
}

Result<void> SlurmDouble::unhold(std::int64_t number) {
  SlurmJob* const of = job(number);
  of->priority = 1000;
  of->reason = "None";
  return {};
}

Result<std::vector<AccountedEnd>> SlurmDouble::ends(const std::vector<const SlurmJob*>&) {
  return accounted_;
}

Result<void> SlurmDouble::mark_ended(const AccountedEnd& of) {
  end(of.job);
  return {};
}

Result<void> SlurmDouble::ask_to_register(const std::string& name) {
  SlurmNode& node = world_.nodes[node_at_.at(name)];
  node.state = "IDLE";
  node.takes_jobs = true;
  return {};
}

Result<void> SlurmDouble::give_back(const ClaimLeft& claim) {
  std::erase_if(world_.reports[node_at_.at(claim.node)].claims,
                [&](const SlurmClaim& each) { return each.key == claim.key; });
  return {};
}

void SlurmDouble::forget_end(std::int64_t number) {
  accounted_.push_back({number, *job(number)->starts, 0});
}

std::int64_t SlurmDouble::submit(const GresCounts& asks, bool gated, std::int64_t priority,
                                 std::int64_t nodes) {
  SlurmJob fresh;
  fresh.number = next_++;
  fresh.shown = fmt::format("{}", fresh.number);
  fresh.asks = asks;
  fresh.priority = priority;
  fresh.nodes = fresh.cpus = nodes;
  fresh.submitted = now_;
  fresh.limit = std::chrono::hours{1};
  fresh.requeueable = true;
  fresh.starts = gated ? slurm_gate : now_;
  fresh.reason = gated ? "BeginTime" : "Resources";
  world_.jobs.push_back(std::move(fresh));
  return next_ - 1;
}

SlurmJob* SlurmDouble::job(std::int64_t number) {
  return &world_.jobs[static_cast<std::size_t>(number - 1)];
}

const SlurmJob* SlurmDouble::find(std::int64_t number) const {
  return &world_.jobs[static_cast<std::size_t>(number - 1)];
}

bool SlurmDouble::try_start(SlurmJob& of) {
  const auto wanted = nodes_of_list(of.wanted_nodes);
  std::vector<SlurmNode*> nodes;
  for (SlurmNode& node : world_.nodes) {
    if (std::cmp_equal(nodes.size(), of.nodes)) break;
    if (!wanted.empty() && std::ranges::find(wanted, node.name) == wanted.end()) continue;
    bool has = node.takes_jobs && node.cpus_used < node.cpus;
    for (const auto& [profile, count] : of.asks)
      has = has && count_of(node.has, profile) - count_of(node.used, profile) >= count;
    if (has) nodes.push_back(&node);
  }
  if (std::cmp_less(nodes.size(), of.nodes)) return false;
  of.runs_on.clear();
  for (SlurmNode* node : nodes) {
    of.runs_on += of.runs_on.empty() ? node->name : "," + node->name;
    ++node->cpus_used;
    for (const auto& [profile, count] : of.asks) node->used[profile] += count;
  }
  of.state = SlurmJobState::running;
  of.starts = now_;
  ++started_;
  return true;
}

void SlurmDouble::schedule(bool wild) {
  std::vector<SlurmJob*> ready;
  for (SlurmJob& each : world_.jobs)
    if (each.state == SlurmJobState::pending && each.priority > 0 && each.starts <= now_)
      ready.push_back(&each);
  std::ranges::stable_sort(
      ready, [](const SlurmJob* a, const SlurmJob* b) { return a->priority > b->priority; });
  if (wild)
    for (std::size_t i = ready.size(); i > 1; --i) std::swap(ready[i - 1], ready[random_.below(i)]);
  for (SlurmJob* each : ready)
    if (!wild || random_.below(2) == 0) try_start(*each);
}

std::vector<SlurmDouble::Place> SlurmDouble::free_places(const NodeReport& node,
                                                         const std::string& profile) const {
  const Geometry& geometry = graph_->geometry();
  std::vector<Place> places;
  for (std::size_t g = 0; g < node.gpus.size(); ++g) {
    PlacementSet there = node.gpus[g].walls;
    for (const SlurmClaim& claim : node.claims)
      if (claim.gpu == g) there.insert(claim.placement);
    if (!node.gpus[g].serves) continue;
    for (const PlacementId id : geometry.free(there))
      if (geometry[id].profile->name == profile) places.emplace_back(g, id);
  }
  return places;
}

std::vector<SlurmDouble::Place> SlurmDouble::preferred(const NodeReport& node,
                                                       std::vector<Place> places) const {
  const auto left = left_.find(node.node);
  if (placing == DoublePlacing::anywhere || left == left_.end()) return places;
  for (std::size_t i = left->second.size(); i-- > 0;)
    if (std::ranges::find(places, left->second[i]) != places.end()) return {left->second[i]};
  // By the last left instance that would have to go, the sooner left the better.
  const auto last_that_goes = [&](const Place& place) {
    const PlacementSet gone = graph_->geometry().blocked(PlacementSet::of(place.second));
    std::size_t last = 0;
    for (std::size_t i = 0; i < left->second.size(); ++i)
      if (left->second[i].first == place.first && gone.contains(left->second[i].second))
        last = i + 1;
    return last;
  };
  std::size_t least = left->second.size();
  for (const Place& place : places) least = std::min(least, last_that_goes(place));
  std::erase_if(places, [&](const Place& place) { return last_that_goes(place) > least; });
  return places;
}

bool SlurmDouble::make_one(NodeReport& node, const SlurmJob& of, const std::string& profile,
                           const MarkedPlace* place) {
  std::vector<Place> places = free_places(node, profile);
  if (place == nullptr)
    places = preferred(node, std::move(places));
  else
    std::erase_if(places, [&](const Place& each) {
      return place->gpu != node.gpus[each.first].index ||
             place->start != graph_->geometry()[each.second].start;
    });
  if (places.empty()) return false;
  const auto [gpu, id] = places[random_.below(places.size())];
  node.claims.push_back({fmt::format("slurm:{}", of.number), gpu, id});
  const PlacementSet gone = graph_->geometry().blocked(PlacementSet::of(id));
  node.gpus[gpu].idle = node.gpus[gpu].idle - gone;
  std::erase_if(left_[node.node],
                [&](const Place& each) { return each.first == gpu && gone.contains(each.second); });
  return true;
}

/// All instances of the job on this node, or none.
bool SlurmDouble::make(NodeReport& node, const SlurmJob& of) {
  const auto mark = parse_mark(of.comment);
  const MarkedNode* marks = nullptr;
  if (mark)
    for (const MarkedNode& each : mark->nodes)
      if (each.node == node.node) marks = &each;
  const std::size_t before = node.claims.size();
  std::size_t next = 0;
  for (const auto& [profile, count] : of.asks)
    for (std::int64_t i = 0; i < count; ++i) {
      const MarkedPlace* place =
          marks != nullptr && next < marks->places.size() ? &marks->places[next++] : nullptr;
      if (make_one(node, of, profile, place)) continue;
      node.claims.resize(before);
      return false;
    }
  return true;
}

void SlurmDouble::prolog() {
  for (SlurmJob& each : world_.jobs) {
    if (each.state != SlurmJobState::running) continue;
    for (const std::string& name : nodes_of_list(each.runs_on)) {
      NodeReport& node = world_.reports[node_at_.at(name)];
      const bool has = std::ranges::any_of(
          node.claims, [&](const SlurmClaim& claim) { return claim.job() == each.number; });
      if (has || make(node, each)) continue;
      ++put_back_;
      static_cast<void>(requeue(each.number));
      break;
    }
  }
}

void SlurmDouble::free_counts(const SlurmJob& of) {
  for (const std::string& name : nodes_of_list(of.runs_on)) {
    SlurmNode& node = world_.nodes[node_at_.at(name)];
    --node.cpus_used;
    for (const auto& [profile, count] : of.asks) node.used[profile] -= count;
    std::erase_if(world_.reports[node_at_.at(name)].claims, [&](const SlurmClaim& claim) {
      if (claim.job() != of.number) return false;
      left_[name].emplace_back(claim.gpu, claim.placement);
      world_.reports[node_at_.at(name)].gpus[claim.gpu].idle.insert(claim.placement);
      return true;
    });
  }
}

void SlurmDouble::end(std::int64_t number) {
  SlurmJob* const of = job(number);
  if (of->state == SlurmJobState::running) free_counts(*of);
  of->state = SlurmJobState::over;
  of->runs_on.clear();
}

void SlurmDouble::end_some(double share) {
  for (SlurmJob& each : world_.jobs)
    if (each.state == SlurmJobState::running && random_.uniform() < share) end(each.number);
}

std::size_t SlurmDouble::waiting() const {
  return static_cast<std::size_t>(
      std::ranges::count(world_.jobs, SlurmJobState::pending, &SlurmJob::state));
}

}  // namespace cleave
