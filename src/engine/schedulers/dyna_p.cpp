#include "engine/schedulers/dyna_p.hpp"

#include <algorithm>
#include <map>

#include "base/overloads.hpp"
#include "engine/arrange.hpp"
#include "engine/host_room.hpp"
#include "engine/schedulers/dyna_p_jobs.hpp"
#include "engine/schedulers/kept_place.hpp"
#include "engine/schedulers/last_resort.hpp"
#include "engine/seats.hpp"

namespace cleave {

namespace {

class DynaP final : public Scheduler {
 public:
  DynaP(const SchedulerSetup& setup, const DynaPOptions& options)
      : seats_(setup.fleet),
        options_(options),
        facts_(setup.facts),
        host_(setup.host),
        jobs_(setup, options) {
    for (const auto& graph : setup.fleet.graphs()) kinds_.emplace_back(graph);
    for (std::size_t i = 0; i < setup.fleet.size(); ++i)
      own_.push_back(setup.fleet[static_cast<GpuId>(i)].held);
    look_for_room();
  }

  /// What it runs on is what it is taken to have been given.
  bool adopt(const Adopted& adopted, Instant now, std::vector<Command>& /*commands*/) override {
    if (!seats_.adopt(adopted)) return false;
    const auto since = facts_ != nullptr ? facts_->running_since(adopted.job) : std::nullopt;
    const std::size_t kind = seats_.fleet()[adopted.gpu].kind;
    jobs_.run(adopted.job, adopted.request, kind, profile_at(adopted.gpu, *adopted.placement),
              since.value_or(now));
    return true;
  }

  void on(const SchedulerEvent& event, Instant now, std::vector<Command>& /*commands*/) override {
    const auto book = [&](const auto& what) {
      for (const Waiting job : seats_.hear(what)) jobs_.wait(job, now);
    };
    std::visit(Overloads{[&](const Submitted& job) {
                           jobs_.arrive({job.job, job.request}, now);
                         },
                         [&](const Finished& job) { seats_.leave(job.job); },
                         [&](const Requeued& job) {
                           seats_.leave(job.job);
                           jobs_.wait({job.job, job.request}, now);
                         },
                         [&](const Cancelled& job) {
                           if (jobs_.known(job.job)) jobs_.take(job.job, now);
                         },
                         [&](const GpuLost& lost) {
                           own_[index(lost.gpu)] = {};
                           book(lost);
                           look_for_room();
                         },
                         [&](const SeatsEvent auto& what) { book(what); }, [](const Woken&) {}},
               event);
  }

  void settle(Instant now, std::vector<Command>& commands) override {
    plan_again(now);
    // What jobs of one priority leave is for those of the next. Running jobs are only stopped for
    // the highest that waits.
    const std::vector<std::int64_t> priorities = jobs_.priorities();
    for (const std::int64_t priority : priorities) {
      if (!serve_all(priority, priority == priorities.front(), now, commands)) return;
      if (!jobs_.all_considered(priority)) return;
    }
  }

 private:
  struct Kind {
    explicit Kind(const std::shared_ptr<const StateGraph>& graph) : layouts(graph) {}
    LayoutShapes layouts;
    std::map<std::pair<StateId, int>, std::vector<BatchShape>>
        by_free_slices;  // of those that were asked for
  };

  static int total_slices(const StateGraph& graph) {
    return graph.geometry().model().compute.value;
  }
  int width(const StateGraph& graph) const {
    return std::min(options_.w.value_or(total_slices(graph)), total_slices(graph));
  }
  std::size_t kind_number(GpuId gpu) const { return seats_.fleet()[gpu].kind; }
  Kind& kind_of(GpuId gpu) { return kinds_[kind_number(gpu)]; }
  const StateGraph& graph_of(GpuId gpu) const { return seats_.fleet().graph(seats_.fleet()[gpu]); }
  int profile_at(GpuId gpu, PlacementId placement) const {
    return graph_of(gpu).geometry()[placement].profile_index;
  }
  /// What stays on a GPU whatever happens: the fleet file's own work, and walls.
  StateId fixed(GpuId gpu) const {
    return graph_of(gpu).find(own_[index(gpu)] | seats_.fleet()[gpu].walls);
  }

  /// No job is given a partition for which no GPU ever has room.
  void look_for_room() {
    std::vector<PlacementSet> room(kinds_.size());
    for (std::size_t i = 0; i < seats_.fleet().size(); ++i) {
      const auto gpu = static_cast<GpuId>(i);
      room[kind_number(gpu)] = room[kind_number(gpu)] | graph_of(gpu).free(fixed(gpu));
    }
    for (std::size_t kind = 0; kind < room.size(); ++kind) jobs_.has_room_for(kind, room[kind]);
  }

