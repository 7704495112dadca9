#include "engine/schedulers/miso.hpp"
#include "engine/host_room.hpp"

#include <algorithm>
#include <cassert>
#include <set>
#include <utility>

#include "base/overloads.hpp"
#include "engine/queue/job_queue.hpp"
#include "engine/schedulers/instance_seats.hpp"
#include "engine/schedulers/miso_partition.hpp"
#include "engine/schedulers/miso_speeds.hpp"
#include "physics/instance_sharing.hpp"

namespace cleave {

namespace {

constexpr OptionRow miso_rows[] = {
    {"measure", "TIME", "30",
     "how long a new job is measured; 0: speeds are known beforehand, as in Dyna-P's comparison"},
    {"reuse", "on|off", "on", "measure each pair of application and batch size only once"},
    {"speed-error", "SHARE", "0", "predicted speeds are off by up to this share, up or down"},
    {"on-departure", "on|off", "on", "choose the partition again also when a job ends"},
    {"gain", "SHARE", "0.05",
     "with on-departure: change it only if the predicted total speed grows by more than this "
     "share"},
    {"checkpoint", "all|moved", "all",
     "which jobs are checkpointed when instances change: all of the GPU, or those that move"},
};

struct MisoOptions {
  Duration measure{};
  bool reuse = true, on_departure = true, checkpoint_all = true;
  double speed_error = 0, gain = 0;
};

/// A job that was submitted.
struct MisoJob {
  RequestId request{};
  const PredictedSpeeds* speeds = nullptr;
  GpuId gpu{};                      // where it belongs, while it does not wait
  std::optional<PlacementId> at{};  // where it runs
  bool shares = false;              // that instance with others
  bool measured = false;
};

struct MisoGpu {
  PartitionSearch* search = nullptr;
  PlacementSet fixed;  // walls and what runs there from before
  std::vector<JobId> jobs;
  std::optional<Instant> measures_until{};
  std::size_t sharers = 0;
  bool reconsider = false;  // the partition, whether or not a job needs a place
};

class Miso final : public Scheduler {
 public:
  Miso(const SchedulerSetup& setup, const MisoOptions& options)
      : setup_(setup),
        options_(options),
        fleet_(setup.fleet),
        gpus_(fleet_.size()),
        queue_(setup.facts) {
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const auto id = static_cast<GpuId>(i);
      gpus_[i].fixed = fleet_[id].held | fleet_[id].walls;
      gpus_[i].search = &search_around(fleet_[id].kind, gpus_[i].fixed);
      if (!fleet_[id].absent) open_.emplace(0, id);
    }
  }

  void on(const SchedulerEvent& event, Instant /*now*/,
          std::vector<Command>& /*commands*/) override {
    std::visit(Overloads{[&](const Submitted& job) {
                           wait({job.job, job.request});
                         },
                         [&](const Finished& job) { leave(job.job); },
                         [&](const Requeued& job) {
                           leave(job.job);
                           wait({job.job, job.request});
                         },
                         [&](const Cancelled& job) { queue_.erase(job.job); },
                         [&](const GpuLost& lost) { lose(lost.gpu); },
                         [&](const GpuReturned& returned) { take_back(returned.gpu); },
                         [&](const InstanceGone& gone) { lose_instance(gone); },
                         [&](const GpuWithdrawn& withdrawn) {
                           open_.erase({at(withdrawn.gpu).jobs.size(), withdrawn.gpu});
                           fleet_.withdraw(withdrawn.gpu);
                         },
                         [&](const GpuRestored& restored) {
                           take_back(restored.gpu);
                           at(restored.gpu).reconsider = true;
                         },
                         [](const Woken&) {}},  // settle finds in `measuring_` what it came for
               event);
  }

  bool adopt(const Adopted& adopted, Instant now, std::vector<Command>& commands) override {
    if (!adopted.placement) return false;
    const GpuState& state = fleet_[adopted.gpu];
    const bool alone = state.idle.contains(*adopted.placement);
    if (!alone && !may_share(adopted)) return false;
    keep_record({adopted.job, adopted.request});
    if (!fits(adopted.job, adopted.gpu)) return false;
    take_in(adopted.job, adopted.gpu);
    of(adopted.job).at = adopted.placement;
    // A job with an instance of its own has been measured, by this scheduler or by the one that
    // placed it.
    of(adopted.job).measured = alone;
    if (alone) {
      fleet_.hold(adopted.gpu, *adopted.placement);
    } else {
      share(adopted.gpu, *adopted.placement);
      measure_on(adopted.gpu, now + options_.measure, commands);
    }
    return true;
  }

