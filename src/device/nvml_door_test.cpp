// NvmlDoor over a few functions that answer like old, odd or broken drivers. The contract suite
// tests it with a good driver.

#include "device/nvml_door.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/format.hpp"
#include "device/memory_door_test.hpp"

namespace cleave {
namespace {

using namespace nvml;

/// What the functions below answer; set by each test.
struct Script {
  std::uint32_t processes = 0;  // in the list of the GPU
  std::uint32_t grows_by = 0;   // at each call
  Return versioned = Return::success;
  Return memory2 = Return::success;
  bool unterminated = false;
  bool mig = false;
  Return info = Return::success;
  int destroyed = 0, handles = 0;
  Return name = Return::success;
} script;

Device some_device() {
  static int thing = 0;
  return reinterpret_cast<Device>(&thing);
}

Return get_name(Device, char* name, std::uint32_t size) {
  if (script.name != Return::success) return script.name;
  if (script.unterminated) {
    std::memset(name, 'x', size);
  } else {
    std::strncpy(name, "a \x1b[31mGPU", size);
  }
  return Return::success;
}

Return get_processes(Device, std::uint32_t* count, ProcessInfo* processes) {
  const std::uint32_t room = *count;
  *count = script.processes;
  script.processes += script.grows_by;
  if (room < *count) return Return::insufficient_size;
  for (std::uint32_t i = 0; i < *count; ++i)
    processes[i] = {100 + i, no_value, no_instance, no_instance};
  return Return::success;
}

template <class Info>
void fill_profile(Info* info) {
  info->id = 19;
  info->slice_count = 1;
  info->instance_count = 7;
  info->memory_size_mb = 4864;
}

Return get_profile(Device, std::uint32_t profile, GpuInstanceProfileInfo* info) {
  if (profile == 2) return Return::not_supported;
  if (profile > 3) return Return::invalid_argument;
  fill_profile(info);
  return Return::success;
}

Return get_profile_v(Device, std::uint32_t profile, GpuInstanceProfileInfo2* info) {
  if (script.versioned != Return::success) return script.versioned;
  if (info->version != version_word<GpuInstanceProfileInfo2>(2))
    return Return::argument_version_mismatch;
  if (profile == 2) return Return::not_supported;
  if (profile > 3) return Return::invalid_argument;
  fill_profile(info);
  std::strncpy(info->name.data(), "MIG 1g.5gb", info->name.size());
  return Return::success;
}

Functions some_functions() {
  script = {};
  Functions f;
  f.nvmlDeviceGetHandleByIndex_v2 = [](std::uint32_t index, Device* device) {
    ++script.handles;
    *device = some_device();
    return index == 0 ? Return::success : Return::invalid_argument;
  };
  f.nvmlDeviceGetName = get_name;
  f.nvmlDeviceGetUUID = [](Device, char* uuid, std::uint32_t size) {
    std::memset(uuid, 'u', size);
    return Return::success;
  };
  f.nvmlDeviceGetComputeRunningProcesses_v2 = get_processes;
  f.nvmlDeviceGetGpuInstanceProfileInfo = get_profile;
  f.nvmlDeviceGetMigMode = [](Device, std::uint32_t* current, std::uint32_t* pending) {
    *current = *pending = script.mig ? mig_enabled : mig_disabled;
    return Return::success;
  };
  f.nvmlDeviceGetMemoryInfo = [](Device, Memory* memory) {
    *memory = {100, 60, 40};
    return Return::success;
  };
  f.nvmlDeviceCreateGpuInstance = [](Device, std::uint32_t, GpuInstance* made) {
    *made = nullptr;
    return Return::success;
  };
  f.nvmlGpuInstanceGetInfo = [](GpuInstance, GpuInstanceInfo* info) {
    *info = {some_device(), 3, 19, {4, 1}};
    return script.info;
  };
  f.nvmlGpuInstanceDestroy = [](GpuInstance) {
    ++script.destroyed;
    return Return::success;
  };
  return f;
}

TEST(NvmlDoor, TextsEndWithTheirBufferAndAreSafeToShow) {
  const Functions functions = some_functions();
  NvmlDoor door(functions);
  EXPECT_EQ(door.gpu(gpu0)->name, "a \\x1b[31mGPU");
  EXPECT_EQ(door.gpu(gpu0)->uuid, std::string(uuid_size, 'u'));
  script.unterminated = true;
  EXPECT_EQ(door.gpu(gpu0)->name, std::string(name_size, 'x'));
}

TEST(NvmlDoor, HandlesAreKeptAndForgottenWhenTheyMayBeDead) {
  const Functions functions = some_functions();
  NvmlDoor door(functions);
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(door.gpu(gpu0));
  EXPECT_EQ(script.handles, 1);
  script.name = Return::gpu_is_lost;
  EXPECT_EQ(door.gpu(gpu0).error().code, Return::gpu_is_lost);
  script.name = Return::success;
  EXPECT_TRUE(door.gpu(gpu0));
  EXPECT_EQ(script.handles, 2);
  EXPECT_FALSE(door.gpu(GpuIndex{1}));
}

TEST(NvmlDoor, WhatIsMissingIsRefusedByName) {
  const Functions functions = some_functions();
  NvmlDoor door(functions);
  const auto power = door.power_milliwatts(gpu0);
  ASSERT_FALSE(power);
  EXPECT_EQ(power.error().code, Return::function_not_found);
  EXPECT_EQ(power.error().call, "nvmlDeviceGetPowerUsage");
  EXPECT_EQ(door.wait_event(std::chrono::milliseconds{0}).error().code, Return::function_not_found);
}

TEST(NvmlDoor, ProfilesOfDriversThatDoNotNameThem) {
  Functions functions = some_functions();
  NvmlDoor door(functions);
  const auto check = [&](bool named) {
    const auto profiles = door.profiles(gpu0);
    ASSERT_TRUE(profiles);
    ASSERT_EQ(profiles->size(), 3U) << "0, 1 and 3; 2 is not supported, 4 is the end";
    EXPECT_EQ(profiles->back().number, ProfileNumber{3});
    EXPECT_EQ(profiles->back().id, ProfileId{19});
    EXPECT_EQ(profiles->back().memory, MiB{4864});
    EXPECT_EQ(profiles->back().name.has_value(), named);
  };
  check(false);  // there is no such function
  functions.nvmlDeviceGetGpuInstanceProfileInfoV = get_profile_v;
  check(true);
  EXPECT_EQ(door.profiles(gpu0)->front().name, "1g.5gb");
  for (const Return old : {Return::argument_version_mismatch, Return::invalid_argument}) {
    script.versioned = old;
    check(false);
  }
}

TEST(NvmlDoor, ADriverWithoutEndOfProfilesIsStopped) {
  Functions functions = some_functions();
  functions.nvmlDeviceGetGpuInstanceProfileInfo =
      [](Device, std::uint32_t, GpuInstanceProfileInfo*) { return Return::not_supported; };
  NvmlDoor door(functions);
  EXPECT_TRUE(door.profiles(gpu0)->empty());
}

TEST(NvmlDoor, ListsThatGrowAreAskedForAgain) {
  const Functions functions = some_functions();
  NvmlDoor door(functions);
  for (const std::uint32_t count : {0U, 1U, 63U, 64U, 65U, 5000U}) {
    script.processes = count;
    const auto processes = door.processes(gpu0);
    ASSERT_TRUE(processes);
    EXPECT_EQ(processes->size(), count);
  }
  script.processes = 70;
  script.grows_by = 40;  // the room for 70 is no longer enough
  const auto processes = door.processes(gpu0);
  ASSERT_TRUE(processes);
  EXPECT_GE(processes->size(), 110U);
  EXPECT_FALSE(processes->front().memory_bytes) << "unknown is not a number";
  EXPECT_FALSE(processes->front().gpu_instance);
}

TEST(NvmlDoor, ADriverThatNeverHasEnoughRoomIsRefused) {
  const Functions functions = some_functions();
  NvmlDoor door(functions);
  script.processes = std::numeric_limits<std::uint32_t>::max() - 1;
  EXPECT_EQ(door.processes(gpu0).error().code, Return::insufficient_size);
}

TEST(NvmlDoor, MemoryOfOlderDrivers) {
  Functions functions = some_functions();
  NvmlDoor door(functions);
  EXPECT_EQ(door.memory(gpu0)->used_bytes, 40U);
  functions.nvmlDeviceGetMemoryInfo_v2 = [](Device, Memory2* memory) {
    memory->total = 100;
    memory->used = 30;
    memory->reserved = 10;
    return script.memory2;
  };
  EXPECT_EQ(door.memory(gpu0)->used_bytes, 30U);
  script.memory2 = Return::argument_version_mismatch;
  EXPECT_EQ(door.memory(gpu0)->used_bytes, 40U);
  script.memory2 = Return::no_permission;
  EXPECT_EQ(door.memory(gpu0).error().code, Return::no_permission);
}

TEST(NvmlDoor, AnInstanceThatTheDriverDoesNotDescribeIsTakenBack) {
  const Functions functions = some_functions();
  NvmlDoor door(functions);
  ASSERT_TRUE(door.create_gpu_instance(gpu0, ProfileId{19}, {}));
  EXPECT_EQ(script.destroyed, 0);
  script.info = Return::unknown;
  EXPECT_FALSE(door.create_gpu_instance(gpu0, ProfileId{19}, {}));
  EXPECT_EQ(script.destroyed, 1);
}

TEST(NvmlDoor, AnInvalidHandleMeansGoneOnlyWhereItIsNotFoundAgain) {
  static int looks_left;
  Functions functions = some_functions();
  functions.nvmlDeviceGetGpuInstanceById = [](Device, std::uint32_t, GpuInstance*) {
    return looks_left-- > 0 ? Return::success : Return::not_found;
  };
  functions.nvmlGpuInstanceGetComputeInstanceById =
      [](GpuInstance, std::uint32_t, ComputeInstance*) { return Return::success; };
  functions.nvmlGpuInstanceDestroy = [](GpuInstance) { return Return::invalid_argument; };
  functions.nvmlComputeInstanceDestroy = [](ComputeInstance) { return Return::invalid_argument; };
  NvmlDoor door(functions);
  const GpuInstanceId instance{3};
  const auto expect = [&](int looks, Return code) {
    looks_left = looks;
    EXPECT_EQ(door.destroy_gpu_instance(gpu0, instance).error().code, code);
    looks_left = looks;
    EXPECT_EQ(door.destroy_compute_instance(gpu0, instance, ComputeInstanceId{0}).error().code,
              code);
  };
  expect(1, Return::not_found);
  expect(9, Return::invalid_argument);
}

TEST(NvmlDoor, WithMigOffThereAreNoInstances) {
  const Functions functions = some_functions();
  NvmlDoor door(functions);
  ASSERT_TRUE(door.gpu_instances(gpu0));
  EXPECT_TRUE(door.gpu_instances(gpu0)->empty());
  script.mig = true;
  EXPECT_EQ(door.gpu_instances(gpu0).error().code, Return::function_not_found);
}

/// One GPU with one instance of one profile, in which process 7 runs; the whole GPU's list is the
/// test's.
Functions partitioned_functions() {
  Functions f = some_functions();
  script.mig = true;
  f.nvmlDeviceGetGpuInstanceProfileInfo = [](Device, std::uint32_t number,
                                             GpuInstanceProfileInfo* info) {
    fill_profile(info);
    return number == 0 ? Return::success : Return::invalid_argument;
  };
  f.nvmlDeviceGetGpuInstances = [](Device, std::uint32_t, GpuInstance*, std::uint32_t* count) {
    *count = 1;
    return Return::success;
  };
  f.nvmlDeviceGetGpuInstanceById = [](Device, std::uint32_t, GpuInstance*) {
    return Return::success;
  };
  f.nvmlGpuInstanceGetComputeInstanceProfileInfo =
      [](GpuInstance, std::uint32_t number, std::uint32_t, ComputeInstanceProfileInfo* info) {
        info->slice_count = info->instance_count = 1;
        return number == 0 ? Return::success : Return::invalid_argument;
      };
  f.nvmlGpuInstanceGetComputeInstances = [](GpuInstance, std::uint32_t, ComputeInstance*,
                                            std::uint32_t* count) {
    *count = 1;
    return Return::success;
  };
  f.nvmlGpuInstanceGetComputeInstanceById = [](GpuInstance, std::uint32_t, ComputeInstance*) {
    return Return::success;
  };
  f.nvmlComputeInstanceGetInfo_v2 = [](ComputeInstance, ComputeInstanceInfo* info) {
    *info = {nullptr, nullptr, 0, 0, {0, 1}};  // the MIG device is the null handle here
    return Return::success;
  };
  return f;
}

TEST(NvmlDoor, AProcessToldTwiceIsOne) {
  Functions functions = partitioned_functions();
  static std::vector<ProcessInfo> of_gpu;
  static Return gpu_answer;
  functions.nvmlDeviceGetComputeRunningProcesses_v3 = [](Device device, std::uint32_t* count,
                                                         ProcessInfo* processes) {
    if (device != nullptr && gpu_answer != Return::success) return gpu_answer;
    const std::vector<ProcessInfo> inside = {{7, 500, no_instance, no_instance}};
    const auto& list = device == nullptr ? inside : of_gpu;
    *count = static_cast<std::uint32_t>(list.size());
    std::ranges::copy(list, processes);
    return Return::success;
  };
  functions.nvmlDeviceGetMPSComputeRunningProcesses_v3 =
      functions.nvmlDeviceGetComputeRunningProcesses_v3;
  NvmlDoor door(functions);
  const auto told = [&](std::vector<ProcessInfo> whole, Return answer = Return::success) {
    of_gpu = std::move(whole);
    gpu_answer = answer;
    const auto processes = door.processes(gpu0);
    std::string rows;
    for (const LiveProcess& each : processes.value_or(std::vector<LiveProcess>{}))
      rows += fmt::format("{}:{}:{} ", each.pid, each.memory_bytes.value_or(0),
                          each.gpu_instance ? static_cast<int>(*each.gpu_instance) : -1);
    return processes ? rows : text(processes.error().code);
  };
  EXPECT_EQ(told({}), "7:500:3 ");
  EXPECT_EQ(told({{7, no_value, 3, 0}}), "7:500:3 ") << "the memory is taken from who knows it";
  EXPECT_EQ(told({{7, 500, no_instance, no_instance}}), "7:500:3 ") << "the instance, too";
  EXPECT_EQ(told({{9, 1, 3, 0}, {7, 500, 3, 0}, {7, 2, 4, 0}}), "7:500:3 7:2:4 9:1:3 ");
  EXPECT_EQ(told({}, Return::no_permission), "7:500:3 ")
      << "the sum is for root; instances are for all";
  EXPECT_EQ(told({}, Return::gpu_is_lost), text(Return::gpu_is_lost));
}

/// A driver that counts: what it was asked, and what it has allocated.
struct CountingScript {
  Return support = Return::success, sample = Return::success, metrics = Return::success;
  std::uint32_t supported = 1;
  double percent = 50;
  int asked = 0, alive = 0, samples = 0;
  std::vector<std::uint32_t> instances;  // of samples, in order
} counting;

Functions counting_functions() {
  counting = {};
  Functions f = some_functions();
  f.nvmlGpmQueryDeviceSupport = [](Device, GpmSupport* support) {
    ++counting.asked;
    EXPECT_EQ(support->version, gpm_version);
    support->is_supported_device = counting.supported;
    return counting.support;
  };
  f.nvmlGpmSampleAlloc = [](GpmSample* sample) {
    static std::array<int, 64> places;
    ++counting.alive;
    *sample =
        reinterpret_cast<GpmSample>(&places[static_cast<std::size_t>(counting.samples++) % 64]);
    return Return::success;
  };
  f.nvmlGpmSampleFree = [](GpmSample sample) {
    EXPECT_NE(sample, nullptr);
    --counting.alive;
    return Return::success;
  };
  f.nvmlGpmSampleGet = [](Device, GpmSample) { return counting.sample; };
  f.nvmlGpmMigSampleGet = [](Device, std::uint32_t instance, GpmSample) {
    counting.instances.push_back(instance);
    return counting.sample;
  };
  f.nvmlGpmMetricsGet = [](void* metrics) {
    auto* const asked = static_cast<GpmMetricsGet*>(metrics);
    EXPECT_EQ(asked->version, gpm_version);
    EXPECT_NE(asked->sample1, asked->sample2);
    for (std::uint32_t i = 0; i < asked->metrics_count; ++i) {
      GpmMetric& metric = asked->metrics[i];
      metric.answer = metric.metric_id == gpm_tensor ? Return::not_supported : Return::success;
      metric.value = counting.percent;
    }
    return counting.metrics;
  };
  return f;
}

TEST(NvmlDoor, CountsFromOneCallToTheNext) {
  const Functions functions = counting_functions();
  {
    NvmlDoor door(functions);
    const auto ask = [&](Counting how) { return door.busy_shares(gpu0, GpuInstanceId{3}, how); };
    const auto begun = ask(Counting::on);
    ASSERT_TRUE(begun);
    EXPECT_FALSE(*begun) << "there is nothing to compare with";
    const auto shares = ask(Counting::on);
    ASSERT_TRUE(shares && *shares);
    EXPECT_EQ((*shares)->sm_activity, 0.5);
    EXPECT_EQ((*shares)->sm_occupancy, 0.5);
    EXPECT_EQ((*shares)->dram_activity, 0.5);
    EXPECT_FALSE((*shares)->tensor_activity) << "the driver does not have it";
    const auto anew = ask(Counting::anew);
    ASSERT_TRUE(anew);
    EXPECT_FALSE(*anew);
    EXPECT_EQ(counting.instances, std::vector<std::uint32_t>(3, 3U));
    EXPECT_EQ(counting.alive, 1);
    counting.percent = 150;
    EXPECT_FALSE(ask(Counting::on).value().value().sm_activity) << "no share";
    counting.metrics = Return::invalid_argument;
    EXPECT_EQ(ask(Counting::on).error().code, Return::invalid_argument);
    EXPECT_TRUE(door.busy_shares(gpu0, {}, Counting::on)) << "the whole GPU has a count of its own";
    EXPECT_EQ(counting.alive, 2);
    counting.sample = Return::gpu_is_lost;
    EXPECT_EQ(ask(Counting::on).error().code, Return::gpu_is_lost);
    EXPECT_EQ(counting.alive, 0) << "what was counted before is of no use";
    counting.sample = Return::success;
    EXPECT_TRUE(ask(Counting::on));
  }
  EXPECT_EQ(counting.alive, 0);
}

TEST(NvmlDoor, DoesNotAskAgainWhereNothingIsCounted) {
  const auto ask_thrice = [](const Functions& functions) {
    NvmlDoor door(functions);
    Return code = Return::success;
    for (int i = 0; i < 3; ++i) {
      const auto answer = door.busy_shares(gpu0, GpuInstanceId{3}, Counting::on);
      code = answer ? Return::success : answer.error().code;
    }
    return code;
  };
  Functions functions = counting_functions();
  counting.supported = 0;
  EXPECT_EQ(ask_thrice(functions), Return::not_supported);
  EXPECT_EQ(counting.asked, 1);
  EXPECT_EQ(counting.samples, 0);
  functions = counting_functions();
  counting.sample = Return::no_permission;
  EXPECT_EQ(ask_thrice(functions), Return::no_permission);
  EXPECT_EQ(counting.samples, 1);
  functions = counting_functions();
  counting.support = Return::unknown;
  EXPECT_EQ(ask_thrice(functions), Return::unknown);
  EXPECT_EQ(counting.asked, 3) << "this may pass";
  EXPECT_EQ(ask_thrice(some_functions()), Return::function_not_found);
}

TEST(NvmlLibrary, SaysWhatIsMissing) {
  const auto nothing = NvmlLibrary::open("/nowhere/libnvidia-ml.so.1");
  ASSERT_FALSE(nothing);
  EXPECT_EQ(nothing.error().kind, ErrorKind::infeasible);
  const auto other = NvmlLibrary::open("libc.so.6");
  ASSERT_FALSE(other);
  EXPECT_NE(other.error().text().find("nvmlInit_v2, nvmlShutdown"), std::string::npos)
      << other.error().text();
}

TEST(NvmlLibrary, KnowsItsOptionalFunctionsByName) {
  EXPECT_GT(optional_functions().size(), 40U);
  EXPECT_NE(std::ranges::find(optional_functions(), "nvmlDeviceSetMigMode"),
            optional_functions().end());
}

}  // namespace
}  // namespace cleave
