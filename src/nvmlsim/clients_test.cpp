// Several programs on one node: which calls they block for each other, faults while they run,
// events, forks, and what they see when the node is destroyed.

#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "nvmlsim/child_test.hpp"
#include "nvmlsim/library_test.hpp"
#include "nvmlsim/sim_holders.hpp"

namespace cleave::sim {
namespace {

using enum nvml::Return;

TEST(Clients, ThatHoldAMigDeviceKeepIt) {
  const OpenNode node("A100-40GB");
  const MadeInstance made = make_instance(node.gpu(), 0);
  Signal holds, let_go, gone, end;
  Child child([&] {
    nvml::Device gpu = nullptr, mig = nullptr;
    // NVML is open in the child of a fork, which holds none of its parent's handles.
    if (library().nvmlDeviceGetHandleByIndex_v2(0, &gpu) != success) return 1;
    if (library().nvmlDeviceGetMigDeviceHandleByIndex(gpu, 0, &mig) != success) return 2;
    holds.send();
    let_go.await();
    if (library().nvmlShutdown() != success) return 3;
    gone.send();
    end.await();
    return 0;
  });
  holds.await();
  EXPECT_EQ(library().nvmlComputeInstanceDestroy(made.compute), in_use);
  EXPECT_EQ(sim_holders(node.path(), 0),
            std::vector<std::uint32_t>{static_cast<std::uint32_t>(child.pid())});
  EXPECT_TRUE(sim_holders(node.path(), 1).empty()) << "there is no such GPU";
  let_go.send();
  gone.await();
  EXPECT_TRUE(sim_holders(node.path(), 0).empty());
  EXPECT_EQ(library().nvmlComputeInstanceDestroy(made.compute), success)
      << "own handles do not matter";
  end.send();
  EXPECT_EQ(child.wait(), 0);
}

TEST(Clients, ThatDieHoldNothing) {
  const OpenNode node("A100-40GB");
  const MadeInstance made = make_instance(node.gpu(), 0);
  Signal holds;
  Child child([&] {
    nvml::Device mig = nullptr;
    if (library().nvmlDeviceGetHandleByUUID(made.uuid.c_str(), &mig) != success) return 1;
    holds.send();
    ::pause();
    return 0;
  });
  holds.await();
  EXPECT_EQ(library().nvmlComputeInstanceDestroy(made.compute), in_use);
  child.kill_it();
  EXPECT_EQ(library().nvmlComputeInstanceDestroy(made.compute), success);
}

// Like the driver's descriptors, which exec closes.
TEST(Clients, ThatBecomeOtherProgramsHoldNothing) {
  const OpenNode node("A100-40GB");
  const MadeInstance made = make_instance(node.gpu(), 0);
  Child child([&] {
    nvml::Device mig = nullptr;
    if (library().nvmlDeviceGetHandleByUUID(made.uuid.c_str(), &mig) != success) return 1;
    ::execl("/bin/sleep", "sleep", "30", nullptr);
    return 2;
  });
  nvml::Return answer = in_use;
  for (int i = 0; i < 500 && answer != success; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    // Until the child has the handle and has become another program, both answers are right.
    std::ifstream name(fmt::format("/proc/{}/comm", child.pid()));
    std::string comm;
    name >> comm;
    if (comm == "sleep") answer = library().nvmlComputeInstanceDestroy(made.compute);
  }
  EXPECT_EQ(answer, success);
  EXPECT_EQ(::kill(child.pid(), 0), 0) << "the process must still run";
}

TEST(Clients, AreManyOverTime) {
  const OpenNode node("A100-40GB");
  const MadeInstance made = make_instance(node.gpu(), 0);
  for (int i = 0; i < 600; ++i) {  // more than the table has entries
    Child child([&] {
      nvml::Device mig = nullptr;
      return library().nvmlDeviceGetMigDeviceHandleByIndex(node.gpu(), 0, &mig) == success ? 0 : 1;
    });
    ASSERT_EQ(child.wait(), 0);
  }
  EXPECT_EQ(library().nvmlComputeInstanceDestroy(made.compute), success);
}

TEST(Clients, OtherThanRootChangeNothingWhereThatIsChecked) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  SimNodeSpec spec = node_spec("A100-40GB");
  spec.administrator = Administrator::root;
  const OpenNode node(spec);
  ::chmod(node.path().c_str(), 0755);
  const MadeInstance made = make_instance(node.gpu(), 0);
  Child child([&] {
    constexpr uid_t nobody = 65534;
    if (::setuid(nobody) != 0) return 1;
    const Functions& nvml = library();
    nvml::GpuInstance instance = nullptr;
    nvml::ComputeInstance compute = nullptr;
    nvml::Return activation = success;
    if (nvml.nvmlDeviceCreateGpuInstance(node.gpu(), 19, &instance) != no_permission) return 2;
    if (nvml.nvmlComputeInstanceDestroy(made.compute) != no_permission) return 3;
    if (nvml.nvmlGpuInstanceDestroy(made.gpu_instance) != no_permission) return 4;
    if (nvml.nvmlGpuInstanceCreateComputeInstance(made.gpu_instance, 0, &compute) != no_permission)
      return 5;
    if (nvml.nvmlDeviceSetMigMode(node.gpu(), 0, &activation) != no_permission) return 6;
    nvml.nvmlShutdown();
    return nvml.nvmlInit_v2() == success ? 0 : 7;
  });
  EXPECT_EQ(child.wait(), 0);
}

// What a driver shows users other than root: MIG devices, but nothing about the GPU as a whole.
TEST(Clients, OtherThanRootSeeWhatHardwareShowsThem) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become somebody else";
  SimNodeSpec spec = node_spec("A100-40GB,A100-40GB");
  spec.administrator = Administrator::root;
  const OpenNode node(spec);
  ::chmod(node.path().c_str(), 0755);
  nvml::Return activation = success;
  ASSERT_EQ(library().nvmlDeviceSetMigMode(node.gpu(1), 0, &activation), success);
  const MadeInstance made = make_instance(node.gpu(), 0);
  const auto look = [&](nvml::Return expected) {
    const Functions& nvml = library();
    const nvml::Device gpu = node.gpu();
    nvml::Memory memory{};
    nvml::Memory2 memory2{nvml::version_word<nvml::Memory2>(2), 0, 0, 0, 0};
    std::array<nvml::GpuInstance, 8> instances{};
    std::array<nvml::ComputeInstance, 8> computes{};
    std::array<nvml::GpuInstancePlacement, 8> places{};
    std::array<nvml::ComputeInstancePlacement, 8> compute_places{};
    std::uint32_t count = 0, id = 0;
    nvml::GpuInstanceInfo info{};
    EXPECT_EQ(nvml.nvmlGpuInstanceGetInfo(made.gpu_instance, &info), success);
    EXPECT_EQ(nvml.nvmlDeviceGetGpuInstances(gpu, 19, instances.data(), &count), expected);
    EXPECT_EQ(nvml.nvmlDeviceGetGpuInstanceById(gpu, info.id, instances.data()), expected);
    EXPECT_EQ(nvml.nvmlDeviceGetGpuInstanceRemainingCapacity(gpu, 19, &count), expected);
    EXPECT_EQ(nvml.nvmlDeviceGetGpuInstancePossiblePlacements_v2(gpu, 19, places.data(), &count),
              expected);
    EXPECT_EQ(nvml.nvmlDeviceGetGpuInstancePossiblePlacements(gpu, 19, places.data(), &count),
              expected);
    const nvml::GpuInstance in = made.gpu_instance;
    EXPECT_EQ(nvml.nvmlGpuInstanceGetComputeInstances(in, 0, computes.data(), &count), expected);
    EXPECT_EQ(nvml.nvmlGpuInstanceGetComputeInstanceById(in, 0, computes.data()), expected);
    EXPECT_EQ(nvml.nvmlGpuInstanceGetComputeInstanceRemainingCapacity(in, 0, &count), expected);
    EXPECT_EQ(nvml.nvmlGpuInstanceGetComputeInstancePossiblePlacements(in, 0, compute_places.data(),
                                                                       &count),
              expected);
    EXPECT_EQ(nvml.nvmlDeviceGetMemoryInfo(gpu, &memory), expected);
    EXPECT_EQ(nvml.nvmlDeviceGetMemoryInfo_v2(gpu, &memory2), expected);
    EXPECT_EQ(nvml.nvmlDeviceGetComputeRunningProcesses_v3(gpu, &(count = 0), nullptr), expected);
    // These need no root.
    nvml::Device mig = nullptr;
    nvml::GpuInstanceProfileInfo profile{};
    nvml::DeviceAttributes attributes{};
    EXPECT_EQ(nvml.nvmlDeviceGetMigDeviceHandleByIndex(gpu, 0, &mig), success);
    EXPECT_EQ(nvml.nvmlDeviceGetHandleByUUID(made.uuid.c_str(), &mig), success);
    EXPECT_EQ(nvml.nvmlDeviceGetGpuInstanceId(mig, &id), success);
    EXPECT_EQ(nvml.nvmlDeviceGetAttributes_v2(mig, &attributes), success);
    EXPECT_EQ(nvml.nvmlDeviceGetMemoryInfo(mig, &memory), success);
    EXPECT_EQ(nvml.nvmlDeviceGetComputeRunningProcesses_v3(mig, &(count = 0), nullptr), success);
    EXPECT_EQ(nvml.nvmlDeviceGetGpuInstanceProfileInfo(gpu, 0, &profile), success);
    EXPECT_EQ(nvml.nvmlDeviceGetMemoryInfo(node.gpu(1), &memory), success) << "with MIG off";
    return testing::Test::HasFailure() ? 1 : 0;
  };
  EXPECT_EQ(look(success), 0);
  Child child([&] {
    constexpr uid_t nobody = 65534;
    return ::setuid(nobody) != 0 ? 2 : look(no_permission);
  });
  EXPECT_EQ(child.wait(), 0);
}