  void settle(Instant now, std::vector<Command>& commands) override {
    while (!measuring_.empty() && measuring_.begin()->first <= now) {
      const GpuId id = measuring_.begin()->second;
      for (const JobId job : at(id).jobs) learn(job);
      end_measuring(id);
    }
    while (!queue_.empty() && seat(queue_.front())) queue_.pop_front();
    for (const GpuId id : std::exchange(touched_, {}))
      if (!at(id).measures_until && !at(id).jobs.empty() && !fleet_[id].absent)
        arrange(id, now, commands);
    // No job starts before one that comes before it in the line, not even at one instant.
    std::ranges::sort(starts_, {}, &Start::first);
    for (const Start& start : starts_) commands.push_back(start.second);
    starts_.clear();
  }

 private:
  using Start = std::pair<JobRank, Command>;
  using Measured = std::pair<std::string, std::optional<std::int64_t>>;  // application and batch

  MisoGpu& at(GpuId id) { return gpus_[index(id)]; }
  MisoJob& of(JobId id) { return jobs_[index(id)]; }

  PartitionSearch& search_around(std::size_t kind, PlacementSet fixed) {
    auto& search = searches_[{kind, fixed.bits()}];
    if (!search) search = std::make_unique<PartitionSearch>(fleet_.graphs()[kind], fixed);
    return *search;
  }

  // What is known of jobs.

  void keep_record(Waiting waiting) {
    if (jobs_.size() <= index(waiting.job)) jobs_.resize(index(waiting.job) + 1);
    MisoJob& job = of(waiting.job);
    job.request = waiting.request;
    job.speeds =
        &*known_speeds_
              .insert(predicted_speeds(setup_, waiting.job, waiting.request, options_.speed_error))
              .first;
  }

  void wait(Waiting waiting) {
    keep_record(waiting);
    queue_.insert(waiting);
  }

  std::optional<Measured> kind_of_work(JobId id) const {
    if (!options_.reuse || setup_.facts == nullptr) return std::nullopt;
    const std::string* application = setup_.facts->application(id);
    if (application == nullptr) return std::nullopt;
    return Measured{*application, setup_.facts->batch(id)};
  }

  void learn(JobId id) {
    of(id).measured = true;
    if (auto work = kind_of_work(id)) measured_.insert(std::move(*work));
  }

  bool is_known(JobId id) {
    if (of(id).measured || options_.measure == Duration::zero()) return true;
    const auto work = kind_of_work(id);
    return work && measured_.contains(*work);
  }

  PartitionJob seen(JobId id, GpuId gpu) {
    const MisoJob& job = of(id);
    return {(*job.speeds)[fleet_[gpu].kind], job.shares ? std::nullopt : job.at};
  }

  std::vector<PartitionJob> seen_on(GpuId id) {
    std::vector<PartitionJob> all;
    for (const JobId job : at(id).jobs) all.push_back(seen(job, id));
    return all;
  }

  // Which job belongs where.

  /// Whether some partition of the GPU holds the job beside those that belong there.
  bool fits(JobId job, GpuId id) {
    std::vector<PartitionJob> all = seen_on(id);
    all.push_back(seen(job, id));
    return at(id).search->possible(all) && host_fits(job, id);
  }

  /// Whether the node's host holds what the job and all that belong there may come to have,
  /// however their GPUs are partitioned.
  bool host_fits(JobId more, GpuId id) {
    if (setup_.host == nullptr) return true;
    const std::uint32_t node = setup_.host->node(id);
    HostAmount sum;
    std::set<JobId> ours;
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const auto gpu = static_cast<GpuId>(i);
      if (setup_.host->node(gpu) != node) continue;
      std::vector<JobId> jobs = at(gpu).jobs;
      ours.insert(jobs.begin(), jobs.end());
      if (gpu == id) jobs.push_back(more);
      sum += most_of_host(jobs, gpu);
    }
    ours.insert(more);
    for (const JobId job : setup_.host->jobs_on(node))
      if (!ours.contains(job)) sum += setup_.host->has(job);
    return holds(setup_.host->host(node), {}, sum);
  }

  /// What they have asked for, and the GPU's share where one has not.
  HostAmount most_of_host(const std::vector<JobId>& jobs, GpuId gpu) {
    const HostNode& host = setup_.host->host(setup_.host->node(gpu));
    const HostAmount share =
        host_share({}, host, host_slices(fleet_.geometry(fleet_[gpu]).model()));
    HostAmount sum;
    bool cpus = false, memory = false;
    for (const JobId job : jobs) {
      const HostAsk& ask = setup_.requests[of(job).request].request.host;
      sum += host_share(ask, host, {});
      cpus = cpus || !ask.millicpus;
      memory = memory || !ask.memory;
    }
    if (cpus) sum.millicpus += share.millicpus;
    if (memory) sum.memory += share.memory;
    return sum;
  }

