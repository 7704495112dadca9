#include "device/live_instances.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>

#include "base/random.hpp"
#include "device/memory_door_test.hpp"

namespace cleave {
namespace {

namespace fs = std::filesystem;
using nvml::Return;
using std::chrono::milliseconds;

struct Waits {
  std::vector<milliseconds> slept;
  Patience patience;
  explicit Waits(milliseconds at_most = milliseconds{1000}) {
    patience.at_most = at_most;
    patience.sleep = [this](milliseconds wait) { slept.push_back(wait); };
    patience.holders = [](std::optional<std::uint32_t>) { return std::vector<DeviceHolder>{}; };
  }
  [[nodiscard]] milliseconds sum() const {
    milliseconds all{0};
    for (const milliseconds each : slept) all += each;
    return all;
  }
};

struct Instances : testing::Test {
  const GpuModel& model = **find_gpu_model("A100-40GB");
  MemoryDoor door{model};
  Waits waits;

  DriverProfile profile(std::string_view name) { return door.driver_profile(*model.find(name)); }
  Result<LiveInstance> create(std::string_view name, std::optional<Span> where = {}) {
    return create_instance(door, gpu0, profile(name), where, waits.patience);
  }
  Result<void> destroy(GpuInstanceId id) {
    return destroy_instance(door, gpu0, id, waits.patience);
  }
  /// Refuses this call `times` times.
  void refuse(std::string call, Return code, int times = 1 << 20) {
    door.refuse = [call = std::move(call), code,
                   times](std::string_view name) mutable -> std::optional<Return> {
      if (name != call || times == 0) return std::nullopt;
      --times;
      return code;
    };
  }
};

TEST_F(Instances, AnInstanceIsWhatAProgramCanUse) {
  const auto made = create("3g.20gb", Span{4, 4});
  ASSERT_TRUE(made) << made.error().text();
  EXPECT_EQ(made->profile, "3g.20gb");
  EXPECT_EQ(made->placement, (Span{4, 4}));
  ASSERT_EQ(made->computes.size(), 1U);
  EXPECT_TRUE(made->computes[0].uuid.starts_with("MIG-"));
  EXPECT_EQ(made->computes[0].placement.size, 3U);
  const auto live = live_instances(door, gpu0);
  ASSERT_TRUE(live);
  ASSERT_EQ(live->size(), 1U);
  EXPECT_EQ(live->front().computes, made->computes);
}

TEST_F(Instances, TheSecondProfileOfOneSizeIsNotTaken) {
  for (const Profile& each : model.profiles) {
    const auto made = create(each.name);
    ASSERT_TRUE(made) << each.name;
    EXPECT_NE(made->computes[0].profile, ProfileId{8}) << each.name;
    EXPECT_EQ(made->computes[0].placement.size, static_cast<std::uint32_t>(each.compute.value));
    ASSERT_TRUE(destroy(made->id));
  }
}

TEST_F(Instances, WholeProfilesGoByNumberThenBySize) {
  const DriverComputeProfile second{ProfileNumber{8}, ProfileId{8}, 7, 1, {}};
  const DriverComputeProfile whole{ProfileNumber{4}, ProfileId{4}, 7, 1, {}};
  const DriverComputeProfile odd{ProfileNumber{12}, ProfileId{12}, 5, 1, {}};
  const std::vector<DriverComputeProfile> list = {second, whole, odd};
  EXPECT_EQ(whole_instance_profile(list, 7), &list[1]);
  EXPECT_EQ(whole_instance_profile(list, 5), &list[2]);
  EXPECT_EQ(whole_instance_profile(list, 2), nullptr);
}

TEST_F(Instances, NamesFollowTheRuleWhereTheDriverSaysNone) {
  door.says_names = false;
  for (const Profile& each : model.profiles) {
    const auto made = create(each.name);
    ASSERT_TRUE(made);
    EXPECT_EQ(made->profile, each.name);
    EXPECT_EQ(live_instances(door, gpu0)->front().profile, each.name);
    EXPECT_TRUE(find_driver_profile(door, gpu0, each.name));
    ASSERT_TRUE(destroy(made->id));
  }
  EXPECT_EQ(find_driver_profile(door, gpu0, "9g.1gb").error().kind, ErrorKind::bad_input);
}

TEST_F(Instances, WhatStandsInTheWayIsNamed) {
  ASSERT_TRUE(create("2g.10gb", Span{4, 2}));
  const auto refused = create("3g.20gb", Span{4, 4});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::infeasible);
  EXPECT_NE(refused.error().text().find("2g.10gb@4 (GPU instance 1)"), std::string::npos)
      << refused.error().text();
  ASSERT_TRUE(create("3g.20gb", Span{0, 4}));
  const auto full = create("4g.20gb");
  ASSERT_FALSE(full);
  EXPECT_NE(full.error().text().find("no room for another 4g.20gb"), std::string::npos);
}

TEST_F(Instances, AFailedSecondStepTakesTheFirstBack) {
  for (const char* step : {"create_compute_instance", "compute_profiles"}) {
    refuse(step, Return::insufficient_resources, 1);
    const auto made = create("1g.5gb");
    ASSERT_FALSE(made);
    EXPECT_TRUE(door.instances.empty()) << step;
    EXPECT_EQ(made.error().text().find("left behind"), std::string::npos);
  }
}

TEST_F(Instances, WhatSomebodyElseTookAwayIsNotLeftBehind) {
  door.refuse = [&](std::string_view call) -> std::optional<Return> {
    if (call == "create_compute_instance") door.instances.clear();
    return std::nullopt;
  };
  const auto made = create("1g.5gb");
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().text().find("left behind"), std::string::npos) << made.error().text();
}