TEST(Faults, LostGpus) {
  const OpenNode node("A100-40GB,A100-40GB");
  const Functions& nvml = library();
  const nvml::Device gpu = node.gpu(1);
  const MadeInstance made = make_instance(gpu, 0);
  nvml::EventSet set = nullptr;
  nvml::EventData event{};
  ASSERT_EQ(nvml.nvmlEventSetCreate(&set), success);
  EXPECT_EQ(nvml.nvmlDeviceRegisterEvents(gpu, 4, set), not_supported) << "performance states";
  ASSERT_EQ(nvml.nvmlDeviceRegisterEvents(gpu, nvml::event_xid | nvml::event_gpu_unavailable, set),
            success);
  EXPECT_EQ(nvml.nvmlEventSetWait_v2(set, &event, 10), timeout);
  std::thread breaker([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_TRUE(set_sim_fault(node.path(), 1, "lost"));
  });
  EXPECT_EQ(nvml.nvmlEventSetWait_v2(set, &event, 20000), success);
  breaker.join();
  EXPECT_EQ(event.device, gpu);
  EXPECT_EQ(event.type, nvml::event_xid);
  EXPECT_EQ(event.data, 79U);
  EXPECT_EQ(nvml.nvmlEventSetWait_v2(set, &event, 1000), success);
  EXPECT_EQ(event.type, nvml::event_gpu_unavailable);
  EXPECT_EQ(nvml.nvmlEventSetFree(set), success);
  std::uint32_t watts = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetPowerUsage(gpu, &watts), gpu_is_lost);
  EXPECT_EQ(nvml.nvmlComputeInstanceDestroy(made.compute), gpu_is_lost);
  EXPECT_EQ(nvml.nvmlDeviceGetPowerUsage(node.gpu(0), &watts), success);
  const auto start =
      SimProcess::start(node.path(), made.uuid, static_cast<std::uint32_t>(::getpid()));
  ASSERT_FALSE(start);
  EXPECT_EQ(start.error().kind, ErrorKind::infeasible);
  EXPECT_TRUE(look_at_sim_node(node.path())->gpus[1].lost);
  EXPECT_TRUE(set_sim_fault(node.path(), 1, "none"));
  EXPECT_EQ(nvml.nvmlComputeInstanceDestroy(made.compute), success);
}

