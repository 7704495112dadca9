// GPU and compute instances through the library: every profile at every placement, their numbers,
// and the codes of refusals.

#include <algorithm>
#include <set>

#include "nvmlsim/library_test.hpp"

namespace cleave::sim {
namespace {

using enum nvml::Return;

constexpr const char* judged_models[] = {
    "A30-24GB", "A100-40GB", "A100-80GB", "H100-80GB-SXM5", "RTX-PRO-6000-BW-96GB", "B200-180GB"};

std::vector<nvml::GpuInstancePlacement> placements(nvml::Device device, std::uint32_t id) {
  std::uint32_t count = 0;
  EXPECT_EQ(library().nvmlDeviceGetGpuInstancePossiblePlacements_v2(device, id, nullptr, &count),
            success);
  std::vector<nvml::GpuInstancePlacement> list(count);
  EXPECT_EQ(
      library().nvmlDeviceGetGpuInstancePossiblePlacements_v2(device, id, list.data(), &count),
      success);
  return list;
}

void create_and_destroy(nvml::Device device, const nvml::GpuInstanceProfileInfo& profile,
                        const nvml::GpuInstancePlacement& place) {
  const Functions& nvml = library();
  nvml::GpuInstance instance = nullptr, second = nullptr;
  ASSERT_EQ(nvml.nvmlDeviceCreateGpuInstanceWithPlacement(device, profile.id, &place, &instance),
            success);
  EXPECT_EQ(nvml.nvmlDeviceCreateGpuInstanceWithPlacement(device, profile.id, &place, &second),
            insufficient_resources);
  nvml::GpuInstanceInfo info{};
  ASSERT_EQ(nvml.nvmlGpuInstanceGetInfo(instance, &info), success);
  EXPECT_EQ(info.device, device);
  EXPECT_EQ(info.profile_id, profile.id);
  EXPECT_EQ(info.placement.start, place.start);
  EXPECT_EQ(info.placement.size, place.size);
  ASSERT_EQ(nvml.nvmlDeviceGetGpuInstanceById(device, info.id, &second), success);
  EXPECT_EQ(second, instance);
  std::array<nvml::GpuInstance, 8> list{};
  std::uint32_t count = 0;
  ASSERT_EQ(nvml.nvmlDeviceGetGpuInstances(device, profile.id, list.data(), &count), success);
  ASSERT_EQ(count, 1U);
  EXPECT_EQ(list[0], instance);
  ASSERT_EQ(nvml.nvmlGpuInstanceDestroy(instance), success);
  EXPECT_EQ(nvml.nvmlGpuInstanceDestroy(instance), invalid_argument);
  EXPECT_EQ(nvml.nvmlGpuInstanceGetInfo(instance, &info), invalid_argument);
  EXPECT_EQ(nvml.nvmlDeviceGetGpuInstanceById(device, info.id, &second), not_found);
}

TEST(GpuInstances, AtEveryPlaceOfEveryProfile) {
  for (const char* model : judged_models) {
    SCOPED_TRACE(model);
    const OpenNode node(model);
    const nvml::Device gpu = node.gpu();
    const GpuModel& table = **find_gpu_model(model);
    int seen = 0;
    for (std::uint32_t number = 0; number < nvml::gpu_instance_profiles; ++number) {
      nvml::GpuInstanceProfileInfo info{};
      if (library().nvmlDeviceGetGpuInstanceProfileInfo(gpu, number, &info) != success) continue;
      for (const auto& place : placements(gpu, info.id)) {
        create_and_destroy(gpu, info, place);
        ++seen;
      }
      const nvml::GpuInstancePlacement wrong{15, 1}, longer{0, 13};
      nvml::GpuInstance instance = nullptr;
      EXPECT_EQ(library().nvmlDeviceCreateGpuInstanceWithPlacement(gpu, info.id, &wrong, &instance),
                invalid_argument);
      EXPECT_EQ(
          library().nvmlDeviceCreateGpuInstanceWithPlacement(gpu, info.id, &longer, &instance),
          invalid_argument);
    }
    int expected = 0;
    for (const Profile& profile : table.profiles) expected += profile.starts.size();
    EXPECT_EQ(seen, expected);
    EXPECT_EQ(node.flaw(), "");
  }
}

/// Numbers of the instances of a profile, by their starts.
std::map<std::uint32_t, std::uint32_t> numbers(nvml::Device gpu, std::uint32_t profile) {
  std::map<std::uint32_t, std::uint32_t> by_start;
  for (const auto& place : placements(gpu, profile)) {
    nvml::GpuInstance instance = nullptr;
    EXPECT_EQ(library().nvmlDeviceCreateGpuInstanceWithPlacement(gpu, profile, &place, &instance),
              success);
    nvml::GpuInstanceInfo info{};
    EXPECT_EQ(library().nvmlGpuInstanceGetInfo(instance, &info), success);
    by_start[place.start] = info.id;
    EXPECT_EQ(library().nvmlGpuInstanceDestroy(instance), success);
  }
  return by_start;
}

TEST(GpuInstances, AreNumberedAsDriversDo) {
  using Numbers = std::map<std::uint32_t, std::uint32_t>;
  {
    const OpenNode node("A100-40GB");  // captured
    EXPECT_EQ(numbers(node.gpu(), 0), (Numbers{{0, 0}}));
    EXPECT_EQ(numbers(node.gpu(), 5), (Numbers{{0, 2}}));
    EXPECT_EQ(numbers(node.gpu(), 9), (Numbers{{0, 2}, {4, 1}}));
    EXPECT_EQ(numbers(node.gpu(), 14), (Numbers{{0, 5}, {2, 6}, {4, 3}}));
    EXPECT_EQ(numbers(node.gpu(), 19),
              (Numbers{{0, 11}, {1, 12}, {2, 13}, {3, 14}, {4, 7}, {5, 8}, {6, 9}}));
  }
  {
    const OpenNode node("H100-80GB-SXM5");  // captured
    EXPECT_EQ(numbers(node.gpu(), 9), (Numbers{{0, 1}, {4, 2}}));
    EXPECT_EQ(numbers(node.gpu(), 19),
              (Numbers{{0, 7}, {1, 8}, {2, 9}, {3, 10}, {4, 11}, {5, 12}, {6, 13}}));
  }
  SimNodeSpec spec = node_spec("A100-40GB,A30-24GB,RTX-PRO-6000-BW-96GB");
  spec.numbering = InstanceNumbering::lower_first;
  const OpenNode node(spec);
  EXPECT_EQ(numbers(node.gpu(0), 14), (Numbers{{0, 3}, {2, 4}, {4, 5}}));
  EXPECT_EQ(numbers(node.gpu(1), 14), (Numbers{{0, 3}, {1, 4}, {2, 5}, {3, 6}}));
  EXPECT_EQ(numbers(node.gpu(2), 5), (Numbers{{0, 1}, {6, 2}}));
  EXPECT_EQ(numbers(node.gpu(2), 14), (Numbers{{0, 3}, {3, 4}, {6, 5}, {9, 6}}));
}

TEST(GpuInstances, GoWhereTheDriverLikes) {
  const OpenNode node("A100-40GB");
  std::vector<std::uint32_t> starts;
  for (int i = 0; i < 7; ++i) {
    std::uint32_t room = 0;
    EXPECT_EQ(library().nvmlDeviceGetGpuInstanceRemainingCapacity(node.gpu(), 19, &room), success);
    EXPECT_EQ(room, static_cast<std::uint32_t>(7 - i));
    nvml::GpuInstance instance = nullptr;
    ASSERT_EQ(library().nvmlDeviceCreateGpuInstance(node.gpu(), 19, &instance), success);
    nvml::GpuInstanceInfo info{};
    ASSERT_EQ(library().nvmlGpuInstanceGetInfo(instance, &info), success);
    starts.push_back(info.placement.start);
  }
  EXPECT_EQ(starts, (std::vector<std::uint32_t>{6, 4, 5, 0, 1, 2, 3}));
  nvml::GpuInstance instance = nullptr;
  EXPECT_EQ(library().nvmlDeviceCreateGpuInstance(node.gpu(), 19, &instance),
            insufficient_resources);
  EXPECT_EQ(library().nvmlDeviceCreateGpuInstance(node.gpu(), 0, &instance),
            insufficient_resources);
}

TEST(GpuInstances, AreRefusedAsDocumented) {
  const OpenNode node("A100-40GB,A30-24GB");
  const Functions& nvml = library();
  nvml::GpuInstance instance = nullptr;
  EXPECT_EQ(nvml.nvmlDeviceCreateGpuInstance(node.gpu(), 64, &instance), not_supported)
      << "an RTX profile";
  EXPECT_EQ(nvml.nvmlDeviceCreateGpuInstance(node.gpu(), 1234, &instance), invalid_argument);
  EXPECT_EQ(nvml.nvmlDeviceCreateGpuInstance(nullptr, 19, &instance), invalid_argument);
  EXPECT_EQ(nvml.nvmlDeviceCreateGpuInstance(node.gpu(), 19, nullptr), invalid_argument);
  EXPECT_EQ(nvml.nvmlDeviceCreateGpuInstanceWithPlacement(node.gpu(), 19, nullptr, &instance),
            invalid_argument);
  EXPECT_EQ(nvml.nvmlDeviceGetGpuInstanceById(node.gpu(), 3, &instance), not_found);
  std::uint32_t room = 0;
  EXPECT_EQ(nvml.nvmlDeviceGetGpuInstanceRemainingCapacity(node.gpu(), 64, &room), not_supported);
  const MadeInstance made = make_instance(node.gpu(), 0);
  EXPECT_EQ(nvml.nvmlGpuInstanceDestroy(made.gpu_instance), in_use) << "it has a compute instance";
  EXPECT_EQ(nvml.nvmlDeviceCreateGpuInstance(made.mig, 19, &instance), invalid_argument);
  std::uint32_t current = 7, pending = 7;
  nvml::Return activation = unknown;
  EXPECT_EQ(nvml.nvmlDeviceSetMigMode(node.gpu(), nvml::mig_disabled, &activation), success);
  EXPECT_EQ(activation, in_use);
  EXPECT_EQ(nvml.nvmlDeviceGetMigMode(node.gpu(), &current, &pending), success);
  EXPECT_EQ(current, 1U);
  EXPECT_EQ(pending, 0U);
  EXPECT_EQ(nvml.nvmlDeviceSetMigMode(node.gpu(), 2, &activation), invalid_argument);
  EXPECT_EQ(nvml.nvmlComputeInstanceDestroy(made.compute), success);
  EXPECT_EQ(nvml.nvmlGpuInstanceDestroy(made.gpu_instance), success);
  EXPECT_EQ(nvml.nvmlDeviceSetMigMode(node.gpu(), nvml::mig_disabled, &activation), success);
  EXPECT_EQ(activation, success);
  EXPECT_EQ(nvml.nvmlDeviceCreateGpuInstance(node.gpu(), 19, &instance), not_supported)
      << "MIG is off";
  std::array<nvml::GpuInstance, 8> list{};
  EXPECT_EQ(nvml.nvmlDeviceGetGpuInstances(node.gpu(), 19, list.data(), &room), success);
  EXPECT_EQ(room, 0U) << "answered with MIG off as well";
  EXPECT_EQ(nvml.nvmlDeviceGetGpuInstanceRemainingCapacity(node.gpu(), 19, &room), success);
  EXPECT_EQ(room, 7U) << "answered with MIG off as well";
  EXPECT_EQ(placements(node.gpu(), 19).size(), 7U) << "answered with MIG off as well";
  EXPECT_EQ(nvml.nvmlDeviceGetMaxMigDeviceCount(node.gpu(), &room), success);
  EXPECT_EQ(room, 0U);
  EXPECT_EQ(node.flaw(), "");
}

TEST(GpuInstances, MediaRulesOfTheRtxPro) {
  const OpenNode node("RTX-PRO-6000-BW-96GB");
  const Functions& nvml = library();
  nvml::GpuInstance instance = nullptr;
  EXPECT_EQ(nvml.nvmlDeviceCreateGpuInstance(node.gpu(), 65, &instance), success)
      << "1g.24gb+me.all";
  EXPECT_EQ(nvml.nvmlDeviceCreateGpuInstance(node.gpu(), 14, &instance), insufficient_resources);
  EXPECT_EQ(nvml.nvmlDeviceCreateGpuInstance(node.gpu(), 65, &instance), insufficient_resources);
  EXPECT_EQ(nvml.nvmlDeviceCreateGpuInstance(node.gpu(), 67, &instance), success) << "1g.24gb-me";
}

TEST(ComputeInstances, OfAnA100) {
  const OpenNode node("A100-40GB");
  const Functions& nvml = library();
  nvml::GpuInstance instance = nullptr;
  ASSERT_EQ(nvml.nvmlDeviceCreateGpuInstance(node.gpu(), 0, &instance), success);
  const std::map<std::uint32_t, std::pair<std::uint32_t, std::uint32_t>> expected = {
      {0, {7, 14}}, {1, {3, 28}}, {2, {2, 42}}, {3, {1, 56}}, {4, {1, 98}}};
  for (std::uint32_t profile = 0; profile < nvml::compute_instance_profiles; ++profile) {
    nvml::ComputeInstanceProfileInfo info{};
    const auto answer =
        nvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, profile, 0, &info);
    ASSERT_EQ(answer, expected.contains(profile) ? success : not_supported) << profile;
    if (answer != success) continue;
    EXPECT_EQ(info.instance_count, expected.at(profile).first);
    EXPECT_EQ(info.multiprocessor_count, expected.at(profile).second);
    std::uint32_t count = 0, room = 0;
    std::array<nvml::ComputeInstancePlacement, 8> places{};
    EXPECT_EQ(nvml.nvmlGpuInstanceGetComputeInstancePossiblePlacements(instance, profile,
                                                                       places.data(), &count),
              success);
    EXPECT_EQ(count, info.instance_count);
    EXPECT_EQ(nvml.nvmlGpuInstanceGetComputeInstanceRemainingCapacity(instance, profile, &room),
              success);
    EXPECT_EQ(room, info.instance_count);
    for (std::uint32_t i = 0; i < count; ++i) {
      nvml::ComputeInstance compute = nullptr, second = nullptr;
      ASSERT_EQ(nvml.nvmlGpuInstanceCreateComputeInstanceWithPlacement(instance, profile,
                                                                       &places[i], &compute),
                success);
      EXPECT_EQ(nvml.nvmlGpuInstanceCreateComputeInstanceWithPlacement(instance, profile,
                                                                       &places[i], &second),
                insufficient_resources);
      nvml::ComputeInstanceInfo about{};
      ASSERT_EQ(nvml.nvmlComputeInstanceGetInfo_v2(compute, &about), success);
      EXPECT_EQ(about.placement.start, places[i].start);
      EXPECT_EQ(about.id, 0U);
      EXPECT_EQ(about.gpu_instance, instance);
      ASSERT_EQ(nvml.nvmlComputeInstanceDestroy(compute), success);
      EXPECT_EQ(nvml.nvmlComputeInstanceDestroy(compute), invalid_argument);
    }
  }
  nvml::ComputeInstanceProfileInfo info{};
  EXPECT_EQ(nvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(
                instance, nvml::compute_instance_profiles, 0, &info),
            invalid_argument);
  EXPECT_EQ(nvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, 0, 1, &info),
            invalid_argument);
  nvml::ComputeInstance compute = nullptr;
  const nvml::ComputeInstancePlacement wrong{1, 2};
  EXPECT_EQ(nvml.nvmlGpuInstanceCreateComputeInstanceWithPlacement(instance, 1, &wrong, &compute),
            invalid_argument);
  EXPECT_EQ(nvml.nvmlGpuInstanceCreateComputeInstance(instance, 5, &compute), not_supported);
}

