#pragma once
// A GPU in memory, for tests of the users of a door: it keeps the rules of one GPU model and
// refuses whatever else a test wants refused. Tests closer to a driver use the simulated library.

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/format.hpp"
#include "device/door.hpp"
#include "model/geometry.hpp"

namespace cleave {

inline constexpr GpuIndex gpu0{0};

/// A door to one GPU in memory.
class MemoryDoor final : public Door {
 public:
  explicit MemoryDoor(const GpuModel& model) : model_(model) {}

  /// Asked before each call, by name; a code refuses the call, nothing lets it proceed.
  std::function<std::optional<nvml::Return>(std::string_view call)> refuse;
  /// Called after each successful change, with its name.
  std::function<void(std::string_view call)> done;
  std::vector<LiveProcess> running;
  bool used_stay = false;            // compute instances with a process cannot be destroyed
  std::vector<std::string> calls;    // made so far
  std::optional<BusyShares> shares;  // of all instances; empty: it does not count
  std::optional<std::uint64_t> energy_mj = std::uint64_t{1} << 63;  // empty: it has no counter
  std::optional<GpuHealth> tells;                 // of its health; empty: as older drivers, nothing
  std::map<GpuInstanceId, std::uint64_t> errors;  // uncorrected, of instances
  std::deque<GpuEvent> events;                    // still to be told
  bool says_names = true;
  bool mig = true;
  std::uint32_t index = 0;  // the others are not there
  std::string uuid = "GPU-0", device_prefix = "MIG-";

  struct Instance {
    LiveGpuInstance facts;
    std::vector<LiveComputeInstance> computes;
  };
  std::map<GpuInstanceId, Instance> instances;

