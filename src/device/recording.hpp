#pragma once
// What went through a door, written down and played back. A recording is text, one JSON object a
// line: first what it is, then each call with its arguments and the driver's answer or refusal in
// the order of the calls, last how many there were. A recording of a real GPU is a table of facts;
// one of a failure repeats it.
//
//   {"recording": "cleave door", "version": 1}
//   {"call": "placements", "gpu": 0, "profile": 9, "answer": [{"start": 0, "size": 4}, {"start": 4,
//   "size": 4}]}
//   {"call": "remaining", "gpu": 0, "profile": 9, "refusal": {"code": 3, "function": "nvml..."}}
//   {"calls": 2}

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>

#include "base/json_fwd.hpp"
#include "device/door.hpp"

namespace cleave {

enum class DoorCall : std::uint8_t;
struct DoorArguments;
struct DoorEntry;

/// Passes everything on to `door` and writes it to `out`; both must outlive it.
class RecordingDoor final : public Door {
 public:
  RecordingDoor(Door& door, std::ostream& out);
  /// Writes the last line.
  ~RecordingDoor() override;
  RecordingDoor(const RecordingDoor&) = delete;
  RecordingDoor& operator=(const RecordingDoor&) = delete;

  DriverFacts driver() override;
  DriverAnswer<std::uint32_t> gpu_count() override;
  DriverAnswer<GpuFacts> gpu(GpuIndex gpu) override;
  DriverAnswer<MigMode> mig_mode(GpuIndex gpu) override;
  DriverAnswer<nvml::Return> set_mig_mode(GpuIndex gpu, bool enabled) override;
  DriverAnswer<std::vector<DriverProfile>> profiles(GpuIndex gpu) override;
  DriverAnswer<std::vector<Span>> placements(GpuIndex gpu, ProfileId profile) override;
  DriverAnswer<std::uint32_t> remaining(GpuIndex gpu, ProfileId profile) override;
  DriverAnswer<std::vector<LiveGpuInstance>> gpu_instances(GpuIndex gpu) override;
  DriverAnswer<LiveGpuInstance> create_gpu_instance(GpuIndex gpu, ProfileId profile,
                                                    std::optional<Span> placement) override;
  DriverAnswer<void> destroy_gpu_instance(GpuIndex gpu, GpuInstanceId instance) override;
  DriverAnswer<std::vector<DriverComputeProfile>> compute_profiles(GpuIndex gpu,
                                                                   GpuInstanceId instance) override;
  DriverAnswer<std::vector<LiveComputeInstance>> compute_instances(GpuIndex gpu,
                                                                   GpuInstanceId instance) override;
  DriverAnswer<LiveComputeInstance> create_compute_instance(GpuIndex gpu, GpuInstanceId instance,
                                                            ProfileId profile,
                                                            std::optional<Span> placement) override;
  DriverAnswer<void> destroy_compute_instance(GpuIndex gpu, GpuInstanceId instance,
                                              ComputeInstanceId compute) override;
  DriverAnswer<std::vector<LiveProcess>> processes(GpuIndex gpu) override;
  DriverAnswer<MemoryUse> memory(GpuIndex gpu) override;
  DriverAnswer<MemoryUse> memory(GpuIndex gpu, GpuInstanceId instance,
                                 ComputeInstanceId compute) override;
  DriverAnswer<std::uint32_t> power_milliwatts(GpuIndex gpu) override;
  DriverAnswer<std::uint32_t> power_limit_milliwatts(GpuIndex gpu) override;
  DriverAnswer<std::uint64_t> energy_millijoules(GpuIndex gpu) override;
  DriverAnswer<std::optional<GpuEvent>> wait_event(std::chrono::milliseconds at_most) override;

 private:
  template <class Answer>
  Answer kept(DoorCall call, const DoorArguments& arguments, Answer answer);
  void write(const Json& line);

  Door& door_;
  std::ostream& out_;
  std::uint64_t calls_ = 0;
};

/// Answers from a recording, in its order. A call that is not the next one of the recording gets
/// the refusal `unknown`, and so do all after it: `divergence` says what was asked and what would
/// have been next.
class ReplayDoor final : public Door {
 public:
  /// Bad input, with its line, where the recording is torn or damaged; `place` is the file's name.
  [[nodiscard]] static Result<std::unique_ptr<ReplayDoor>> parse(std::string_view text,
                                                                 std::string place);
  ~ReplayDoor() override;

  [[nodiscard]] const std::optional<Error>& divergence() const { return divergence_; }
  /// Whether every call of the recording was made.
  [[nodiscard]] bool at_end() const;

  DriverFacts driver() override;
  DriverAnswer<std::uint32_t> gpu_count() override;
  DriverAnswer<GpuFacts> gpu(GpuIndex gpu) override;
  DriverAnswer<MigMode> mig_mode(GpuIndex gpu) override;
  DriverAnswer<nvml::Return> set_mig_mode(GpuIndex gpu, bool enabled) override;
  DriverAnswer<std::vector<DriverProfile>> profiles(GpuIndex gpu) override;
  DriverAnswer<std::vector<Span>> placements(GpuIndex gpu, ProfileId profile) override;
  DriverAnswer<std::uint32_t> remaining(GpuIndex gpu, ProfileId profile) override;
  DriverAnswer<std::vector<LiveGpuInstance>> gpu_instances(GpuIndex gpu) override;
  DriverAnswer<LiveGpuInstance> create_gpu_instance(GpuIndex gpu, ProfileId profile,
                                                    std::optional<Span> placement) override;
  DriverAnswer<void> destroy_gpu_instance(GpuIndex gpu, GpuInstanceId instance) override;
  DriverAnswer<std::vector<DriverComputeProfile>> compute_profiles(GpuIndex gpu,
                                                                   GpuInstanceId instance) override;
  DriverAnswer<std::vector<LiveComputeInstance>> compute_instances(GpuIndex gpu,
                                                                   GpuInstanceId instance) override;
  DriverAnswer<LiveComputeInstance> create_compute_instance(GpuIndex gpu, GpuInstanceId instance,
                                                            ProfileId profile,
                                                            std::optional<Span> placement) override;
  DriverAnswer<void> destroy_compute_instance(GpuIndex gpu, GpuInstanceId instance,
                                              ComputeInstanceId compute) override;
  DriverAnswer<std::vector<LiveProcess>> processes(GpuIndex gpu) override;
  DriverAnswer<MemoryUse> memory(GpuIndex gpu) override;
  DriverAnswer<MemoryUse> memory(GpuIndex gpu, GpuInstanceId instance,
                                 ComputeInstanceId compute) override;
  DriverAnswer<std::uint32_t> power_milliwatts(GpuIndex gpu) override;
  DriverAnswer<std::uint32_t> power_limit_milliwatts(GpuIndex gpu) override;
  DriverAnswer<std::uint64_t> energy_millijoules(GpuIndex gpu) override;
  DriverAnswer<std::optional<GpuEvent>> wait_event(std::chrono::milliseconds at_most) override;

 private:
  ReplayDoor(std::vector<DoorEntry> entries, std::string place);
  template <class Answer>
  Answer next(DoorCall call, const DoorArguments& arguments);
  const DoorEntry* advance(DoorCall call, const DoorArguments& arguments);

  std::vector<DoorEntry> entries_;
  std::string place_;
  std::size_t next_ = 0;
  std::optional<Error> divergence_;
};

/// Asks everything that can be asked without changing anything, once, and writes it as a recording.
void record_reading(Door& door, std::ostream& out);

}  // namespace cleave