  void plan_again(Instant now) {
    if (!options_.partition.priced) return jobs_.plan_again(now);
    std::size_t gpus = 0, empty = 0;
    for (const GpuState& state : seats_.fleet().gpus()) {
      if (state.absent) continue;
      ++gpus;
      if (state.held.empty()) ++empty;
    }
    jobs_.plan_again(now, empty, gpus);
  }

  // One pass over the GPUs (Algorithm 2).

  /// By Equation 12, ascending, full ones left out. Equal ones by number; or, with place=end, first
  /// those whose jobs end at about the same time as the job that is first in the queue would.
  std::vector<GpuId> fullest_first(std::int64_t priority, Instant now) const {
    std::vector<std::tuple<Ratio, Duration, GpuId>> open;
    for (std::size_t i = 0; i < seats_.fleet().size(); ++i) {
      const auto gpu = static_cast<GpuId>(i);
      const GpuState& state = seats_.fleet()[gpu];
      const ComputeSlices all = seats_.fleet().geometry(state).model().compute;
      if (state.absent || state.held_compute >= all.value) continue;
      open.emplace_back(fragmentation_measure({state.held_compute}, all),
                        options_.by_end ? end_apart(gpu, priority, now) : Duration{}, gpu);
    }
    std::ranges::sort(open);
    std::vector<GpuId> order;
    order.reserve(open.size());
    for (const auto& [measure, apart, gpu] : open) order.push_back(gpu);
    return order;
  }

  /// Between the predicted end of the first job that waits, were it started now, and the nearest of
  /// those on this GPU; zero where nothing is known.
  Duration end_apart(GpuId gpu, std::int64_t priority, Instant now) const {
    const JobWindow* window = jobs_.window(kind_number(gpu), priority);
    if (window == nullptr || window->first() == nullptr) return {};
    const auto jct = jobs_.plan(window->first()->job, kind_number(gpu)).jct;
    if (!jct) return {};
    std::optional<Duration> nearest;
    for (const JobId job : seats_.on(gpu))
      if (const auto end = jobs_.end(job)) {
        const Duration apart = std::chrono::abs(*end - (now + *jct));
        nearest = std::min(nearest.value_or(apart), apart);
      }
    return nearest.value_or(Duration{});
  }

  /// Jobs of this priority are placed until no more can be; only then others are stopped for them.
  /// False where all GPUs are full.
  bool serve_all(std::int64_t priority, bool highest, Instant now, std::vector<Command>& commands) {
    // W may keep a batch smaller than the room there is, so GPUs are gone through until nothing is
    // placed.
    for (bool more = true; more && jobs_.waits(priority);) {
      const std::vector<GpuId> order = fullest_first(priority, now);
      if (order.empty()) return false;
      more = false;
      for (const GpuId gpu : order)
        if (jobs_.waits(priority) && serve(gpu, priority, now, commands)) more = true;
      if (!more && highest && options_.reconfigure && facts_ != nullptr && !keeps(priority))
        more = stop_others(order, priority, now, commands);
    }
    return true;
  }

  /// The best batch of a GPU starts, if changes of idle instances alone make room for it.
  bool serve(GpuId gpu, std::int64_t priority, Instant now, std::vector<Command>& commands) {
    if (serve_longest_waiting(priority, now, commands)) return true;
    const GpuState& state = seats_.fleet()[gpu];
    const JobWindow* window = jobs_.window(state.kind, priority);
    if (window == nullptr) return false;
    const StateGraph& graph = graph_of(gpu);
    const StateId occupied = occupied_for(gpu, priority);
    const auto& shapes = options_.layout_inside ? kind_of(gpu).layouts.around(occupied)
                                                : by_free_slices(gpu, occupied);
    const Batch batch = hosted_batch(gpu, priority, window->queue(), shapes);
    if (batch.jobs.empty()) return false;
    std::vector<JobId> jobs;
    std::vector<int> profiles;
    for (const QueuedJob& queued : batch.jobs) {
      jobs.push_back(queued.job);
      profiles.push_back(queued.kind);
    }
    const InstanceEnds ends = options_.by_end ? ends_on(gpu, jobs, now) : InstanceEnds{};
    const auto places =
        arrange(graph, occupied, state.idle, profiles, options_.by_end ? &ends : nullptr);
    if (!places) return false;
    start_all(gpu, jobs, *places, now, commands);
    return true;
  }

  // Hosts.

  [[nodiscard]] bool host_takes(JobId job, GpuId gpu, PlacementId placement) {
    return host_ == nullptr || host_->takes(jobs_[job].request, {gpu, placement});
  }