TEST_F(Instances, WhatIsLeftBehindIsSaid) {
  door.refuse = [](std::string_view call) -> std::optional<Return> {
    if (call == "create_compute_instance") return Return::unknown;
    if (call == "destroy_gpu_instance") return Return::invalid_state;
    return std::nullopt;
  };
  const auto made = create("1g.5gb", Span{6, 1});
  ASSERT_FALSE(made);
  EXPECT_EQ(door.instances.size(), 1U);
  EXPECT_NE(made.error().text().find("GPU 0, GPU instance 1 (1g.5gb@6) is left behind"),
            std::string::npos)
      << made.error().text();
}

TEST_F(Instances, UseThatPassesIsWaitedFor) {
  const auto made = create("1g.5gb");
  refuse("destroy_compute_instance", Return::in_use, 4);
  ASSERT_TRUE(destroy(made->id));
  EXPECT_EQ(waits.slept, (std::vector<milliseconds>{milliseconds{10}, milliseconds{20},
                                                    milliseconds{40}, milliseconds{80}}));
}

TEST_F(Instances, OnlyTheGpuInstanceIsTriedAgainOnceTheOtherIsGone) {
  const auto made = create("1g.5gb");
  refuse("destroy_gpu_instance", Return::in_use, 3);
  door.calls.clear();
  ASSERT_TRUE(destroy(made->id));
  EXPECT_EQ(std::ranges::count(door.calls, "destroy_compute_instance"), 1);
  EXPECT_EQ(std::ranges::count(door.calls, "destroy_gpu_instance"), 4);
}

TEST_F(Instances, PatienceEndsAndTheProcessesAreNamed) {
  const auto made = create("1g.5gb");
  refuse("destroy_compute_instance", Return::in_use);
  door.running = {{4711, {}, made->id, ComputeInstanceId{0}}, {5, {}, GpuInstanceId{9}, {}}};
  const auto refused = destroy(made->id);
  ASSERT_FALSE(refused);
  EXPECT_EQ(waits.sum(), waits.patience.at_most);
  EXPECT_LE(*std::ranges::max_element(waits.slept), waits.patience.longest);
  EXPECT_NE(refused.error().text().find("by process 4711"), std::string::npos)
      << refused.error().text();
  EXPECT_EQ(refused.error().text().find(" 5"), std::string::npos);
}

