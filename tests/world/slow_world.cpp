#include "slow_world.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "physics/link.hpp"
#include "physics/power.hpp"
#include "physics/slice_law.hpp"
#include "slow_pace.hpp"

namespace cleave {

namespace {

double seconds_of(Instant at) {
  return in_seconds(at.time_since_epoch());
}

/// A process: its job, and its rank among the processes of that.
using Which = std::pair<std::size_t, std::uint32_t>;

/// Processes on a GPU at one time, and what follows from them until there are others.
struct Settled {
  std::vector<std::pair<Which, std::size_t>> which;  // with Process::seat
  SlowPace pace;
};

/// A process, where it is and from when it makes progress.
struct Process {
  std::size_t gpu = 0;
  std::optional<PlacementId> placement;  // empty: the whole GPU with MIG off
  std::optional<InstanceShare> share;    // of the instance there
  bool fits = true;                      // beside the others, where the instance is shared
  double from_s = 0;
  std::size_t seat = 0;  // another number after each move
  // Of its last step: the time of all its work if the others are as fast, and what it drew.
  double whole_s = 0, watts = 0;
  /// It has ended, and here it is late by less than a step: it goes on, but is in nobody's way.
  bool over = false;
};

class SlowWorld {
 public:
  SlowWorld(const FleetFile& fleet, const Workload& workload, const SimulationOptions& options)
      : fleet_(fleet),
        workload_(workload),
        options_(options),
        done_(workload.jobs.size()),
        began_with_(workload.jobs.size()),
        absent_(fleet.gpus.size()),
        instances_(fleet.gpus.size()),
        settled_(fleet.gpus.size()) {
    run_.ends_s.resize(workload.jobs.size());
    run_.joules.resize(workload.jobs.size());
  }

  SlowRun run(const std::vector<RunEvent>& events, double until_s, double step_s) {
    const double begin_s = seconds_of(workload_.jobs.front().arrival);
    std::size_t next = 0;
    for (std::int64_t step = 0; begin_s + static_cast<double>(step) * step_s < until_s; ++step) {
      const double now_s = begin_s + static_cast<double>(step) * step_s;
      for (; next < events.size() && seconds_of(events[next].at) <= now_s; ++next)
        take(events[next]);
      for (std::size_t gpu = 0; gpu < fleet_.gpus.size(); ++gpu) go(gpu, now_s, step_s);
      work_all(now_s, step_s);
    }
    return run_;
  }

 private:
  const GpuModel& model(std::size_t gpu) const {
    return fleet_.geometries[fleet_.gpus[gpu].geometry].model();
  }
  const Profile* profile(const Process& process) const {
    if (!process.placement) return nullptr;
    return fleet_.geometries[fleet_.gpus[process.gpu].geometry][*process.placement].profile;
  }

  Keeps keeps(std::size_t job) const {
    const JobDetails* details = workload_.details_of(workload_.jobs[job]);
    return details == nullptr ? Keeps::unsaid : details->keeps;
  }

  void take(const RunEvent& event) {
    const std::size_t job = event.job ? index(*event.job) : 0;
    const Which which{job, event.rank.value_or(0)};
    using Kind = RunEvent::Kind;
    if (event.job && event.kind != Kind::warned) held_.erase(which);
    switch (event.kind) {
      case Kind::started:
        start(which, event);
        break;
      case Kind::migrated:
        running_[which].gpu = index(*event.gpu);
        running_[which].placement = event.placement;
        running_[which].seat = ++seats_;
        break;
      case Kind::checkpointed:
        if (event.counts() && keeps(job) != Keeps::stateless && (event.until || done_[job] > 0))
          restores_[job] = true;
        running_.erase(which);
        break;
      case Kind::stopped:
      case Kind::restarted_early:
      case Kind::ran_out:
      case Kind::evicted:
        if (event.kind == Kind::ran_out && running_[which].share && running_[which].fits)
          ++run_.misjudged;
        running_.erase(which);
        if (!event.counts()) break;
        // What its last checkpoint holds is what it began with, or is written now.
        if (keeps(job) == Keeps::checkpoint) {
          if (!event.until) done_[job] = began_with_[job];
          if (event.until || done_[job] > 0) restores_[job] = true;
        } else if (keeps(job) != Keeps::stateless) {
          done_[job] = 0;
        }
        break;
      case Kind::gpu_lost:
        absent_[index(*event.gpu)] = true;
        instances_[index(*event.gpu)] = 0;
        break;
      case Kind::gpu_returned:
        absent_[index(*event.gpu)] = false;
        break;
      case Kind::created:
        ++instances_[index(*event.gpu)];
        break;
      case Kind::destroyed:
        --instances_[index(*event.gpu)];
        break;
      case Kind::warned:
      case Kind::submitted:
      case Kind::rejected:
      case Kind::failed:
        break;
      case Kind::finished:  // when, is found here
        if (const auto late = running_.find(which); late != running_.end())
          late->second.over = late->second.whole_s > 0;
        break;
    }
  }