  /// The best batch of jobs all of which the host has room for.
  [[nodiscard]] Batch hosted_batch(GpuId gpu, std::int64_t priority, const BatchQueue& queue,
                                   const std::vector<BatchShape>& shapes) {
    const StateGraph& graph = graph_of(gpu);
    Batch batch = best_batch(queue, shapes, total_slices(graph), width(graph));
    if (host_ == nullptr || !first_without_host(gpu, priority, batch)) return batch;
    BatchQueue left = queue;
    while (const auto job = first_without_host(gpu, priority, batch)) {
      left.erase(*job);
      batch = best_batch(left, shapes, total_slices(graph), width(graph));
    }
    return batch;
  }

  /// The first for which the host has no room beside those before it, and the job for which a place
  /// is kept.
  [[nodiscard]] std::optional<QueuedJob> first_without_host(GpuId gpu, std::int64_t priority,
                                                            const Batch& batch) {
    const std::uint32_t node = host_->node(gpu);
    const Geometry& geometry = graph_of(gpu).geometry();
    HostAmount left = host_->left(node);
    if (keeps(priority) && host_->node(kept_->gpu) == node)
      left -= host_->amount(jobs_[kept_->job].request, {kept_->gpu, kept_->placement});
    for (const QueuedJob& queued : batch.jobs) {
      const PlacementId place = geometry.of_profile(queued.kind).first();
      const HostAmount amount = host_->amount(jobs_[queued.job].request, {gpu, place});
      if (HostRoom::times(host_->host(node), left, amount) == 0) return queued;
      left -= amount;
    }
    return std::nullopt;
  }

  /// Whether the host has room for all of them once those that run have stopped.
  [[nodiscard]] bool host_takes(const Restart& restart) {
    if (host_ == nullptr) return true;
    const std::uint32_t node = host_->node(restart.gpu);
    HostAmount left = host_->left(node), needed;
    for (std::size_t i = 0; i < restart.active; ++i) left += host_->has(restart.jobs[i]);
    for (std::size_t i = 0; i < restart.jobs.size(); ++i)
      needed += host_->amount(jobs_[restart.jobs[i]].request, {restart.gpu, restart.places[i]});
    return HostRoom::times(host_->host(node), left, needed) > 0;
  }

  /// In seconds from now. Walls never end; what is not known ends last.
  InstanceEnds ends_on(GpuId gpu, const std::vector<JobId>& jobs, Instant now) const {
    constexpr double unknown_s = 86400;
    InstanceEnds ends{std::vector<double>(PlacementSet::most, unknown_s), {}};
    for (const JobId job : seats_.on(gpu))
      if (const auto end = jobs_.end(job))
        ends.held[seats_[job].placement] = std::max(0.0, in_seconds(*end - now));
    for (const JobId job : jobs) {
      const auto jct = jobs_.plan(job, kind_number(gpu)).jct;
      ends.wanted.push_back(jct ? in_seconds(*jct) : unknown_s);
    }
    return ends;
  }

  /// What fits by slice counts, of all that the GPU could be partitioned into if its jobs were
  /// stopped (Equation 6).
  const std::vector<BatchShape>& by_free_slices(GpuId gpu, StateId occupied) {
    Kind& kind = kind_of(gpu);
    const StateGraph& graph = kind.layouts.graph();
    const int free = total_slices(graph) - graph.compute(occupied).value;
    const auto [entry, fresh] = kind.by_free_slices.try_emplace({fixed(gpu), free});
    if (fresh)
      for (const BatchShape& shape : kind.layouts.around(fixed(gpu)))
        if (shape.slices <= free) entry->second.push_back(shape);
    return entry->second;
  }

  /// All instances first: they are one change of the GPU.
  void start_all(GpuId gpu, const std::vector<JobId>& jobs, const std::vector<PlacementId>& places,
                 Instant now, std::vector<Command>& commands) {
    for (const PlacementId place : places)
      if (!seats_.fleet()[gpu].idle.contains(place)) seats_.create(gpu, place, commands);
    if (kept_ && std::ranges::find(jobs, kept_->job) != jobs.end()) kept_.reset();
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      jobs_.start(jobs[i], kind_number(gpu), profile_at(gpu, places[i]), now);
      seats_.start({jobs[i], jobs_[jobs[i]].request}, gpu, places[i], commands);
    }
  }

  // The job that waits longest.

