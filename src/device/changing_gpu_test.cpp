#include "device/changing_gpu.hpp"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/temporary_folder_test.hpp"
#include "device/memory_door_test.hpp"

namespace cleave {
namespace {

using nvml::Return;

class ChangedGpu : public testing::Test {
 protected:
  Result<ChangingGpu> begin() { return ChangingGpu::begin(door, gpu0, folder, "test"); }
  [[nodiscard]] Ownership owner(GpuInstanceId id) {
    const auto changing = begin();
    EXPECT_TRUE(changing);
    for (const InstanceView& each : changing->view().instances)
      if (each.live.id == id) return each.owner;
    ADD_FAILURE() << "there is no such instance";
    return Ownership::foreign;
  }
  [[nodiscard]] std::size_t open_intents() const {
    const auto ledger = Ledger::open(folder, "test");
    EXPECT_TRUE(ledger) << ledger.error().text();
    return ledger ? ledger->state().open().size() : 0;
  }
  [[nodiscard]] const Profile& profile(std::string_view name) const { return *model.find(name); }

  const GpuModel& model = **find_gpu_model("A100-40GB");
  MemoryDoor door{model};
  TemporaryFolder scratch;
  const std::filesystem::path& folder = scratch.path();
};

Patience brief() {
  Patience patience;
  patience.at_most = std::chrono::milliseconds{20};
  patience.sleep = [](std::chrono::milliseconds) {};
  patience.holders = [](std::optional<std::uint32_t>) { return std::vector<DeviceHolder>{}; };
  return patience;
}

TEST_F(ChangedGpu, AnAdoptionThatCouldNotBeDestroyedIsNone) {
  const auto found = find_driver_profile(door, gpu0, "2g.10gb");
  ASSERT_TRUE(found);
  const auto foreign = create_instance(door, gpu0, *found, Span{2, 2});
  ASSERT_TRUE(foreign) << foreign.error().text();
  for (const Return refusal : {Return::in_use, Return::no_permission}) {
    door.refuse = [&](std::string_view call) -> std::optional<Return> {
      if (call == "destroy_compute_instance") return refusal;
      return std::nullopt;
    };
    {
      auto changing = begin();
      ASSERT_TRUE(changing);
      EXPECT_FALSE(changing->destroy(foreign->id, true, brief()));
      EXPECT_EQ(changing->view().instances.front().owner, Ownership::foreign);
    }
    EXPECT_EQ(owner(foreign->id), Ownership::foreign);
    EXPECT_EQ(open_intents(), 0U);
  }
  door.refuse = {};
  // Stopped between the intent and the driver's answer.
  {
    auto changing = begin();
    auto ledger = Ledger::open(folder, "test");
    ASSERT_TRUE(ledger->will_destroy(changing->view().seen().front()));
  }
  EXPECT_EQ(owner(foreign->id), Ownership::foreign);
  EXPECT_EQ(open_intents(), 0U);
  {
    auto changing = begin();
    ASSERT_TRUE(changing->adopt(foreign->id));
  }
  EXPECT_EQ(owner(foreign->id), Ownership::ours);
}

TEST_F(ChangedGpu, AModeThatIsNotToldSettlesNothing) {
  {
    auto changing = begin();
    ASSERT_TRUE(changing);
    ASSERT_TRUE(changing->create(profile("3g.20gb"), 4));
    auto ledger = Ledger::open(folder, "test");
    ASSERT_TRUE(ledger->will_create(changing->view().seen().front().place));
  }
  door.refuse = [](std::string_view call) -> std::optional<Return> {
    if (call == "mig_mode") return Return::timeout;
    return std::nullopt;
  };
  {
    auto changing = begin();
    ASSERT_TRUE(changing);
    EXPECT_FALSE(changing->view().unread.empty()) << "not a GPU without instances";
    EXPECT_TRUE(changing->settled_at_first().empty());
  }
  EXPECT_EQ(open_intents(), 1U);
  door.refuse = [](std::string_view call) -> std::optional<Return> {
    if (call == "mig_mode") return Return::not_supported;
    return std::nullopt;
  };
  EXPECT_TRUE(begin()->view().unread.empty()) << "it cannot be partitioned, which is told";
}

TEST_F(ChangedGpu, WhatTheDriverDoesNotFindButShowsIsStillOurs) {
  GpuInstanceId id{};
  {
    auto changing = begin();
    ASSERT_TRUE(changing);
    const auto made = changing->create(profile("3g.20gb"), 4);
    ASSERT_TRUE(made) << made.error().text();
    id = made->id;
    door.refuse = [](std::string_view call) -> std::optional<Return> {
      if (call == "destroy_gpu_instance") return Return::not_found;
      return std::nullopt;
    };
    EXPECT_FALSE(changing->destroy(id, false, brief()));
  }
  door.refuse = {};
  EXPECT_EQ(owner(id), Ownership::ours);
  auto changing = begin();
  ASSERT_TRUE(changing);
  EXPECT_TRUE(changing->destroy(id, false, brief()));
  EXPECT_TRUE(door.instances.empty());
  EXPECT_EQ(open_intents(), 0U);
}

TEST_F(ChangedGpu, WhatIsDestroyedAndShownAgainIsStillOurs) {
  auto changing = begin();
  ASSERT_TRUE(changing);
  const auto made = changing->create(profile("3g.20gb"), 4);
  ASSERT_TRUE(made);
  const auto before = door.instances;
  door.refuse = [&](std::string_view call) -> std::optional<Return> {
    if (call == "gpu_instances" && door.instances.empty()) door.instances = before;
    return std::nullopt;
  };
  const auto gone = changing->destroy(made->id, false, brief());
  ASSERT_FALSE(gone);
  EXPECT_NE(gone.error().text().find("still shows it"), std::string::npos) << gone.error().text();
  EXPECT_EQ(changing->view().instances.front().owner, Ownership::ours);
  EXPECT_EQ(open_intents(), 0U);
}

TEST_F(ChangedGpu, ARefusedCreationLeavesNoIntentForWhoWasQuicker) {
  auto changing = begin();
  ASSERT_TRUE(changing);
  door.refuse = [&](std::string_view call) -> std::optional<Return> {
    if (call != "create_gpu_instance") return std::nullopt;
    // Another program's, complete.
    door.instances[GpuInstanceId{1}] = {
        {GpuInstanceId{1}, door.driver_profile(profile("3g.20gb")).id, {4, 4}},
        {{ComputeInstanceId{0}, ProfileId{2}, {0, 3}, "MIG-foreign"}}};
    return Return::insufficient_resources;
  };
  EXPECT_FALSE(changing->create(profile("3g.20gb"), 4));
  EXPECT_EQ(open_intents(), 0U);
  EXPECT_EQ(changing->view().instances.front().owner, Ownership::foreign);
}

TEST_F(ChangedGpu, WhatCouldNotBeTakenBackIsKnownAsOurs) {
  auto changing = begin();
  ASSERT_TRUE(changing);
  door.refuse = [](std::string_view call) -> std::optional<Return> {
    if (call == "create_compute_instance") return Return::insufficient_resources;
    if (call == "destroy_gpu_instance") return Return::unknown;
    return std::nullopt;
  };
  EXPECT_FALSE(changing->create(profile("3g.20gb"), 4));
  EXPECT_EQ(open_intents(), 2U) << "to create it, and to destroy it by its number";
  ASSERT_EQ(changing->view().instances.size(), 1U);
  EXPECT_EQ(changing->view().instances.front().owner, Ownership::ours);
  door.refuse = {};
  EXPECT_TRUE(changing->destroy(changing->view().instances.front().live.id, false, brief()));
  EXPECT_TRUE(door.instances.empty());
  EXPECT_EQ(open_intents(), 0U);
}

TEST_F(ChangedGpu, ALedgerThatIsLongBecauseItMustIsNotWrittenAnewEachTime) {
  const auto number_of_file = [&] {
    struct stat facts = {};
    EXPECT_EQ(::stat((folder / "ledger.jsonl").c_str(), &facts), 0);
    return facts.st_ino;
  };
  const auto fill = [&](const std::string& gpu, std::uint32_t count) {
    auto ledger = Ledger::open(folder, "test");
    for (std::uint32_t i = 0; i < count; ++i)
      ASSERT_TRUE(
          ledger->adopt({.place = {.gpu = gpu, .profile = "x", .profile_id = {}, .start = i},
                         .id = GpuInstanceId{i},
                         .uuids = {fmt::format("{} {}", gpu, i)}}));
  };
  // About a GPU that is not looked at: everything stays.
  fill("GPU-elsewhere", 450);
  const auto before = number_of_file();
  ASSERT_TRUE(begin());
  EXPECT_EQ(number_of_file(), before);
  // About this GPU, which has none of them.
  fill("GPU-0", 500);
  ASSERT_TRUE(begin());
  const auto ledger = Ledger::open(folder, "test");
  ASSERT_TRUE(ledger);
  EXPECT_EQ(ledger->state().lines(), 450U);
}

}  // namespace
}  // namespace cleave