  /// All processes of a job start when they are told, and each takes as long as the slowest.
  void start(const Which& which, const RunEvent& event) {
    const std::size_t job = which.first;
    if (event.counts()) {
      restoring_[job] = restores_.erase(job) > 0;
      began_with_[job] = done_[job];
    }
    double from_s = seconds_of(*event.until) + in_seconds(options_.process_start);
    if (options_.world.slow_allocation && event.placement)
      from_s += slower_s(instances_[index(*event.gpu)]);
    if (restoring_[job]) from_s += in_seconds(options_.stops.checkpoint) / 2;
    Process& process = running_[which];
    process = {.gpu = index(*event.gpu),
               .placement = event.placement,
               .share = event.share,
               .from_s = from_s,
               .seat = ++seats_};
    held_[which] = {index(*event.gpu), event.placement};
    if (event.share) process.fits = fits(which, process);
    for (auto& [other, of_job] : running_)
      if (other.first == job) from_s = std::max(from_s, of_job.from_s);
    for (auto& [other, of_job] : running_)
      if (other.first == job) of_job.from_s = from_s;
  }

  double size_of(std::size_t job) const {
    const auto* size = std::get_if<BySize>(&workload_.requests[workload_.jobs[job].request].wanted);
    return size != nullptr ? static_cast<double>(size->memory.value) : 0;
  }

  /// Whether the memory of the instance holds the job beside those that are there: each has the
  /// size that it asks for, in which the context of an only process is, and contexts take more
  /// where there are several.
  bool fits(const Which& which, const Process& process) const {
    double need = 0, processes = 0;
    for (const auto& [other, where] : held_) {
      if (where != std::pair(process.gpu, process.placement)) continue;
      ++processes;
      need += size_of(other.first);
    }
    const auto& offload = workload_.speeds[workload_.jobs[which.first].speed].offload;
    if (offload) need -= static_cast<double>(offload->most.value);
    double contexts_mb = 0;
    if (process.share->mode == SharingMode::time_slicing) contexts_mb = 600 * processes;
    if (process.share->mode == SharingMode::mps) contexts_mb = 600;
    const double more_mb = processes > 1 ? std::max(0.0, contexts_mb - 60 * processes) : 0;
    need += std::round(more_mb * 1e6 / 1048576);
    return need <= static_cast<double>(profile(process)->usable->value);
  }

  /// What allocating and freeing takes longer, by table 3 of *Managing Multi Instance GPUs*.
  static double slower_s(int instances) {
    const double as_one_of_seven = (0.98 + 0.02469) - (0.24 + 0.00058);
    return as_one_of_seven * (std::min(instances, 7) - 1) / 6;
  }

