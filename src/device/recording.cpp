#include "device/recording.hpp"

#include <type_traits>

#include "base/format.hpp"
#include "base/json.hpp"
#include "device/recording_format.hpp"

namespace cleave {

RecordingDoor::RecordingDoor(Door& door, std::ostream& out) : door_(door), out_(out) {
  write(recording_head());
}

RecordingDoor::~RecordingDoor() {
  write(recording_end(calls_));
  out_.flush();
}

void RecordingDoor::write(const Json& line) {
  // A driver's text need not be UTF-8.
  out_ << line.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

template <class Answer>
Answer RecordingDoor::kept(DoorCall call, const DoorArguments& arguments, Answer answer) {
  write(entry_json({0, call, arguments, answer}));
  ++calls_;
  return answer;
}

DriverFacts RecordingDoor::driver() {
  return kept(DoorCall::driver, {}, door_.driver());
}

DriverAnswer<std::uint32_t> RecordingDoor::gpu_count() {
  DoorArguments arguments;
  return kept(DoorCall::gpu_count, arguments, door_.gpu_count());
}

DriverAnswer<GpuFacts> RecordingDoor::gpu(GpuIndex gpu) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  return kept(DoorCall::gpu, arguments, door_.gpu(gpu));
}

DriverAnswer<MigMode> RecordingDoor::mig_mode(GpuIndex gpu) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  return kept(DoorCall::mig_mode, arguments, door_.mig_mode(gpu));
}

DriverAnswer<nvml::Return> RecordingDoor::set_mig_mode(GpuIndex gpu, bool enabled) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  arguments.enabled = enabled;
  return kept(DoorCall::set_mig_mode, arguments, door_.set_mig_mode(gpu, enabled));
}

DriverAnswer<std::vector<DriverProfile>> RecordingDoor::profiles(GpuIndex gpu) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  return kept(DoorCall::profiles, arguments, door_.profiles(gpu));
}

DriverAnswer<std::vector<Span>> RecordingDoor::placements(GpuIndex gpu, ProfileId profile) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  arguments.profile = static_cast<std::uint32_t>(profile);
  return kept(DoorCall::placements, arguments, door_.placements(gpu, profile));
}

DriverAnswer<std::uint32_t> RecordingDoor::remaining(GpuIndex gpu, ProfileId profile) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  arguments.profile = static_cast<std::uint32_t>(profile);
  return kept(DoorCall::remaining, arguments, door_.remaining(gpu, profile));
}

DriverAnswer<std::vector<LiveGpuInstance>> RecordingDoor::gpu_instances(GpuIndex gpu) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  return kept(DoorCall::gpu_instances, arguments, door_.gpu_instances(gpu));
}

DriverAnswer<LiveGpuInstance> RecordingDoor::create_gpu_instance(GpuIndex gpu, ProfileId profile,
                                                                 std::optional<Span> placement) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  arguments.profile = static_cast<std::uint32_t>(profile);
  arguments.placement = placement;
  return kept(DoorCall::create_gpu_instance, arguments,
              door_.create_gpu_instance(gpu, profile, placement));
}

DriverAnswer<void> RecordingDoor::destroy_gpu_instance(GpuIndex gpu, GpuInstanceId instance) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  arguments.instance = static_cast<std::uint32_t>(instance);
  return kept(DoorCall::destroy_gpu_instance, arguments, door_.destroy_gpu_instance(gpu, instance));
}

DriverAnswer<std::vector<DriverComputeProfile>> RecordingDoor::compute_profiles(
    GpuIndex gpu, GpuInstanceId instance) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  arguments.instance = static_cast<std::uint32_t>(instance);
  return kept(DoorCall::compute_profiles, arguments, door_.compute_profiles(gpu, instance));
}

DriverAnswer<std::vector<LiveComputeInstance>> RecordingDoor::compute_instances(
    GpuIndex gpu, GpuInstanceId instance) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  arguments.instance = static_cast<std::uint32_t>(instance);
  return kept(DoorCall::compute_instances, arguments, door_.compute_instances(gpu, instance));
}

