#include "slow_world.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "physics/link.hpp"
#include "physics/power.hpp"

namespace cleave {

namespace {

double seconds_of(Instant at) {
  return in_seconds(at.time_since_epoch());
}

/// A job's process, where it is and from when it makes progress.
struct Process {
  std::size_t gpu = 0;
  std::optional<PlacementId> placement;  // empty: the whole GPU with MIG off
  double from_s = 0;
  // Of its last step: the time of all its work, and what it drew.
  double whole_s = 0, watts = 0;
  /// It has ended, and here it is late by less than a step: it goes on, but is in nobody's way.
  bool over = false;
};

/// A job's time by what it needs, on its instance, for all of its work. What crosses the link does
/// so by copy engines or by processors, and each has a limit.
struct Times {
  double fixed_s = 0, transfer_s = 0, compute_s = 0, bandwidth_s = 0, direct_s = 0;
  double transfer_limit = 1, direct_limit = 1;

  [[nodiscard]] double own_s() const { return fixed_s + compute_s + bandwidth_s; }
  /// On the link, where it gets this share of it.
  [[nodiscard]] double link_s(double share) const {
    return transfer_s / std::min(share, transfer_limit) + direct_s / std::min(share, direct_limit);
  }
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
        instances_(fleet.gpus.size()) {
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
    using Kind = RunEvent::Kind;
    switch (event.kind) {
      case Kind::started: {
        double from_s = seconds_of(*event.until) + in_seconds(options_.process_start);
        if (options_.world.slow_allocation && event.placement)
          from_s += slower_s(instances_[index(*event.gpu)]);
        if (restores_.contains(job)) from_s += in_seconds(options_.checkpoint) / 2;
        restores_.erase(job);
        began_with_[job] = done_[job];
        running_[job] = {.gpu = index(*event.gpu), .placement = event.placement, .from_s = from_s};
        break;
      }
      case Kind::migrated:
        running_[job].gpu = index(*event.gpu);
        running_[job].placement = event.placement;
        break;
      case Kind::checkpointed:
        if (keeps(job) != Keeps::stateless && (event.until || done_[job] > 0))
          restores_[job] = true;
        running_.erase(job);
        break;
      case Kind::stopped:
      case Kind::restarted_early:
      case Kind::ran_out:
      case Kind::evicted:
        // What its last checkpoint holds is what it began with, or is written now.
        if (keeps(job) == Keeps::checkpoint) {
          if (!event.until) done_[job] = began_with_[job];
          if (event.until || done_[job] > 0) restores_[job] = true;
        } else if (keeps(job) != Keeps::stateless) {
          done_[job] = 0;
        }
        running_.erase(job);
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
      case Kind::submitted:
      case Kind::rejected:
      case Kind::failed:
        break;
      case Kind::finished:  // when, is found here
        if (const auto late = running_.find(job); late != running_.end())
          late->second.over = late->second.whole_s > 0;
        break;
    }
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
      return {in_seconds(p.cpu) * scale, in_seconds(p.transfer) * scale,
              in_seconds(p.compute) * scale / compute, in_seconds(p.bandwidth) * scale / memory};
    }
    const double transfer_s = speed.transfer_share * all_s;
    if (speed.flat) return {0, transfer_s, all_s - transfer_s, 0};
    if (speed.table) {
      double relative = 0;
      for (const auto& [name, each] : *speed.table)
        if (slice == nullptr || name == slice->name) relative = std::max(relative, each);
      return {0, transfer_s, all_s / relative - transfer_s / link_limit(process), 0};
    }
    return {0, transfer_s, all_s / compute - transfer_s, 0};
  }

  double link_limit(const Process& process) const {
    if (options_.world.link == LinkSharing::off || !process.placement) return 1;
    const HostLink& link = host_link(model(process.gpu));
    return link.instance_gb_per_s / link.gb_per_s;
  }

  /// The share of the link that each may get while it transfers, by bisection.
  double link_share(const std::vector<std::pair<Times, double>>& jobs) const {
    const auto all_s = [](const Times& t) { return t.transfer_s + t.direct_s; };
    const auto use = [&](double x) {
      double sum = 0;
      for (const auto& [t, stretch] : jobs)
        if (all_s(t) > 0) sum += all_s(t) / (t.own_s() + t.link_s(x));
      return sum;
    };
    if (options_.world.link == LinkSharing::off) return 1;
    if (options_.world.link == LinkSharing::together) {
      double transferring = 0;
      for (const auto& [t, stretch] : jobs) transferring += all_s(t) > 0 ? 1 : 0;
      return transferring > 0 ? 1 / transferring : 1;
    }
    if (use(1) <= 1) return 1;
    double low = 0, high = 1;
    for (int i = 0; i < 50; ++i) {
      const double middle = (low + high) / 2;
      (use(middle) < 1 ? low : high) = middle;
    }
    return low;
  }