TEST(ComputeInstances, OfAnH100HaveASpecialSlice) {
  const OpenNode node("H100-80GB-SXM5");
  const Functions& nvml = library();
  nvml::GpuInstance instance = nullptr;
  ASSERT_EQ(nvml.nvmlDeviceCreateGpuInstance(node.gpu(), 14, &instance), success);
  nvml::ComputeInstanceProfileInfo info{};
  ASSERT_EQ(nvml.nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, 7, 0, &info), success);
  EXPECT_EQ(info.multiprocessor_count, 26U);
  nvml::ComputeInstance first = nullptr, second = nullptr;
  ASSERT_EQ(nvml.nvmlGpuInstanceCreateComputeInstance(instance, 7, &first), success);
  EXPECT_EQ(nvml.nvmlGpuInstanceCreateComputeInstance(instance, 0, &second), insufficient_resources)
      << "26 and 16 SMs are more than its 32";
  EXPECT_EQ(nvml.nvmlComputeInstanceDestroy(first), success);
  EXPECT_EQ(nvml.nvmlGpuInstanceCreateComputeInstance(instance, 0, &first), success);
  EXPECT_EQ(nvml.nvmlGpuInstanceCreateComputeInstance(instance, 0, &second), success);
  nvml::ComputeInstanceInfo about{};
  EXPECT_EQ(nvml.nvmlComputeInstanceGetInfo_v2(second, &about), success);
  EXPECT_EQ(about.id, 1U);
  EXPECT_EQ(node.flaw(), "");
}