DriverAnswer<LiveComputeInstance> RecordingDoor::create_compute_instance(
    GpuIndex gpu, GpuInstanceId instance, ProfileId profile, std::optional<Span> placement) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  arguments.instance = static_cast<std::uint32_t>(instance);
  arguments.profile = static_cast<std::uint32_t>(profile);
  arguments.placement = placement;
  return kept(DoorCall::create_compute_instance, arguments,
              door_.create_compute_instance(gpu, instance, profile, placement));
}

DriverAnswer<void> RecordingDoor::destroy_compute_instance(GpuIndex gpu, GpuInstanceId instance,
                                                           ComputeInstanceId compute) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  arguments.instance = static_cast<std::uint32_t>(instance);
  arguments.compute = static_cast<std::uint32_t>(compute);
  return kept(DoorCall::destroy_compute_instance, arguments,
              door_.destroy_compute_instance(gpu, instance, compute));
}

DriverAnswer<std::vector<LiveProcess>> RecordingDoor::processes(GpuIndex gpu) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  return kept(DoorCall::processes, arguments, door_.processes(gpu));
}

DriverAnswer<MemoryUse> RecordingDoor::memory(GpuIndex gpu) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  return kept(DoorCall::gpu_memory, arguments, door_.memory(gpu));
}

DriverAnswer<MemoryUse> RecordingDoor::memory(GpuIndex gpu, GpuInstanceId instance,
                                              ComputeInstanceId compute) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  arguments.instance = static_cast<std::uint32_t>(instance);
  arguments.compute = static_cast<std::uint32_t>(compute);
  return kept(DoorCall::instance_memory, arguments, door_.memory(gpu, instance, compute));
}

DriverAnswer<std::uint32_t> RecordingDoor::power_milliwatts(GpuIndex gpu) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  return kept(DoorCall::power_milliwatts, arguments, door_.power_milliwatts(gpu));
}

DriverAnswer<std::uint32_t> RecordingDoor::power_limit_milliwatts(GpuIndex gpu) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  return kept(DoorCall::power_limit_milliwatts, arguments, door_.power_limit_milliwatts(gpu));
}

DriverAnswer<std::uint64_t> RecordingDoor::energy_millijoules(GpuIndex gpu) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  return kept(DoorCall::energy_millijoules, arguments, door_.energy_millijoules(gpu));
}

DriverAnswer<std::optional<GpuEvent>> RecordingDoor::wait_event(std::chrono::milliseconds at_most) {
  DoorArguments arguments;
  arguments.at_most_ms = at_most.count();
  return kept(DoorCall::wait_event, arguments, door_.wait_event(at_most));
}

Result<std::unique_ptr<ReplayDoor>> ReplayDoor::parse(std::string_view text, std::string place) {
  auto entries = parse_recording(text, place);
  if (!entries) return std::unexpected(entries.error());
  return std::unique_ptr<ReplayDoor>(new ReplayDoor(std::move(*entries), std::move(place)));
}

ReplayDoor::ReplayDoor(std::vector<DoorEntry> entries, std::string place)
    : entries_(std::move(entries)), place_(std::move(place)) {}

ReplayDoor::~ReplayDoor() = default;

bool ReplayDoor::at_end() const {
  return next_ == entries_.size();
}

const DoorEntry* ReplayDoor::advance(DoorCall call, const DoorArguments& arguments) {
  if (divergence_) return nullptr;
  const DoorEntry* entry = at_end() ? nullptr : &entries_[next_];
  if (entry != nullptr && entry->call == call && entry->arguments == arguments) {
    ++next_;
    return entry;
  }
  const std::string asked = call_json(call, arguments).dump();
  const std::size_t line = entry != nullptr   ? entry->line
                           : entries_.empty() ? 2
                                              : entries_.back().line + 1;
  const std::string there =
      entry != nullptr ? call_json(entry->call, entry->arguments).dump() : "its end";
  divergence_ = Error{ErrorKind::infeasible, fmt::format("{}: line {}", place_, line),
                      fmt::format("asked was {}, and the recording goes on with {}", asked, there),
                      "it was made by another version of the program, or of something else"};
  return nullptr;
}