  DriverFacts driver() override { return {"memory", "1", {}, {}, {}}; }
  DriverAnswer<std::uint32_t> gpu_count() override {
    return told("gpu_count", [&] { return index + 1; });
  }
  DriverAnswer<GpuFacts> gpu(GpuIndex gpu) override {
    if (gpu != GpuIndex{index}) return no_way(nvml::Return::invalid_argument, "gpu");
    return told("gpu", [&] {
      return GpuFacts{gpu, uuid, std::string(model_.driver_names.front()), 0, "0000:07:00.0", 7};
    });
  }
  DriverAnswer<MigMode> mig_mode(GpuIndex) override {
    return told("mig_mode", [&] { return MigMode{mig, mig}; });
  }
  DriverAnswer<nvml::Return> set_mig_mode(GpuIndex, bool enabled) override {
    return told("set_mig_mode", [&] {
      mig = enabled;
      note_done("set_mig_mode");
      return nvml::Return::success;
    });
  }
  DriverAnswer<std::vector<DriverProfile>> profiles(GpuIndex) override {
    return told("profiles", [&] {
      std::vector<DriverProfile> all;
      for (const Profile& profile : model_.profiles) all.push_back(driver_profile(profile));
      return all;
    });
  }
  DriverAnswer<std::vector<Span>> placements(GpuIndex, ProfileId id) override {
    return told("placements", [&] {
      std::vector<Span> spans;
      for (const int start : profile(id).starts.ascending())
        spans.push_back(span(profile(id), start));
      return spans;
    });
  }
  DriverAnswer<std::uint32_t> remaining(GpuIndex, ProfileId id) override {
    return told("remaining",
                [&] { return static_cast<std::uint32_t>(free_starts(profile(id)).size()); });
  }
  DriverAnswer<std::vector<LiveGpuInstance>> gpu_instances(GpuIndex) override {
    return told("gpu_instances", [&] {
      std::vector<LiveGpuInstance> all;
      for (const auto& [id, instance] : instances) all.push_back(instance.facts);
      return all;
    });
  }
  DriverAnswer<LiveGpuInstance> create_gpu_instance(GpuIndex, ProfileId id,
                                                    std::optional<Span> placement) override {
    if (auto no = refused("create_gpu_instance")) return std::unexpected(*no);
    const std::vector<int> free = free_starts(profile(id));
    if (placement && !profile(id).starts.contains(static_cast<int>(placement->start)))
      return no_way(nvml::Return::invalid_argument, "create_gpu_instance");
    const auto at =
        placement ? std::ranges::find(free, static_cast<int>(placement->start)) : free.begin();
    if (at == free.end())
      return no_way(nvml::Return::insufficient_resources, "create_gpu_instance");
    GpuInstanceId number{1};
    while (instances.contains(number))
      number = GpuInstanceId{static_cast<std::uint32_t>(number) + 1};
    const LiveGpuInstance made{number, id, span(profile(id), *at)};
    instances[number] = {made, {}};
    note_done("create_gpu_instance");
    return made;
  }
  DriverAnswer<void> destroy_gpu_instance(GpuIndex, GpuInstanceId id) override {
    if (auto no = refused("destroy_gpu_instance")) return std::unexpected(*no);
    if (!instances.contains(id)) return no_way(nvml::Return::not_found, "destroy_gpu_instance");
    if (!instances[id].computes.empty())
      return no_way(nvml::Return::in_use, "destroy_gpu_instance");
    instances.erase(id);
    note_done("destroy_gpu_instance");
    return {};
  }
  DriverAnswer<std::vector<DriverComputeProfile>> compute_profiles(GpuIndex,
                                                                   GpuInstanceId id) override {
    if (auto no = refused("compute_profiles")) return std::unexpected(*no);
    if (!instances.contains(id)) return no_way(nvml::Return::not_found, "compute_profiles");
    const Profile& inside = profile(instances[id].facts.profile);
    const auto slices = static_cast<std::uint32_t>(inside.compute.value);
    // The second profile of the same size comes first: code that takes the first that fits takes
    // the wrong one.
    std::vector<DriverComputeProfile> all = {{ProfileNumber{8}, ProfileId{8}, slices, 1, Sms{1}}};
    for (std::uint32_t number = 0; number <= 4; ++number) {
      const std::uint32_t each = number == 4 ? 7 : number + 1;
      if (each <= slices)
        all.push_back({ProfileNumber{number}, ProfileId{number}, each, slices / each, Sms{1}});
    }
    return all;
  }
  DriverAnswer<std::vector<LiveComputeInstance>> compute_instances(GpuIndex,
                                                                   GpuInstanceId id) override {
    if (auto no = refused("compute_instances")) return std::unexpected(*no);
    if (!instances.contains(id)) return no_way(nvml::Return::not_found, "compute_instances");
    return instances[id].computes;
  }
  DriverAnswer<LiveComputeInstance> create_compute_instance(GpuIndex, GpuInstanceId id,
                                                            ProfileId compute,
                                                            std::optional<Span>) override {
    if (auto no = refused("create_compute_instance")) return std::unexpected(*no);
    if (!instances.contains(id)) return no_way(nvml::Return::not_found, "create_compute_instance");
    const auto slices =
        static_cast<std::uint32_t>(profile(instances[id].facts.profile).compute.value);
    auto& computes = instances[id].computes;
    computes.push_back({ComputeInstanceId{static_cast<std::uint32_t>(computes.size())},
                        compute,
                        {0, slices},
                        fmt::format("{}{}", device_prefix, ++uuids_)});
    note_done("create_compute_instance");
    return computes.back();
  }
  DriverAnswer<void> destroy_compute_instance(GpuIndex, GpuInstanceId id,
                                              ComputeInstanceId compute) override {
    if (auto no = refused("destroy_compute_instance")) return std::unexpected(*no);
    if (used_stay && std::ranges::any_of(running, [&](const LiveProcess& each) {
          return each.gpu_instance == id && each.compute_instance == compute;
        }))
      return no_way(nvml::Return::in_use, "destroy_compute_instance");
    const auto gone =
        std::erase_if(instances[id].computes, [&](const auto& each) { return each.id == compute; });
    if (gone == 0) return no_way(nvml::Return::not_found, "destroy_compute_instance");
    note_done("destroy_compute_instance");
    return {};
  }
  DriverAnswer<std::vector<LiveProcess>> processes(GpuIndex) override {
    return told("processes", [&] { return running; });
  }
  DriverAnswer<MemoryUse> memory(GpuIndex) override {
    return told("memory", [&] {
      return MemoryUse{static_cast<std::uint64_t>(model_.memory.value_or(MiB{0}).value) << 20, 0};
    });
  }
  DriverAnswer<MemoryUse> memory(GpuIndex, GpuInstanceId instance, ComputeInstanceId) override {
    return told("memory", [&] {
      MiB total;
      for (const Profile& profile : model_.profiles)
        if (instances.contains(instance) &&
            driver_profile(profile).id == instances.at(instance).facts.profile)
          total = driver_profile(profile).memory;
      return MemoryUse{static_cast<std::uint64_t>(total.value) << 20, 0};
    });
  }
  DriverAnswer<std::uint32_t> power_milliwatts(GpuIndex) override {
    return told("power_milliwatts", [&] { return std::uint32_t{50000}; });
  }
  DriverAnswer<std::uint32_t> power_limit_milliwatts(GpuIndex) override {
    return told("power_limit_milliwatts", [&] { return std::uint32_t{400000}; });
  }
  DriverAnswer<std::uint64_t> energy_millijoules(GpuIndex) override {
    if (!energy_mj) return no_way(nvml::Return::not_supported, "energy_millijoules");
    return told("energy_millijoules", [&] { return *energy_mj; });
  }
  DriverAnswer<std::optional<BusyShares>> busy_shares(GpuIndex,
                                                      std::optional<GpuInstanceId> instance,
                                                      Counting counting) override {
    if (!shares) return no_way(nvml::Return::not_supported, "busy_shares");
    return told("busy_shares", [&] {
      const bool first = counted_.insert(instance).second || counting == Counting::anew;
      return first ? std::optional<BusyShares>{} : shares;
    });
  }
  DriverAnswer<GpuHealth> health(GpuIndex) override {
    if (!tells) return no_way(nvml::Return::not_supported, "health");
    return told("health", [&] { return *tells; });
  }
  DriverAnswer<std::uint64_t> uncorrected_errors(GpuIndex, GpuInstanceId instance,
                                                 ComputeInstanceId) override {
    if (!tells) return no_way(nvml::Return::not_supported, "uncorrected_errors");
    return told("uncorrected_errors", [&] { return errors[instance]; });
  }
  DriverAnswer<std::optional<GpuEvent>> wait_event(std::chrono::milliseconds) override {
    return told("wait_event", [&] {
      std::optional<GpuEvent> next;
      if (events.empty()) return next;
      next = events.front();
      events.pop_front();
      return next;
    });
  }

