#include "random_client.hpp"
#include "base/places_test.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

#include "base/format.hpp"
#include "base/random.hpp"
#include "nvmlsim/sim_node.hpp"

namespace cleave::soak {

namespace {

using nvml::Return;

/// Refusals that other clients' actions explain: it is gone, taken, in use, or MIG is off.
constexpr std::array explained = {Return::invalid_argument, Return::not_supported,
                                  Return::not_found,        Return::in_use,
                                  Return::no_permission,    Return::insufficient_resources};

class RandomClient {
 public:
  RandomClient(NvmlDoor& door, std::filesystem::path node, std::uint64_t seed)
      : door_(door), node_(std::move(node)), random_(seed) {
    gpus_ = door.gpu_count().value_or(0);
  }

  [[nodiscard]] const std::string& wrong() const { return wrong_; }

  void step() {
    if (gpus_ == 0) {
      wrong_ = "there are no GPUs";
      return;
    }
    gpu_ = static_cast<GpuIndex>(random_.below(gpus_));
    const std::uint64_t what = random_.below(1000);
    std::uint64_t upto = 0;
    for (const Step& step : steps) {
      upto += step.weight;
      if (what < upto) return (this->*step.run)();
    }
  }

 private:
  struct Step {
    std::uint64_t weight;  // of 1000
    void (RandomClient::*run)();
  };

  /// The value, or nothing after a refusal that others explain.
  template <class T>
  std::optional<T> seen(DriverAnswer<T> answer) {
    if (answer) return std::move(*answer);
    note(answer.error());
    return std::nullopt;
  }
  void seen(const DriverAnswer<void>& answer) {
    if (!answer) note(answer.error());
  }
  void note(const Refusal& refusal) {
    if (std::ranges::find(explained, refusal.code) == explained.end())
      wrong_ = fmt::format("{}: {}", refusal.call, text(refusal.code));
  }

  template <class T>
  const T* any(const std::optional<std::vector<T>>& list) {
    return !list || list->empty() ? nullptr : &(*list)[random_.below(list->size())];
  }
  bool either() { return random_.below(2) == 0; }

  void create_instance() {
    const auto profiles = seen(door_.profiles(gpu_));
    const DriverProfile* profile = any(profiles);
    if (profile == nullptr) return;
    std::optional<Span> at;
    const auto places = seen(door_.placements(gpu_, profile->id));
    if (const Span* place = any(places); place != nullptr && either()) at = *place;
    const auto made = seen(door_.create_gpu_instance(gpu_, profile->id, at));
    if (made && at && made->placement != *at)
      wrong_ = fmt::format("asked for {}+{}, got {}+{}", at->start, at->size, made->placement.start,
                           made->placement.size);
    if (made && either()) create_compute_in(made->id);
  }
  void create_compute() {
    const auto instances = seen(door_.gpu_instances(gpu_));
    if (const LiveGpuInstance* instance = any(instances)) create_compute_in(instance->id);
  }
  void create_compute_in(GpuInstanceId instance) {
    const auto profiles = seen(door_.compute_profiles(gpu_, instance));
    if (const DriverComputeProfile* profile = any(profiles))
      seen(door_.create_compute_instance(gpu_, instance, profile->id, {}));
  }
  void destroy_compute() {
    const auto instances = seen(door_.gpu_instances(gpu_));
    const LiveGpuInstance* instance = any(instances);
    if (instance == nullptr) return;
    const auto computes = seen(door_.compute_instances(gpu_, instance->id));
    if (const LiveComputeInstance* compute = any(computes))
      seen(door_.destroy_compute_instance(gpu_, instance->id, compute->id));
  }
  void destroy_instance() {
    const auto instances = seen(door_.gpu_instances(gpu_));
    const LiveGpuInstance* instance = any(instances);
    if (instance == nullptr) return;
    if (const auto computes = seen(door_.compute_instances(gpu_, instance->id)))
      for (const LiveComputeInstance& each : *computes)
        seen(door_.destroy_compute_instance(gpu_, instance->id, each.id));
    seen(door_.destroy_gpu_instance(gpu_, instance->id));
  }
  void list() {
    const auto instances = seen(door_.gpu_instances(gpu_));
    if (!instances) return;
    for (const LiveGpuInstance& each : *instances) seen(door_.compute_instances(gpu_, each.id));
  }
  void query() {
    seen(door_.memory(gpu_));
    const auto power = seen(door_.power_milliwatts(gpu_));
    const auto cap = seen(door_.power_limit_milliwatts(gpu_));
    // A sensor shows up to half a percent more than what is drawn.
    if (power && cap && *power > *cap + *cap / 200)
      wrong_ = fmt::format("{} mW are above the cap of {}", *power, *cap);
    seen(door_.energy_millijoules(gpu_));
    seen(door_.mig_mode(gpu_));
    const auto profiles = seen(door_.profiles(gpu_));
    if (const DriverProfile* profile = any(profiles)) seen(door_.remaining(gpu_, profile->id));
  }
  void look_at_processes() {
    const auto processes = seen(door_.processes(gpu_));
    if (!processes) return;
    for (const LiveProcess& each : *processes)
      if (each.pid == 0) wrong_ = "a process without number";
  }
  void begin_process() {
    const auto instances = seen(door_.gpu_instances(gpu_));
    const LiveGpuInstance* instance = any(instances);
    if (instance == nullptr) return;
    const auto computes = seen(door_.compute_instances(gpu_, instance->id));
    const LiveComputeInstance* compute = any(computes);
    if (compute == nullptr) return;
    auto process = SimProcess::start(node_, compute->uuid, static_cast<std::uint32_t>(::getpid()));
    if (!process) return;  // gone again
    (void)process->hold(MiB{static_cast<std::int64_t>(random_.below(6000))});
    (void)process->keep_busy(random_.uniform());
    processes_.push_back(std::move(*process));
    if (processes_.size() > 4) end_process();
  }
  void end_process() {
    if (processes_.empty()) return;
    const auto at =
        processes_.begin() + static_cast<std::ptrdiff_t>(random_.below(processes_.size()));
    (void)at->end();
    processes_.erase(at);
  }
  void change_mode() { seen(door_.set_mig_mode(gpu_, either() || either())); }
  void wait() { seen(door_.wait_event(std::chrono::milliseconds(0))); }