  Times times_of(std::size_t job, const Process& process) const {
    Times times = times_on_gpu(job, process);
    const GpuModel& here = model(process.gpu);
    const Profile* slice = profile(process);
    const HostLink& link = host_link(here);
    times.transfer_limit = link_limit(process);
    if (slice != nullptr && slice->compute.value <= 2 && link.direct_gb_per_s[0] > 0)
      times.direct_limit = link.direct_gb_per_s[slice->compute.value == 1 ? 0 : 1] / link.gb_per_s;
    const SpeedModel& speed = workload_.speeds[workload_.jobs[job].speed];
    if (!speed.offload) return times;
    const MiB usable = *(slice != nullptr ? *slice : here.largest()).usable;
    if (speed.offload->memory <= usable) return times;
    const auto bytes = static_cast<double>((speed.offload->memory - usable).value) * 1048576;
    const double touches = speed.offload->touches_per_s * in_seconds(workload_.jobs[job].duration);
    times.direct_s = bytes * touches / (link.gb_per_s * 1e9);
    // It is in the times of a table.
    if (speed.table) times.compute_s -= times.direct_s / times.direct_limit;
    return times;
  }

  Times times_on_gpu(std::size_t job, const Process& process) const {
    const GpuModel& here = model(process.gpu);
    const Profile* slice = profile(process);
    const Job& of = workload_.jobs[job];
    const SpeedModel& speed = workload_.speeds[of.speed];
    const double all_s = in_seconds(of.duration);
    const GpuModel& reference =
        speed.reference != nullptr ? *speed.reference : fleet_.geometries.front().model();
    const double memory =
        slice != nullptr ? static_cast<double>(slice->memory.value) / here.memory_slices.value : 1;
    const double sms = slice != nullptr ? slice->sms->value : here.sms->value;
    const double compute = sms / reference.largest().sms->value;
    if (speed.phases) {
      const Phases& p = *speed.phases;
      const double scale = all_s / in_seconds(p.cpu + p.transfer + p.compute + p.bandwidth);
      return {.fixed_s = in_seconds(p.cpu) * scale,
              .transfer_s = in_seconds(p.transfer) * scale,
              .compute_s = in_seconds(p.compute) * scale / compute,
              .bandwidth_s = in_seconds(p.bandwidth) * scale / memory};
    }
    const double transfer_s = speed.transfer_share * all_s;
    if (speed.law) {
      const SliceLaw& law = *speed.law;
      const double p = law.overlap;
      const double unit_s =
          (all_s - transfer_s) / std::pow(std::pow(law.fixed, p) + std::pow(law.bound, p), 1 / p);
      const double slower = slice != nullptr ? gpu_bound_time(here, *slice) : 1;
      return {.fixed_s = law.fixed * unit_s,
              .transfer_s = transfer_s,
              .compute_s = law.bound * unit_s * slower,
              .overlap = p};
    }
    if (speed.flat) return {.transfer_s = transfer_s, .compute_s = all_s - transfer_s};
    if (speed.table) {
      double relative = 0;
      for (const auto& [name, each] : *speed.table)
        if (slice == nullptr || name == slice->name) relative = std::max(relative, each);
      return {.transfer_s = transfer_s,
              .compute_s = all_s / relative - transfer_s / link_limit(process)};
    }
    return {.transfer_s = transfer_s, .compute_s = all_s / compute - transfer_s};
  }

  double link_limit(const Process& process) const {
    if (options_.world.link == LinkSharing::off || !process.placement) return 1;
    const HostLink& link = host_link(model(process.gpu));
    return link.instance_gb_per_s / link.gb_per_s;
  }

  SlowJob as_neighbour(std::size_t job, const Process& process) const {
    const GpuModel& here = model(process.gpu);
    SlowJob is;
    is.instance = -static_cast<int>(process.seat);
    is.times = times_of(job, process);
    is.kappa = workload_.speeds[workload_.jobs[job].speed].kappa;
    const Profile* slice = profile(process);
    if (slice == nullptr) return is;
    is.compute_share = static_cast<double>(slice->compute.value) / here.compute.value;
    is.memory_share = static_cast<double>(slice->memory.value) / here.memory_slices.value;
    if (!process.share) return is;
    is.instance = *process.placement;
    is.beside = process.share->mode;
    if (is.beside == SharingMode::compute_instances)
      is.part = static_cast<double>(process.share->part) / slice->compute.value;
    else if (process.share->part > 0)
      is.part = process.share->part / 100.0;
    return is;
  }

