// A damaged state file: programs that open it, or have it open, get errors or wrong numbers, but do
// not crash or hang.

#include <fcntl.h>
#include <sys/stat.h>

#include <fstream>

#include "base/random.hpp"
#include "nvmlsim/child_test.hpp"
#include "nvmlsim/library_test.hpp"
#include "nvmlsim/node.hpp"

namespace cleave::sim {
namespace {

using enum nvml::Return;

void read_everything(const Functions& nvml, nvml::Device gpu) {
  std::array<char, 200> text{};
  std::array<nvml::ProcessInfo, 200> processes{};
  std::array<nvml::GpuInstance, 8> instances{};
  std::array<nvml::ComputeInstance, 8> computes{};
  std::uint32_t number = 200;
  std::uint64_t large = 0;
  nvml::Memory memory{};
  nvml::Device mig = nullptr;
  nvml.nvmlDeviceGetName(gpu, text.data(), 200);
  nvml.nvmlDeviceGetUUID(gpu, text.data(), 200);
  nvml.nvmlDeviceGetMemoryInfo(gpu, &memory);
  nvml.nvmlDeviceGetComputeRunningProcesses_v3(gpu, &number, processes.data());
  nvml.nvmlDeviceGetPowerUsage(gpu, &number);
  nvml.nvmlDeviceGetTemperature(gpu, 0, &number);
  nvml.nvmlDeviceGetTotalEnergyConsumption(gpu, &large);
  for (std::uint32_t index = 0; index < 8; ++index) {
    if (nvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, index, &mig) != success) continue;
    nvml::DeviceAttributes attributes{};
    nvml.nvmlDeviceGetName(mig, text.data(), 200);
    nvml.nvmlDeviceGetAttributes_v2(mig, &attributes);
    nvml.nvmlDeviceGetMemoryInfo(mig, &memory);
    nvml.nvmlDeviceGetGpuInstanceId(mig, &number);
    nvml.nvmlDeviceGetHandleByUUID(text.data(), &mig);
  }
  for (const std::uint32_t profile : {0U, 5U, 9U, 14U, 19U}) {
    std::uint32_t count = 0;
    nvml.nvmlDeviceGetGpuInstanceRemainingCapacity(gpu, profile, &number);
    if (nvml.nvmlDeviceGetGpuInstances(gpu, profile, instances.data(), &count) != success) continue;
    for (std::uint32_t i = 0; i < count; ++i) {
      nvml::GpuInstanceInfo info{};
      nvml.nvmlGpuInstanceGetInfo(instances[i], &info);
      nvml.nvmlGpuInstanceGetComputeInstances(instances[i], 0, computes.data(), &number);
      nvml.nvmlGpuInstanceGetComputeInstanceRemainingCapacity(instances[i], 0, &number);
    }
  }
}

void change_everything(const Functions& nvml, nvml::Device gpu) {
  nvml::GpuInstance instance = nullptr;
  nvml::ComputeInstance compute = nullptr;
  nvml::Return activation = success;
  if (nvml.nvmlDeviceCreateGpuInstance(gpu, 19, &instance) == success) {
    nvml.nvmlGpuInstanceCreateComputeInstance(instance, 0, &compute);
    nvml.nvmlComputeInstanceDestroy(compute);
    nvml.nvmlGpuInstanceDestroy(instance);
  }
  nvml.nvmlDeviceSetMigMode(gpu, 1, &activation);
}

/// What clients and administrators do, in a separate process with an alarm.
int use_node(const std::filesystem::path& path, std::uint32_t gpus) {
  ::alarm(20);
  const Functions& nvml = library();
  if (nvml.nvmlInit_v2() == success) {
    for (std::uint32_t index = 0; index < gpus; ++index) {
      nvml::Device gpu = nullptr;
      if (nvml.nvmlDeviceGetHandleByIndex_v2(index, &gpu) != success) continue;
      read_everything(nvml, gpu);
      change_everything(nvml, gpu);
    }
    nvml.nvmlShutdown();
  }
  (void)look_at_sim_node(path);
  (void)sim_node_flaw(path);
  if (auto process = SimProcess::start(path, "0", static_cast<std::uint32_t>(::getpid()))) {
    (void)process->hold(MiB{100});
    (void)process->keep_busy(1);
    (void)process->end();
  }
  (void)set_sim_fault(path, 0, "none");
  return 0;
}

std::string bytes_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Overwrites the bytes in place, so that programs that have the file mapped see it.
void overwrite(const std::filesystem::path& file, const std::string& bytes) {
  std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string damaged(std::string bytes, std::size_t from, Random& random) {
  const std::uint64_t holes = 1 + random.below(20);
  for (std::uint64_t hole = 0; hole < holes; ++hole) {
    const std::size_t length = random.below(4) == 0 ? random.below(2000) : 1 + random.below(8);
    std::size_t at = from + random.below(bytes.size() - from);
    const bool same = random.below(3) == 0;
    const auto filler = static_cast<char>(random.below(256));
    for (std::size_t i = 0; i < length && at < bytes.size(); ++i, ++at)
      bytes[at] = same ? filler : static_cast<char>(random.below(256));
  }
  return bytes;
}

class Damage : public testing::Test {
 protected:
  Damage() : node_("A100-40GB,H100-80GB-SXM5") {
    for (std::uint32_t gpu = 0; gpu < 2; ++gpu)
      for (const std::uint32_t profile : {0U, 1U}) {
        const MadeInstance made = make_instance(node_.gpu(gpu), profile);
        (void)SimProcess::start(node_.path(), made.uuid, static_cast<std::uint32_t>(::getpid()))
            ->hold(MiB{50});
      }
    file_ = node_.path() / "state";
    whole_ = bytes_of(file_);
  }
  OpenNode node_;
  std::filesystem::path file_;
  std::string whole_;
};

TEST_F(Damage, OfRandomBytesBeforeAClientOpensTheNode) {
  Random random(3);
  library().nvmlShutdown();
  for (int round = 0; round < 300; ++round) {
    // Half of them leave the header alone, so that the node opens.
    overwrite(file_, damaged(whole_, round % 2 == 0 ? 0 : cells_offset, random));
    Child child([&] { return use_node(node_.path(), 2); });
    ASSERT_EQ(child.wait(), 0) << "round " << round;
  }
  overwrite(file_, whole_);
  ASSERT_EQ(library().nvmlInit_v2(), success);
  EXPECT_EQ(node_.flaw(), "");
}

TEST_F(Damage, WhileAClientHasTheNodeOpen) {
  Random random(5);
  for (int round = 0; round < 100; ++round) {
    Signal ready, broken;
    Child child([&] {
      // NVML was opened before the damage.
      ready.send();
      broken.await();
      return use_node(node_.path(), 2);
    });
    ready.await();
    overwrite(file_, damaged(whole_, 0, random));
    broken.send();
    ASSERT_EQ(child.wait(), 0) << "round " << round;
    overwrite(file_, whole_);
  }
}

TEST_F(Damage, OfTheProcessesOnALostGpu) {
  auto process =
      SimProcess::start(node_.path(), "0", static_cast<std::uint32_t>(::getpid())).value();
  ASSERT_TRUE(set_sim_fault(node_.path(), 0, "lost"));
  const auto mapped = Node::open(node_.path()).value();
  for (GpuRecord& record : mapped->cell(0).records) record.process_count = 0x80000001;
  EXPECT_FALSE(process.end());
  std::uint32_t milliwatts = 0;
  EXPECT_EQ(library().nvmlDeviceGetPowerUsage(node_.gpu(1), &milliwatts), success);
}

TEST_F(Damage, OfTheFilesLength) {
  library().nvmlShutdown();
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{1}, sizeof(NodeHeader), whole_.size() - 1}) {
    std::filesystem::resize_file(file_, length);
    Child child([&] { return use_node(node_.path(), 2); });
    EXPECT_EQ(child.wait(), 0) << length;
    EXPECT_EQ(library().nvmlInit_v2(), driver_not_loaded);
    EXPECT_FALSE(look_at_sim_node(node_.path()));
  }
  EXPECT_TRUE(destroy_sim_node(node_.path()));
}

}  // namespace
}  // namespace cleave::sim
