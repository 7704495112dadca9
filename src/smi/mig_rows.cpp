#include "smi/mig_rows.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "device/driver_geometry.hpp"
#include "device/live_instances.hpp"

namespace cleave::smi {

namespace {

using Number = std::uint32_t;

template <class Id>
Number number_of(Id id) {
  return static_cast<Number>(id);
}

/// What each GPU instance adds to the rows.
template <class Row, class Add>
DriverAnswer<std::vector<Row>> of_each_instance(Door& door, Number gpu, Add add) {
  const auto instances = named_instances(door, gpu);
  if (!instances) return std::unexpected(instances.error());
  std::vector<Row> rows;
  for (const NamedInstance& each : *instances)
    if (const DriverAnswer<void> added = add(each, rows); !added)
      return std::unexpected(added.error());
  return rows;
}

}  // namespace

DriverAnswer<std::vector<NamedProfile>> named_profiles(Door& door, Number gpu) {
  const auto profiles = door.profiles(GpuIndex{gpu});
  if (!profiles) return std::unexpected(profiles.error());
  const auto memory = door.memory(GpuIndex{gpu});
  std::vector<NamedProfile> named;
  for (const DriverProfile& each : *profiles)
    named.push_back({each, each.name
                               ? *each.name
                               : profile_name(each, memory ? std::optional(memory->total_bytes)
                                                           : std::nullopt)});
  return named;
}

DriverAnswer<std::vector<NamedInstance>> named_instances(Door& door, Number gpu) {
  const auto profiles = named_profiles(door, gpu);
  if (!profiles) return std::unexpected(profiles.error());
  const auto instances = door.gpu_instances(GpuIndex{gpu});
  if (!instances) return std::unexpected(instances.error());
  std::vector<NamedInstance> named;
  for (const NamedProfile& profile : *profiles)
    for (const LiveGpuInstance& each : *instances)
      if (each.profile == profile.profile.id) named.push_back({each, profile});
  return named;
}

std::string compute_name(const NamedProfile& of, Number slices) {
  return slices == of.profile.slices ? of.name : fmt::format("{}c.{}", slices, of.name);
}

DriverAnswer<std::vector<GpuProfileRow>> gpu_profile_rows(Door& door,
                                                          const nvml::EveryFunction& nvml,
                                                          Number gpu) {
  const auto profiles = named_profiles(door, gpu);
  if (!profiles) return std::unexpected(profiles.error());
  const auto device = ask<nvml::Device>(nvml.nvmlDeviceGetHandleByIndex_v2, gpu);
  std::vector<GpuProfileRow> rows;
  for (const auto& [profile, name] : *profiles) {
    const auto free = door.remaining(GpuIndex{gpu}, profile.id);
    if (!free) return std::unexpected(free.error());
    const auto info =
        ask<nvml::GpuInstanceProfileInfo>(nvml.nvmlDeviceGetGpuInstanceProfileInfo,
                                          device.value_or(nullptr), number_of(profile.number));
    rows.push_back({gpu, name, number_of(profile.id), *free, profile.most,
                    static_cast<std::uint64_t>(profile.memory.value),
                    info && info->is_p2p_supported != 0, static_cast<Number>(profile.sms.value),
                    profile.engines});
  }
  return rows;
}

DriverAnswer<std::vector<PlacementsRow>> placements_rows(Door& door, Number gpu) {
  const auto profiles = named_profiles(door, gpu);
  if (!profiles) return std::unexpected(profiles.error());
  std::vector<PlacementsRow> rows;
  for (const auto& [profile, name] : *profiles) {
    const auto placements = door.placements(GpuIndex{gpu}, profile.id);
    if (!placements) return std::unexpected(placements.error());
    if (!placements->empty()) rows.push_back({gpu, number_of(profile.id), *placements});
  }
  return rows;
}

DriverAnswer<std::vector<GpuInstanceRow>> gpu_instance_rows(Door& door, Number gpu) {
  return of_each_instance<GpuInstanceRow>(
      door, gpu, [&](const NamedInstance& each, auto& rows) -> DriverAnswer<void> {
        rows.push_back({gpu, each.of.name, number_of(each.of.profile.id),
                        number_of(each.instance.id), each.instance.placement});
        return {};
      });
}

DriverAnswer<std::vector<ComputeProfileRow>> compute_profile_rows(Door& door,
                                                                  const nvml::EveryFunction& nvml,
                                                                  Number gpu) {
  const auto device = ask<nvml::Device>(nvml.nvmlDeviceGetHandleByIndex_v2, gpu);
  return of_each_instance<ComputeProfileRow>(
      door, gpu, [&](const NamedInstance& each, auto& rows) -> DriverAnswer<void> {
        const auto profiles = door.compute_profiles(GpuIndex{gpu}, each.instance.id);
        if (!profiles) return std::unexpected(profiles.error());
        const auto instance =
            ask<nvml::GpuInstance>(nvml.nvmlDeviceGetGpuInstanceById, device.value_or(nullptr),
                                   number_of(each.instance.id));
        const auto* const whole = whole_instance_profile(*profiles, each.of.profile.slices);
        for (const DriverComputeProfile& profile : *profiles) {
          const auto free = ask<Number>(nvml.nvmlGpuInstanceGetComputeInstanceRemainingCapacity,
                                        instance.value_or(nullptr), number_of(profile.id));
          const auto info =
              ask<nvml::ComputeInstanceProfileInfo>(
                  nvml.nvmlGpuInstanceGetComputeInstanceProfileInfo, instance.value_or(nullptr),
                  number_of(profile.number), nvml::engines_shared)
                  .value_or(nvml::ComputeInstanceProfileInfo{});
          const auto count = [](Number engines) { return static_cast<int>(engines); };
          rows.push_back(
              {gpu, number_of(each.instance.id), compute_name(each.of, profile.slices),
               number_of(profile.id), free.value_or(0), profile.most, &profile == whole,
               static_cast<Number>(profile.sms.value),
               Engines{count(info.shared_copy_engine_count), count(info.shared_decoder_count),
                       count(info.shared_encoder_count), count(info.shared_jpeg_count),
                       count(info.shared_ofa_count)}});
        }
        return {};
      });
}

DriverAnswer<std::vector<ComputeInstanceRow>> compute_instance_rows(Door& door, Number gpu) {
  return of_each_instance<ComputeInstanceRow>(
      door, gpu, [&](const NamedInstance& each, auto& rows) -> DriverAnswer<void> {
        const auto computes = door.compute_instances(GpuIndex{gpu}, each.instance.id);
        if (!computes) return std::unexpected(computes.error());
        for (const LiveComputeInstance& compute : *computes)
          rows.push_back({gpu, number_of(each.instance.id),
                          compute_name(each.of, compute.placement.size), number_of(compute.profile),
                          number_of(compute.id), compute.placement});
        return {};
      });
}

}  // namespace cleave::smi