  static constexpr Step steps[] = {
      {250, &RandomClient::create_instance},
      {100, &RandomClient::create_compute},
      {100, &RandomClient::destroy_compute},
      {150, &RandomClient::destroy_instance},
      {100, &RandomClient::list},
      {100, &RandomClient::query},
      {60, &RandomClient::look_at_processes},
      {60, &RandomClient::begin_process},
      {60, &RandomClient::end_process},
      {18, &RandomClient::wait},
      {2, &RandomClient::change_mode},
  };

  NvmlDoor& door_;
  std::filesystem::path node_;
  Random random_;
  std::uint32_t gpus_ = 0;
  GpuIndex gpu_{};
  std::vector<SimProcess> processes_;
  std::string wrong_;
};

/// Destroys everything on a GPU.
std::string empty(NvmlDoor& door, GpuIndex gpu) {
  const auto instances = door.gpu_instances(gpu);
  if (!instances) return text(instances.error().code);
  for (const LiveGpuInstance& instance : *instances) {
    const auto computes = door.compute_instances(gpu, instance.id);
    if (!computes) return text(computes.error().code);
    for (const LiveComputeInstance& compute : *computes)
      if (const auto gone = door.destroy_compute_instance(gpu, instance.id, compute.id); !gone)
        return fmt::format("a compute instance that nobody uses stays: {}",
                           text(gone.error().code));
    if (const auto gone = door.destroy_gpu_instance(gpu, instance.id); !gone)
      return fmt::format("an instance that nobody uses stays: {}", text(gone.error().code));
  }
  return {};
}

/// The whole GPU as one instance, and gone again.
std::string fill(NvmlDoor& door, GpuIndex gpu) {
  const auto profiles = door.profiles(gpu);
  if (!profiles || profiles->empty()) return "there are no profiles";
  const DriverProfile& largest = *std::ranges::max_element(*profiles, {}, &DriverProfile::slices);
  const auto made = door.create_gpu_instance(gpu, largest.id, {});
  if (!made) return fmt::format("an empty GPU has no room: {}", text(made.error().code));
  if (!door.destroy_gpu_instance(gpu, made->id)) return "it does not go again";
  return {};
}

}  // namespace

std::string library_file() {
  return binary_dir() + "/lib/cleave-nvmlsim/libnvidia-ml.so.1";
}

std::unique_ptr<NvmlDoor> open_door(const std::filesystem::path& node) {
  ::setenv(sim_node_variable, node.c_str(), 1);
  auto door = NvmlDoor::open(library_file());
  if (door) return std::move(*door);
  fmt::print(stderr, "{}\n", door.error().text());
  ::abort();
}

std::string random_operations(NvmlDoor& door, const std::filesystem::path& node, std::uint64_t seed,
                              std::atomic<std::int64_t>& count, std::int64_t until) {
  RandomClient client(door, node, seed);
  while (client.wrong().empty() && count.fetch_add(1) < until) client.step();
  return client.wrong();
}

std::string tidy_up(NvmlDoor& door) {
  const auto begin = std::chrono::steady_clock::now();
  const auto gpus = door.gpu_count();
  if (!gpus) return text(gpus.error().code);
  for (std::uint32_t i = 0; i < *gpus; ++i) {
    const auto gpu = static_cast<GpuIndex>(i);
    const auto processes = door.processes(gpu);
    if (!processes) return text(processes.error().code);
    if (!processes->empty())
      return fmt::format("GPU {}: process {} is dead and still there", i, processes->front().pid);
    const auto mode = door.mig_mode(gpu);
    if (!mode) return text(mode.error().code);
    if (!mode->current && door.set_mig_mode(gpu, true) != Return::success)
      return "MIG cannot be switched on again";
    for (const auto step : {empty, fill})
      if (const std::string wrong = step(door, gpu); !wrong.empty())
        return fmt::format("GPU {}: {}", i, wrong);
  }
  const auto took = std::chrono::steady_clock::now() - begin;
  // A few hundred calls on an instant node; a lock left by a dead client would cost seconds.
  if (took > std::chrono::seconds(5)) return "all that took more than five seconds";
  return {};
}

}  // namespace cleave::soak
