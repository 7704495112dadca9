#include "device/live_instances.hpp"

#include <algorithm>
#include <array>
#include <thread>
#include <tuple>

#include "base/format.hpp"
#include "base/text.hpp"
#include "device/driver_geometry.hpp"

namespace cleave {

namespace {

using enum nvml::Return;

/// NVML's number of the compute profile with this many slices.
struct WholeRow {
  std::uint32_t slices;
  ProfileNumber number;
};
constexpr auto whole_profiles = std::to_array<WholeRow>({{1, ProfileNumber{0}},
                                                         {2, ProfileNumber{1}},
                                                         {3, ProfileNumber{2}},
                                                         {4, ProfileNumber{3}},
                                                         {7, ProfileNumber{4}},
                                                         {8, ProfileNumber{5}},
                                                         {6, ProfileNumber{6}}});

bool passes(const Refusal& refusal) {
  return refusal.code == in_use || refusal.code == not_ready;
}

/// Tries until it succeeds, is refused permanently, or the patience is over.
class Persistence {
 public:
  explicit Persistence(const Patience& patience) : patience_(patience), left_(patience.at_most) {}

  template <class Step>
  DriverAnswer<void> operator()(Step step) {
    std::chrono::milliseconds wait = patience_.first;
    for (;;) {
      const DriverAnswer<void> done = step();
      if (done || !passes(done.error()) || left_.count() <= 0) return done;
      if (patience_.enough && patience_.enough()) return done;
      wait = std::clamp(wait, std::chrono::milliseconds{1}, std::min(patience_.longest, left_));
      rest(wait);
      left_ -= wait;
      wait *= 2;
    }
  }

 private:
  void rest(std::chrono::milliseconds wait) const {
    if (patience_.sleep) {
      patience_.sleep(wait);
    } else {
      std::this_thread::sleep_for(wait);
    }
  }