  /// The GPU takes jobs, unless it is withdrawn or measures.
  void open(GpuId id) {
    if (!fleet_[id].absent && !at(id).measures_until) open_.emplace(at(id).jobs.size(), id);
  }

  /// The GPU is there again.
  void take_back(GpuId gpu) {
    fleet_.restore(gpu);
    open(gpu);
    touched_.insert(gpu);
  }

  void take_in(JobId job, GpuId gpu) {
    of(job).gpu = gpu;
    open_.erase({at(gpu).jobs.size(), gpu});
    at(gpu).jobs.push_back(job);
    open(gpu);
  }

  /// The GPU that takes jobs and has the fewest, of those that can hold this one too.
  std::optional<GpuId> choose(JobId job) {
    const auto can = [&](GpuId id) { return fits(job, id); };
    if (!setup_.use_index) {
      std::optional<GpuId> chosen;
      for (std::size_t i = 0; i < gpus_.size(); ++i) {
        const auto id = static_cast<GpuId>(i);
        const bool takes = open_.contains({gpus_[i].jobs.size(), id});
        if (takes && can(id) && (!chosen || gpus_[i].jobs.size() < at(*chosen).jobs.size()))
          chosen = id;
      }
      return chosen;
    }
    if (found_no_place_ == job && setup_.host == nullptr) {
      // Nothing has changed since but on these.
      std::set<std::pair<std::size_t, GpuId>> changed;
      for (const GpuId id : touched_) changed.emplace(at(id).jobs.size(), id);
      for (const auto& entry : changed)
        if (open_.contains(entry) && can(entry.second)) return entry.second;
      return std::nullopt;
    }
    for (const auto& [count, id] : open_)
      if (can(id)) return id;
    return std::nullopt;
  }

  bool seat(Waiting waiting) {
    const auto gpu = choose(waiting.job);
    found_no_place_ = gpu ? std::nullopt : std::optional(waiting.job);
    if (!gpu) return false;
    take_in(waiting.job, *gpu);
    touched_.insert(*gpu);
    return true;
  }

  /// The job ended, or waits again.
  void leave(JobId id) {
    const GpuId where = of(id).gpu;
    MisoGpu& gpu = at(where);
    vacate(id);
    open_.erase({gpu.jobs.size(), where});
    std::erase(gpu.jobs, id);
    open(where);
    touched_.insert(where);
    gpu.reconsider = gpu.reconsider || options_.on_departure;
    if (gpu.measures_until &&
        std::ranges::all_of(gpu.jobs, [&](JobId other) { return is_known(other); }))
      end_measuring(where);
  }

  void lose_instance(const InstanceGone& gone) {
    if (!gone.placement) return;
    const std::vector<JobId> jobs = at(gone.gpu).jobs;
    for (const JobId job : jobs) {
      if (of(job).at != gone.placement) continue;
      leave(job);
      queue_.insert({job, of(job).request});
    }
    if (fleet_[gone.gpu].idle.contains(*gone.placement))
      fleet_.destroy_idle(gone.gpu, *gone.placement);
    touched_.insert(gone.gpu);
  }

  void lose(GpuId id) {
    MisoGpu& gpu = at(id);
    if (gpu.measures_until) measuring_.erase({*gpu.measures_until, id});
    open_.erase({gpu.jobs.size(), id});
    for (const JobId job : gpu.jobs) {
      of(job).at = {};
      of(job).shares = false;
      queue_.insert({job, of(job).request});
    }
    fleet_.withdraw(id);
    fleet_.clear(id);
    gpu = {};
    gpu.search = &search_around(fleet_[id].kind, {});
    touched_.erase(id);
  }

  // Where they run.

  void vacate(JobId id) {
    MisoJob& job = of(id);
    MisoGpu& gpu = at(job.gpu);
    if (!job.shares || --gpu.sharers == 0) fleet_.release(job.gpu, *job.at);
    job.at = {};
    job.shares = false;
  }

  /// One instance of a GPU can be shared: by the job that is alone on this one, and others.
  bool may_share(const Adopted& adopted) {
    const auto there = [&](JobId job) { return of(job).at == adopted.placement; };
    const auto shares = [&](JobId job) { return of(job).shares; };
    const auto& jobs = at(adopted.gpu).jobs;
    const auto first = std::ranges::find_if(jobs, there);
    return first != jobs.end() && (of(*first).shares || std::ranges::none_of(jobs, shares));
  }