  SlowGpu what_is_shared(std::size_t gpu) const {
    const WorldTerms& world = options_.world;
    const GpuPower& power = gpu_power(model(gpu));
    const double cap_w = in_watts(world.power.cap.value_or(power.cap));
    SlowGpu is;
    is.link = world.link;
    is.sharing = world.sharing;
    is.beta = world.power.beta;
    is.span_w = in_watts(power.cap) - idle_w(gpu);
    if (world.has_power) is.room_w = cap_w - idle_w(gpu);
    return is;
  }

  double idle_w(std::size_t gpu) const {
    return in_watts(gpu_power(model(gpu)).idle) * options_.world.power.idle_factor;
  }

  /// A job goes a step at the pace of its slowest process.
  void work(std::size_t job, double now_s, double step_s) {
    double whole_s = 0;
    for (const auto& [which, process] : running_) {
      if (which.first != job) continue;
      if (!process.fits) ++run_.misjudged;
      run_.joules[job] += process.watts * step_s;
      whole_s = std::max(whole_s, process.whole_s);
    }
    done_[job] += whole_s > 0 ? step_s / whole_s : 1;
    if (done_[job] < 1) return;
    // It ended somewhere within the step.
    run_.ends_s[job] = now_s + step_s - (done_[job] - 1) * whole_s;
    std::erase_if(running_, [&](const auto& each) { return each.first.first == job; });
  }

  void work_all(double now_s, double step_s) {
    std::set<std::size_t> jobs;
    for (const auto& [which, process] : running_)
      if (!run_.ends_s[which.first] && (process.over || process.from_s <= now_s))
        jobs.insert(which.first);
    for (const std::size_t job : jobs) work(job, now_s, step_s);
  }

  void go(std::size_t gpu, double now_s, double step_s) {
    if (absent_[gpu]) return;
    std::vector<std::pair<Which, std::size_t>> here;
    for (const auto& [which, process] : running_)
      if (process.gpu == gpu && !run_.ends_s[which.first] && !process.over &&
          process.from_s <= now_s)
        here.emplace_back(which, process.seat);
    SlowPace& pace = settled_[gpu].pace;
    if (here != settled_[gpu].which) {
      std::vector<SlowJob> jobs;
      for (const auto& [which, seat] : here)
        jobs.push_back(as_neighbour(which.first, running_.at(which)));
      settled_[gpu].which = here;
      pace = pace_slowly(what_is_shared(gpu), jobs);
    }
    double draws_w = idle_w(gpu);
    run_.idle_j += idle_w(gpu) * step_s;
    for (std::size_t i = 0; i < here.size(); ++i) {
      Process& process = running_.at(here[i].first);
      draws_w += pace.watts[i];
      process.whole_s = pace.whole_s[i];
      process.watts = pace.watts[i];
    }
    run_.energy_j += draws_w * step_s;
    run_.most_link = std::max(run_.most_link, pace.link);
    const auto& room_w = what_is_shared(gpu).room_w;
    if (room_w)
      run_.most_over_cap_w = std::max(run_.most_over_cap_w, draws_w - idle_w(gpu) - *room_w);
  }

  const FleetFile& fleet_;
  const Workload& workload_;
  const SimulationOptions& options_;
  std::vector<double> done_;        // share of its work, by job
  std::vector<double> began_with_;  // the same when its process began
  std::vector<bool> absent_;        // by GPU
  std::vector<int> instances_;      // that exist, by GPU
  std::size_t seats_ = 0;
  std::vector<Settled> settled_;  // by GPU
  std::map<Which, Process> running_;
  /// Processes that hold memory, by the events alone.
  std::map<Which, std::pair<std::size_t, std::optional<PlacementId>>> held_;
  std::map<std::size_t, bool> restores_, restoring_;  // by job: its next process, the present one
  SlowRun run_;
};

}  // namespace

SlowRun run_slowly(const FleetFile& fleet, const Workload& workload,
                   const SimulationOptions& options, const std::vector<RunEvent>& events,
                   double until_s, double step_s) {
  return SlowWorld(fleet, workload, options).run(events, until_s, step_s);
}

}  // namespace cleave