  const Patience& patience_;
  std::chrono::milliseconds left_;
};

std::string list_of(const std::vector<DeviceHolder>& holders) {
  std::vector<std::string> words;
  for (const auto& [pid, program] : holders)
    words.push_back(fmt::format("{} (process {})", program.empty() ? "a program" : program, pid));
  return fmt::format("{}", fmt::join(words, ", "));
}

/// Why it is still in use, as far as that can be determined.
Error still_used(Door& door, GpuIndex gpu, GpuInstanceId instance, const Refusal& refusal,
                 const Patience& patience) {
  Error error = error_of(refusal, place_of(gpu, instance));
  const bool enough = patience.enough && patience.enough();
  const auto waited = enough ? std::string("when the wait was interrupted")
                             : fmt::format("after {} ms of trying", patience.at_most.count());
  std::vector<std::string> pids;
  if (const auto processes = door.processes(gpu))
    for (const LiveProcess& process : *processes)
      if (process.gpu_instance == instance) pids.push_back(fmt::format("{}", process.pid));
  if (!pids.empty()) {
    error.message = fmt::format("still in use {} by {} {}", waited,
                                pids.size() == 1 ? "process" : "processes", fmt::join(pids, ", "));
    error.remedy = "end what runs on it, or wait until it is done";
    return error;
  }
  const auto facts = door.gpu(gpu);
  const auto minor = facts ? facts->minor : std::nullopt;
  const auto holders = patience.holders ? patience.holders(minor) : device_holders(minor);
  error.message = fmt::format("still in use {}, though no process is on it", waited);
  error.remedy = "a monitoring program may hold it open: stop it during the change";
  if (!holders.empty())
    error.message += fmt::format("; these programs have the GPU open: {}", list_of(holders));
  return error;
}

/// The error of a refused creation, with the instances in the way if the driver only says that
/// there are no resources.
Error not_created(Door& door, GpuIndex gpu, const std::string& name, std::optional<Span> placement,
                  const Refusal& refusal) {
  Error error = error_of(refusal, place_of(gpu));
  if (refusal.code != insufficient_resources) return error;
  const auto instances = live_instances(door, gpu);
  if (!instances) return error;
  const auto overlaps = [&](Span other) {
    return placement && placement->start < other.start + other.size &&
           other.start < placement->start + placement->size;
  };
  std::vector<std::string> in_the_way;
  for (const LiveInstance& each : *instances)
    if (overlaps(each.placement))
      in_the_way.push_back(fmt::format("{}@{} (GPU instance {})", each.profile,
                                       each.placement.start, static_cast<std::uint32_t>(each.id)));
  if (!in_the_way.empty()) {
    error.message =
        fmt::format("{}@{} has no room: {}", name, placement->start, fmt::join(in_the_way, ", "));
    error.remedy = "destroy what is in the way, or choose another start";
  } else {
    error.message =
        fmt::format("there is no room for another {}{}: {}", name,
                    placement ? fmt::format(" at {}", placement->start) : "", error.message);
  }
  return error;
}

/// As many of the largest equal ones as fit side by side in this many slices.
DriverAnswer<std::vector<LiveComputeInstance>> create_computes(Door& door, GpuIndex gpu,
                                                               GpuInstanceId instance,
                                                               std::uint32_t slices,
                                                               std::uint32_t number) {
  const auto profiles = door.compute_profiles(gpu, instance);
  if (!profiles) return std::unexpected(profiles.error());
  const DriverComputeProfile* each = nullptr;
  for (std::uint32_t size = slices / number; each == nullptr && size > 0; --size) {
    each = whole_instance_profile(*profiles, size);
    if (number == 1) break;  // all of it
  }
  if (each == nullptr)
    return std::unexpected(Refusal{not_supported, "nvmlGpuInstanceGetComputeInstanceProfileInfo"});
  std::vector<LiveComputeInstance> computes;
  while (computes.size() < number) {
    auto made = door.create_compute_instance(gpu, instance, each->id, std::nullopt);
    if (!made) return std::unexpected(made.error());
    computes.push_back(std::move(*made));
  }
  return computes;
}

/// The steps of destroy_instance; not_found if it was gone before the first.
DriverAnswer<void> take_away(Door& door, GpuIndex gpu, GpuInstanceId instance,
                             const Patience& patience) {
  Persistence persist(patience);
  std::vector<LiveComputeInstance> computes;
  auto looked = persist([&]() -> DriverAnswer<void> {
    auto found = door.compute_instances(gpu, instance);
    if (!found) return std::unexpected(found.error());
    computes = std::move(*found);
    return {};
  });
  if (!looked) return looked;
  for (const LiveComputeInstance& compute : computes) {
    auto gone = persist([&] { return door.destroy_compute_instance(gpu, instance, compute.id); });
    // Not found: it disappeared since it was seen.
    if (!gone && gone.error().code != not_found) return gone;
  }
  auto gone = persist([&] { return door.destroy_gpu_instance(gpu, instance); });
  if (gone || gone.error().code != not_found) return gone;
  // It disappeared, if it is no longer listed.
  const auto left = door.gpu_instances(gpu);
  if (!left) return std::unexpected(left.error());
  if (std::ranges::find(*left, instance, &LiveGpuInstance::id) == left->end()) return {};
  return std::unexpected(Refusal{invalid_state, gone.error().call});
}

Error not_destroyed(Door& door, GpuIndex gpu, GpuInstanceId instance, const Refusal& refusal,
                    const Patience& patience) {
  return passes(refusal) ? still_used(door, gpu, instance, refusal, patience)
                         : error_of(refusal, place_of(gpu, instance));
}

Error and_left_behind(Error error, const std::string& name, GpuIndex gpu,
                      const LiveGpuInstance& made, const Error& why) {
  error.message += fmt::format("; {} ({}@{}) is left behind, without a compute instance, for: {}",
                               place_of(gpu, made.id), name, made.placement.start, why.message);
  error.remedy = fmt::format("destroy it: `cleave destroy` takes GPU {} and GPU instance {}",
                             static_cast<std::uint32_t>(gpu), static_cast<std::uint32_t>(made.id));
  return error;
}

std::string name_of(const std::vector<DriverProfile>& profiles, ProfileId id,
                    std::optional<std::uint64_t> gpu_memory_bytes) {
  const auto found = std::ranges::find(profiles, id, &DriverProfile::id);
  if (found == profiles.end()) return fmt::format("profile {}", static_cast<std::uint32_t>(id));
  return found->name ? *found->name : profile_name(*found, gpu_memory_bytes);
}

std::optional<std::uint64_t> memory_for_names(Door& door, GpuIndex gpu,
                                              const std::vector<DriverProfile>& profiles) {
  const bool all_named =
      std::ranges::all_of(profiles, [](const auto& each) { return each.name.has_value(); });
  if (all_named) return std::nullopt;
  const auto memory = door.memory(gpu);
  return memory ? std::optional(memory->total_bytes) : std::nullopt;
}

}  // namespace

std::string place_of(GpuIndex gpu, GpuInstanceId instance) {
  return fmt::format("{}, GPU instance {}", place_of(gpu), static_cast<std::uint32_t>(instance));
}

const DriverComputeProfile* whole_instance_profile(
    const std::vector<DriverComputeProfile>& profiles, std::uint32_t slices) {
  const auto* row = std::ranges::find(whole_profiles, slices, &WholeRow::slices);
  const DriverComputeProfile* first = nullptr;
  for (const DriverComputeProfile& profile : profiles) {
    if (profile.slices != slices) continue;
    if (row != whole_profiles.end() && profile.number == row->number) return &profile;
    if (first == nullptr || profile.number < first->number) first = &profile;
  }
  return first;
}

Result<std::vector<LiveInstance>> live_instances(Door& door, GpuIndex gpu) {
  const auto refused = [&](const Refusal& refusal) {
    return std::unexpected(error_of(refusal, place_of(gpu)));
  };
  const auto found = door.gpu_instances(gpu);
  if (!found) return refused(found.error());
  if (found->empty()) return std::vector<LiveInstance>{};
  const auto profiles = door.profiles(gpu);
  if (!profiles) return refused(profiles.error());
  const auto memory = memory_for_names(door, gpu, *profiles);
  std::vector<LiveInstance> instances;
  for (const LiveGpuInstance& each : *found) {
    auto computes = door.compute_instances(gpu, each.id);
    if (!computes && computes.error().code == not_found) continue;  // it disappeared meanwhile
    if (!computes) return refused(computes.error());
    instances.push_back({gpu, each.id, each.profile, name_of(*profiles, each.profile, memory),
                         each.placement, std::move(*computes)});
  }
  std::ranges::sort(instances, {},
                    [](const LiveInstance& i) { return std::tuple(i.placement.start, i.id); });
  return instances;
}

std::expected<LiveInstance, FailedCreation> attempt_instance(Door& door, GpuIndex gpu,
                                                             const DriverProfile& profile,
                                                             std::optional<Span> placement,
                                                             const Patience& patience,
                                                             std::uint32_t compute_instances) {
  const auto failed_inside = [](Error error) {
    return std::unexpected(FailedCreation{.error = std::move(error), .gpu_instance_made = true});
  };
  const std::string name =
      profile.name ? *profile.name : profile_name(profile, memory_for_names(door, gpu, {profile}));
  const auto made = door.create_gpu_instance(gpu, profile.id, placement);
  if (!made)
    return std::unexpected(
        FailedCreation{.error = not_created(door, gpu, name, placement, made.error()),
                       .gpu_instance_made = false});
  auto computes = create_computes(door, gpu, made->id, profile.slices, compute_instances);
  if (computes)
    return LiveInstance{gpu, made->id, made->profile, name, made->placement, std::move(*computes)};
  Error error = error_of(computes.error(), place_of(gpu, made->id));
  error.message =
      fmt::format("no compute instance for {}@{}: {}", name, made->placement.start, error.message);
  const auto undone = take_away(door, gpu, made->id, patience);
  if (undone || undone.error().code == not_found) return failed_inside(std::move(error));
  const Error why = not_destroyed(door, gpu, made->id, undone.error(), patience);
  return failed_inside(and_left_behind(std::move(error), name, gpu, *made, why));
}

Result<LiveInstance> create_instance(Door& door, GpuIndex gpu, const DriverProfile& profile,
                                     std::optional<Span> placement, const Patience& patience) {
  auto made = attempt_instance(door, gpu, profile, placement, patience);
  if (!made) return std::unexpected(std::move(made.error().error));
  return std::move(*made);
}

Result<void> destroy_instance(Door& door, GpuIndex gpu, GpuInstanceId instance,
                              const Patience& patience) {
  const auto gone = take_away(door, gpu, instance, patience);
  if (!gone) return std::unexpected(not_destroyed(door, gpu, instance, gone.error(), patience));
  return {};
}

Result<DriverProfile> find_driver_profile(Door& door, GpuIndex gpu, std::string_view name) {
  const auto profiles = door.profiles(gpu);
  if (!profiles) return std::unexpected(error_of(profiles.error(), place_of(gpu)));
  const auto memory = memory_for_names(door, gpu, *profiles);
  std::vector<std::string> names;
  for (const DriverProfile& profile : *profiles) {
    names.push_back(name_of(*profiles, profile.id, memory));
    if (names.back() == name) return profile;
  }
  if (names.empty())
    return fail(ErrorKind::infeasible, place_of(gpu), "the driver has no profiles for this GPU",
                "`cleave doctor` says whether it can be partitioned and MIG is on");
  return fail(ErrorKind::bad_input, place_of(gpu),
              fmt::format("there is no profile '{}'", shown(name)), suggestion(name, names));
}

}  // namespace cleave
