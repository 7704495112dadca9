#include "simulate/advice/assumed_speeds.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "physics/slice_law.hpp"
#include "physics/speed.hpp"

namespace cleave {
namespace {

const GpuModel& a100() {
  return **find_gpu_model("A100-40GB");
}
const Profile& profile(std::string_view name) {
  return *std::ranges::find(a100().profiles, name, &Profile::name);
}

Job job_of(Workload& workload, std::string id, const SpeedModel& speed, Duration duration) {
  Job job;
  job.id = std::move(id);
  job.duration = duration;
  job.request = workload.intern(Request{Unknown{}, {}});
  job.speed = workload.intern(speed);
  return job;
}

TEST(AssumedSpeeds, AreOneOnTheWholeGpuAndLieBetweenTheEnds) {
  for (const AssumedSpeed assumed : assumed_speeds)
    EXPECT_NEAR(time_on(law_of(assumed), 1), 1, 1e-12);
  for (const double longer : {1.5, 3.0, 6.7}) {
    const auto time = [&](AssumedSpeed assumed) { return time_on(law_of(assumed), longer); };
    EXPECT_LT(time(AssumedSpeed::uses_a_part), time(AssumedSpeed::between));
    EXPECT_LT(time(AssumedSpeed::between), time(AssumedSpeed::fills_gpu));
  }
}

TEST(AssumedSpeeds, LeaveAloneWhatIsKnown) {
  Workload workload;
  SpeedModel flat, table, law;
  flat.flat = true;
  table.table = SpeedTable{{"1g.5gb", 0.5}};
  law.law = SliceLaw{1, 1};
  for (const SpeedModel& speed : {flat, table, law, SpeedModel{}})
    workload.jobs.push_back(job_of(workload, "a", speed, std::chrono::seconds{100}));
  const Workload all = with_speeds(workload, {}, {});
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(all.speeds[all.jobs[i].speed], workload.speeds[workload.jobs[i].speed]) << i;
  EXPECT_EQ(all.speeds[all.jobs[3].speed].law, law_of(AssumedSpeed::between));
}

// Whatever is assumed, a job that ran there takes there what it took.
TEST(AssumedSpeeds, KeepTheTimeThatWasSeen) {
  const Duration seen = std::chrono::hours{2};
  for (const AssumedSpeed assumed : assumed_speeds) {
    Workload workload;
    std::vector<RanOn> ran_on;
    for (const char* name : {"1g.5gb", "3g.20gb", "7g.40gb"}) {
      workload.jobs.push_back(job_of(workload, name, {}, seen));
      ran_on.push_back({&a100(), &profile(name)});
    }
    workload.jobs.push_back(job_of(workload, "whole", {}, seen));
    ran_on.push_back({&a100(), nullptr});
    const Workload all = with_speeds(workload, ran_on, {.of_others = assumed});
    for (std::size_t i = 0; i < 3; ++i) {
      const auto speed = speed_on(all.speeds[all.jobs[i].speed], a100(), *ran_on[i].profile);
      ASSERT_TRUE(speed.has_value());
      EXPECT_NEAR(in_seconds(all.jobs[i].duration) / speed->relative, in_seconds(seen), 1e-3);
    }
    EXPECT_EQ(all.jobs[3].duration, seen);
  }
}

TEST(AssumedSpeeds, VaryOneApplication) {
  Workload workload;
  for (const char* id : {"train-1", "serve-1", "train-2"})
    workload.jobs.push_back(job_of(workload, id, {}, std::chrono::seconds{10}));
  const Workload all =
      with_speeds(workload, {}, {.of_application = {{"train", AssumedSpeed::fills_gpu}}});
  EXPECT_EQ(all.speeds[all.jobs[0].speed].law, law_of(AssumedSpeed::fills_gpu));
  EXPECT_EQ(all.speeds[all.jobs[1].speed].law, law_of(AssumedSpeed::between));
  EXPECT_EQ(all.speeds[all.jobs[2].speed].law, law_of(AssumedSpeed::fills_gpu));
}

TEST(AssumedSpeeds, ApplicationsGoByNameWithoutTheNumber) {
  Workload workload;
  const auto name = [&](const char* id) {
    return application_of(workload, job_of(workload, id, {}, {}));
  };
  EXPECT_EQ(name("train-12"), "train");
  EXPECT_EQ(name("train-12~3"), "train");
  EXPECT_EQ(name("resnet50_b64.7"), "resnet50_b64");
  EXPECT_EQ(name("notebook"), "notebook");
  EXPECT_EQ(name("1734"), "all");
  EXPECT_EQ(name("--"), "--");
}

TEST(AssumedSpeeds, UnmeasuredApplicationsAreSortedByWhatTheyUse) {
  Workload workload;
  SpeedModel known;
  known.table = SpeedTable{{"7g.40gb", 1}};
  workload.jobs.push_back(job_of(workload, "small-1", {}, std::chrono::hours{1}));
  workload.jobs.push_back(job_of(workload, "large-1", {}, std::chrono::hours{2}));
  workload.jobs.push_back(job_of(workload, "large-2", {}, std::chrono::hours{3}));
  workload.jobs.push_back(job_of(workload, "known-1", known, std::chrono::hours{4}));
  const auto found = unmeasured(workload);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "large");
  EXPECT_EQ(found[0].jobs, 2U);
  EXPECT_DOUBLE_EQ(found[0].gpu_hours, 5);
  EXPECT_DOUBLE_EQ(found[0].share, 0.5);
  EXPECT_DOUBLE_EQ(found[1].share, 0.1);
}

}  // namespace
}  // namespace cleave
