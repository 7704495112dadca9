#include "delayed_executor.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/format.hpp"

namespace cleave::trial {

namespace {

bool changes(std::string_view call) {
  return call == "set_mig_mode" || call.starts_with("create_") || call.starts_with("destroy_");
}

/// Files that live in memory, where the machine has such a place.
std::filesystem::path quick_folder() {
  const std::filesystem::path memory = "/dev/shm";
  std::error_code ignored;
  return std::filesystem::is_directory(memory, ignored) ? memory
                                                        : std::filesystem::temp_directory_path();
}

Patience no_patience() {
  Patience patience;
  patience.at_most = std::chrono::milliseconds(40);
  patience.sleep = [](std::chrono::milliseconds) {};
  patience.holders = [](std::optional<std::uint32_t>) { return std::vector<DeviceHolder>{}; };
  return patience;
}

}  // namespace

Machine::Machine(const std::vector<const GpuModel*>& models) : state_(quick_folder()) {
  for (std::size_t i = 0; i < models.size(); ++i) {
    gpus_.push_back(std::make_unique<Gpu>(*models[i]));
    Gpu& gpu = *gpus_.back();
    gpu.door.used_stay = true;
    gpu.door.index = static_cast<std::uint32_t>(i);
    gpu.door.uuid = fmt::format("GPU-{}", i);
    gpu.door.device_prefix = fmt::format("MIG-{}-", i);
    const auto found = find_managed_gpus(gpu.door, {fmt::format("{}", i)});
    EXPECT_TRUE(found) << (found ? "" : found.error().text());
    if (found) managed_.push_back(found->front());
    gpu.door.refuse = [this, i, &gpu](std::string_view call) -> std::optional<nvml::Return> {
      if (changes(call)) reach(i, "before", call);
      gpu.door.calls.clear();  // nobody reads them, and runs are long
      if (gpu.lost && call != "gpu_count") return nvml::Return::gpu_is_lost;
      return {};
    };
    gpu.door.done = [this, i](std::string_view call) { reach(i, "after", call); };
  }
}

void Machine::reach(std::size_t gpu, std::string_view when, std::string_view what) const {
  if (at) at(fmt::format("gpu {}: {} {}", gpu, when, what));
}

std::vector<std::uint32_t> Machine::lose(std::size_t gpu) {
  gpus_[gpu]->lost = true;
  std::vector<std::uint32_t> pids;
  for (const LiveProcess& process : door(gpu).running) pids.push_back(process.pid);
  door(gpu).running.clear();
  door(gpu).instances.clear();
  return pids;
}

std::optional<Machine::Where> Machine::find(const std::string& device) const {
  for (std::size_t i = 0; i < gpus_.size(); ++i) {
    const MemoryDoor& door = gpus_[i]->door;
    if (gpus_[i]->lost) continue;
    if (!door.mig && door.uuid == device) return Where{i, {}, {}};
    for (const auto& [id, instance] : door.instances)
      for (const LiveComputeInstance& compute : instance.computes)
        if (compute.uuid == device) return Where{i, id, compute.id};
  }
  return {};
}

bool Machine::exists(const std::string& device) const {
  return find(device).has_value();
}

bool Machine::start_process(const std::string& device, std::uint32_t pid) {
  const auto where = find(device);
  if (!where) return false;
  door(where->gpu)
      .running.push_back({.pid = pid,
                          .memory_bytes = std::uint64_t{1} << 30,
                          .gpu_instance = where->instance,
                          .compute_instance = where->compute});
  return true;
}

void Machine::end_process(std::uint32_t pid) {
  for (const auto& gpu : gpus_)
    std::erase_if(gpu->door.running, [&](const LiveProcess& each) { return each.pid == pid; });
}

std::vector<std::uint32_t> Machine::processes_on(const std::string& device) const {
  std::vector<std::uint32_t> pids;
  const auto where = find(device);
  if (!where) return pids;
  for (const LiveProcess& each : gpus_[where->gpu]->door.running)
    if (each.gpu_instance == where->instance && each.compute_instance == where->compute)
      pids.push_back(each.pid);
  return pids;
}

std::optional<std::string> Machine::make_foreign(std::size_t gpu, std::string_view profile) {
  const auto stops = std::exchange(at, nullptr);  // it is not this program that makes it
  const auto found = find_driver_profile(door(gpu), GpuIndex{door(gpu).index}, profile);
  std::optional<std::string> device;
  if (found) {
    const auto made =
        create_instance(door(gpu), GpuIndex{door(gpu).index}, *found, {}, no_patience());
    if (made) device = made->computes.front().uuid;
  }
  at = stops;
  return device;
}

void Machine::destroy_foreign(const std::string& device) {
  const auto where = find(device);
  if (!where || !where->compute) return;
  const auto stops = std::exchange(at, nullptr);
  MemoryDoor& own = door(where->gpu);
  static_cast<void>(
      own.destroy_compute_instance(GpuIndex{own.index}, *where->instance, *where->compute));
  static_cast<void>(own.destroy_gpu_instance(GpuIndex{own.index}, *where->instance));
  at = stops;
}

DelayedExecutor::DelayedExecutor(Machine& machine, ExecutorDelays delays, Duration now)
    : machine_(&machine), delays_(std::move(delays)), random_(delays_.seed), now_(now) {
  GpuWorkerSettings settings;
  settings.state_directory = machine.state_directory();
  settings.may_switch_mig = delays_.may_switch_mig;
  settings.patience = no_patience();
  for (std::size_t i = 0; i < machine.size(); ++i) {
    Lane lane;
    DoorFaults faults = delays_.faults;
    faults.seed = mixed_bits(delays_.seed ^ mixed_bits(i + 1));
    settings.patience.holders = [&machine, i](auto) { return machine.holders(i); };
    lane.door = std::make_unique<FaultyDoor>(machine.door(i), faults);
    lane.worker = std::make_unique<GpuWorker>(*lane.door, machine.managed()[i], settings);
    lanes_.push_back(std::move(lane));
  }
}

void DelayedExecutor::begin(Lane& lane) {
  const auto up_to = [&](Duration most) {
    return Duration(
        static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(most.count()) + 1)));
  };
  lane.begun_at = now_;
  lane.done_at = now_ + up_to(delays_.until_done);
  lane.told_at = lane.done_at + up_to(delays_.until_told);
  lane.never = random_.uniform() < delays_.never;
}