TEST(Faults, StrikeAsOftenAsTold) {
  const OpenNode node("A100-40GB");
  const Functions& nvml = library();
  const nvml::Device gpu = node.gpu();
  nvml::GpuInstance instance = nullptr;
  nvml::ComputeInstance compute = nullptr;
  EXPECT_TRUE(set_sim_fault(node.path(), 0, "fail-create", 2));
  EXPECT_EQ(nvml.nvmlDeviceCreateGpuInstance(gpu, 19, &instance), unknown);
  EXPECT_EQ(nvml.nvmlDeviceCreateGpuInstance(gpu, 19, &instance), unknown);
  EXPECT_EQ(nvml.nvmlDeviceCreateGpuInstance(gpu, 19, &instance), success);
  EXPECT_TRUE(set_sim_fault(node.path(), 0, "fail-compute", 1));
  EXPECT_EQ(nvml.nvmlGpuInstanceCreateComputeInstance(instance, 0, &compute), unknown);
  EXPECT_EQ(nvml.nvmlGpuInstanceCreateComputeInstance(instance, 0, &compute), success);
  EXPECT_TRUE(set_sim_fault(node.path(), 0, "stuck-in-use"));
  EXPECT_EQ(look_at_sim_node(node.path())->gpus[0].faults,
            std::vector<std::string>{"stuck-in-use"});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(nvml.nvmlComputeInstanceDestroy(compute), in_use);
  EXPECT_TRUE(set_sim_fault(node.path(), 0, "none"));
  EXPECT_TRUE(set_sim_fault(node.path(), 0, "fail-destroy", 1));
  EXPECT_EQ(nvml.nvmlComputeInstanceDestroy(compute), unknown);
  EXPECT_EQ(nvml.nvmlComputeInstanceDestroy(compute), success);
  EXPECT_FALSE(set_sim_fault(node.path(), 0, "fail-nothing"));
  EXPECT_FALSE(set_sim_fault(node.path(), 0, "fail-create", 0));
  EXPECT_FALSE(set_sim_fault(node.path(), 0, "lost", 3));
  EXPECT_FALSE(set_sim_fault(node.path(), 1, "lost"));
  for (const SimFaultRow& row : sim_faults())
    EXPECT_TRUE(set_sim_fault(node.path(), 0, row.name)) << row.name;
}