  /// A job goes a step at its pace.
  void work(std::size_t job, double now_s, double step_s) {
    const auto [whole_s, watts] = std::pair(running_.at(job).whole_s, running_.at(job).watts);
    run_.joules[job] += watts * step_s;
    done_[job] += whole_s > 0 ? step_s / whole_s : 1;
    if (done_[job] < 1) return;
    // It ended somewhere within the step.
    run_.ends_s[job] = now_s + step_s - (done_[job] - 1) * whole_s;
    running_.erase(job);
  }

  void go(std::size_t gpu, double now_s, double step_s) {
    if (absent_[gpu]) return;
    std::vector<std::size_t> here, late;
    std::map<std::optional<PlacementId>, int> in_instance;
    for (const auto& [job, process] : running_) {
      if (process.gpu != gpu || run_.ends_s[job]) continue;
      if (process.over) {
        late.push_back(job);
        continue;
      }
      ++in_instance[process.placement];
      if (process.from_s <= now_s) here.push_back(job);
    }
    for (const std::size_t job : late) work(job, now_s, step_s);
    std::vector<std::pair<Times, double>> times;  // and how often its instance is shared
    for (const std::size_t job : here) {
      const Process& process = running_.at(job);
      times.emplace_back(times_of(job, process), in_instance[process.placement]);
    }
    const double share = link_share(times);

    const GpuPower& power = gpu_power(model(gpu));
    const double idle_w = in_watts(power.idle) * options_.world.power.idle_factor;
    const double span_w = in_watts(power.cap) - idle_w;
    const double cap_w =
        options_.world.power.cap ? in_watts(*options_.world.power.cap) : in_watts(power.cap);
    std::vector<double> asked_w;
    double sum_w = 0;
    for (std::size_t i = 0; i < here.size(); ++i) {
      const auto& [t, stretch] = times[i];
      const Process& process = running_.at(here[i]);
      const Profile* slice = profile(process);
      const double compute =
          slice != nullptr ? static_cast<double>(slice->compute.value) / model(gpu).compute.value
                           : 1;
      const double memory = slice != nullptr ? static_cast<double>(slice->memory.value) /
                                                   model(gpu).memory_slices.value
                                             : 1;
      const double whole_s = (t.link_s(share) + t.own_s()) * stretch;
      const double busy =
          whole_s > 0 ? (compute * t.compute_s + memory * t.bandwidth_s) / whole_s : 0;
      asked_w.push_back(span_w * std::min(1.0, busy) *
                        workload_.speeds[workload_.jobs[here[i]].speed].kappa);
      sum_w += asked_w.back();
    }
    const bool over = options_.world.has_power && sum_w > cap_w - idle_w;
    const double scale = over ? (cap_w - idle_w) / sum_w : 1;
    const double clock = over ? std::pow(scale, 1 / options_.world.power.beta) : 1;
    double draws_w = idle_w, link = 0;
    run_.idle_j += idle_w * step_s;
    for (std::size_t i = 0; i < here.size(); ++i) {
      const auto& [t, stretch] = times[i];
      const std::size_t job = here[i];
      const double whole_s =
          (t.link_s(share) + t.fixed_s + t.compute_s / clock + t.bandwidth_s) * stretch;
      link += whole_s > 0 ? (t.transfer_s + t.direct_s) * stretch / whole_s : 0;
      draws_w += asked_w[i] * scale;
      running_.at(job).whole_s = whole_s;
      running_.at(job).watts = asked_w[i] * scale;
      work(job, now_s, step_s);
    }
    run_.energy_j += draws_w * step_s;
    run_.most_link = std::max(run_.most_link, link);
    run_.most_over_cap_w = std::max(run_.most_over_cap_w, draws_w - cap_w);
  }

  const FleetFile& fleet_;
  const Workload& workload_;
  const SimulationOptions& options_;
  std::vector<double> done_;        // share of its work, by job
  std::vector<double> began_with_;  // the same when its process began
  std::vector<bool> absent_;        // by GPU
  std::vector<int> instances_;      // that exist, by GPU
  std::map<std::size_t, Process> running_;
  std::map<std::size_t, bool> restores_;
  SlowRun run_;
};

}  // namespace

SlowRun run_slowly(const FleetFile& fleet, const Workload& workload,
                   const SimulationOptions& options, const std::vector<RunEvent>& events,
                   double until_s, double step_s) {
  return SlowWorld(fleet, workload, options).run(events, until_s, step_s);
}

}  // namespace cleave
