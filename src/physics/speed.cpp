#include "physics/speed.hpp"

#include <algorithm>

#include "model/speed_table.hpp"
#include "physics/offload.hpp"
#include "physics/speed_law.hpp"

namespace cleave {

namespace {

/// Compute and memory bandwidth, relative to the reference's largest profile.
struct Shares {
  double compute, memory;
  bool inferred;
};

Shares shares(const GpuModel& reference, std::optional<Sms> sms, ComputeSlices compute,
              const GpuModel& model, MemorySlices memory) {
  const Profile& whole = reference.largest();
  const bool known = sms && whole.sms;
  const double compute_share = known ? static_cast<double>(sms->value) / whole.sms->value
                                     : static_cast<double>(compute.value) / whole.compute.value;
  // Bandwidths of different models are not compared: memory slices are a share of the same GPU.
  const double memory_share = static_cast<double>(memory.value) / model.memory_slices.value;
  return {compute_share, memory_share, !known};
}

/// The largest profile of `model`.
Shares whole_in_mig(const GpuModel& reference, const GpuModel& model) {
  const Profile& whole = model.largest();
  return shares(reference, whole.sms, whole.compute, model, whole.memory);
}

std::optional<Speed> along(const SpeedModel& job, const Shares& available) {
  if (!job.phases) return Speed{available.compute, available.inferred};
  const Phases& phases = *job.phases;
  const double whole = in_seconds(phases.cpu + phases.transfer + phases.compute + phases.bandwidth);
  const double here = in_seconds(phases.cpu + phases.transfer) +
                      in_seconds(phases.compute) / available.compute +
                      in_seconds(phases.bandwidth) / available.memory;
  return Speed{here > 0 ? whole / here : 1, available.inferred};
}

/// The parts of a job with a law on an instance where GPU-bound work takes `gpu_bound` times as
/// long as on the largest profile of its model. Its transfers take the same time on every instance,
/// and the rest of its time follows the law.
WorkParts parts_by_law(const SpeedModel& job, double gpu_bound, const Shares& largest) {
  const double share = (1 - job.transfer_share) / time_on(*job.law, 1);
  return {.fixed = share * job.law->fixed,
          .transfer = job.transfer_share,
          .compute = share * job.law->bound * gpu_bound / largest.compute,
          .overlap = job.law->overlap};
}

Speed by_law(const SpeedModel& job, double gpu_bound, const Shares& largest) {
  const WorkParts parts = parts_by_law(job, gpu_bound, largest);
  const double time = parts.transfer + time_on({parts.fixed, parts.compute, parts.overlap}, 1);
  return {1 / time, largest.inferred};
}

}  // namespace

std::optional<Speed> speed_on(const SpeedModel& job, const GpuModel& model,
                              const Profile& profile) {
  if (job.flat) return Speed{1, false};
  if (job.table) {
    const auto speed = job.complete ? completed_speed(*job.table, model, profile)
                                    : listed_speed(*job.table, model, profile.name);
    if (!speed) return std::nullopt;
    return Speed{*speed, false};
  }
  const GpuModel& reference = job.reference != nullptr ? *job.reference : model;
  if (job.law) return by_law(job, gpu_bound_time(model, profile), whole_in_mig(reference, model));
  return along(job, shares(reference, profile.sms, profile.compute, model, profile.memory));
}

std::optional<Speed> speed_on_whole_gpu(const SpeedModel& job, const GpuModel& model) {
  if (job.flat) return Speed{1, false};
  if (job.table) {
    if (const auto off = listed_speed(*job.table, model, mig_off)) return Speed{*off, false};
    std::optional<Speed> best;
    for (const Profile& profile : model.profiles)
      if (const auto speed = job.complete ? completed_speed(*job.table, model, profile)
                                          : listed_speed(*job.table, model, profile.name))
        best = Speed{std::max(*speed, best ? best->relative : 0), false};
    return best;
  }
  const GpuModel& reference = job.reference != nullptr ? *job.reference : model;
  // Measured jobs are as fast on the largest profile as with MIG off.
  if (job.law) return by_law(job, 1, whole_in_mig(reference, model));
  return along(job, shares(reference, model.sms, model.compute, model, model.memory_slices));
}

namespace {

/// What crosses the link while part of the job's memory is on the host. Nothing where the job fits,
/// or cannot run at all.
double direct_time(const SpeedModel& job, const GpuModel& model, const Profile* profile) {
  if (!job.offload) return 0;
  const Profile& here = profile != nullptr ? *profile : model.largest();
  const auto in_host = in_host_memory(*job.offload, here.usable);
  return in_host ? offload_time(*job.offload, *in_host, host_link(model)) : 0;
}

/// The parts of the work without those transfers; where a table gives the whole time,
/// `listed_direct` is taken off it.
std::optional<WorkParts> own_parts(const SpeedModel& job, const GpuModel& model,
                                   const Profile* profile, double instance_link,
                                   double listed_direct) {
  const GpuModel& reference = job.reference != nullptr ? *job.reference : model;
  const Shares available =
      profile != nullptr ? shares(reference, profile->sms, profile->compute, model, profile->memory)
                         : shares(reference, model.sms, model.compute, model, model.memory_slices);
  if (job.phases && !job.flat && !job.table) {
    const Phases& phases = *job.phases;
    const double whole =
        in_seconds(phases.cpu + phases.transfer + phases.compute + phases.bandwidth);
    if (!(whole > 0)) return WorkParts{.compute = 1};
    return WorkParts{.fixed = in_seconds(phases.cpu) / whole,
                     .transfer = in_seconds(phases.transfer) / whole,
                     .compute = in_seconds(phases.compute) / whole / available.compute,
                     .bandwidth = in_seconds(phases.bandwidth) / whole / available.memory};
  }
  if (job.law && !job.flat && !job.table)
    return parts_by_law(job, profile != nullptr ? gpu_bound_time(model, *profile) : 1,
                        whole_in_mig(reference, model));
  const auto speed =
      profile != nullptr ? speed_on(job, model, *profile) : speed_on_whole_gpu(job, model);
  if (!speed) return std::nullopt;
  const double link = job.table ? instance_link : 1;
  const double others = job.transfer_share / link + listed_direct;
  return WorkParts{.transfer = job.transfer_share,
                   .compute = std::max(0.0, 1 / speed->relative - others)};
}

}  // namespace

bool uses_link(const SpeedModel& job) {
  if (job.offload) return true;
  const bool by_phases = job.phases && !job.flat && !job.table;
  return by_phases ? job.phases->transfer > Duration::zero() : job.transfer_share > 0;
}

std::optional<WorkParts> parts_on(const SpeedModel& job, const GpuModel& model,
                                  const Profile* profile, double instance_link) {
  const double direct = direct_time(job, model, profile);
  if (direct == 0) return own_parts(job, model, profile, instance_link, 0);
  const double share = profile != nullptr ? host_link(model).direct_share(profile->compute) : 1;
  const std::string_view column = profile != nullptr ? profile->name : mig_off;
  const bool listed = job.table && listed_speed(*job.table, model, column);
  auto parts = own_parts(job, model, profile, instance_link, listed ? direct / share : 0);
  if (parts) parts->direct = direct;
  return parts;
}

}  // namespace cleave