TEST(MigDevices, AreFoundEveryWay) {
  const OpenNode node("A100-40GB");
  const Functions& nvml = library();
  const MadeInstance small = make_instance(node.gpu(), 0), large = make_instance(node.gpu(), 2);
  std::set<std::string> uuids;
  std::uint32_t most = 0, holes = 0;
  ASSERT_EQ(nvml.nvmlDeviceGetMaxMigDeviceCount(node.gpu(), &most), success);
  EXPECT_EQ(most, 7U);
  for (std::uint32_t index = 0; index < most; ++index) {
    nvml::Device mig = nullptr, parent = nullptr, same = nullptr;
    const auto answer = nvml.nvmlDeviceGetMigDeviceHandleByIndex(node.gpu(), index, &mig);
    if (answer == not_found) {
      ++holes;
      continue;
    }
    ASSERT_EQ(answer, success);
    std::array<char, nvml::uuid_size> uuid{};
    EXPECT_EQ(nvml.nvmlDeviceGetUUID(mig, uuid.data(), nvml::uuid_size), success);
    uuids.insert(uuid.data());
    EXPECT_EQ(nvml.nvmlDeviceGetHandleByUUID(uuid.data(), &same), success);
    EXPECT_EQ(same, mig);
    EXPECT_EQ(nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(mig, &parent), success);
    EXPECT_EQ(parent, node.gpu());
    std::uint32_t is = 0;
    EXPECT_EQ(nvml.nvmlDeviceIsMigDeviceHandle(mig, &is), success);
    EXPECT_EQ(is, 1U);
  }
  EXPECT_EQ(uuids, (std::set<std::string>{small.uuid, large.uuid}));
  EXPECT_EQ(holes, 5U);
  std::array<char, nvml::name_size> name{};
  EXPECT_EQ(nvml.nvmlDeviceGetName(large.mig, name.data(), nvml::name_size), success);
  EXPECT_STREQ(name.data(), "NVIDIA A100-SXM4-40GB MIG 3g.20gb");
  nvml::DeviceAttributes attributes{};
  EXPECT_EQ(nvml.nvmlDeviceGetAttributes_v2(large.mig, &attributes), success);
  EXPECT_EQ(attributes.multiprocessor_count, 42U);
  EXPECT_EQ(attributes.gpu_instance_slice_count, 3U);
  EXPECT_EQ(attributes.memory_size_mb, 20096U);
  EXPECT_EQ(nvml.nvmlDeviceGetAttributes_v2(node.gpu(), &attributes), not_supported);
  nvml::Device none = nullptr;
  EXPECT_EQ(nvml.nvmlDeviceGetHandleByUUID("MIG-00000000-0000-4000-8000-000000000000", &none),
            not_found);
  EXPECT_EQ(nvml.nvmlDeviceGetHandleByUUID("nonsense", &none), not_found);
  EXPECT_EQ(nvml.nvmlComputeInstanceDestroy(small.compute), success);
  EXPECT_EQ(nvml.nvmlDeviceGetUUID(small.mig, name.data(), nvml::name_size), invalid_argument)
      << "stale";
  EXPECT_EQ(nvml.nvmlDeviceGetHandleByUUID(small.uuid.c_str(), &none), not_found);
}