  /// All jobs there share the instance, and are measured.
  void share(GpuId id, PlacementId placement) {
    MisoGpu& gpu = at(id);
    gpu.sharers = 0;
    for (const JobId job : gpu.jobs) {
      if (of(job).at != placement) continue;
      of(job).shares = true;
      of(job).measured = false;
      ++gpu.sharers;
    }
  }

  Duration checkpoint_time(JobId id, std::size_t kind) const {
    const auto known =
        setup_.facts == nullptr ? std::nullopt : setup_.facts->checkpoint_time(id, kind);
    return known.value_or(setup_.checkpoint);
  }

  void checkpoint(JobId id, std::vector<Command>& commands) {
    commands.push_back(CheckpointJob{id});
    vacate(id);
  }

  /// Makes instances for `wanted`, which exclude none that is held; idle ones in their way go.
  void prepare(GpuId id, PlacementSet wanted, std::vector<Command>& commands) {
    const GpuState state = fleet_[id];
    const Geometry& geometry = fleet_.geometry(state);
    const PlacementSet needed = state.held | state.walls | wanted;
    PlacementSet kept = state.idle - (geometry.blocked(wanted) - wanted);
    while (!geometry.within_limits(needed | kept)) kept.erase((kept - wanted).last());
    for (const PlacementId placement : state.idle - kept) {
      commands.push_back(DestroyInstance{id, placement});
      fleet_.destroy_idle(id, placement);
    }
    for (const PlacementId placement : wanted - kept)
      commands.push_back(CreateInstance{id, placement});
  }

  void start(JobId id, PlacementId placement) {
    MisoJob& job = of(id);
    starts_.emplace_back(rank_of(setup_.facts, id), StartJob{id, job.gpu, placement});
    fleet_.hold(job.gpu, placement);
    job.at = placement;
  }

  void start_shared(JobId id, PlacementId placement) {
    MisoJob& job = of(id);
    starts_.emplace_back(rank_of(setup_.facts, id), StartShared{id, job.gpu, placement});
    if (at(job.gpu).sharers++ == 0) fleet_.hold(job.gpu, placement);
    job.at = placement;
    job.shares = true;
  }

  /// Measures where a job is new there and not known, and otherwise sees to the partition.
  void arrange(GpuId id, Instant now, std::vector<Command>& commands) {
    MisoGpu& gpu = at(id);
    const bool needed =
        std::ranges::any_of(gpu.jobs, [&](JobId job) { return !of(job).at || of(job).shares; });
    const bool known = std::ranges::all_of(gpu.jobs, [&](JobId job) { return is_known(job); });
    if (needed && !known && measure(id, now, commands)) return;
    if (needed || gpu.reconsider) repartition(id, needed, commands);
    gpu.reconsider = false;
  }

  // Measuring.

  /// The largest instance that can be made there and on which all its jobs run.
  std::optional<PlacementId> common_instance(GpuId id) {
    const Geometry& geometry = fleet_.geometry(fleet_[id]);
    for (const PlacementId placement : geometry.free(at(id).fixed)) {
      const auto profile = static_cast<std::size_t>(geometry[placement].profile_index);
      if (std::ranges::all_of(at(id).jobs,
                              [&](JobId job) { return seen(job, id).speed[profile] > 0; }))
        return placement;
    }
    return std::nullopt;
  }

  /// Whether the memory of the instance holds all jobs of the GPU at once.
  bool holds_all(GpuId id, PlacementId placement) {
    const Geometry& geometry = fleet_.geometry(fleet_[id]);
    const auto usable = geometry[placement].profile->usable;
    const auto& jobs = at(id).jobs;
    if (!usable || jobs.size() < 2) return true;
    MiB needed = sharing_memory(SharingMode::mps, static_cast<int>(jobs.size()));
    for (const JobId job : jobs)
      needed += InstanceSeats::needed(setup_.requests[of(job).request], fleet_[id].kind, geometry);
    return needed <= *usable;
  }

  bool measure(GpuId id, Instant now, std::vector<Command>& commands) {
    MisoGpu& gpu = at(id);
    const auto placement = common_instance(id);
    if (!placement || !holds_all(id, *placement)) return false;
    Instant until = now + options_.measure;
    Duration longest{};
    for (const JobId job : gpu.jobs) {
      if (!of(job).at) continue;
      checkpoint(job, commands);
      longest = std::max(longest, checkpoint_time(job, fleet_[id].kind));
    }
    until += longest;
    prepare(id, PlacementSet::of(*placement), commands);
    if (gpu.jobs.size() == 1) {
      start(gpu.jobs.front(), *placement);
    } else {
      for (const JobId job : gpu.jobs) start_shared(job, *placement);
    }
    measure_on(id, until, commands);
    return true;
  }

