#include "forecast/time/job_distance.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/json.hpp"
#include "base/random.hpp"

namespace cleave {
namespace {

const std::vector<std::string> names = {"batch", "drift", "same"};

NumberRows rows_of(std::size_t count, std::uint64_t seed) {
  NumberRows rows{names.size(), {}};
  Random random(seed);
  for (std::size_t i = 0; i < count; ++i)
    rows.add(std::vector{std::exp2(static_cast<double>(random.below(9))), random.uniform() * 4 - 2,
                         0.1});
  return rows;
}

TEST(JobDistance, RangesHaveAMargin) {
  const JobDistance distance(names, {3, {1, -2, 5, 64, 2, 5}});
  const auto& ranges = distance.ranges();
  EXPECT_TRUE(ranges[0].logarithmic);
  EXPECT_DOUBLE_EQ(ranges[0].least_with(0.25), 0.8);
  EXPECT_DOUBLE_EQ(ranges[0].most_with(0.25), 80);
  EXPECT_FALSE(ranges[1].logarithmic);
  EXPECT_DOUBLE_EQ(ranges[1].least_with(0.25), -3);
  EXPECT_DOUBLE_EQ(ranges[1].most_with(0.25), 3);
  EXPECT_DOUBLE_EQ(ranges[0].deviation, std::log(64) / 2);
  EXPECT_DOUBLE_EQ(ranges[1].deviation, 2);
  EXPECT_EQ(ranges[2].deviation, 0);
}

TEST(JobDistance, IsThatOfTheDefinition) {
  const NumberRows rows = rows_of(200, 1), others = rows_of(100, 2);
  const JobDistance distance(names, rows);
  const auto& ranges = distance.ranges();
  for (std::size_t i = 0; i < others.size(); ++i) {
    const NearestJob found = distance.nearest(others[i]);
    double best = HUGE_VAL;
    for (std::size_t j = 0; j < rows.size(); ++j) {
      const double batch = std::log(rows[j][0] / others[i][0]) / ranges[0].deviation;
      const double drift = (rows[j][1] - others[i][1]) / ranges[1].deviation;
      best = std::min(best, std::hypot(batch, drift));
      if (j != found.row) continue;
      EXPECT_NEAR(found.distance, std::hypot(batch, drift), 1e-9);
      EXPECT_EQ(found.feature, std::abs(drift) > std::abs(batch) ? 1U : 0U);
    }
    EXPECT_NEAR(found.distance, best, 1e-9);
  }
  for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(distance.nearest(rows[i]).distance, 0);
}

TEST(JobDistance, KeepsAsManyAsItSays) {
  const NumberRows rows = rows_of(2 * JobDistance::most_kept + 1, 1);
  const JobDistance distance(names, rows);
  ASSERT_EQ(distance.kept().size(), JobDistance::most_kept);
  for (std::size_t i = 0; i < distance.kept().size(); ++i)
    EXPECT_EQ(distance.kept()[i][1], rows[distance.given(i)][1]);
}

TEST(JobDistance, ComesBackFromJsonAsItWas) {
  const NumberRows others = rows_of(50, 2);
  const JobDistance distance(names, rows_of(100, 1));
  const auto document = parse_json(distance.to_json().dump(), "x");
  ASSERT_TRUE(document);
  const auto read = JobDistance::from_json(*document, "x");
  ASSERT_TRUE(read) << read.error().text();
  EXPECT_EQ(read->ranges(), distance.ranges());
  for (std::size_t i = 0; i < others.size(); ++i)
    EXPECT_EQ(read->nearest(others[i]).distance, distance.nearest(others[i]).distance);
}

TEST(JobDistance, RefusesDamage) {
  const JobDistance distance({"a"}, {1, {1, 2, 3}});
  const auto damaged = [&](auto change) {
    Json document = distance.to_json();
    change(document);
    return JobDistance::from_json(document, "x").has_value();
  };
  EXPECT_TRUE(damaged([](Json&) {}));
  EXPECT_FALSE(damaged([](Json& it) { it["jobs"].push_back({4}); })) << "outside its range";
  EXPECT_FALSE(damaged([](Json& it) { it["jobs"].push_back({2, 2}); }));
  EXPECT_FALSE(damaged([](Json& it) { it["jobs"].push_back({"2"}); }));
  EXPECT_FALSE(damaged([](Json& it) { it["jobs"] = Json::array(); }));
  EXPECT_FALSE(damaged([](Json& it) { it.erase("jobs"); }));
  EXPECT_FALSE(damaged([](Json& it) { it["features"] = Json::array(); }));
  EXPECT_FALSE(damaged([](Json& it) { it["features"][0]["most"] = 0; }));
  EXPECT_FALSE(damaged([](Json& it) { it["features"][0]["deviation"] = -1; }));
  EXPECT_FALSE(damaged([](Json& it) { it["features"][0]["name"] = ""; }));
  EXPECT_FALSE(damaged([](Json& it) { it["features"].push_back(it["features"][0]); }))
      << "a name twice";
}

}  // namespace
}  // namespace cleave