/// The GPU instances of the MIG devices that the library has by index, up to the first hole.
std::vector<std::uint32_t> indexed(nvml::Device gpu) {
  std::vector<std::uint32_t> list;
  for (std::uint32_t index = 0; index < 7; ++index) {
    nvml::Device mig = nullptr;
    if (library().nvmlDeviceGetMigDeviceHandleByIndex(gpu, index, &mig) != success) break;
    std::uint32_t id = 0, same = 99;
    EXPECT_EQ(library().nvmlDeviceGetGpuInstanceId(mig, &id), success);
    EXPECT_EQ(library().nvmlDeviceGetIndex(mig, &same), success);
    EXPECT_EQ(same, index);
    list.push_back(id);
  }
  return list;
}

// NVIDIA/libcudacxx issue 224: after a middle one was destroyed the others are devices 0 and 1.
TEST(MigDevices, HaveIndicesWithoutHolesForProgramsThatBegin) {
  const OpenNode node("A100-40GB");
  std::vector<MadeInstance> made;
  for (int i = 0; i < 3; ++i) made.push_back(make_instance(node.gpu(), 0));
  EXPECT_EQ(indexed(node.gpu()), (std::vector<std::uint32_t>{7, 8, 9}));
  std::array<std::uint32_t, 3> index{};
  for (std::size_t i = 0; i < 3; ++i)
    ASSERT_EQ(library().nvmlDeviceGetIndex(made[i].mig, &index[i]), success);
  const auto first = static_cast<std::size_t>(std::ranges::find(index, 0U) - index.begin());
  ASSERT_EQ(library().nvmlComputeInstanceDestroy(made[first].compute), success);
  nvml::Device mig = nullptr;
  EXPECT_EQ(library().nvmlDeviceGetMigDeviceHandleByIndex(node.gpu(), 0, &mig), not_found)
      << "a program keeps the indices that it has seen";
  EXPECT_EQ(library().nvmlDeviceGetMigDeviceHandleByIndex(node.gpu(), 1, &mig), success);
  library().nvmlShutdown();
  ASSERT_EQ(library().nvmlInit_v2(), success);
  const std::vector<std::uint32_t> anew = indexed(node.gpu());
  EXPECT_EQ(anew.size(), 2U);
  EXPECT_TRUE(std::ranges::is_sorted(anew));
}

