#include "device/faulty_door_test.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "device/live_instances.hpp"
#include "device/memory_door_test.hpp"

namespace cleave {
namespace {

using std::chrono::milliseconds;

struct Faults : testing::Test {
  const GpuModel& model = **find_gpu_model("A100-40GB");
  MemoryDoor door{model};
  ProfileId smallest{19};
};

TEST_F(Faults, WithoutChancesNothingFails) {
  FaultyDoor through(door, {});
  for (int i = 0; i < 200; ++i) {
    const auto made = through.create_gpu_instance(gpu0, smallest, {});
    ASSERT_TRUE(made);
    ASSERT_TRUE(through.destroy_gpu_instance(gpu0, made->id));
  }
  EXPECT_EQ(through.failed(), 0U);
}

TEST_F(Faults, WhatIsRefusedIsNotDone) {
  DoorFaults faults;
  faults.refuse = 1;
  FaultyDoor through(door, faults);
  std::set<nvml::Return> codes;
  for (int i = 0; i < 200; ++i) {
    const auto made = through.create_gpu_instance(gpu0, smallest, {});
    ASSERT_FALSE(made);
    codes.insert(made.error().code);
    ASSERT_TRUE(door.instances.empty());
  }
  EXPECT_TRUE(door.calls.empty());
  std::set<nvml::Return> plausible;
  for (const PlausibleRefusal& row : plausible_refusals)
    if (row.of_changes) plausible.insert(row.code);
  EXPECT_EQ(codes, plausible);
  const auto read = through.gpu_instances(gpu0);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().code, nvml::Return::in_use);
}

TEST_F(Faults, ALostAnswerWasDone) {
  DoorFaults faults;
  faults.lose = 1;
  FaultyDoor through(door, faults);
  EXPECT_FALSE(through.create_gpu_instance(gpu0, smallest, {}));
  EXPECT_EQ(door.instances.size(), 1U);
  EXPECT_EQ(through.failed(), 1U);
}

TEST_F(Faults, BeginAfterSoManyCalls) {
  DoorFaults faults;
  faults.refuse = 1;
  faults.spare = 7;
  FaultyDoor through(door, faults);
  for (int i = 0; i < 7; ++i) EXPECT_TRUE(through.gpu_count());
  EXPECT_FALSE(through.gpu_count());
}

TEST_F(Faults, RepeatBySeedAndComeAsOftenAsSaid) {
  const auto fates = [&](std::uint64_t seed) {
    DoorFaults faults;
    faults.seed = seed;
    faults.refuse = 0.3;
    FaultyDoor through(door, faults);
    std::string all;
    for (int i = 0; i < 2000; ++i) all += through.gpu_count() ? '.' : 'x';
    return all;
  };
  EXPECT_EQ(fates(1), fates(1));
  EXPECT_NE(fates(1), fates(2));
  EXPECT_NEAR(static_cast<double>(std::ranges::count(fates(3), 'x')), 600, 80);
}

TEST_F(Faults, DelaysAreWithinTheirBoundAndMoveNoFault) {
  const auto fates = [&](double delay, std::vector<milliseconds>& slept) {
    DoorFaults faults;
    faults.refuse = 0.2;
    faults.delay = delay;
    faults.delay_most = milliseconds{9};
    faults.sleep = [&](milliseconds wait) { slept.push_back(wait); };
    FaultyDoor through(door, faults);
    std::string all;
    for (int i = 0; i < 500; ++i) all += through.gpu_count() ? '.' : 'x';
    return all;
  };
  std::vector<milliseconds> slept, none_slept;
  EXPECT_EQ(fates(0.5, slept), fates(0, none_slept));
  EXPECT_TRUE(none_slept.empty());
  EXPECT_NEAR(static_cast<double>(slept.size()), 250, 60);
  EXPECT_EQ(std::ranges::max(slept), milliseconds{9});
  EXPECT_EQ(std::ranges::min(slept), milliseconds{0});
}

}  // namespace
}  // namespace cleave
