#include "device/driver_geometry.hpp"

#include <gtest/gtest.h>

#include "device/memory_door_test.hpp"

namespace cleave {
namespace {

/// What the driver knows of a profile, in one text; zeros are what it does not know.
std::string facts_of(const Profile& p) {
  const Engines e = p.engines.value_or(Engines{});
  return fmt::format(
      "{} {} {}c {}m {} {} {},{},{},{},{} x{} {} attribute {} double {}", p.name, p.nvml_profile,
      p.compute.value, p.memory.value, p.usable.value_or(MiB{0}).value,
      p.sms.value_or(Sms{0}).value, e.copy, e.decode, e.encode, e.jpeg, e.flow, p.max_instances,
      fmt::join(p.starts.preferred(), ","), static_cast<int>(p.attribute), p.double_memory);
}

TEST(DriverGeometry, ReadFromADriverIsTheTablesForAllModels) {
  for (const GpuModel& model : gpu_models()) {
    SCOPED_TRACE(model.key);
    MemoryDoor door(model);
    const auto read = driver_geometry(door, gpu0);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->table(), &model);
    EXPECT_FALSE(read->from_table());
    EXPECT_EQ(read->model().key, model.key);
    EXPECT_EQ(read->model().compute, model.compute);
    EXPECT_EQ(read->model().memory_slices, model.memory_slices);
    EXPECT_EQ(read->model().memory, model.memory);
    ASSERT_EQ(read->model().profiles.size(), model.profiles.size());
    for (std::size_t i = 0; i < model.profiles.size(); ++i)
      EXPECT_EQ(facts_of(read->model().profiles[i]), facts_of(model.profiles[i]));
    const Geometry table(model, ProfileChoice().on(model));
    ASSERT_EQ(read->geometry().size(), table.size());
    for (const PlacementId id : table.all())
      EXPECT_EQ(read->geometry()[id].conflicts, table[id].conflicts);
  }
}

TEST(DriverGeometry, NamesByTheRuleWhereTheDriverSaysNone) {
  for (const char* key :
       {"A30-24GB", "A100-40GB", "A100-80GB", "H100-80GB-SXM5", "RTX-PRO-6000-BW-96GB"}) {
    const GpuModel& model = **find_gpu_model(key);
    MemoryDoor door(model);
    door.says_names = false;
    const auto read = driver_geometry(door, gpu0);
    ASSERT_TRUE(read);
    for (std::size_t i = 0; i < model.profiles.size(); ++i)
      EXPECT_EQ(read->model().profiles[i].name, model.profiles[i].name);
  }
}

/// A made-up GPU of no table.
DriverReading stranger() {
  DriverReading reading{{gpu0, "GPU-1", "NVIDIA Z900", {}, {}, 13}, 96ULL << 30, {}};
  const auto row = [&](std::uint32_t number, std::uint32_t slices, std::int64_t memory,
                       std::uint32_t most, std::vector<Span> spans) {
    DriverProfile profile{ProfileNumber{number},
                          ProfileId{50 + number},
                          {},
                          slices,
                          most,
                          Sms{9},
                          {1, 0, 0, 0, 0},
                          MiB{memory}};
    reading.rows.push_back({profile, std::move(spans)});
  };
  row(0, 1, 12000, 6, {{0, 2}, {2, 2}, {4, 2}, {6, 2}, {8, 2}, {10, 2}});
  row(4, 6, 97000, 1, {{0, 12}});
  row(2, 3, 48000, 2, {{6, 6}, {0, 6}});
  row(21, 3, 48000, 2, {{6, 6}, {0, 6}});
  return reading;
}

TEST(DriverGeometry, AGpuThatNoTableKnowsWorksAllTheSame) {
  const auto read = DriverGeometry::build(stranger());
  ASSERT_TRUE(read) << read.error().text();
  const GpuModel& model = read->model();
  EXPECT_EQ(read->table(), nullptr);
  EXPECT_EQ(model.key, "NVIDIA Z900");
  EXPECT_EQ(model.architecture, Architecture::rubin);
  EXPECT_EQ(model.compute, ComputeSlices{6});
  EXPECT_EQ(model.memory_slices, MemorySlices{12});
  ASSERT_EQ(model.profiles.size(), 4U);
  EXPECT_EQ(model.profiles[0].name, "6g.96gb");
  EXPECT_EQ(model.profiles[1].name, "3g.48gb");
  EXPECT_EQ(model.profiles[2].name, "3g.48gb#71");
  EXPECT_EQ(model.profiles[3].name, "1g.12gb");
  EXPECT_EQ(model.profiles[1].starts.preferred(), (std::vector<int>{0, 6}));
  EXPECT_TRUE(model.profiles[1].preference_inferred);
  EXPECT_EQ(read->find(ProfileId{50})->name, "1g.12gb");
  EXPECT_EQ(read->find(ProfileId{1}), nullptr);
}

TEST(DriverGeometry, StaysWhereItIsWhenMoved) {
  auto read = DriverGeometry::build(stranger());
  const GpuModel* model = &read->model();
  const DriverGeometry moved = std::move(*read);
  EXPECT_EQ(&moved.model(), model);
  EXPECT_EQ(&moved.geometry().model(), model);
}

TEST(DriverGeometry, MoreThanCanBeHeldIsRefused) {
  const auto refused = [](DriverReading reading) {
    const auto read = DriverGeometry::build(reading);
    EXPECT_FALSE(read);
    return read ? std::string() : read.error().text();
  };
  DriverReading slices = stranger();
  slices.rows[1].placements = {{0, 17}};
  EXPECT_NE(refused(slices).find("memory slices 0 to 17"), std::string::npos);
  slices.rows[1].placements = {{4294967295U, 2}};
  refused(slices);
  DriverReading sizes = stranger();
  sizes.rows[0].placements[1].size = 3;
  EXPECT_NE(refused(sizes).find("different sizes"), std::string::npos);
  DriverReading many = stranger();
  for (std::uint32_t i = 0; i < 5; ++i) many.rows.push_back(many.rows[0]);
  EXPECT_NE(refused(many).find("41 placements"), std::string::npos) << refused(many);
  DriverReading profiles = stranger();
  for (std::uint32_t i = 0; i < 14; ++i) profiles.rows.push_back(profiles.rows[1]);
  EXPECT_NE(refused(profiles).find("18 profiles"), std::string::npos);
  DriverReading none_of_it = stranger();
  none_of_it.rows[0].profile.most = 0;
  refused(none_of_it);
}

TEST(DriverGeometry, OtherStartsThanTheTablesAreAscending) {
  const GpuModel& model = **find_gpu_model("A100-40GB");
  MemoryDoor door(model);
  auto reading = *read_profiles(door, gpu0);
  for (auto& [profile, spans] : reading.rows)
    if (profile.number == ProfileNumber{2}) spans = {{4, 4}};
  const auto read = DriverGeometry::build(reading);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->model().find("3g.20gb")->starts.preferred(), (std::vector<int>{4}));
  EXPECT_TRUE(read->model().find("3g.20gb")->preference_inferred);
  EXPECT_FALSE(read->model().find("2g.10gb")->preference_inferred);
}