TEST(ComputeProfiles, AnA100HasOneOfSevenSlices) {
  const OpenNode node("A100-40GB");
  nvml::GpuInstance instance = nullptr;
  ASSERT_EQ(library().nvmlDeviceCreateGpuInstance(node.gpu(), 0, &instance), success);
  nvml::ComputeInstanceProfileInfo info{};
  EXPECT_EQ(library().nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, 4, 0, &info), success);
  EXPECT_EQ(library().nvmlGpuInstanceGetComputeInstanceProfileInfo(instance, 8, 0, &info),
            not_supported);
}

// Seen on an H200 with driver 580.159.04.
TEST(Capacity, IsTheMostThereCanBeWithMigOff) {
  SimNodeSpec spec = node_spec("H200-141GB");
  spec.mig_enabled = false;
  const OpenNode node(spec);
  const auto remaining = [&](std::uint32_t number) {
    std::uint32_t count = 99;
    EXPECT_EQ(library().nvmlDeviceGetGpuInstanceRemainingCapacity(
                  node.gpu(), profile_id(node.gpu(), number), &count),
              success);
    return count;
  };
  EXPECT_EQ(remaining(0), 7U);
  EXPECT_EQ(remaining(1), 3U);
  EXPECT_EQ(remaining(2), 2U);
  EXPECT_EQ(remaining(3), 1U);
  EXPECT_EQ(remaining(4), 1U);
  EXPECT_EQ(remaining(7), 1U) << "with media engines";
  EXPECT_EQ(remaining(9), 4U) << "one slice with the memory of two";
  nvml::GpuInstance instance = nullptr;
  EXPECT_EQ(library().nvmlDeviceCreateGpuInstance(node.gpu(), profile_id(node.gpu(), 0), &instance),
            not_supported);
}

}  // namespace
}  // namespace cleave::sim
