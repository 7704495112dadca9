// What is assumed of jobs without speeds, and for which jobs it matters.

#include "simulate/advice/speed_range.hpp"

#include <gtest/gtest.h>

#include "model/workload_file.hpp"
#include "physics/speed.hpp"

namespace cleave {
namespace {

Workload workload() {
  const auto read = parse_workload(
      R"({"id": "unknown", "memory_mib": 4000, "duration_s": 100}
{"id": "measured", "memory_mib": 4000, "duration_s": 100, "gpu_util": 50}
{"id": "recorded", "gpu_share": 0.3, "duration_s": 100, "flat": true}
{"id": "whole", "gpus": 1, "duration_s": 100}
{"id": "share", "gpu_share": 1, "duration_s": 100}
)",
      "w");
  EXPECT_TRUE(read) << read.error().text();
  return *read;
}

TEST(SpeedRange, CountsWhatIsAssumed) {
  const AssumedCounts counts = count_assumed(workload());
  EXPECT_EQ(counts.jobs, 5U);
  EXPECT_EQ(counts.unknown, 1U);
  EXPECT_EQ(counts.one_time, 1U);
  EXPECT_EQ(counts.whole, 2U);
  const FleetFile fleet = *parse_fleet_in_short("1xA100-40GB", {});
  const std::string text = assumed_text(counts, fleet);
  EXPECT_NE(text.find("of 1 of 5 jobs no speed on slices is known"), std::string::npos) << text;
  EXPECT_NE(text.find("0.14 of the whole GPU's speed on 1g.5gb"), std::string::npos) << text;
  EXPECT_NE(text.find("of 1 of 5 jobs one time is known"), std::string::npos) << text;
  EXPECT_EQ(text.find("every job asks for whole GPUs"), std::string::npos);
  EXPECT_NE(assumed_text({.jobs = 2, .whole = 2}, fleet).find("every job asks for whole GPUs"),
            std::string::npos);
  EXPECT_EQ(assumed_text({.jobs = 2}, fleet), "");
}

TEST(SpeedRange, OnlyJobsWithoutSpeedsChange) {
  const FleetFile fleet = *parse_fleet_in_short("1xA100-40GB", {});
  const GpuModel& model = fleet.geometries.front().model();
  const auto speeds = [&](SpeedEnd assumed) {
    const Workload with = with_assumed(workload(), assumed);
    std::vector<double> all;
    for (const Job& job : with.jobs)
      all.push_back(speed_on(with.speeds[job.speed], model, *model.find("1g.5gb"))->relative);
    return all;
  };
  const auto flat = speeds(SpeedEnd::flat), half_way = speeds(SpeedEnd::half_way),
             by_sms = speeds(SpeedEnd::by_sms);
  EXPECT_EQ(flat[0], 1);
  EXPECT_LT(half_way[0], 0.8);
  EXPECT_LT(by_sms[0], half_way[0] / 2);
  EXPECT_EQ(std::vector(flat.begin() + 1, flat.end()),
            std::vector(by_sms.begin() + 1, by_sms.end()));
}

}  // namespace
}  // namespace cleave