template <class Answer>
Answer ReplayDoor::next(DoorCall call, const DoorArguments& arguments) {
  const DoorEntry* entry = advance(call, arguments);
  if (entry != nullptr) return std::get<Answer>(entry->answer);
  if constexpr (std::is_same_v<Answer, DriverFacts>) {
    return {};
  } else {
    return std::unexpected(Refusal{nvml::Return::unknown, divergence_->text()});
  }
}

DriverFacts ReplayDoor::driver() {
  return next<DriverFacts>(DoorCall::driver, {});
}

DriverAnswer<std::uint32_t> ReplayDoor::gpu_count() {
  DoorArguments arguments;
  return next<DriverAnswer<std::uint32_t>>(DoorCall::gpu_count, arguments);
}

DriverAnswer<GpuFacts> ReplayDoor::gpu(GpuIndex gpu) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  return next<DriverAnswer<GpuFacts>>(DoorCall::gpu, arguments);
}

DriverAnswer<MigMode> ReplayDoor::mig_mode(GpuIndex gpu) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  return next<DriverAnswer<MigMode>>(DoorCall::mig_mode, arguments);
}

DriverAnswer<nvml::Return> ReplayDoor::set_mig_mode(GpuIndex gpu, bool enabled) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  arguments.enabled = enabled;
  return next<DriverAnswer<nvml::Return>>(DoorCall::set_mig_mode, arguments);
}

DriverAnswer<std::vector<DriverProfile>> ReplayDoor::profiles(GpuIndex gpu) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  return next<DriverAnswer<std::vector<DriverProfile>>>(DoorCall::profiles, arguments);
}

DriverAnswer<std::vector<Span>> ReplayDoor::placements(GpuIndex gpu, ProfileId profile) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  arguments.profile = static_cast<std::uint32_t>(profile);
  return next<DriverAnswer<std::vector<Span>>>(DoorCall::placements, arguments);
}

DriverAnswer<std::uint32_t> ReplayDoor::remaining(GpuIndex gpu, ProfileId profile) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  arguments.profile = static_cast<std::uint32_t>(profile);
  return next<DriverAnswer<std::uint32_t>>(DoorCall::remaining, arguments);
}

DriverAnswer<std::vector<LiveGpuInstance>> ReplayDoor::gpu_instances(GpuIndex gpu) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  return next<DriverAnswer<std::vector<LiveGpuInstance>>>(DoorCall::gpu_instances, arguments);
}

DriverAnswer<LiveGpuInstance> ReplayDoor::create_gpu_instance(GpuIndex gpu, ProfileId profile,
                                                              std::optional<Span> placement) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  arguments.profile = static_cast<std::uint32_t>(profile);
  arguments.placement = placement;
  return next<DriverAnswer<LiveGpuInstance>>(DoorCall::create_gpu_instance, arguments);
}

DriverAnswer<void> ReplayDoor::destroy_gpu_instance(GpuIndex gpu, GpuInstanceId instance) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  arguments.instance = static_cast<std::uint32_t>(instance);
  return next<DriverAnswer<void>>(DoorCall::destroy_gpu_instance, arguments);
}

DriverAnswer<std::vector<DriverComputeProfile>> ReplayDoor::compute_profiles(
    GpuIndex gpu, GpuInstanceId instance) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  arguments.instance = static_cast<std::uint32_t>(instance);
  return next<DriverAnswer<std::vector<DriverComputeProfile>>>(DoorCall::compute_profiles,
                                                               arguments);
}

DriverAnswer<std::vector<LiveComputeInstance>> ReplayDoor::compute_instances(
    GpuIndex gpu, GpuInstanceId instance) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  arguments.instance = static_cast<std::uint32_t>(instance);
  return next<DriverAnswer<std::vector<LiveComputeInstance>>>(DoorCall::compute_instances,
                                                              arguments);
}