TEST(DriverGeometry, WithoutProfilesTheTableServesWhereThereIsOne) {
  DriverReading reading{{gpu0, "GPU-1", "NVIDIA H200", {}, {}, 9}, {}, {}};
  const auto read = DriverGeometry::build(reading);
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->from_table());
  EXPECT_EQ(read->model().key, "H200-141GB");
  EXPECT_EQ(read->geometry().size(), 25);
  reading.gpu.name = "NVIDIA GeForce RTX 4090";
  const auto refused = DriverGeometry::build(reading);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::infeasible);
}

TEST(DriverGeometry, RefusalsOfSingleProfilesLeaveThemOut) {
  const GpuModel& model = **find_gpu_model("A100-40GB");
  MemoryDoor door(model);
  int asked = 0;
  door.refuse = [&](std::string_view call) -> std::optional<nvml::Return> {
    if (call == "placements" && asked++ == 0) return nvml::Return::not_supported;
    return std::nullopt;
  };
  const auto read = driver_geometry(door, gpu0);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->model().profiles.size(), 6U);
  using enum nvml::Return;
  for (const nvml::Return code :
       {no_permission, in_use, not_ready, timeout, unknown, gpu_is_lost}) {
    asked = 0;
    door.refuse = [&](std::string_view call) -> std::optional<nvml::Return> {
      if (call == "placements" && asked++ == 2) return code;
      return std::nullopt;
    };
    const auto refused = read_profiles(door, gpu0);
    ASSERT_FALSE(refused) << "no profile is dropped in silence: " << text(code);
    EXPECT_EQ(refused.error().code, code);
  }
  door.refuse = [](std::string_view) { return nvml::Return::gpu_is_lost; };
  EXPECT_FALSE(driver_geometry(door, gpu0));
}

}  // namespace
}  // namespace cleave
