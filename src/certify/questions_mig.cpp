// Profiles, placements, room and instances.

#include "base/format.hpp"
#include "certify/questions.hpp"

namespace cleave::certify {

using nvml::version_word;

namespace {

/// Profile numbers that are asked for: two more than the header knows.
constexpr std::uint32_t profile_numbers = nvml::gpu_instance_profiles + 2;
constexpr std::uint32_t placement_list_room = 64;
constexpr const char* mig_is_off = "MIG is off";

/// Placements, room and the description of a profile by its id.
void ask_profile(Asking& asking, const Subject& subject, std::uint32_t id,
                 const std::string& called) {
  const nvml::EveryFunction& f = *subject.nvml;
  asking.versioned<nvml::GpuInstanceProfileInfo2>(
      Topic::geometry, CLEAVE_NAMED(f, nvmlDeviceGetGpuInstanceProfileInfoByIdV), called,
      version_word<nvml::GpuInstanceProfileInfo2>(2), subject.device, id);
  const auto placements = [&](const char* name, auto function) {
    asking.list<nvml::GpuInstancePlacement>(
        Topic::placements, name, function != nullptr, called, placement_list_room,
        [&](nvml::GpuInstancePlacement* place, std::uint32_t* count) {
          return function(subject.device, id, place, count);
        });
  };
  placements("nvmlDeviceGetGpuInstancePossiblePlacements_v2",
             f.nvmlDeviceGetGpuInstancePossiblePlacements_v2);
  placements("nvmlDeviceGetGpuInstancePossiblePlacements",
             f.nvmlDeviceGetGpuInstancePossiblePlacements);
  asking.ask(Topic::placements, "nvmlDeviceGetGpuInstancePossiblePlacements_v2",
             f.nvmlDeviceGetGpuInstancePossiblePlacements_v2 != nullptr,
             called + ", without room for them", [&] {
               std::uint32_t count = 0;
               const nvml::Return code = f.nvmlDeviceGetGpuInstancePossiblePlacements_v2(
                   subject.device, id, nullptr, &count);
               return Told{code, count};
             });
  asking.one(Topic::capacity, CLEAVE_NAMED(f, nvmlDeviceGetGpuInstanceRemainingCapacity), called,
             subject.device, id);
}

/// One GPU instance of those that exist, with its compute instances.
Json described(const nvml::EveryFunction& f, nvml::GpuInstance instance) {
  nvml::GpuInstanceInfo info{};
  if (f.nvmlGpuInstanceGetInfo(instance, &info) != nvml::Return::success) return nullptr;
  Json computes = Json::array();
  for (std::uint32_t number = 0; number < nvml::compute_instance_profiles; ++number) {
    nvml::ComputeInstanceProfileInfo profile{};
    if (f.nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, number, nvml::engines_shared,
                                                       &profile) != nvml::Return::success)
      continue;
    std::array<nvml::ComputeInstance, 16> handles{};
    std::uint32_t count = handles.size();
    if (f.nvmlGpuInstanceGetComputeInstances(instance, profile.id, handles.data(), &count) !=
        nvml::Return::success)
      continue;
    for (const nvml::ComputeInstance each : std::span(handles).first(count)) {
      nvml::ComputeInstanceInfo compute{};
      if (f.nvmlComputeInstanceGetInfo_v2(each, &compute) == nvml::Return::success)
        computes.push_back({{"id", compute.id},
                            {"profile", compute.profile_id},
                            {"start", compute.placement.start},
                            {"size", compute.placement.size}});
    }
  }
  return {{"id", info.id},
          {"profile", info.profile_id},
          {"start", info.placement.start},
          {"size", info.placement.size},
          {"computes", computes}};
}

bool describes(const nvml::EveryFunction& f) {
  return f.nvmlDeviceGetGpuInstances != nullptr && f.nvmlGpuInstanceGetInfo != nullptr &&
         f.nvmlGpuInstanceGetComputeInstanceProfileInfo != nullptr &&
         f.nvmlGpuInstanceGetComputeInstances != nullptr &&
         f.nvmlComputeInstanceGetInfo_v2 != nullptr;
}

/// The ids of the profiles that the driver describes.
std::vector<std::uint32_t> profile_ids(const Subject& subject) {
  const nvml::EveryFunction& f = *subject.nvml;
  std::vector<std::uint32_t> ids;
  if (f.nvmlDeviceGetGpuInstanceProfileInfo == nullptr) return ids;
  for (std::uint32_t number = 0; number < profile_numbers; ++number) {
    nvml::GpuInstanceProfileInfo info{};
    if (f.nvmlDeviceGetGpuInstanceProfileInfo(subject.device, number, &info) ==
        nvml::Return::success)
      ids.push_back(info.id);
  }
  return ids;
}

/// Profiles, placements and room of compute instances in one GPU instance.
void ask_inside(Asking& asking, const Subject& subject, nvml::GpuInstance instance,
                const std::string& called) {
  const nvml::EveryFunction& f = *subject.nvml;
  for (std::uint32_t number = 0; number <= nvml::compute_instance_profiles; ++number) {
    const std::string about = fmt::format("{}, profile number {}", called, number);
    const auto info =
        asking.one(Topic::geometry, CLEAVE_NAMED(f, nvmlGpuInstanceGetComputeInstanceProfileInfo),
                   about, instance, number, nvml::engines_shared);
    asking.versioned<nvml::ComputeInstanceProfileInfo2>(
        Topic::geometry, CLEAVE_NAMED(f, nvmlGpuInstanceGetComputeInstanceProfileInfoV), about,
        version_word<nvml::ComputeInstanceProfileInfo2>(2), instance, number, nvml::engines_shared);
    if (!info) continue;
    const auto id = (*info)["id"].get<std::uint32_t>();
    asking.list<nvml::ComputeInstancePlacement>(
        Topic::placements, "nvmlGpuInstanceGetComputeInstancePossiblePlacements",
        f.nvmlGpuInstanceGetComputeInstancePossiblePlacements != nullptr, about,
        placement_list_room, [&](nvml::ComputeInstancePlacement* place, std::uint32_t* count) {
          return f.nvmlGpuInstanceGetComputeInstancePossiblePlacements(instance, id, place, count);
        });
    asking.one(Topic::capacity, CLEAVE_NAMED(f, nvmlGpuInstanceGetComputeInstanceRemainingCapacity),
               about, instance, id);
  }
}

}  // namespace

