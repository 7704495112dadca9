#include "slurm/slurm_port.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace cleave {

namespace {

/// Does one thing, and notes how that went.
class Doer {
 public:
  Doer(ControllerRound& round, const std::function<bool()>& may_act)
      : round_(&round), may_act_(&may_act) {}

  bool operator()(const std::function<Result<void>()>& act) {
    if (!(*may_act_)()) {
      if (!stopped_) round_->trouble.push_back("another controller has the lease");
      stopped_ = true;
      return false;
    }
    const Result<void> done = act();
    if (done)
      ++round_->done;
    else
      round_->trouble.push_back(done.error().text());
    return done.has_value();
  }

 private:
  ControllerRound* round_;
  const std::function<bool()>* may_act_;
  bool stopped_ = false;
};

/// A job is only released where its node's count has risen.
void carry_out(SlurmPort& port, ControllerRound& round, Doer& act) {
  std::set<std::string> failed;
  for (const GatedJob& job : round.cluster.gated) act([&] { return port.gate(job); });
  for (const NodeUpdate& update : round.cluster.updates)
    if (!act([&] { return port.set_counts(update); })) failed.insert(update.node);
  for (const ReleasedJob& job : round.cluster.released) {
    bool ready = true;
    for (const std::string& node : nodes_of_list(job.nodes))
      ready = ready && !failed.contains(node);
    if (ready) act([&] { return port.release(job); });
  }
}

/// A site without accounting has nobody to ask.
void tell_lost_ends(SlurmPort& port, const SlurmSight& sight, Instant now, ControllerRound& round,
                    Doer& act) {
  const auto jobs = may_have_ended(sight, now);
  if (jobs.empty()) return;
  const auto ends = port.ends(jobs);
  if (!ends) return;
  for (const AccountedEnd& end : lost_ends(jobs, *ends))
    if (act([&] { return port.mark_ended(end); })) round.ended.push_back(end);
}

/// Ten seconds later at the earliest once more: slurmctld that was long to begin judges later. A
/// few at a time, since each takes two calls of the round.
void repair_nodes(SlurmPort& port, const SlurmSight& sight, Instant now, ControllerMemory& memory,
                  ControllerRound& round, Doer& act) {
  constexpr Duration pause = std::chrono::seconds(10);
  constexpr std::size_t most = 20;
  for (const std::string& node : nodes_to_register(sight, now)) {
    if (round.registered.size() >= most) break;
    const auto last = memory.registered.find(node);
    if (last != memory.registered.end() && now - last->second < pause) continue;
    if (!act([&] { return port.ask_to_register(node); })) continue;
    memory.registered[node] = now;
    round.registered.push_back(node);
  }
}

/// A claim is made before the look that would show its job, so one is waited for. A task prolog
/// trusts its job's note for as long (cli/slurm/slurm_task_prolog.cpp).
void give_back_left(SlurmPort& port, const SlurmSight& sight, Instant now, ControllerMemory& memory,
                    ControllerRound& round, Doer& act) {
  constexpr Duration sure_after = std::chrono::seconds(15);
  std::map<ClaimLeft, Instant> left;
  for (ClaimLeft& claim : claims_left(sight)) {
    const auto before = memory.left.find(claim);
    const Instant since = before == memory.left.end() ? now : before->second;
    if (now - since >= sure_after && act([&] { return port.give_back(claim); }))
      round.given_back.push_back(claim);
    left.emplace(std::move(claim), since);
  }
  memory.left = std::move(left);
}

/// Which of the jobs that Slurm held when it was looked at can have what they ask for.
void release_held(SlurmPort& port, const SlurmSight& sight, const CountRules& rules, Instant now,
                  ControllerMemory& memory, ControllerRound& round, Doer& act) {
  for (const std::int64_t job : jobs_to_release(sight, rules.template_nodes, memory.held, now)) {
    if (!act([&] { return port.unhold(job); })) continue;
    HeldMemory::Release& release = memory.held.released[job];
    release = {now, release.times + 1};
    round.unheld.push_back(job);
  }
}

/// In node mode. Whether counts fell, so that others may rise.
bool tell_counts(SlurmPort& port, SlurmSight sight, const ControllerSettings& settings,
                 ControllerMemory& memory, Instant now, ControllerRound& round, Doer& act) {
  SlurmSight told = sight;
  // Before what waits is looked at: these are to wait too.
  release_held(port, told, settings.counts, now, memory, round, act);
  let_held_wait(sight.jobs, memory.held, now);
  round.counts =
      count_round(views_of(sight), waiting_in_order(sight.jobs), now, settings.counts, memory.laws);
  for (const std::int64_t job : round.counts.hurried) act([&] { return port.hurry(job); });
  bool lowered = false;
  for (const NodeUpdate& update : round.counts.updates) {
    if (act([&] { return port.set_counts(update); }))
      if (const auto node = std::ranges::find(told.nodes, update.node, &SlurmNode::name);
          node != told.nodes.end())
        node->has = update.counts;
    lowered = lowered || update.lowers;
  }
  // At once, or a job behind them would be the first to find that counts rose.
  if (!round.counts.updates.empty())
    release_held(port, told, settings.counts, now, memory, round, act);
  return lowered;
}

}  // namespace

Result<ControllerRound> run_round(SlurmPort& port, const ControllerSettings& settings,
                                  ControllerMemory& memory, Instant now,
                                  const std::function<bool()>& may_act) {
  ControllerRound round;
  Doer act(round, may_act);
  // In node mode a second look follows where counts fell, so that what rises may rise at once.
  for (int look = 0; look < 2; ++look) {
    auto sight = port.look();
    if (!sight) return std::unexpected(sight.error());
    if (look == 0) {
      tell_lost_ends(port, *sight, now, round, act);
      repair_nodes(port, *sight, now, memory, round, act);
      give_back_left(port, *sight, now, memory, round, act);
    }
    if (settings.mode == SlurmMode::cluster) {
      auto decided = cluster_round(views_of(*sight), sight->jobs, now, settings.cluster);
      if (!decided) return std::unexpected(decided.error());
      round.cluster = std::move(*decided);
      carry_out(port, round, act);
      return round;
    }
    if (!tell_counts(port, std::move(*sight), settings, memory, now, round, act)) break;
  }
  return round;
}

}  // namespace cleave
