#include "device/gpu_view.hpp"

#include "base/format.hpp"

namespace cleave {

namespace {

template <class T>
std::optional<T> if_told(DriverAnswer<T> answer) {
  if (!answer) return {};
  return std::move(*answer);
}

InstanceView view_of(Door& door, const LiveGpu& gpu, LiveInstance live) {
  InstanceView view;
  view.live = std::move(live);
  const Profile* profile = gpu.geometry ? gpu.geometry->find(view.live.profile_id) : nullptr;
  if (profile != nullptr)
    view.placement =
        gpu.geometry->geometry().find(*profile, static_cast<int>(view.live.placement.start));
  for (const LiveProcess& process : gpu.processes)
    if (process.gpu_instance == view.live.id) view.processes.push_back(process);
  if (!view.live.computes.empty())
    view.memory =
        if_told(door.memory(gpu.facts.index, view.live.id, view.live.computes.front().id));
  return view;
}

/// The error of a refusal, with what follows from it in front.
Error unread(std::string_view what, Error error) {
  error.message = fmt::format("{}: {}", what, error.message);
  return error;
}

void read_instances(Door& door, LiveGpu& view) {
  auto instances = live_instances(door, view.facts.index);
  if (instances) {
    for (LiveInstance& live : *instances)
      view.instances.push_back(view_of(door, view, std::move(live)));
    return;
  }
  if (auto devices = door.mig_devices(view.facts.index)) view.visible = std::move(*devices);
  view.unread.push_back(
      unread("not all of its instances, and none of their places, are visible", instances.error()));
  if (view.processes.empty())
    for (const MigDevice& device : view.visible)
      view.processes.insert(view.processes.end(), device.processes.begin(), device.processes.end());
}

}  // namespace

InstanceSeen LiveGpu::seen(const InstanceView& instance) const {
  const LiveInstance& live = instance.live;
  InstanceSeen seen{.place = {.gpu = facts.uuid,
                              .profile = live.profile,
                              .profile_id = live.profile_id,
                              .start = live.placement.start},
                    .id = live.id,
                    .uuids = {}};
  for (const LiveComputeInstance& compute : live.computes) seen.uuids.push_back(compute.uuid);
  return seen;
}

std::vector<InstanceSeen> LiveGpu::seen() const {
  std::vector<InstanceSeen> all;
  for (const InstanceView& instance : instances) all.push_back(seen(instance));
  return all;
}

std::vector<StandingInstance> LiveGpu::standing(bool adopt) const {
  std::vector<StandingInstance> standing;
  for (const InstanceView& instance : instances)
    if (instance.placement)
      standing.push_back({.placement = *instance.placement,
                          .ours = adopt || instance.owner == Ownership::ours,
                          .busy = !instance.processes.empty(),
                          .usable = !instance.live.computes.empty(),
                          .half_made = instance.owner == Ownership::half_made,
                          .name = called(instance.live),
                          .take_over = fmt::format("cleave destroy --gpu {} --instance {} --adopt",
                                                   static_cast<std::uint32_t>(facts.index),
                                                   static_cast<std::uint32_t>(instance.live.id))});
  return standing;
}

Result<LiveGpu> view_gpu(Door& door, GpuIndex gpu, std::shared_ptr<const DriverGeometry> known) {
  auto facts = door.gpu(gpu);
  if (!facts) return std::unexpected(error_of(facts.error(), place_of(gpu)));
  LiveGpu view;
  view.facts = std::move(*facts);
  if (const auto mode = door.mig_mode(gpu)) {
    view.mig = *mode;
  } else if (mode.error().code != nvml::Return::not_supported &&
             mode.error().code != nvml::Return::function_not_found) {
    // A GPU that does not answer must not look like one without instances.
    view.unread.push_back(unread("the driver does not tell whether MIG is on",
                                 error_of(mode.error(), place_of(gpu))));
  }
  if (known) {
    view.geometry = std::move(known);
  } else if (view.mig) {
    auto geometry = driver_geometry(door, gpu);
    if (geometry) {
      view.geometry = std::make_shared<const DriverGeometry>(std::move(*geometry));
    } else {
      view.unread.push_back(unread("its profiles are not visible", geometry.error()));
    }
  }
  if (auto processes = door.processes(gpu)) {
    view.processes = std::move(*processes);
  } else {
    view.processes_refused = processes.error();
  }
  if (view.mig && view.mig->current) read_instances(door, view);
  view.memory = if_told(door.memory(gpu));
  view.power_mw = if_told(door.power_milliwatts(gpu));
  view.power_limit_mw = if_told(door.power_limit_milliwatts(gpu));
  return view;
}

void set_owners(LiveGpu& view, const LedgerState& ledger) {
  for (InstanceView& instance : view.instances) instance.owner = ledger.owner(view.seen(instance));
}

std::string called(const LiveInstance& instance) {
  return instance.computes.empty()
             ? fmt::format("GPU instance {}", static_cast<std::uint32_t>(instance.id))
             : instance.computes.front().uuid;
}

std::string pids_text(const std::vector<LiveProcess>& processes) {
  std::vector<std::uint32_t> pids;
  for (const LiveProcess& process : processes) pids.push_back(process.pid);
  return fmt::format("{}", fmt::join(pids, ", "));
}

}  // namespace cleave