  void measure_on(GpuId id, Instant until, std::vector<Command>& commands) {
    MisoGpu& gpu = at(id);
    open_.erase({gpu.jobs.size(), id});
    if (gpu.measures_until) measuring_.erase({*gpu.measures_until, id});
    gpu.measures_until = until;
    measuring_.emplace(until, id);
    commands.push_back(WakeAt{until});
  }

  /// The time is over, or the job is gone for which it was done.
  void end_measuring(GpuId id) {
    MisoGpu& gpu = at(id);
    measuring_.erase({*gpu.measures_until, id});
    gpu.measures_until.reset();
    gpu.reconsider = true;
    open(id);
    touched_.insert(id);
  }

  // The partition.

  Millionths speed_now(GpuId id) {
    const Geometry& geometry = fleet_.geometry(fleet_[id]);
    Millionths sum = 0;
    for (const JobId job : at(id).jobs)
      sum += seen(job, id).speed[static_cast<std::size_t>(geometry[*of(job).at].profile_index)];
    return sum;
  }

  /// `needed`: some job has no instance of its own.
  void repartition(GpuId id, bool needed, std::vector<Command>& commands) {
    const auto best = at(id).search->best(seen_on(id));
    assert(best);
    const bool better = !needed && static_cast<double>(best->speed) >
                                       static_cast<double>(speed_now(id)) * (1 + options_.gain);
    if (needed || better) change(id, best->places, commands);
  }

  void change(GpuId id, const std::vector<PlacementId>& places, std::vector<Command>& commands) {
    const std::vector<JobId>& jobs = at(id).jobs;
    const auto keeps = [&](std::size_t i) {
      return !of(jobs[i]).shares && of(jobs[i]).at == places[i];
    };
    bool disturbs = false;
    for (std::size_t i = 0; i < jobs.size(); ++i)
      disturbs = disturbs || (of(jobs[i]).at ? !keeps(i) : !fleet_[id].idle.contains(places[i]));
    for (std::size_t i = 0; i < jobs.size(); ++i)
      if (of(jobs[i]).at && (!keeps(i) || (disturbs && options_.checkpoint_all)))
        checkpoint(jobs[i], commands);
    PlacementSet wanted;
    for (std::size_t i = 0; i < jobs.size(); ++i)
      if (!of(jobs[i]).at) wanted.insert(places[i]);
    prepare(id, wanted, commands);
    for (std::size_t i = 0; i < jobs.size(); ++i)
      if (!of(jobs[i]).at) start(jobs[i], places[i]);
  }

  SchedulerSetup setup_;
  MisoOptions options_;
  Fleet fleet_;
  std::vector<MisoGpu> gpus_;
  std::vector<MisoJob> jobs_;  // by job
  std::map<std::pair<std::size_t, std::uint32_t>, std::unique_ptr<PartitionSearch>> searches_;
  std::set<PredictedSpeeds> known_speeds_;  // each once, for many jobs
  std::set<Measured> measured_;
  JobQueue queue_;
  std::optional<JobId> found_no_place_;            // the head of the queue, when it was last tried
  std::set<std::pair<std::size_t, GpuId>> open_;   // GPUs that take jobs, by how many they have
  std::set<std::pair<Instant, GpuId>> measuring_;  // by when it ends
  std::set<GpuId> touched_;                        // since they were last arranged
  std::vector<Start> starts_;                      // of this instant
};

}  // namespace

std::span<const OptionRow> miso_options() {
  return miso_rows;
}

Result<std::unique_ptr<Scheduler>> make_miso(const SchedulerSetup& setup,
                                             const OptionTexts& options) {
  constexpr double longest_measure_s = 1e6, whole = 1, most_gain = 1000;
  OptionReader in(options);
  const MisoOptions chosen{.measure = in.seconds("measure", 0, longest_measure_s),
                           .reuse = in.is("reuse", "on"),
                           .on_departure = in.is("on-departure", "on"),
                           .checkpoint_all = in.is("checkpoint", "all"),
                           .speed_error = in.number("speed-error", 0, whole),
                           .gain = in.number("gain", 0, most_gain)};
  if (in.error()) return std::unexpected(*in.error());
  return std::make_unique<Miso>(setup, chosen);
}

}  // namespace cleave
