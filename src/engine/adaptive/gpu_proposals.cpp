#include "engine/adaptive/gpu_proposals.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "engine/adaptive/room_left.hpp"
#include "engine/host_room.hpp"

namespace cleave {

namespace {

// Of what a GPU gets done as it is: what a change must gain that disturbs jobs, what it must gain
// for each of them besides, and what a move to another GPU must.
constexpr double least_gain = 0.03, for_each_disturbed = 0.02, least_of_move = 0.06;
constexpr double look_ahead = 0.35;  // of the time that the jobs of a GPU take to end
constexpr double arrivals_ahead =
    2;  // and no further than this number of jobs take to come to each GPU
constexpr double long_stays = 100;  // checkpoints: from then on a job is long to those that wait
constexpr double soon_done = 3;     // checkpoints: one that has no more to do stays where it starts
constexpr double per_priority = 16;  // a unit of work counts so much more at the next higher one

}  // namespace

GpuProposals::GpuProposals(Books& books, const PlaceFinder& finder)
    : books_(books), finder_(finder) {
  for (const auto& graph : books.setup.fleet.graphs()) planners_.emplace_back(graph);
}

double GpuProposals::share_of_rate(std::optional<double> rate) const {
  return rate.value_or(0) / static_cast<double>(books_.seats.fleet().size());
}

PlanJob GpuProposals::as_running(JobId job, GpuId gpu, std::int64_t base) {
  const LedgerJob& known = books_.ledger[job];
  const bool may = books_.may_be_disrupted(job);
  PlanJob as;
  as.worth = weighed(job, base);
  as.speed = books_.ledger.speeds(job)[books_.kind(gpu)];
  as.at = books_.seats[job].placement;
  as.allowed = books_.no_larger(
                   job, gpu,
                   books_.hosted(job, gpu, known.allowed[books_.kind(gpu)] - books_.blocked(gpu))) |
               PlacementSet::of(*as.at);
  as.may_stop = known.stops && may;
  as.moves_live = known.live && may;
  as.may_wait = !known.due && !books_.strict;
  as.checkpoint_s = books_.ledger.checkpoint_s(job, books_.kind(gpu));
  return as;
}

PlanJob GpuProposals::as_newcomer(JobId job, GpuId gpu, std::int64_t base) {
  const LedgerJob& known = books_.ledger[job];
  PlanJob as;
  as.worth = weighed(job, base);
  as.speed = books_.ledger.speeds(job)[books_.kind(gpu)];
  as.allowed = books_.no_larger(
      job, gpu, books_.hosted(job, gpu, known.allowed[books_.kind(gpu)] - books_.blocked(gpu)));
  if (!(known.pace > 0)) as.allowed = may_start_on(job, gpu, as.allowed);
  // Beside others it gets less done, and so do they.
  if (!as.allowed.empty())
    as.worth.weight *= books_.neighbours.left_of_pace(
        job, gpu, books_.geometry(gpu)[as.allowed.last()].profile_index);
  as.checkpoint_s = books_.ledger.mean_checkpoint_s();
  // One that runs elsewhere is saved and restored, unless a replica takes over; one that was saved
  // is restored only.
  const double checkpoint_s = books_.ledger.checkpoint_s(job, books_.kind(gpu));
  if (known.pace > 0) {
    as.restore_s = known.live ? 0 : checkpoint_s;
  } else if (known.saved) {
    as.restore_s = checkpoint_s / 2;
  }
  return as;
}

PlacementSet GpuProposals::may_start_on(JobId job, GpuId gpu, PlacementSet places) const {
  const bool stays =
      books_.ledger.rest(job, books_.now) < soon_done * books_.ledger.mean_checkpoint_s();
  return stays ? finder_.without_traps(job, gpu, places) : places;
}

WorkWorth GpuProposals::weighed(JobId job, std::int64_t base) const {
  WorkWorth worth = books_.ledger.worth(job, books_.now);
  constexpr std::uint64_t most = 4;
  const std::int64_t priority = books_.ledger[job].priority;
  if (priority > base) {
    const auto above = static_cast<std::uint64_t>(priority) - static_cast<std::uint64_t>(base);
    worth.weight *= std::pow(per_priority, static_cast<double>(std::min(above, most)));
  }
  return worth;
}

GpuProposal GpuProposals::propose(GpuId gpu, std::span<const JobId> newcomers,
                                  std::optional<JobId> but) {
  GpuProposal it;
  it.gpu = gpu;
  const GpuState state = books_.seats.fleet()[gpu];
  const auto here = books_.seats.on(gpu);
  std::int64_t base = INT64_MAX;
  for (const JobId job : here) base = std::min(base, books_.ledger[job].priority);
  for (const JobId job : newcomers) base = std::min(base, books_.ledger[job].priority);
  PlanQuestion question;
  question.fixed = state.held | state.walls;
  question.held = state.held | state.walls;
  double paces = 0, longest = 0;
  std::size_t count = 0;
  for (const JobId job : here) {
    if (job == but) {
      question.fixed.erase(books_.seats[job].placement);
      question.held.erase(books_.seats[job].placement);
      continue;
    }
    if (books_.ledger[job].pace > 0) {
      paces += books_.ledger[job].pace / books_.ledger.rest(job, books_.now);
      ++count;
    }
    if (books_.pinned(job)) continue;
    longest = std::max(longest, books_.ledger.rest(job, books_.now));
    question.fixed.erase(books_.seats[job].placement);
    it.jobs.push_back(job);
    it.as.push_back(as_running(job, gpu, base));
  }
  std::size_t looked = 0;
  for (const JobId job : newcomers) {
    const PlanJob as = as_newcomer(job, gpu, base);
    if (as.allowed.empty() || !host_takes_beside(it, job, as)) continue;
    if (looked++ < 3) {
      paces += 1 / as.worth.rest_s;
      ++count;
    }
    it.jobs.push_back(job);
    it.as.push_back(as);
  }
  if (it.jobs.empty()) return it;
  const auto rate = books_.arrivals.a_second(books_.now);
  const double here_rate = share_of_rate(rate);
  it.horizon = count == 0 ? 1 : look_ahead * static_cast<double>(count) / paces;
  if (here_rate > 0) it.horizon = std::min(it.horizon, arrivals_ahead / here_rate);
  it.horizon = std::max(it.horizon, 0.01);
  // Short jobs look no further than to their own ends, before which a long one cannot have made
  // room: they would wait for all of it.
  const double checkpoint = books_.ledger.mean_checkpoint_s();
  if (looked > 0 && longest > long_stays * checkpoint)
    it.horizon = std::max(it.horizon, checkpoint);
  rent_.assign(static_cast<std::size_t>(books_.geometry(gpu).size()), 0);
  const double mean = books_.ledger.seen().mean();
  // Before a second job has come, others are to be expected: the first leaves room for them
  // where that costs little.
  const double own = it.as.back().worth.rest_s;
  const double per_gpu = rate ? 0 : 2 * checkpoint / (checkpoint + own) / mean * it.horizon;
  for (const PlacementId place : books_.geometry(gpu).all())
    rent_[place] = per_gpu * area_of(books_.geometry(gpu), place);
  question.horizon_s = it.horizon;
  question.rent = rent_;
  GpuPlanner& planner = planners_[state.kind];
  it.present = planner.present(question, it.as);
  question.disturbance = for_each_disturbed * std::max(0.0, it.present);
  it.plan = planner.best(question, it.as);
  it.gain = it.plan.worth - it.present;
  it.hosted = fits_host(it);
  return it;
}

/// Whether the host has room for the plan at every step towards it.
bool GpuProposals::fits_host(const GpuProposal& it) const {
  HostRoom* const host = books_.setup.host;
  if (host == nullptr) return true;
  const std::uint32_t node = host->node(it.gpu);
  HostAmount left = host->left(node), more;
  for (std::size_t i = 0; i < it.jobs.size(); ++i) {
    const JobId job = it.jobs[i];
    const auto place = it.plan.places[i];
    if (!place || place == it.as[i].at) continue;
    HostAmount needs = host->amount(books_.ledger[job].request, {it.gpu, place});
    if (books_.seats.seated(job) && host->node(books_.seats[job].gpu) == node) {
      const HostAmount has = host->has(job);
      needs = {std::max<std::int64_t>(0, needs.millicpus - has.millicpus),
               std::max(MiB{0}, needs.memory - has.memory)};
    }
    more += needs;
  }
  return HostRoom::times(host->host(node), left, more) > 0;
}

/// Whether the host has room for the job beside all the newcomers before it, each in its smallest
/// place.
bool GpuProposals::host_takes_beside(const GpuProposal& it, JobId more, const PlanJob& as) const {
  HostRoom* const host = books_.setup.host;
  if (host == nullptr) return true;
  const auto least = [&](JobId job, PlacementSet allowed) {
    return host->amount(books_.ledger[job].request, {it.gpu, allowed.last()});
  };
  HostAmount sum = least(more, as.allowed);
  for (std::size_t i = 0; i < it.jobs.size(); ++i)
    if (!it.as[i].at && !books_.seats.seated(it.jobs[i]))
      sum += least(it.jobs[i], it.as[i].allowed);
  const std::uint32_t node = host->node(it.gpu);
  return books_.seats.seated(more) || HostRoom::times(host->host(node), host->left(node), sum) > 0;
}

bool GpuProposals::worth_it(const GpuProposal& it) {
  bool disturbs = false;
  for (std::size_t i = 0; i < it.jobs.size(); ++i)
    disturbs = disturbs || (it.as[i].at && it.plan.places[i] != it.as[i].at);
  if (!it.hosted) return false;
  return it.gain > (disturbs ? least_gain * std::max(0.0, it.present) : 0) && it.gain > 1e-12;
}

std::vector<GpuProposal> GpuProposals::propose_all(std::span<const GpuId> gpus,
                                                   std::span<const JobId> wanted) {
  std::vector<GpuProposal> all;
  std::map<std::pair<StateNumber, std::optional<std::uint32_t>>, std::size_t> of_empty;
  for (const GpuId gpu : gpus) {
    const std::pair state{books_.seats.fleet().number(gpu), books_.host_of(gpu)};
    const bool empty = books_.seats.fleet()[gpu].held.empty() && books_.blocked(gpu).empty();
    const auto known = empty ? of_empty.find(state) : of_empty.end();
    if (known != of_empty.end()) {
      all.push_back(all[known->second]);
      all.back().gpu = gpu;
      continue;
    }
    if (empty) of_empty.emplace(state, all.size());
    all.push_back(propose(gpu, wanted));
  }
  return all;
}

std::optional<GpuProposal> GpuProposals::best_move() {
  std::vector<GpuId> emptiest;
  for (const auto& [load, gpu] : books_.by_load) {
    if (books_.seats.fleet()[gpu].absent || books_.in_advance(gpu)) continue;
    emptiest.push_back(gpu);
    if (emptiest.size() == 2) break;
  }
  struct Mover {
    double gain;
    JobId job;
    GpuId gpu;
  };
  std::vector<Mover> movers;
  std::size_t looked = 0;
  for (auto it = books_.by_load.rbegin();
       it != books_.by_load.rend() && looked < most_gpus_looked_at; ++it, ++looked) {
    if (books_.seats.fleet()[it->second].absent || books_.in_advance(it->second)) continue;
    for (const JobId job : books_.seats.on(it->second)) {
      if (books_.pinned(job) || !(books_.ledger[job].pace > 0)) continue;
      double top = 0;
      for (const GpuId to : emptiest)
        for (const double speed : books_.ledger[job].speed[books_.kind(to)])
          top = std::max(top, speed);
      const WorkWorth worth = books_.ledger.worth(job, books_.now);
      movers.push_back({worth.weight * (top - books_.ledger[job].pace), job, it->second});
    }
  }
  std::ranges::sort(movers, [](const Mover& a, const Mover& b) {
    return a.gain != b.gain ? a.gain > b.gain : a.job < b.job;
  });
  if (movers.size() > 5) movers.resize(5);
  std::optional<GpuProposal> best;
  double best_rate = 0;
  for (const GpuId to : emptiest)
    for (const Mover& mover : movers) {
      if (mover.gpu == to) continue;
      GpuProposal without = propose(mover.gpu, {}, mover.job);
      const JobId one[] = {mover.job};
      GpuProposal with = propose(to, one);
      const auto moved = std::ranges::find(with.jobs, mover.job);
      if (!with.hosted || moved == with.jobs.end() ||
          !with.plan.places[static_cast<std::size_t>(moved - with.jobs.begin())])
        continue;
      const double stays = stay_worth(mover.job, with.horizon);
      const double present = with.present + stays;
      // What the others on its GPU may do with its room is looked at when it has left.
      const double gain =
          with.plan.worth - present + std::max(0.0, without.gain) * with.horizon / without.horizon;
      if (!(gain > least_of_move * present) || !(gain / with.horizon > best_rate)) continue;
      best_rate = gain / with.horizon;
      best = std::move(with);
    }
  return best;
}

double GpuProposals::stay_worth(JobId job, double horizon) const {
  const auto [gpu, place] = std::pair(books_.seats[job].gpu, books_.seats[job].placement);
  const double pace =
      books_.ledger[job].pace *
      books_.neighbours.left_of_pace(job, gpu, books_.geometry(gpu)[place].profile_index);
  return books_.ledger.worth(job, books_.now).of(pace, horizon);
}

}  // namespace cleave
