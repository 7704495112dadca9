#include "study/bench/bench_full_node.hpp"

#include <stdlib.h>

#include <array>

#include "device/nvml_door.hpp"
#include "nvmlsim/sim_node.hpp"

namespace cleave::cli {

using nvml::Return;

Result<std::unique_ptr<BenchNode>> BenchNode::make(const GpuModel& model, std::size_t gpus) {
  auto folder = WorkFolder::make(std::filesystem::temp_directory_path(), "bench");
  if (!folder) return std::unexpected(folder.error());
  SimNodeSpec spec;
  spec.gpus.assign(gpus, &model);
  spec.instant = true;
  if (const auto made = create_sim_node(folder->path(), spec); !made)
    return std::unexpected(made.error());
  return std::unique_ptr<BenchNode>(new BenchNode(std::move(*folder)));
}

BenchNode::BenchNode(WorkFolder folder) : folder_(std::move(folder)) {
  if (const char* before = std::getenv(sim_node_variable)) before_ = before;
  ::setenv(sim_node_variable, folder_.path().c_str(), 1);
}

BenchNode::~BenchNode() {
  if (before_)
    ::setenv(sim_node_variable, before_->c_str(), 1);
  else
    ::unsetenv(sim_node_variable);
  (void)destroy_sim_node(folder());
}

namespace {

constexpr std::size_t most_gpus = 64;

std::unexpected<Error> not_so(const Refusal& refusal) {
  return std::unexpected(error_of(refusal, "bench"));
}

Result<void> fill(NvmlDoor& door, GpuIndex gpu) {
  const auto profiles = door.profiles(gpu);
  if (!profiles) return not_so(profiles.error());
  const DriverProfile& smallest = *std::ranges::max_element(*profiles, {}, &DriverProfile::most);
  for (std::uint32_t i = 0; i < smallest.most; ++i) {
    const auto made = door.create_gpu_instance(gpu, smallest.id, {});
    if (!made) return not_so(made.error());
    const auto computes = door.compute_profiles(gpu, made->id);
    if (!computes) return not_so(computes.error());
    const auto compute = door.create_compute_instance(gpu, made->id, computes->front().id, {});
    if (!compute) return not_so(compute.error());
  }
  return {};
}

/// Lists all that there is. With times, each call is timed alone.
class Enumeration {
 public:
  explicit Enumeration(const nvml::Functions& nvml, std::vector<double>* times = nullptr)
      : nvml_(&nvml), times_(times) {}

  std::size_t calls = 0, gpus = 0, instances = 0;

  /// False where a call was refused.
  bool run() {
    std::uint32_t count = 0;
    if (!call([&] { return nvml_->nvmlDeviceGetCount_v2(&count); })) return false;
    for (std::uint32_t index = 0; index < count; ++index) {
      nvml::Device gpu = nullptr;
      std::uint32_t current = 0, pending = 0, most = 0;
      if (!call([&] { return nvml_->nvmlDeviceGetHandleByIndex_v2(index, &gpu); }) ||
          !call([&] { return nvml_->nvmlDeviceGetName(gpu, text_.data(), size()); }) ||
          !call([&] { return nvml_->nvmlDeviceGetMigMode(gpu, &current, &pending); }) ||
          !call([&] { return nvml_->nvmlDeviceGetMaxMigDeviceCount(gpu, &most); }) || !read(gpu))
        return false;
      ++gpus;
      for (std::uint32_t i = 0; i < most; ++i)
        if (!read_mig(gpu, i)) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(text_.size()); }

  template <class F>
  Return timed(F&& f) {
    ++calls;
    if (times_ == nullptr) return f();
    const auto begin = BenchClock::now();
    const Return answer = f();
    times_->push_back(seconds_since(begin) * 1e9);
    return answer;
  }
  template <class F>
  bool call(F&& f) {
    return timed(f) == Return::success;
  }

  /// What monitors ask of GPUs and MIG devices.
  bool read(nvml::Device device) {
    nvml::Memory memory{};
    std::uint32_t processes = static_cast<std::uint32_t>(processes_.size());
    return call([&] { return nvml_->nvmlDeviceGetUUID(device, text_.data(), size()); }) &&
           call([&] { return nvml_->nvmlDeviceGetMemoryInfo(device, &memory); }) && call([&] {
             return nvml_->nvmlDeviceGetComputeRunningProcesses_v3(device, &processes,
                                                                   processes_.data());
           });
  }
  bool read_mig(nvml::Device gpu, std::uint32_t index) {
    nvml::Device mig = nullptr;
    const Return found =
        timed([&] { return nvml_->nvmlDeviceGetMigDeviceHandleByIndex(gpu, index, &mig); });
    if (found == Return::not_found) return true;
    std::uint32_t id = 0;
    if (found != Return::success ||
        !call([&] { return nvml_->nvmlDeviceGetGpuInstanceId(mig, &id); }) ||
        !call([&] { return nvml_->nvmlDeviceGetComputeInstanceId(mig, &id); }) || !read(mig))
      return false;
    ++instances;
    return true;
  }

  const nvml::Functions* nvml_;
  std::vector<double>* times_;
  std::array<char, nvml::name_size> text_{};
  std::array<nvml::ProcessInfo, 64> processes_{};
};

}  // namespace

Result<FullNodeBench> bench_full_node(const std::string& file, const GpuModel& model,
                                      Duration time) {
  const auto node = BenchNode::make(model, most_gpus);
  if (!node) return std::unexpected(node.error());
  const auto library = NvmlLibrary::open(file);
  if (!library) return std::unexpected(library.error());
  const auto door = NvmlDoor::open(file);
  if (!door) return std::unexpected(door.error());
  for (std::uint32_t gpu = 0; gpu < most_gpus; ++gpu)
    if (const auto filled = fill(**door, GpuIndex{gpu}); !filled)
      return std::unexpected(filled.error());
  FullNodeBench result;
  std::vector<double> enumerations, calls;
  const auto end = BenchClock::now() + time;
  do {
    Enumeration whole((*library)->functions());
    const auto begin = BenchClock::now();
    const bool done = whole.run();
    enumerations.push_back(seconds_since(begin) * 1e3);
    Enumeration each((*library)->functions(), &calls);
    if (!done || !each.run())
      return fail(ErrorKind::internal, "bench", "a GPU or an instance could not be read");
    result = {whole.gpus, whole.instances, whole.calls, 0, 0};
  } while (BenchClock::now() < end);
  result.enumeration_ms = median(std::move(enumerations));
  result.median_call_ns = median(std::move(calls));
  return result;
}

}  // namespace cleave::cli
