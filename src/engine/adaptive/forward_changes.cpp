#include "engine/adaptive/forward_changes.hpp"

#include <algorithm>
#include <utility>

#include "engine/adaptive/gpu_plan.hpp"

namespace cleave {

namespace {

constexpr std::size_t tries = 60;        // for what is looked at closely
constexpr std::size_t most_closely = 6;  // after a first look at all
/// What a job that is disturbed must gain besides where the ends are guesses: stops.
constexpr double least_gain_of_guess = 2;

bool stays(const GpuProposal& it, std::size_t i) {
  return it.plan.places[i] == it.as[i].at;
}

bool disturbs(const GpuProposal& it) {
  for (std::size_t i = 0; i < it.jobs.size(); ++i)
    if (it.as[i].at && !stays(it, i)) return true;
  return false;
}

/// One that has not begun yet, as it was started a moment ago, is not stopped again.
bool stops_a_beginner(const Books& books, const GpuProposal& it) {
  for (std::size_t i = 0; i < it.jobs.size(); ++i)
    if (it.as[i].at && !stays(it, i) && books.ledger[it.jobs[i]].since > books.now) return true;
  return false;
}

/// The newcomer starts there, and what is in its way is saved and waits. Empty: nothing is, or it
/// may not be.
std::optional<GpuProposal> making_room(const Books& books, const GpuProposal& as_it_is,
                                       std::size_t newcomer, PlacementId place) {
  const Geometry& rules = books.geometry(as_it_is.gpu);
  const PlacementSet in_way = rules[place].conflicts | PlacementSet::of(place);
  const GpuState& state = books.seats.fleet()[as_it_is.gpu];
  PlacementSet left = state.held | state.walls;
  GpuProposal it = as_it_is;
  for (std::size_t i = 0; i < it.jobs.size(); ++i) {
    const PlanJob& job = it.as[i];
    it.plan.places[i] = job.at;
    if (!job.at || !in_way.contains(*job.at)) continue;
    if (!job.may_stop || !job.may_wait) return std::nullopt;
    it.plan.places[i].reset();
    left.erase(*job.at);
  }
  if (!disturbs(it) || stops_a_beginner(books, it) || left.meets(in_way)) return std::nullopt;
  it.plan.places[newcomer] = place;
  return it;
}

/// The first newcomers first.
std::vector<GpuProposal> making_room(const Books& books, std::span<const GpuProposal> proposals,
                                     std::size_t most) {
  std::vector<GpuProposal> all;
  std::size_t longest = 0;
  for (const GpuProposal& each : proposals) longest = std::max(longest, each.jobs.size());
  for (std::size_t back = longest; back-- > 0;)
    for (const GpuProposal& each : proposals) {
      if (back >= each.jobs.size()) continue;
      const std::size_t job = each.jobs.size() - 1 - back;
      if (each.as[job].at) continue;
      for (const PlacementId place : each.as[job].allowed) {
        const auto profile =
            static_cast<std::size_t>(books.geometry(each.gpu)[place].profile_index);
        if (!(each.as[job].speed[profile] > 0)) continue;
        if (auto it = making_room(books, each, job, place)) all.push_back(std::move(*it));
        if (all.size() >= most) return all;
      }
    }
  return all;
}

}  // namespace

ForwardChanges::ForwardChanges(Books& books, const PlaceFinder& finder)
    : books_(books), view_(look_forward(books, finder)) {}

double ForwardChanges::cost(std::span<const ForwardGpu> gpus, std::span<const ForwardJob> jobs,
                            std::size_t most) const {
  ForwardSetting setting = view_.setting;
  setting.tries = std::min(most, tries_within_effort(jobs.size(), gpus.size()));
  return cost_of_busy(gpus, setting) + cost_of(plan_forward(gpus, jobs, setting), gpus, setting);
}

double ForwardChanges::cost_as_it_is(std::size_t most) const {
  return cost(view_.gpus, view_.jobs, most);
}

/// The GPU as it becomes free after the proposal.
ForwardGpu ForwardChanges::changed(const GpuProposal& it) const {
  ForwardGpu gpu = view_.gpus[index(it.gpu)];
  double saving_s = 0;
  for (std::size_t i = 0; i < it.jobs.size(); ++i) {
    if (!it.as[i].at || stays(it, i)) continue;
    if (!(it.plan.places[i] && it.as[i].moves_live))
      saving_s = std::max(saving_s, it.as[i].checkpoint_s / 2);
    std::erase_if(gpu.busy, [&](const auto& busy) { return busy.place == *it.as[i].at; });
  }
  for (std::size_t i = 0; i < it.jobs.size(); ++i) {
    const auto to = it.plan.places[i];
    if (!to || stays(it, i)) continue;
    const auto profile = static_cast<std::size_t>((*gpu.geometry)[*to].profile_index);
    double until_s =
        change_s + books_.ledger.rest(it.jobs[i], books_.now) / it.as[i].speed[profile];
    if (!it.as[i].at) {
      until_s += it.as[i].restore_s + saving_s;
    } else if (!it.as[i].moves_live) {
      until_s += it.as[i].checkpoint_s;
    }
    gpu.busy.push_back({*to, until_s});
  }
  return gpu;
}

double ForwardChanges::cost_with(const GpuProposal& it, std::size_t most) const {
  std::vector<ForwardGpu> gpus = view_.gpus;
  gpus[index(it.gpu)] = changed(it);
  std::vector<ForwardJob> jobs;
  for (std::size_t i = 0; i < view_.turn.size(); ++i) {
    const auto found = std::ranges::find(it.jobs, view_.turn[i]);
    if (found == it.jobs.end() ||
        !it.plan.places[static_cast<std::size_t>(found - it.jobs.begin())])
      jobs.push_back(view_.jobs[i]);
  }
  double disturbed = 0;
  for (std::size_t i = 0; i < it.jobs.size(); ++i) {
    if (!it.as[i].at || stays(it, i)) continue;
    disturbed += 1;
    if (!it.plan.places[i])
      jobs.push_back(as_it_would_run(books_, it.jobs[i], view_.gpus, it.as[i].checkpoint_s));
  }
  const double besides = books_.ledger.mean_told() > 0
                             ? 0
                             : least_gain_of_guess * disturbed * books_.ledger.mean_checkpoint_s();
  return cost(gpus, jobs, most) + besides;
}

std::size_t ForwardChanges::most_proposals() const {
  return std::max<std::size_t>(8, tries_within_effort(view_.jobs.size(), view_.gpus.size()));
}

std::optional<GpuProposal> best_change(Books& books, const PlaceFinder& finder,
                                       std::span<const GpuProposal> proposals) {
  const ForwardChanges changes(books, finder);
  std::vector<GpuProposal> all;
  for (const GpuProposal& each : proposals)
    if (each.hosted && disturbs(each) && !stops_a_beginner(books, each)) all.push_back(each);
  for (GpuProposal& each : making_room(books, proposals, changes.most_proposals()))
    all.push_back(std::move(each));
  std::vector<std::pair<double, const GpuProposal*>> looked;
  looked.reserve(all.size());
  for (const GpuProposal& each : all) looked.emplace_back(changes.cost_with(each, 0), &each);
  std::ranges::stable_sort(looked, {}, [](const auto& each) { return each.first; });
  if (looked.size() > most_closely) looked.resize(most_closely);
  double least = changes.cost_as_it_is(tries);
  const GpuProposal* best = nullptr;
  for (const auto& [quickly, it] : looked) {
    const double cost = changes.cost_with(*it, tries);
    if (!(cost < least)) continue;
    least = cost;
    best = it;
  }
  return best == nullptr ? std::nullopt : std::optional(*best);
}

}  // namespace cleave