void DelayedExecutor::ask(NumberedOperation operation) {
  Lane& lane = lanes_.at(index(operation.gpu));
  lane.operations.push_back(std::move(operation));
  if (lane.operations.size() == 1) begin(lane);
}

std::optional<Duration> DelayedExecutor::next(std::size_t gpu) const {
  const Lane& lane = lanes_[gpu];
  if (lane.operations.empty() || lane.stuck) return {};
  if (lane.news) return std::max(lane.told_at, now_);
  if (machine_->hangs(gpu)) return {};
  return std::max(lane.done_at, now_);
}

std::optional<Duration> DelayedExecutor::next() const {
  std::optional<Duration> first;
  for (std::size_t i = 0; i < lanes_.size(); ++i)
    if (const auto at = next(i); at && (!first || *at < *first)) first = at;
  return first;
}

void DelayedExecutor::do_next(std::size_t gpu) {
  Lane& lane = lanes_[gpu];
  if (lane.news) {
    told_.push_back(std::move(*lane.news));
    lane.news.reset();
    lane.operations.pop_front();
    if (!lane.operations.empty()) begin(lane);
    return;
  }
  lane.stuck = lane.never;
  if (lane.never && random_.below(2) == 0) return;  // it is not even done
  machine_->reach(gpu, "before", "act");
  lane.news = lane.worker->carry_out(lane.operations.front());
  lane.news->took = lane.done_at - lane.begun_at;
  machine_->reach(gpu, "after", "act");
}

void DelayedExecutor::advance_to(Duration now) {
  while (true) {
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < lanes_.size(); ++i)
      if (const auto at = next(i); at && *at <= now && (!first || *at < *next(*first))) first = i;
    if (!first) break;
    now_ = *next(*first);
    do_next(*first);
  }
  now_ = std::max(now_, now);
}

std::vector<GpuNews> DelayedExecutor::poll() {
  return std::exchange(told_, {});
}

void DelayedExecutor::mend() {
  delays_.never = 0;
  for (Lane& lane : lanes_) {
    lane.door->mend();
    lane.never = lane.never && lane.stuck;  // what hangs hangs
  }
}

std::size_t DelayedExecutor::open_operations() const {
  std::size_t open = 0;
  for (const Lane& lane : lanes_) open += lane.operations.size();
  return open;
}

}  // namespace cleave::trial
