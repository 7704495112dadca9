#include "engine/schedulers/last_resort.hpp"

#include <algorithm>

#include "engine/arrange.hpp"

namespace cleave {

namespace {

/// A wait whose end cannot be foreseen counts as this long.
constexpr Duration unforeseen = std::chrono::hours{24};

}  // namespace

/// Empty where the cost of stopping is not known, or one of them must not be stopped.
std::optional<std::vector<ActiveJob>> LastResort::active(const std::vector<JobId>& jobs) const {
  std::vector<ActiveJob> active;
  for (const JobId job : jobs) {
    const Instant since = view_.jobs[job].since;
    const auto end = view_.jobs.end(job);
    if (!end || !view_.facts->restartable(job)) return std::nullopt;
    active.push_back({since, *end - since, view_.facts->deadline(job), view_.options.penalty});
  }
  return active;
}

std::vector<Duration> LastResort::first_room(std::size_t kind) const {
  const Fleet& fleet = view_.seats.fleet();
  const StateGraph& graph = *fleet.graphs()[kind];
  const Geometry& geometry = graph.geometry();
  std::vector<Duration> first(geometry.model().profiles.size(), unforeseen);
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    const auto gpu = static_cast<GpuId>(i);
    const GpuState& state = fleet[gpu];
    if (state.kind != kind || state.absent) continue;
    std::vector<std::pair<Duration, PlacementId>> ends;
    for (const JobId job : view_.seats.on(gpu))
      if (const auto end = view_.jobs.end(job))
        ends.emplace_back(std::max(Duration::zero(), *end - now_), view_.seats[job].placement);
    std::ranges::sort(ends);
    StateId left = state.occupied;
    PlacementSet free_before = graph.free(left);
    const auto room = [&](PlacementSet fresh, Duration at) {
      for (const PlacementId p : fresh) {
        Duration& known = first[static_cast<std::size_t>(geometry[p].profile_index)];
        known = std::min(known, at);
      }
    };
    room(free_before, Duration::zero());
    for (const auto& [at, placement] : ends) {
      left = graph.remove(left, placement);
      room(graph.free(left) - free_before, at);
      free_before = graph.free(left);
    }
  }
  return first;
}

Duration LastResort::until_room(std::size_t kind, int profile) {
  const auto [at, fresh] = until_room_.try_emplace(kind);
  if (fresh) at->second = first_room(kind);
  return at->second[static_cast<std::size_t>(profile)];
}

ReconfigureDecision LastResort::weigh(std::size_t kind, const std::vector<ActiveJob>& active,
                                      const Batch& batch) {
  const DynaPOptions& options = view_.options;
  std::vector<WaitingJob> waiting;
  for (const QueuedJob& queued : batch.jobs) {
    const auto jct = view_.jobs.plan(queued.job, kind).jct;
    if (!jct) return {};
    const Duration otherwise =
        options.losses == Losses::every ? until_room(kind, queued.kind) : Duration::zero();
    waiting.push_back({*jct, view_.facts->deadline(queued.job), options.penalty, otherwise});
  }
  return options.losses == Losses::every
             ? weigh_every_loss(now_, active, waiting, options.cost)
             : weigh_reconfiguration(now_, active, waiting.front(), options.cost);
}

/// Whether even a batch of the jobs that would wait longest is not worth what these would lose.
/// Saves looking at batches; no decision depends on it.
bool LastResort::hopeless(std::size_t kind, const std::vector<ActiveJob>& active,
                          const BatchQueue& queue, int w) {
  const DynaPOptions& options = view_.options;
  if (options.losses == Losses::largest || options.cost.condition == CostCondition::listing)
    return false;
  Duration longest{};
  const auto profiles = view_.seats.fleet().graphs()[kind]->geometry().model().profiles.size();
  for (int profile = 0; profile < static_cast<int>(profiles); ++profile)
    if (!queue.jobs(profile).empty()) longest = std::max(longest, until_room(kind, profile));
  Duration loss = options.cost.alpha * static_cast<std::int64_t>(active.size());
  for (const ActiveJob& job : active) loss += now_ - job.start;
  const auto jobs = static_cast<std::int64_t>(std::min(queue.size(), static_cast<std::size_t>(w)));
  return loss - (longest + options.penalty) * jobs > options.cost.beta;
}

void LastResort::consider(GpuId gpu, std::span<const BatchShape> shapes, StateId fixed, int w) {
  const Fleet& fleet = view_.seats.fleet();
  const std::size_t kind = fleet[gpu].kind;
  const StateGraph& graph = *fleet.graphs()[kind];
  const JobWindow* window = view_.jobs.window(kind, priority_);
  const std::vector<JobId> running = view_.seats.on(gpu);
  if (window == nullptr || running.empty()) return;
  const auto stopped = active(running);
  if (!stopped || hopeless(kind, *stopped, window->queue(), w)) return;
  const int all = graph.geometry().model().compute.value;
  for (const Batch& batch : batches_by_throughput(window->queue(), shapes, all, w)) {
    const ReconfigureDecision decision = weigh(kind, *stopped, batch);
    const Duration gain = decision.waiting_cost - decision.reconfigure_cost;
    if (!decision.reconfigure || (best_ && gain <= best_->gain)) continue;
    std::vector<JobId> jobs = running;
    std::vector<int> profiles;
    for (const JobId job : running)
      profiles.push_back(graph.geometry()[view_.seats[job].placement].profile_index);
    for (const QueuedJob& queued : batch.jobs) {
      jobs.push_back(queued.job);
      profiles.push_back(queued.kind);
    }
    if (auto places = arrange(graph, fixed, {}, profiles))
      best_ = Restart{gpu, std::move(jobs), std::move(*places), running.size(), gain};
  }
}

}  // namespace cleave