void ask_geometry(Asking& asking, const Subject& subject) {
  const nvml::EveryFunction& f = *subject.nvml;
  asking.one(Topic::geometry, CLEAVE_NAMED(f, nvmlDeviceGetMaxMigDeviceCount), "", subject.device);
  for (std::uint32_t number = 0; number < profile_numbers; ++number) {
    const std::string about = fmt::format("number {}", number);
    const auto info =
        asking.one(Topic::geometry, CLEAVE_NAMED(f, nvmlDeviceGetGpuInstanceProfileInfo), about,
                   subject.device, number);
    asking.versioned<nvml::GpuInstanceProfileInfo2>(
        Topic::geometry, CLEAVE_NAMED(f, nvmlDeviceGetGpuInstanceProfileInfoV),
        about + ", version 2", version_word<nvml::GpuInstanceProfileInfo2>(2), subject.device,
        number);
    asking.versioned<nvml::GpuInstanceProfileInfo3>(
        Topic::geometry, CLEAVE_NAMED(f, nvmlDeviceGetGpuInstanceProfileInfoV),
        about + ", version 3", version_word<nvml::GpuInstanceProfileInfo3>(3), subject.device,
        number);
    if (info) {
      const auto id = (*info)["id"].get<std::uint32_t>();
      ask_profile(asking, subject, id, fmt::format("profile {}", id));
    }
  }
  ask_profile(asking, subject, 999, "a profile that no GPU has");
}

void ask_instances(Asking& asking, const Subject& subject) {
  const nvml::EveryFunction& f = *subject.nvml;
  constexpr auto topic = Topic::instances;
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetGpuInstanceId), "of the GPU itself",
             subject.device);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetComputeInstanceId), "of the GPU itself",
             subject.device);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetAttributes_v2), "of the GPU itself",
             subject.device);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetMigDeviceHandleByIndex), "index 99",
             subject.device, 99U);
  asking.one(topic, CLEAVE_NAMED(f, nvmlDeviceGetDeviceHandleFromMigDeviceHandle),
             "of the GPU itself", subject.device);
  std::vector<nvml::GpuInstance> standing;
  for (const std::uint32_t id : profile_ids(subject))
    asking.ask(topic, "nvmlDeviceGetGpuInstances", describes(f), fmt::format("profile {}", id),
               [&] {
                 std::array<nvml::GpuInstance, 16> handles{};
                 std::uint32_t count = handles.size();
                 const nvml::Return code =
                     f.nvmlDeviceGetGpuInstances(subject.device, id, handles.data(), &count);
                 Json list = Json::array();
                 if (code != nvml::Return::success) return Told{code, {}};
                 for (const nvml::GpuInstance each : std::span(handles).first(count)) {
                   list.push_back(described(f, each));
                   standing.push_back(each);
                 }
                 return Told{code, list};
               });
  if (!subject.mig) {
    for (const char* function :
         {"nvmlGpuInstanceGetComputeInstanceProfileInfo",
          "nvmlGpuInstanceGetComputeInstancePossiblePlacements", "nvmlDeviceGetAttributes_v2"})
      asking.leave(topic, function, "of an instance", mig_is_off);
    return;
  }
  if (standing.empty())
    asking.leave(topic, "nvmlGpuInstanceGetComputeInstanceProfileInfo", "of an instance",
                 "there is no instance");
  for (const nvml::GpuInstance each : standing) {
    const Json place = described(f, each);
    if (place.is_null()) continue;
    ask_inside(
        asking, subject, each,
        fmt::format("in the instance of profile {} at {}", place["profile"].get<std::uint32_t>(),
                    place["start"].get<std::uint32_t>()));
  }
}

}  // namespace cleave::certify
