#include "slurm/node_counts.hpp"

#include <algorithm>
#include <ranges>
#include <set>

namespace cleave {

const CountLaw& CountLaws::of(const std::shared_ptr<const StateGraph>& graph) {
  auto& law = laws_[graph.get()];
  if (!law) law = std::make_unique<CountLaw>(graph);
  return *law;
}

std::optional<NodeUpdate> towards(const std::string& node, const GresCounts& told,
                                  const GresCounts& wanted) {
  NodeUpdate update{node, told, false};
  for (auto& [profile, count] : update.counts)
    if (const std::int64_t now = count_of(wanted, profile); now < count) {
      count = now;
      update.lowers = true;
    }
  if (update.lowers) return update;
  for (auto& [profile, count] : update.counts) count = count_of(wanted, profile);
  return update.counts == told ? std::nullopt : std::optional(update);
}

namespace {

/// A node's promise while it is put together.
class NodePromise {
 public:
  NodePromise(const NodeView& view, CountLaws& laws) : view_(&view) {
    cpus_ = view.slurm->cpus - view.slurm->cpus_used;
    if (view.report == nullptr || !view.slurm->takes_jobs) return;
    const auto& gpus = view.report->gpus;
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const StateId state = view.occupied(i);
      // The numbers of another kind of GPU would be taken for these.
      if (!gpus[i].serves || state == no_state) continue;
      if (law_ == nullptr) law_ = &laws.of(gpus[i].graph);
      if (law_ != &laws.of(gpus[i].graph)) continue;
      states_.push_back(state);
      places_.push_back(i);
    }
    if (law_ == nullptr) return;
    coming_ = law_->nothing();
    for (const auto& [profile, count] : view.coming)
      if (const auto t = law_->find(profile)) coming_[*t] += count;
    all_ = coming_;
    open_ = law_->lawful(states_, all_);
  }

  [[nodiscard]] const NodeView& view() const { return *view_; }

  /// Promises these too, if that is lawful, now and where room is kept.
  bool add(const GresCounts& asks) {
    if (!open_) return false;
    Demand more = all_;
    if (!add_to(more, asks) || !law_->lawful(states_, more)) return false;
    if (kept_) {
      Demand later = more;
      for (std::size_t t = 0; t < later.size(); ++t) later[t] += kept_->asks[t];
      if (!law_->lawful(kept_->states, later)) return false;
    }
    all_ = std::move(more);
    return true;
  }
  bool add_job(const SlurmJob& job) {
    const std::int64_t cpus = (job.cpus + job.nodes - 1) / job.nodes;
    if (cpus > cpus_ || !add(job.asks)) return false;
    cpus_ -= cpus;
    return true;
  }

  /// When it will have room for the job, by the limits of what runs; nullopt: never.
  struct Later {
    Instant from;
    std::vector<StateId> states;
  };
  [[nodiscard]] std::optional<Later> room_for(const SlurmJob& job, Instant now) const {
    if (law_ == nullptr) return std::nullopt;
    Demand later = all_;
    if (!add_to(later, job.asks)) return std::nullopt;
    Later room{now, states_};
    for (const auto& [end, claim] : ends(now)) {
      if (law_->lawful(room.states, later)) return room;
      room.from = end;
      for (std::size_t i = 0; i < places_.size(); ++i)
        if (places_[i] == claim->gpu) {
          const PlacementSet left =
              law_->graph().state(room.states[i]) - PlacementSet::of(claim->placement);
          room.states[i] = law_->graph().find(left);
        }
    }
    if (!law_->lawful(room.states, later)) return std::nullopt;
    return room;
  }
  void keep(const SlurmJob& job, Later room) {
    Demand asks = law_->nothing();
    add_to(asks, job.asks);
    kept_ = Kept{std::move(asks), std::move(room.states)};
  }

  /// What is promised, by profile.
  [[nodiscard]] GresCounts wanted() const {
    GresCounts counts = view_->counted();
    if (law_ == nullptr) return counts;
    for (std::size_t t = 0; t < all_.size(); ++t)
      if (all_[t] > coming_[t])
        counts[std::string(law_->profiles()[t]->name)] += all_[t] - coming_[t];
    return counts;
  }

  /// What has been told before, beyond what jobs have and what is promised again by now.
  void add_told() {
    const GresCounts now = wanted();
    for (const auto& [profile, count] : view_->slurm->has)
      for (std::int64_t i = count_of(now, profile); i < count; ++i)
        if (!add({{profile, 1}})) break;
  }
  void add_spare() {
    if (law_ == nullptr) return;
    for (bool added = true; added;) {
      added = false;
      for (const Profile* profile : law_->profiles())
        if (const std::string name(profile->name); view_->slurm->has.contains(name))
          added = add({{name, 1}}) || added;
    }
  }

 private:
  struct Kept {
    Demand asks;
    std::vector<StateId> states;
  };

