// What things cost and how fast they run, against measurements where those are at hand.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/csv.hpp"
#include "base/format.hpp"
#include "base/places_test.hpp"
#include "base/text.hpp"
#include "physics/link.hpp"
#include "physics/memory_bandwidth.hpp"
#include "physics/models_by_key_test.hpp"
#include "physics/reconfiguration.hpp"
#include "physics/speed.hpp"

namespace cleave {
namespace {

TEST(Speed, FollowsTheTableWhereThereIsOne) {
  SpeedModel job;
  job.table = SpeedTable{{"1g.5gb", 0.36}, {"7g.40gb", 1}, {"none", 1.1}};
  EXPECT_EQ(speed_on(job, model("A100-40GB"), *model("A100-40GB").find("1g.5gb"))->relative, 0.36);
  EXPECT_FALSE(speed_on(job, model("A100-40GB"), *model("A100-40GB").find("2g.10gb")))
      << "absent profiles do not fit";
  EXPECT_EQ(speed_on_whole_gpu(job, model("A100-40GB"))->relative, 1.1);
  job.table->erase("none");
  EXPECT_EQ(speed_on_whole_gpu(job, model("A100-40GB"))->relative, 1);
}

TEST(Speed, FollowsTheSmsWithoutATable) {
  const SpeedModel job;
  const GpuModel& a100 = model("A100-40GB");
  EXPECT_DOUBLE_EQ(speed_on(job, a100, *a100.find("3g.20gb"))->relative, 42.0 / 98);
  EXPECT_DOUBLE_EQ(speed_on_whole_gpu(job, a100)->relative, 108.0 / 98) << "MIG off: all SMs";
  const GpuModel& b300 = model("B300-269GB");
  EXPECT_TRUE(speed_on(job, b300, *b300.find("3g.135gb"))->inferred) << "nobody knows its SMs";
  EXPECT_DOUBLE_EQ(speed_on(job, b300, *b300.find("3g.135gb"))->relative, 3.0 / 7);
}

TEST(Speed, AnotherModelIsComparedWithTheReference) {
  SpeedModel job;
  job.reference = &model("A100-40GB");
  const GpuModel& a30 = model("A30-24GB");
  EXPECT_DOUBLE_EQ(speed_on(job, a30, *a30.find("4g.24gb"))->relative, 56.0 / 98);
}

TEST(Speed, PhasesAreSlowedEachByItsOwnResource) {
  using std::chrono::seconds;
  SpeedModel job;
  job.phases = Phases{seconds(1), seconds(1), seconds(4), seconds(4)};
  const GpuModel& a100 = model("A100-40GB");
  // 2g: 28 of 98 SMs, 2 of 8 memory slices: 2 + 4 * 3.5 + 4 * 4 = 32 s instead of 10.
  EXPECT_DOUBLE_EQ(speed_on(job, a100, *a100.find("2g.10gb"))->relative, 10.0 / 32);
  job.phases = Phases{seconds(5), {}, {}, {}};
  EXPECT_DOUBLE_EQ(speed_on(job, a100, *a100.find("1g.5gb"))->relative, 1)
      << "host work is as long everywhere";
}

TEST(Reconfiguration, CostsNothingForNothingAndMoreForMore) {
  const Geometry geometry(model("A100-40GB"), ProfileChoice::plain().on(model("A100-40GB")));
  const auto at = [&](std::string_view profile, int start) {
    return PlacementSet::of(*geometry.find(profile, start));
  };
  EXPECT_EQ(create_time(geometry, {}), Duration::zero());
  EXPECT_LT(create_time(geometry, at("1g.5gb", 0)), create_time(geometry, at("2g.10gb", 0)));
  EXPECT_LT(create_time(geometry, at("2g.10gb", 0)),
            create_time(geometry, at("2g.10gb", 0) | at("2g.10gb", 2)));
  EXPECT_LT(create_time(geometry, at("7g.40gb", 0)), create_time(geometry, at("4g.20gb", 0)))
      << "as measured";
}

/// Starts for the profiles of a measured layout, large ones first, each at its preferred free
/// start; only their number and size matter.
PlacementSet some_placement_of(const Geometry& geometry, std::string_view layout) {
  std::vector<std::string_view> profiles = split(layout, '+');
  std::ranges::sort(profiles, std::greater<>());
  PlacementSet state;
  for (const std::string_view name : profiles) {
    const Profile& profile = *geometry.model().find(name);
    for (const int start : profile.starts.preferred()) {
      const PlacementId id = *geometry.find(profile, start);
      if (!geometry.free(state).contains(id)) continue;
      state.insert(id);
      break;
    }
  }
  return state.size() == static_cast<int>(profiles.size()) ? state : PlacementSet();
}

// The line against every measured median. The whole GPU is a constant of its own, the rest was
// fitted with worst error 1.1 % (create) and 1.8 % (destroy).
TEST(Reconfiguration, AgreesWithTheMeasuredMedians) {
  const std::filesystem::path path =
      source_dir() + "/../shared/data/mig-reconfig-a100-40gb/gi_create_destroy.csv";
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << "the measured times (mig-reconfig-a100-40gb) are not here";
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  const std::string content = text.str();
  auto csv = CsvReader::open(content, "gi_create_destroy.csv");
  const Geometry geometry(model("A100-40GB"), ProfileChoice::plain().on(model("A100-40GB")));
  int compared = 0;
  std::vector<std::string> row;
  while (*csv->next(row)) {
    const PlacementSet instances = some_placement_of(geometry, row[*csv->column("layout")]);
    ASSERT_FALSE(instances.empty()) << row[*csv->column("layout")];
    const double measured = *parse_number(row[*csv->column("median_s")]);
    const bool create = row[*csv->column("op")] == "create";
    const double ours =
        in_seconds(create ? create_time(geometry, instances) : destroy_time(geometry, instances));
    EXPECT_NEAR(ours / measured, 1, 0.025)
        << row[*csv->column("op")] << " " << row[*csv->column("layout")];
    ++compared;
  }
  EXPECT_EQ(compared, 36);
}

// Medians, means and tails lie where those of the 36 measured rows do.
TEST(Reconfiguration, DrawnTimesStrayAsMeasuredOnesDo) {
  const Duration median = std::chrono::milliseconds(115);
  std::vector<double> ratios;
  double sum = 0;
  for (std::uint64_t draw = 0; draw < 10'000; ++draw) {
    const Duration time = drawn_time(median, 1, draw % 7, draw / 7);
    EXPECT_EQ(time, drawn_time(median, 1, draw % 7, draw / 7));
    ratios.push_back(in_seconds(time) / in_seconds(median));
    sum += ratios.back();
  }
  std::ranges::sort(ratios);
  EXPECT_NEAR(ratios[5000], 1, 0.01);
  EXPECT_NEAR(sum / 10'000, 1.04, 0.01) << "measured: 0.98 to 1.12";
  EXPECT_NEAR(ratios[500], 0.96, 0.01) << "measured: 0.85 to 0.97, in the median 0.96";
  EXPECT_GT(ratios[9900], 1.6) << "measured at most: 1.51 to 2.62";
  EXPECT_EQ(drawn_time(Duration::zero(), 1, 2, 3), Duration::zero());
}

// The two numbers that schedulers use are those of the table; of the rates of larger instances to
// the device, 341 to 348, none is below what the link reaches by copy engines.
TEST(Link, TheSuperchipsRatesAreThoseOfThePublishedTable) {
  const GpuModel& gh200 = **find_gpu_model("H100-96GB-GH200");
  const HostLink& link = host_link(gh200);
  constexpr double gb_of_gib = 1.073741824;
  for (const PublishedLinkRates& row : published_link_rates()) {
    if (row.profile == "none") {
      EXPECT_NEAR(link.gb_per_s, row.copy_engines.to_device * gb_of_gib, 0.2);
      continue;
    }
    const Profile* profile = gh200.find(row.profile);
    ASSERT_NE(profile, nullptr) << row.profile;
    EXPECT_NEAR(link.instance_gb_per_s, row.copy_engines.to_device * gb_of_gib, 0.1);
    EXPECT_NEAR(link.direct_rate(profile->compute),
                std::min(row.direct.to_device * gb_of_gib, link.gb_per_s), 0.2)
        << row.profile;
    EXPECT_EQ(measured_bandwidth(gh200, row.profile)->gib_per_s, row.direct.local) << row.profile;
  }
}

TEST(MemoryBandwidth, OfAnA100IsThatOfTheMeasurements) {
  const std::string path =
      source_dir() + "/../shared/data/mig-reconfig-a100-40gb/" + "stream_bandwidth.csv";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "the measurements are not here";
  const GpuModel& a100 = **find_gpu_model("A100-40GB");
  std::ifstream file(path);
  int compared = 0;
  for (std::string line; std::getline(file, line);)
    for (const Profile& profile : a100.profiles) {
      if (!line.starts_with(fmt::format("{}g isolated,copy,", profile.compute.value))) continue;
      const MeasuredBandwidth* measured = measured_bandwidth(a100, profile.name);
      if (measured == nullptr) continue;
      const double gb_per_s = std::stod(line.substr(line.rfind(',') + 1));
      EXPECT_NEAR(measured->gib_per_s, gb_per_s * 1e9 / (1 << 30), 0.06) << profile.name;
      ++compared;
    }
  EXPECT_EQ(compared, 5);
  EXPECT_EQ(measured_bandwidth(a100, "1g.10gb"), nullptr);
}

}  // namespace
}  // namespace cleave