TEST(Faults, APendingMigModeWaitsForMending) {
  const OpenNode node("A100-40GB");
  const Functions& nvml = library();
  nvml::Return activation = success;
  std::uint32_t current = 7, pending = 7;
  EXPECT_TRUE(set_sim_fault(node.path(), 0, "mig-pending"));
  EXPECT_EQ(nvml.nvmlDeviceSetMigMode(node.gpu(), 0, &activation), success);
  EXPECT_EQ(activation, reset_required);
  EXPECT_EQ(nvml.nvmlDeviceGetMigMode(node.gpu(), &current, &pending), success);
  EXPECT_EQ(current, 1U);
  EXPECT_EQ(pending, 0U);
  EXPECT_TRUE(look_at_sim_node(node.path())->gpus[0].mig_enabled);
  EXPECT_FALSE(look_at_sim_node(node.path())->gpus[0].mig_pending);
  EXPECT_TRUE(set_sim_fault(node.path(), 0, "none"));
  EXPECT_EQ(nvml.nvmlDeviceGetMigMode(node.gpu(), &current, &pending), success);
  EXPECT_EQ(current, 0U);
}

TEST(Times, AreThoseOfThePhysics) {
  SimNodeSpec spec = node_spec("A100-40GB");
  spec.instant = false;
  const OpenNode node(spec);
  const Functions& nvml = library();
  nvml::GpuInstance instance = nullptr;
  const auto milliseconds = [](auto&& f) {
    const auto begin = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin)
        .count();
  };
  const double creating = milliseconds(
      [&] { EXPECT_EQ(nvml.nvmlDeviceCreateGpuInstance(node.gpu(), 19, &instance), success); });
  EXPECT_GE(creating, 67.6);
  EXPECT_LT(creating, 500);
  EXPECT_GE(milliseconds([&] { EXPECT_EQ(nvml.nvmlGpuInstanceDestroy(instance), success); }),
            127.6);
  EXPECT_TRUE(set_sim_fault(node.path(), 0, "slow-create", 1));
  std::thread creator(
      [&] { EXPECT_EQ(nvml.nvmlDeviceCreateGpuInstance(node.gpu(), 19, &instance), success); });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  nvml::Memory memory{};
  EXPECT_LT(
      milliseconds([&] { EXPECT_EQ(nvml.nvmlDeviceGetMemoryInfo(node.gpu(), &memory), success); }),
      100)
      << "reads do not wait for a change";
  creator.join();
}

TEST(Clients, SeeADestroyedNodeAsLost) {
  const OpenNode node("A100-40GB");
  const Functions& nvml = library();
  const nvml::Device gpu = node.gpu();
  const MadeInstance made = make_instance(gpu, 0);
  nvml::EventSet set = nullptr;
  ASSERT_EQ(nvml.nvmlEventSetCreate(&set), success);
  ASSERT_EQ(nvml.nvmlDeviceRegisterEvents(gpu, nvml::event_xid, set), success);
  ASSERT_TRUE(destroy_sim_node(node.path()));
  nvml::GpuInstance instance = nullptr;
  nvml::EventData event{};
  std::uint32_t watts = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetPowerUsage(gpu, &watts), gpu_is_lost);
  EXPECT_EQ(nvml.nvmlDeviceCreateGpuInstance(gpu, 19, &instance), gpu_is_lost);
  EXPECT_EQ(nvml.nvmlGpuInstanceDestroy(made.gpu_instance), gpu_is_lost);
  EXPECT_EQ(nvml.nvmlEventSetWait_v2(set, &event, 60000), gpu_is_lost);
  EXPECT_EQ(nvml.nvmlShutdown(), success);
  EXPECT_EQ(nvml.nvmlInit_v2(), driver_not_loaded);
}

}  // namespace
}  // namespace cleave::sim