TEST_F(Instances, WithoutProcessesTheLikelyHoldersAreNamed) {
  const auto made = create("1g.5gb");
  refuse("destroy_compute_instance", Return::in_use);
  std::optional<std::uint32_t> asked;
  waits.patience.holders = [&](std::optional<std::uint32_t> minor) {
    asked = minor;
    return std::vector<DeviceHolder>{{77, "nv-hostengine"}};
  };
  const auto refused = destroy(made->id);
  ASSERT_FALSE(refused);
  EXPECT_EQ(asked, 0U);
  EXPECT_NE(refused.error().text().find("nv-hostengine (process 77)"), std::string::npos);
}

TEST_F(Instances, OtherRefusalsAreNotWaitedFor) {
  const auto made = create("1g.5gb");
  refuse("destroy_compute_instance", Return::no_permission);
  EXPECT_FALSE(destroy(made->id));
  EXPECT_TRUE(waits.slept.empty());
  door.refuse = {};
  EXPECT_TRUE(destroy(made->id));
  const auto again = destroy(made->id);
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().kind, ErrorKind::infeasible);
}

/// Whichever call fails, and however many times: afterwards the instance is complete or gone, or
/// the error says what is left; and a second attempt without faults always cleans up.
TEST_F(Instances, NothingIsHalfDoneInSilence) {
  constexpr std::array codes = {Return::unknown, Return::in_use, Return::timeout,
                                Return::no_permission};
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    door.instances.clear();
    door.refuse = [&](std::string_view) -> std::optional<Return> {
      if (random.uniform() > 0.25) return std::nullopt;
      return codes[random.below(codes.size())];
    };
    const auto made = create(model.profiles[random.below(model.profiles.size())].name);
    const bool whole =
        door.instances.size() == 1 && door.instances.begin()->second.computes.size() == 1;
    if (made) {
      EXPECT_TRUE(whole);
      if (destroy(made->id)) {
        EXPECT_TRUE(door.instances.empty());
      }
    } else if (!door.instances.empty()) {
      EXPECT_NE(made.error().text().find("left behind"), std::string::npos) << made.error().text();
    }
    door.refuse = {};
    const auto left = live_instances(door, gpu0);
    ASSERT_TRUE(left);
    for (const LiveInstance& each : *left) EXPECT_TRUE(destroy(each.id));
    EXPECT_TRUE(door.instances.empty());
  }
}

TEST(DeviceHolders, AreFoundByTheFilesTheyHaveOpen) {
  const fs::path proc = fs::temp_directory_path() / fmt::format("cleave-proc-{}", getpid());
  fs::remove_all(proc);
  const auto process = [&](const std::string& pid, const std::string& name,
                           std::vector<std::string> files) {
    fs::create_directories(proc / pid / "fd");
    std::ofstream(proc / pid / "comm") << name << '\n';
    for (std::size_t i = 0; i < files.size(); ++i)
      fs::create_symlink(files[i], proc / pid / "fd" / std::to_string(i));
  };
  process("30", "monitor", {"/dev/null", "/dev/nvidia1"});
  process("4", "agent", {"/dev/nvidia-caps/nvidia-cap12"});
  process("5", "control", {"/dev/nvidiactl", "/dev/nvidia-uvm", "socket:[12]"});
  process("6", "other", {"/dev/nvidia11"});
  process("self", "link", {"/dev/nvidia1"});
  process(std::to_string(getpid()), "this", {"/dev/nvidia1"});
  const std::vector<DeviceHolder> of_one = {{4, "agent"}, {30, "monitor"}};
  EXPECT_EQ(device_holders(1, proc), of_one);
  EXPECT_EQ(device_holders({}, proc).size(), 3U);
  EXPECT_TRUE(device_holders(1, proc / "nowhere").empty());
  fs::remove_all(proc);
}

}  // namespace
}  // namespace cleave