  /// Whether a place is kept free that jobs of this priority must leave alone.
  bool keeps(std::int64_t priority) const { return kept_ && priority <= kept_->priority; }
  /// What jobs of this priority find taken.
  StateId occupied_for(GpuId gpu, std::int64_t priority) const {
    const StateId occupied = seats_.fleet()[gpu].occupied;
    if (!keeps(priority) || kept_->gpu != gpu) return occupied;
    return keeping_free(graph_of(gpu), occupied, kept_->placement);
  }
  /// Once enough others have started before it, a place is kept for it; it starts when that is
  /// free, after jobs of higher priority. The place stays the same, so that it comes nearer, unless
  /// its GPU is gone.
  bool serve_longest_waiting(std::int64_t priority, Instant now, std::vector<Command>& commands) {
    const auto job = jobs_.due();
    if (!job) kept_.reset();
    if (!job) return false;
    if (!kept_ || kept_->job != *job || seats_.fleet()[kept_->gpu].absent) {
      SoonestPlace place(seats_, jobs_, *job, now);
      for (std::size_t i = 0; i < seats_.fleet().size(); ++i) {
        const auto gpu = static_cast<GpuId>(i);
        const bool could = host_ == nullptr || host_->could_hold(jobs_[*job].request, gpu);
        if (!seats_.fleet()[gpu].absent && could) place.consider(gpu, fixed(gpu));
      }
      kept_ = place.best();
    }
    if (!keeps(priority)) return false;
    const KeptPlace kept = *kept_;
    if (!graph_of(kept.gpu).free(seats_.fleet()[kept.gpu].occupied).contains(kept.placement))
      return false;
    if (!host_takes(kept.job, kept.gpu, kept.placement)) return false;
    kept_.reset();
    start_all(kept.gpu, {kept.job}, {kept.placement}, now, commands);
    return true;
  }

  // Reconfiguration, the last resort: no batch has a place on any GPU.

  bool stop_others(const std::vector<GpuId>& open, std::int64_t priority, Instant now,
                   std::vector<Command>& commands) {
    LastResort search({seats_, jobs_, options_, facts_}, now, priority);
    for (const GpuId gpu : open)
      search.consider(gpu, by_free_slices(gpu, seats_.fleet()[gpu].occupied), fixed(gpu),
                      width(graph_of(gpu)));
    if (!search.best() || !host_takes(*search.best())) return false;
    const Restart& restart = *search.best();
    for (std::size_t i = restart.active; i < restart.jobs.size(); ++i)
      if (make_do(restart.jobs[i], open, now, commands)) return true;
    for (std::size_t i = 0; i < restart.active; ++i) {
      commands.push_back(StopJob{restart.jobs[i], StopJob::Why::room});
      seats_.leave(restart.jobs[i]);
    }
    const PlacementSet idle = seats_.fleet()[restart.gpu].idle;
    for (const PlacementId each : idle) seats_.destroy(restart.gpu, each, commands);
    start_all(restart.gpu, restart.jobs, restart.places, now, commands);
    return true;
  }

  /// Rather than stop others, the job takes a partition that is not the one it was given, where a
  /// GPU has one on which it is in time.
  bool make_do(JobId job, const std::vector<GpuId>& open, Instant now,
               std::vector<Command>& commands) {
    const RequestId request = jobs_[job].request;
    for (const GpuId gpu : open) {
      const std::size_t kind = kind_number(gpu);
      if (!jobs_.chooser().runs_on(kind, request)) continue;
      const GpuState& state = seats_.fleet()[gpu];
      const StateGraph& graph = graph_of(gpu);
      std::vector<int> free = jobs_.chooser().partitions(kind, job, request, now);
      std::erase_if(free, [&](int profile) {
        return !graph.geometry().of_profile(profile).meets(graph.free(state.occupied));
      });
      if (free.empty()) continue;
      const int profile = jobs_.chooser().plan_among(kind, job, free, now, jobs_.demand()).profile;
      const auto places = arrange(graph, state.occupied, state.idle, {profile});
      if (!host_takes(job, gpu, places->front())) continue;
      start_all(gpu, {job}, *places, now, commands);
      return true;
    }
    return false;
  }

  Seats seats_;
  DynaPOptions options_;
  const JobFacts* facts_;
  HostRoom* host_;
  DynaPJobs jobs_;
  std::vector<Kind> kinds_;
  std::optional<KeptPlace> kept_;
  std::vector<PlacementSet> own_;  // by GPU: work of the fleet file's own, which stays
};

Result<std::unique_ptr<Scheduler>> make(const SchedulerSetup& setup, const OptionTexts& given,
                                        bool true_times) {
  const auto options = read_dyna_p_options(given, setup.seed, true_times);
  if (!options) return std::unexpected(options.error());
  return std::make_unique<DynaP>(setup, *options);
}

}  // namespace

Result<std::unique_ptr<Scheduler>> make_dyna_p(const SchedulerSetup& setup,
                                               const OptionTexts& options) {
  return make(setup, options, false);
}

Result<std::unique_ptr<Scheduler>> make_oracle(const SchedulerSetup& setup,
                                               const OptionTexts& options) {
  return make(setup, options, true);
}

}  // namespace cleave