DriverAnswer<LiveComputeInstance> ReplayDoor::create_compute_instance(
    GpuIndex gpu, GpuInstanceId instance, ProfileId profile, std::optional<Span> placement) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  arguments.instance = static_cast<std::uint32_t>(instance);
  arguments.profile = static_cast<std::uint32_t>(profile);
  arguments.placement = placement;
  return next<DriverAnswer<LiveComputeInstance>>(DoorCall::create_compute_instance, arguments);
}

DriverAnswer<void> ReplayDoor::destroy_compute_instance(GpuIndex gpu, GpuInstanceId instance,
                                                        ComputeInstanceId compute) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  arguments.instance = static_cast<std::uint32_t>(instance);
  arguments.compute = static_cast<std::uint32_t>(compute);
  return next<DriverAnswer<void>>(DoorCall::destroy_compute_instance, arguments);
}

DriverAnswer<std::vector<LiveProcess>> ReplayDoor::processes(GpuIndex gpu) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  return next<DriverAnswer<std::vector<LiveProcess>>>(DoorCall::processes, arguments);
}

DriverAnswer<MemoryUse> ReplayDoor::memory(GpuIndex gpu) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  return next<DriverAnswer<MemoryUse>>(DoorCall::gpu_memory, arguments);
}

DriverAnswer<MemoryUse> ReplayDoor::memory(GpuIndex gpu, GpuInstanceId instance,
                                           ComputeInstanceId compute) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  arguments.instance = static_cast<std::uint32_t>(instance);
  arguments.compute = static_cast<std::uint32_t>(compute);
  return next<DriverAnswer<MemoryUse>>(DoorCall::instance_memory, arguments);
}

DriverAnswer<std::uint32_t> ReplayDoor::power_milliwatts(GpuIndex gpu) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  return next<DriverAnswer<std::uint32_t>>(DoorCall::power_milliwatts, arguments);
}

DriverAnswer<std::uint32_t> ReplayDoor::power_limit_milliwatts(GpuIndex gpu) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  return next<DriverAnswer<std::uint32_t>>(DoorCall::power_limit_milliwatts, arguments);
}

DriverAnswer<std::uint64_t> ReplayDoor::energy_millijoules(GpuIndex gpu) {
  DoorArguments arguments;
  arguments.gpu = static_cast<std::uint32_t>(gpu);
  return next<DriverAnswer<std::uint64_t>>(DoorCall::energy_millijoules, arguments);
}

DriverAnswer<std::optional<GpuEvent>> ReplayDoor::wait_event(std::chrono::milliseconds at_most) {
  DoorArguments arguments;
  arguments.at_most_ms = at_most.count();
  return next<DriverAnswer<std::optional<GpuEvent>>>(DoorCall::wait_event, arguments);
}

void record_reading(Door& door, std::ostream& out) {
  RecordingDoor recorder(door, out);
  (void)recorder.driver();
  const auto count = recorder.gpu_count();
  for (std::uint32_t i = 0; i < count.value_or(0); ++i) {
    const GpuIndex gpu{i};
    (void)recorder.gpu(gpu);
    (void)recorder.mig_mode(gpu);
    (void)recorder.memory(gpu);
    (void)recorder.power_milliwatts(gpu);
    (void)recorder.power_limit_milliwatts(gpu);
    (void)recorder.energy_millijoules(gpu);
    (void)recorder.processes(gpu);
    const auto profiles = recorder.profiles(gpu);
    for (const DriverProfile& profile : profiles.value_or(std::vector<DriverProfile>{})) {
      (void)recorder.placements(gpu, profile.id);
      (void)recorder.remaining(gpu, profile.id);
    }
    const auto instances = recorder.gpu_instances(gpu);
    for (const LiveGpuInstance& instance : instances.value_or(std::vector<LiveGpuInstance>{})) {
      (void)recorder.compute_profiles(gpu, instance.id);
      const auto computes = recorder.compute_instances(gpu, instance.id);
      for (const LiveComputeInstance& each : computes.value_or(std::vector<LiveComputeInstance>{}))
        (void)recorder.memory(gpu, instance.id, each.id);
    }
  }
  (void)recorder.wait_event(std::chrono::milliseconds{0});
}

}  // namespace cleave
