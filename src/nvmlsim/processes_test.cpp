// Processes on simulated GPUs: their memory, power and energy, and what they block.

#include <cmath>
#include <thread>

#include "nvmlsim/child_test.hpp"
#include "nvmlsim/library_test.hpp"

namespace cleave::sim {
namespace {

using enum nvml::Return;

std::uint32_t own_pid() {
  return static_cast<std::uint32_t>(::getpid());
}

std::vector<nvml::ProcessInfo> processes(nvml::Device device) {
  std::uint32_t count = 0;
  const auto asked = library().nvmlDeviceGetComputeRunningProcesses_v3(device, &count, nullptr);
  EXPECT_EQ(asked, count > 0 ? insufficient_size : success);
  std::vector<nvml::ProcessInfo> list(count);
  EXPECT_EQ(library().nvmlDeviceGetComputeRunningProcesses_v3(device, &count, list.data()),
            success);
  return list;
}

std::uint64_t used(nvml::Device device) {
  nvml::Memory2 memory{nvml::version_word<nvml::Memory2>(2), 0, 0, 0, 0};
  EXPECT_EQ(library().nvmlDeviceGetMemoryInfo_v2(device, &memory), success);
  return memory.used >> 20;
}

TEST(Processes, HoldMemoryOfTheirInstance) {
  const OpenNode node("A100-40GB");
  const MadeInstance first = make_instance(node.gpu(), 0), second = make_instance(node.gpu(), 0);
  auto process = SimProcess::start(node.path(), first.uuid, own_pid());
  ASSERT_TRUE(process) << process.error().text();
  ASSERT_NE(process->profile(), nullptr);
  EXPECT_EQ(process->profile()->name, "1g.5gb");
  EXPECT_EQ(process->capacity(), MiB{4864});
  EXPECT_TRUE(process->hold(MiB{4000}).value());
  EXPECT_FALSE(process->hold(MiB{4865}).value());
  EXPECT_FALSE(process->hold(MiB{INT64_MAX}).value());
  EXPECT_TRUE(process->hold(MiB{4864}).value());
  EXPECT_FALSE(process->hold(MiB{-1}));
  EXPECT_EQ(used(first.mig), 4864U);
  EXPECT_EQ(used(second.mig), 0U);
  EXPECT_EQ(used(node.gpu()), 4864U);
  EXPECT_TRUE(processes(second.mig).empty());
  ASSERT_EQ(processes(first.mig).size(), 1U);
  EXPECT_EQ(processes(first.mig)[0].pid, own_pid());
  ASSERT_EQ(processes(node.gpu()).size(), 1U);
  EXPECT_EQ(processes(node.gpu())[0].gpu_instance_id, 9U);
  EXPECT_EQ(processes(node.gpu())[0].compute_instance_id, 0U);
  EXPECT_EQ(library().nvmlComputeInstanceDestroy(first.compute), in_use);
  EXPECT_EQ(library().nvmlComputeInstanceDestroy(second.compute), success);
  EXPECT_EQ(node.flaw(), "");
  ASSERT_TRUE(process->end());
  EXPECT_EQ(used(node.gpu()), 0U);
  EXPECT_EQ(library().nvmlComputeInstanceDestroy(first.compute), success);
  EXPECT_FALSE(process->hold(MiB{1}));
}

TEST(Processes, ShareTheMemoryOfAGpuInstance) {
  const OpenNode node("A100-40GB");
  const Functions& nvml = library();
  nvml::GpuInstance instance = nullptr;
  ASSERT_EQ(nvml.nvmlDeviceCreateGpuInstance(node.gpu(), 14, &instance), success);
  std::vector<SimProcess> both;
  for (int i = 0; i < 2; ++i) {
    nvml::ComputeInstance compute = nullptr;
    ASSERT_EQ(nvml.nvmlGpuInstanceCreateComputeInstance(instance, 0, &compute), success);
    nvml::ComputeInstanceInfo info{};
    ASSERT_EQ(nvml.nvmlComputeInstanceGetInfo_v2(compute, &info), success);
    std::array<char, nvml::uuid_size> uuid{};
    ASSERT_EQ(nvml.nvmlDeviceGetUUID(info.device, uuid.data(), nvml::uuid_size), success);
    both.push_back(SimProcess::start(node.path(), uuid.data(), own_pid()).value());
  }
  EXPECT_TRUE(both[0].hold(MiB{6000}).value());
  EXPECT_FALSE(both[1].hold(MiB{4000}).value());
  EXPECT_TRUE(both[1].hold(MiB{3984}).value());
  EXPECT_EQ(node.flaw(), "");
}

TEST(Processes, AreOnWholeGpusWithMigOff) {
  SimNodeSpec spec = node_spec("A30-24GB,A100-40GB");
  spec.mig_enabled = false;
  const OpenNode node(spec);
  auto process = SimProcess::start(node.path(), "0", own_pid());
  ASSERT_TRUE(process);
  EXPECT_EQ(process->profile(), nullptr);
  EXPECT_TRUE(process->hold(MiB{20000}).value());
  EXPECT_TRUE(process->keep_busy(0.5));
  ASSERT_EQ(processes(node.gpu()).size(), 1U);
  EXPECT_EQ(processes(node.gpu())[0].gpu_instance_id, nvml::no_instance);
  nvml::Utilization rates{};
  EXPECT_EQ(library().nvmlDeviceGetUtilizationRates(node.gpu(), &rates), success);
  EXPECT_EQ(rates.gpu, 50U);
  nvml::Return activation = success;
  EXPECT_EQ(library().nvmlDeviceSetMigMode(node.gpu(), 1, &activation), success);
  EXPECT_EQ(activation, in_use);
  ASSERT_TRUE(process->end());
  EXPECT_EQ(library().nvmlDeviceSetMigMode(node.gpu(), 1, &activation), success);
  EXPECT_EQ(activation, success);
  EXPECT_EQ(library().nvmlDeviceGetUtilizationRates(node.gpu(), &rates), not_supported);
}

TEST(Processes, AreNamedAsCudaNamesDevices) {
  const OpenNode node("A30-24GB,A100-40GB");
  const MadeInstance made = make_instance(node.gpu(1), 2);
  const std::string gpu = look_at_sim_node(node.path())->gpus[1].uuid;
  for (const std::string& visible : {made.uuid, made.uuid + ",0", gpu, std::string("1")}) {
    const auto process = SimProcess::start(node.path(), visible, own_pid());
    ASSERT_TRUE(process) << visible;
    EXPECT_EQ(process->profile()->name, "3g.20gb");
  }
  for (const char* visible :
       {"", "0", "2", "-1", "NoDevFiles", "MIG-00000000-0000-4000-8000-000000000000"})
    EXPECT_FALSE(SimProcess::start(node.path(), visible, own_pid())) << visible;
  EXPECT_FALSE(SimProcess::start(node.path(), "1", 0x7ffffffe)) << "no such process";
}

TEST(Processes, ThatDieAreGone) {
  const OpenNode node("A100-40GB");
  const MadeInstance made = make_instance(node.gpu(), 0);
  Child child([] {
    ::pause();
    return 0;
  });
  auto process = SimProcess::start(node.path(), made.uuid, static_cast<std::uint32_t>(child.pid()));
  ASSERT_TRUE(process);
  ASSERT_TRUE(process->hold(MiB{100}).value());
  EXPECT_EQ(library().nvmlComputeInstanceDestroy(made.compute), in_use);
  ::kill(child.pid(), SIGKILL);
  // Not waited for: a zombie counts as dead.
  for (int i = 0;
       i < 1000 &&
       !look_at_sim_node(node.path())->gpus[0].instances[0].compute_instances[0].processes.empty();
       ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(processes(node.gpu()).empty());
  EXPECT_EQ(library().nvmlComputeInstanceDestroy(made.compute), success);
}

TEST(Power, FollowsWhatRuns) {
  const OpenNode node("A100-40GB");
  const MadeInstance small = make_instance(node.gpu(), 0), large = make_instance(node.gpu(), 2);
  std::uint32_t idle = 0, one = 0, both = 0, limit = 0;
  // The mean; a sensor shows up to half a percent more or less.
  const auto power = [&](std::uint32_t& place) {
    std::uint32_t shown = 0;
    EXPECT_EQ(library().nvmlDeviceGetPowerUsage(node.gpu(), &shown), success);
    const double mean = look_at_sim_node(node.path())->gpus[0].power_w * 1000;
    EXPECT_NEAR(shown, mean, mean / 200 + 1);
    place = static_cast<std::uint32_t>(std::lround(mean));
  };
  power(idle);
  auto first = SimProcess::start(node.path(), small.uuid, own_pid()).value();
  auto second = SimProcess::start(node.path(), large.uuid, own_pid()).value();
  ASSERT_TRUE(first.keep_busy(1));
  power(one);
  ASSERT_TRUE(second.keep_busy(1));
  power(both);
  EXPECT_EQ(library().nvmlDeviceGetEnforcedPowerLimit(node.gpu(), &limit), success);
  EXPECT_GT(idle, 0U);
  EXPECT_NEAR(one, idle + (limit - idle) / 7.0, 2);
  EXPECT_NEAR(both, idle + (limit - idle) * 4 / 7.0, 2);
  EXPECT_EQ(library().nvmlDeviceGetPowerUsage(small.mig, &one), not_supported);
  std::uint64_t before = 0, after = 0;
  EXPECT_EQ(library().nvmlDeviceGetTotalEnergyConsumption(node.gpu(), &before), success);
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  EXPECT_EQ(library().nvmlDeviceGetTotalEnergyConsumption(node.gpu(), &after), success);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(static_cast<double>(after - before), both * 0.0999);
  EXPECT_LE(static_cast<double>(after - before), both * passed.count() + 2);
}

}  // namespace
}  // namespace cleave::sim