  /// False: there is no such profile here.
  bool add_to(Demand& demand, const GresCounts& asks) const {
    for (const auto& [profile, count] : asks) {
      const auto t = law_->find(profile);
      if (!t || !view_->slurm->has.contains(profile)) return false;
      demand[*t] += count;
    }
    return true;
  }
  /// Claims by the time at which their jobs end at the latest.
  [[nodiscard]] std::vector<std::pair<Instant, const SlurmClaim*>> ends(Instant now) const {
    std::vector<std::pair<Instant, const SlurmClaim*>> ends;
    for (const SlurmClaim& claim : view_->report->claims) {
      Instant end = now;  // of a job that has ended, it goes now
      for (const SlurmJob* job : view_->started)
        if (job->number == claim.job())
          end = job->limit && job->starts ? std::max(now, *job->starts + *job->limit)
                                          : now + longest_duration;
      ends.emplace_back(end, &claim);
    }
    std::ranges::stable_sort(ends, {}, &std::pair<Instant, const SlurmClaim*>::first);
    return ends;
  }

  const NodeView* view_;
  const CountLaw* law_ = nullptr;
  std::vector<StateId> states_;
  std::vector<std::size_t> places_;  // of these in the report
  Demand coming_, all_;              // started without a claim yet; with what is promised
  std::optional<Kept> kept_;
  std::int64_t cpus_ = 0;
  bool open_ = false;
};

/// Of what is known of it: neither its features nor its memory are.
class Allowed {
 public:
  explicit Allowed(const SlurmJob& job) : job_(&job), wish_(wish_of(job)) {
    const auto listed = nodes_of_list(job.wanted_nodes);
    wanted_.insert(listed.begin(), listed.end());
  }
  bool operator()(const NodeView& view) const {
    return (job_->wanted_nodes.empty() || wanted_.contains(view.name())) &&
           may_be_on(*job_, wish_, *view.slurm);
  }

 private:
  const SlurmJob* job_;
  NodeWish wish_;
  std::set<std::string> wanted_;
};

/// The first nodes that have room for it, all of them or none.
bool promise(const SlurmJob& job, std::vector<NodePromise>& nodes, std::size_t& first) {
  const Allowed allowed(job);
  std::vector<std::pair<std::size_t, NodePromise>> taken;
  for (std::size_t i = job.wanted_nodes.empty() ? first : 0; i < nodes.size(); ++i) {
    if (!allowed(nodes[i].view())) continue;
    NodePromise before = nodes[i];
    if (!nodes[i].add_job(job)) continue;
    taken.emplace_back(i, std::move(before));
    if (std::cmp_equal(taken.size(), job.nodes)) {
      if (job.wanted_nodes.empty()) first = taken.front().first;
      return true;
    }
  }
  for (auto& [i, before] : taken) nodes[i] = std::move(before);
  return false;
}

std::optional<KeptNode> keep_for(const SlurmJob& job, std::vector<NodePromise>& nodes,
                                 Instant now) {
  const Allowed allowed(job);
  std::optional<std::pair<std::size_t, NodePromise::Later>> best;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!allowed(nodes[i].view())) continue;
    auto room = nodes[i].room_for(job, now);
    if (room && (!best || room->from < best->second.from)) best = {i, std::move(*room)};
  }
  if (!best) return std::nullopt;
  KeptNode kept{job.number, nodes[best->first].view().name(), best->second.from};
  if (*kept.from >= now + longest_duration) kept.from.reset();
  nodes[best->first].keep(job, std::move(best->second));
  return kept;
}

/// Jobs that ask for the same of the same nodes have the same answer as long as promises only grow.
using Ask =
    std::tuple<GresCounts, std::string, std::string, std::string, std::int64_t, std::int64_t>;
Ask ask_of(const SlurmJob& job) {
  return {job.asks, job.wanted_nodes, wish_of(job).excluded, job.partitions, job.nodes, job.cpus};
}

}  // namespace

CountRound count_round(const std::vector<NodeView>& views,
                       const std::vector<const SlurmJob*>& waiting, Instant now,
                       const CountRules& rules, CountLaws& laws) {
  CountRound round;
  std::vector<NodePromise> nodes;
  for (const NodeView& view : views)
    if (!names(rules.template_nodes, view.name()) && !view.slurm->has.empty())
      nodes.emplace_back(view, laws);
  std::map<Ask, std::size_t> first;  // node that may have room
  std::set<Ask> none;                // has any
  for (const SlurmJob* job : waiting) {
    if (restarts_at_once(*job, now)) round.hurried.push_back(job->number);
    const Ask ask = ask_of(*job);
    if (none.contains(ask) || promise(*job, nodes, first[ask])) continue;
    none.insert(ask);
    if (!round.kept) round.kept = keep_for(*job, nodes, now);
  }
  std::vector<NodeUpdate> raised;
  for (NodePromise& node : nodes) {
    node.add_told();
    if (rules.spare) node.add_spare();
    auto update = towards(node.view().name(), node.view().slurm->has, node.wanted());
    if (!update) continue;
    if (update->lowers)
      round.updates.push_back(std::move(*update));
    else if (raised.size() < rules.most_raised)
      raised.push_back(std::move(*update));
  }
  std::ranges::move(raised, std::back_inserter(round.updates));
  return round;
}

}  // namespace cleave
