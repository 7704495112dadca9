#include "device/recording.hpp"

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
  // Texts of a driver need not be UTF-8.
  out_ << line.dump(-1, ' ', false, Json::error_handler_t::replace) << '\n';
}

std::expected<AnyAnswer, Refusal> RecordingDoor::through(DoorCall which,
                                                         const DoorArguments& arguments,
                                                         const Call& call) {
  AnyAnswer answer = call(door_);
  write(entry_json({0, which, arguments, answer}));
  ++calls_;
  return answer;
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
  divergence_ =
      Error{ErrorKind::infeasible, fmt::format("{}: line {}", place_, line),
            fmt::format("the call was {}, and the recording continues with {}", asked, there),
            "another version of the program made it, or it is of another GPU"};
  return nullptr;
}

std::expected<AnyAnswer, Refusal> ReplayDoor::through(DoorCall which,
                                                      const DoorArguments& arguments, const Call&) {
  if (const DoorEntry* entry = advance(which, arguments)) return entry->answer;
  return std::unexpected(Refusal{nvml::Return::unknown, divergence_->text()});
}

void record_reading(Door& door, std::ostream& out, std::optional<GpuIndex> only) {
  RecordingDoor recorder(door, out);
  (void)recorder.driver();
  const auto count = recorder.gpu_count();
  for (std::uint32_t i = 0; i < count.value_or(0); ++i) {
    const GpuIndex gpu{i};
    if (only && gpu != *only) continue;
    (void)recorder.gpu(gpu);
    (void)recorder.mig_mode(gpu);
    (void)recorder.memory(gpu);
    (void)recorder.power_milliwatts(gpu);
    (void)recorder.power_limit_milliwatts(gpu);
    (void)recorder.energy_millijoules(gpu);
    (void)recorder.processes(gpu);
    (void)recorder.health(gpu);
    const auto profiles = recorder.profiles(gpu);
    for (const DriverProfile& profile : profiles.value_or(std::vector<DriverProfile>{})) {
      (void)recorder.placements(gpu, profile.id);
      (void)recorder.remaining(gpu, profile.id);
    }
    const auto instances = recorder.gpu_instances(gpu);
    for (const LiveGpuInstance& instance : instances.value_or(std::vector<LiveGpuInstance>{})) {
      (void)recorder.compute_profiles(gpu, instance.id);
      const auto computes = recorder.compute_instances(gpu, instance.id);
      for (const LiveComputeInstance& each :
           computes.value_or(std::vector<LiveComputeInstance>{})) {
        (void)recorder.memory(gpu, instance.id, each.id);
        (void)recorder.uncorrected_errors(gpu, instance.id, each.id);
      }
    }
  }
  (void)recorder.wait_event(std::chrono::milliseconds{0});
}

}  // namespace cleave