  [[nodiscard]] DriverProfile driver_profile(const Profile& profile) const {
    DriverProfile told;
    told.number = ProfileNumber{static_cast<std::uint32_t>(profile.nvml_profile)};
    told.id = id_of(profile);
    if (says_names) told.name = std::string(profile.name);
    told.slices = static_cast<std::uint32_t>(profile.compute.value);
    told.most = static_cast<std::uint32_t>(profile.max_instances);
    told.sms = profile.sms.value_or(Sms{0});
    told.engines = profile.engines.value_or(Engines{});
    told.memory = profile.usable.value_or(MiB{0});
    return told;
  }

 private:
  static std::unexpected<Refusal> no_way(nvml::Return code, std::string call) {
    return std::unexpected(Refusal{code, std::move(call)});
  }
  std::optional<Refusal> refused(const char* call) {
    calls.emplace_back(call);
    const auto code = refuse ? refuse(call) : std::nullopt;
    return code ? std::optional(Refusal{*code, call}) : std::nullopt;
  }
  void note_done(std::string_view call) const {
    if (done) done(call);
  }
  template <class Tell>
  auto told(const char* call, Tell tell) -> DriverAnswer<decltype(tell())> {
    if (auto no = refused(call)) return std::unexpected(*no);
    return tell();
  }
  static ProfileId id_of(const Profile& profile) {
    return ProfileId{static_cast<std::uint32_t>(profile.id.value_or(100 + profile.nvml_profile))};
  }
  [[nodiscard]] const Profile& profile(ProfileId id) const {
    return *std::ranges::find_if(model_.profiles,
                                 [&](const Profile& each) { return id_of(each) == id; });
  }
  static Span span(const Profile& profile, int start) {
    return {static_cast<std::uint32_t>(start), static_cast<std::uint32_t>(profile.memory.value)};
  }
  [[nodiscard]] std::vector<int> free_starts(const Profile& wanted) const {
    std::vector<Geometry::Written> list;
    for (const auto& [id, instance] : instances)
      list.push_back(
          {&profile(instance.facts.profile), static_cast<int>(instance.facts.placement.start)});
    const Geometry geometry(model_, ProfileChoice().on(model_));
    std::vector<int> starts;
    for (const int start : wanted.starts.preferred()) {
      auto with = list;
      with.push_back({&wanted, start});
      if (!geometry.judge(with).illegal) starts.push_back(start);
    }
    return starts;
  }

  const GpuModel& model_;
  int uuids_ = 0;
  std::set<std::optional<GpuInstanceId>> counted_;  // a count of theirs has begun
};

}  // namespace cleave
