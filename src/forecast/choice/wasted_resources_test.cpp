// What a GPU loses to MIG: the paper's table, and for every model the sums compared with the
// state's own numbers.

#include "forecast/choice/wasted_resources.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.hpp"

namespace cleave {
namespace {

Geometry geometry_of(const GpuModel& model, std::string_view profiles = "all") {
  return Geometry(model, ProfileChoice::parse(profiles)->on(model));
}

TEST(Waste, TableTwoAsItIsPrinted) {
  const auto table = published_waste_table();
  ASSERT_EQ(table.size(), published_waste().size());
  for (std::size_t i = 0; i < table.size(); ++i) {
    const PublishedWaste& line = published_waste()[i];
    EXPECT_NEAR(*table[i].as_printed.memory, line.printed_memory, 1e-9) << line.profile;
    // Percent are printed whole; of "6/9%" the second is two 3g.
    const auto slash = line.printed_sms.find('/');
    const auto last = line.printed_sms.substr(slash == std::string_view::npos ? 0 : slash + 1);
    EXPECT_EQ(std::to_string(std::lround(*table[i].as_printed.sms_percent)) + "%", last)
        << line.profile;
  }
  const std::vector<InstanceCount> mix = {{64.0, 46.5, 1}, {60.0, 46.5, 1}};
  EXPECT_EQ(std::lround(*wasted_resources(published_totals(), mix).sms_percent), 6);
}

TEST(Waste, TableTwoAsFarAsItCanBeReached) {
  // Reading T4: with 3 and 1 instances 2g and 4g leave far more than printed.
  const auto table = published_waste_table();
  EXPECT_EQ(std::lround(*table[2].achievable.sms_percent), 27);
  EXPECT_DOUBLE_EQ(*table[2].achievable.memory, 25.5);
  EXPECT_EQ(std::lround(*table[4].achievable.sms_percent), 52);
  EXPECT_DOUBLE_EQ(*table[4].achievable.memory, 48.0);
}

TEST(Waste, TheTablesOfAnH100GiveThePapersPercentages) {
  const auto model = find_gpu_model("H100-96GB-GH200");
  ASSERT_TRUE(model);
  const auto published = published_waste_table();
  for (const WasteRow& row : waste_table(geometry_of(**model)))
    for (const WasteRow& line : published)
      if (line.profile == row.profile) {
        EXPECT_EQ(row.printed_instances, line.printed_instances) << row.profile;
        EXPECT_EQ(row.achievable_instances, line.achievable_instances) << row.profile;
        EXPECT_DOUBLE_EQ(*row.as_printed.sms_percent, *line.as_printed.sms_percent) << row.profile;
        EXPECT_DOUBLE_EQ(*row.achievable.sms_percent, *line.achievable.sms_percent) << row.profile;
      }
}

TEST(Waste, AsManyInstancesAsTheTablesSay) {
  for (const GpuModel& model : gpu_models()) {
    const Geometry geometry = geometry_of(model);
    for (const Profile* profile : geometry.profile_list())
      EXPECT_EQ(most_instances(geometry, *profile), profile->max_instances)
          << model.key << " " << profile->name;
  }
}

TEST(Waste, NothingIsLostBetweenInstancesAndWaste) {
  // Random layouts of every model: instances plus waste make up the GPU, and each further instance
  // lowers the waste by its own size.
  Random random(21);
  for (const GpuModel& model : gpu_models()) {
    const Geometry geometry = geometry_of(model);
    const GpuTotals gpu = totals_of(model);
    for (int round = 0; round < 50; ++round) {
      PlacementSet state;
      std::vector<Geometry::Written> layout;
      WastedResources before = wasted_resources(gpu, counts_of(layout));
      EXPECT_EQ(before.memory, gpu.memory);
      for (PlacementSet free = geometry.all(); !free.empty(); free = geometry.free(state)) {
        auto skip = random.below(static_cast<std::uint64_t>(free.size()));
        auto at = free.begin();
        while (skip-- > 0) ++at;
        state.insert(*at);
        layout.push_back({geometry[*at].profile, geometry[*at].start});
        const WastedResources now = wasted_resources(gpu, counts_of(layout));
        const Profile& profile = *geometry[*at].profile;
        ASSERT_EQ(now.sms.has_value(), before.sms.has_value() && profile.sms.has_value());
        if (now.sms) {
          EXPECT_DOUBLE_EQ(*before.sms - *now.sms, profile.sms->value);
          EXPECT_GE(*now.sms, 0) << model.key;
          EXPECT_DOUBLE_EQ(*now.sms_percent, 100 * *now.sms / *gpu.sms);
        }
        if (now.memory) {
          EXPECT_DOUBLE_EQ(*before.memory - *now.memory,
                           static_cast<double>(profile.usable->value));
        }
        before = now;
      }
    }
  }
}

TEST(Waste, UnknownValuesStayEmpty) {
  const auto model = find_gpu_model("H20-96GB");
  ASSERT_TRUE(model);
  for (const WasteRow& row : waste_table(geometry_of(**model))) {
    EXPECT_FALSE(row.achievable.sms) << row.profile;
    EXPECT_FALSE(row.achievable.sms_percent);
    EXPECT_FALSE(row.achievable.memory);
    EXPECT_GT(row.achievable_instances, 0);
  }
}

TEST(Waste, AnA100LosesTheProcessorsThatMigNeverGives) {
  const auto model = find_gpu_model("A100-40GB");
  ASSERT_TRUE(model);
  const auto table = waste_table(geometry_of(**model, "plain"));
  EXPECT_DOUBLE_EQ(*table.front().achievable.sms, 10);  // 7g has 98 of 108
  EXPECT_DOUBLE_EQ(*table.front().achievable.memory, 0);
}

}  // namespace
}  // namespace cleave
