// Jobs that are larger than their instance: how long they take, who shares the link with them, and
// when a scheduler puts them there.

#include <gtest/gtest.h>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/random.hpp"
#include "model/workload_file.hpp"
#include "physics/link.hpp"
#include "simulate/run_observer.hpp"
#include "simulate/simulator.hpp"

namespace cleave {
namespace {

struct Told final : RunObserver {
  void on(const RunEvent& event) override { events.push_back(event); }
  std::vector<RunEvent> events;
};

struct Ended {
  RunSummary summary;
  std::vector<RunEvent> events;
  std::vector<JobOutcome> outcomes;
};

Ended run(std::string_view jobs, std::string_view spec, SimulationOptions options = {}) {
  Ended all;
  Told told;
  options.observer = &told;
  options.outcomes = &all.outcomes;
  const auto workload = parse_workload(jobs, "jobs");
  EXPECT_TRUE(workload) << workload.error().text();
  const auto summary = simulate(*parse_fleet_in_short("1xA100-40GB", ProfileChoice::plain()),
                                *workload, *parse_scheduler(spec), options);
  EXPECT_TRUE(summary) << summary.error().text();
  all.summary = *summary;
  all.events = told.events;
  return all;
}

MiB usable(std::string_view profile) {
  return *(*find_gpu_model("A100-40GB"))->find(profile)->usable;
}

/// Seconds in which so much crosses the link of an A100 once.
double once_s(std::int64_t mib) {
  return static_cast<double>(mib) * 1048576 / 24e9;
}

/// 2,000 MiB more than a 2g.10gb holds; as fast on every profile, but for the link.
std::string job(std::string_view id, std::string_view more, double arrival_s = 0) {
  return fmt::format(R"({{"id": "{}", "arrival_s": {}, "memory_mib": {}, {}}})"
                     "\n",
                     id, arrival_s, usable("2g.10gb").value + 2000, more);
}
constexpr std::string_view floor_only = R"("duration_s": 100, "law": {"a_s": 1, "w_s": 0})";
constexpr std::string_view small_layout = "static:layout=2g.10gb@0+2g.10gb@2";

TEST(OffloadedJobs, AreSlowedByWhatDoesNotFit) {
  const std::string offer =
      fmt::format(R"({}, "offload_mib": 5000, "offload_touches": 400)", floor_only);
  const Ended alone = run(job("a", offer), small_layout);
  EXPECT_EQ(alone.summary.finished, 1U);
  EXPECT_EQ(alone.summary.offloads, 1U);
  EXPECT_NEAR(in_seconds(alone.summary.execution.max), 100 + 400 * once_s(2000), 1e-6)
      << "2,000 of the 5,000 MiB do not fit";
  const Ended whole = run(job("a", offer), "online");
  EXPECT_NEAR(in_seconds(whole.summary.execution.max), 100, 1e-6) << "an instance that holds it";
  EXPECT_EQ(whole.summary.offloads, 0U);
}

TEST(OffloadedJobs, ShareTheLinkWithTheirNeighbours) {
  // 35 of 135 s on the link, twice: while transfers never coincide nobody is slowed.
  const double touches = 35 / once_s(2000);
  const std::string offer =
      fmt::format(R"({}, "offload_mib": 2000, "offload_touches": {})", floor_only, touches);
  SimulationOptions options;
  const Ended spread = run(job("a", offer) + job("b", offer), small_layout, options);
  EXPECT_NEAR(in_seconds(spread.summary.execution.max), 135, 1e-6);
  options.world.link = LinkSharing::together;
  const Ended together = run(job("a", offer) + job("b", offer), small_layout, options);
  EXPECT_NEAR(in_seconds(together.summary.execution.max), 170, 1) << "half the link each";
  options.world.link = LinkSharing::off;
  const Ended off = run(job("a", offer) + job("b", offer), small_layout, options);
  EXPECT_NEAR(in_seconds(off.summary.execution.max), 135, 1e-6) << "but never for nothing";
}

TEST(OffloadedJobs, NeedBothNumbersAndEnoughOfIt) {
  for (const char* more :
       {"", R"(, "offload_mib": 5000)", R"(, "offload_mib": 1999, "offload_touches": 0)"}) {
    const Ended refused = run(job("a", std::string(floor_only) + more), small_layout);
    EXPECT_EQ(refused.summary.rejected, 1U) << more;
    EXPECT_EQ(refused.summary.offloads, 0U) << more;
  }
  const Ended enough =
      run(job("a", std::string(floor_only) + R"(, "offload_mib": 2000, "offload_touches": 0)"),
          small_layout);
  EXPECT_EQ(enough.summary.finished, 1U);
  EXPECT_NEAR(in_seconds(enough.summary.execution.max), 100, 1e-6) << "never touched";
}

TEST(OffloadedJobs, LargerThanEveryInstanceRunOnTheLargest) {
  const std::string larger =
      fmt::format(R"({{"id": "a", "memory_mib": {}, {}, "offload_mib": 4000, )"
                  R"("offload_touches": 10}})",
                  usable("7g.40gb").value + 4000, floor_only);
  for (const char* spec : {"online", "scheme-a", "scheme-b", "miso", "dyna-p", "full-gpu"}) {
    const Ended one = run(larger, spec);
    EXPECT_EQ(one.summary.finished, 1U) << spec;
    EXPECT_NEAR(in_seconds(one.summary.execution.max), 100 + 10 * once_s(4000), 2) << spec;
  }
}

/// The profiles on which the jobs begin, by their order.
std::string begun_on(const Ended& run) {
  const Geometry geometry(**find_gpu_model("A100-40GB"),
                          ProfileChoice::plain().on(**find_gpu_model("A100-40GB")));
  std::string all;
  for (const RunEvent& event : run.events)
    if (event.kind == RunEvent::Kind::started)
      all += std::string(all.empty() ? "" : " ") +
             std::string(geometry[*event.placement].profile->name);
  return all;
}

/// A job that gains nothing from a larger instance, and one that gains as much as it takes up.
constexpr std::string_view light = floor_only, heavy = R"("duration_s": 100)";

/// A job that may offload, where others leave 2g.10gb and 1g.5gb.
std::string beside_others(std::string_view members) {
  return R"({"id": "z", "profile": "4g.20gb", "duration_s": 1000})"
         "\n"
         R"({"id": "y", "profile": "1g.5gb", "duration_s": 1000})"
         "\n" +
         job("a", fmt::format(R"({}, "offload_mib": 2000, "offload_touches": 10)", members), 1);
}

// The one takes the smaller instance when no larger one is free, and the other waits.
TEST(OffloadedJobs, TakeTheSmallerInstanceWhereThatIsWorthIt) {
  for (const char* spec : {"online:migration=off", "scheme-b"}) {
    const Ended small = run(beside_others(light), spec);
    EXPECT_EQ(begun_on(small), "4g.20gb 1g.5gb 2g.10gb") << spec;
    EXPECT_EQ(small.summary.offloads, 1U) << spec;
    const Ended waits = run(beside_others(heavy), spec);
    EXPECT_EQ(waits.summary.offloads, 0U) << spec;
    EXPECT_EQ(waits.summary.finished, 3U) << spec;
  }
}

// The job that scales wants its slices by speed; by reward it takes the small instance that it
// fills, unless performance counts for much.
TEST(OffloadedJobs, AreWeighedByTheirRewardWhereThatIsAskedFor) {
  for (const std::string scheduler : {"online:migration=off;", "scheme-b:"}) {
    const auto offloads = [&](std::string_view jobs, const std::string& options) {
      return run(beside_others(jobs), scheduler + options).summary.offloads;
    };
    EXPECT_EQ(offloads(light, "offload=never"), 0U) << scheduler;
    EXPECT_EQ(offloads(light, "offload=reward"), 1U) << scheduler;
    EXPECT_EQ(offloads(heavy, "offload=reward"), 1U) << scheduler;
    EXPECT_EQ(offloads(heavy, "offload=reward;alpha=3"), 0U) << scheduler;
  }
}

// Nothing is offloaded by a job that does not say how often it touches what is on the host.
TEST(OffloadedJobs, OffersWithoutTouchesChangeNoByte) {
  Random random(3);
  std::string plain, offering;
  for (int i = 0; i < 60; ++i) {
    const std::string line =
        fmt::format(R"({{"id": "{}", "arrival_s": {}, "memory_mib": {}, "duration_s": {})", i,
                    3 * i, 3000 + random.below(20'000), 5 + random.below(60));
    plain += line + "}\n";
    offering += line + R"(, "offload_mib": 9000})" + "\n";
  }
  for (const char* spec : {"online", "scheme-a", "scheme-b", "miso", "dyna-p", "static"}) {
    const Ended one = run(plain, spec), other = run(offering, spec);
    EXPECT_EQ(to_json(one.summary).dump(), to_json(other.summary).dump()) << spec;
    EXPECT_EQ(one.summary.offloads, 0U);
  }
}

// No job is lost to it, and none dies of memory on an instance that its scheduler chose.
TEST(OffloadedJobs, EverySchedulerFinishesThem) {
  std::size_t offloaded = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    std::string jobs;
    for (int i = 0; i < 40; ++i)
      jobs += fmt::format(
          R"({{"id": "{}", "arrival_s": {}, "memory_mib": {}, "law": {{"a_s": {}, "w_s": {}}}, )"
          R"("offload_mib": {}, "offload_touches": {}}})"
          "\n",
          i, 2 * i, 3000 + random.below(20'000), 1 + random.below(20), random.below(20),
          random.below(9000), random.below(20));
    for (const char* spec : {"online", "scheme-a", "scheme-b", "miso", "dyna-p", "full-gpu",
                             "static:layout=2g.10gb@0+2g.10gb@2+3g.20gb@4", "online:offload=reward",
                             "scheme-b:offload=reward;alpha=1"}) {
      const Ended all = run(jobs, spec);
      EXPECT_EQ(all.summary.finished + all.summary.rejected, 40U) << spec << seed;
      EXPECT_EQ(all.summary.oom_restarts, 0U) << spec << seed;
      offloaded += all.summary.offloads;
    }
  }
  EXPECT_GT(offloaded, 200U);
}

}  // namespace
}  // namespace cleave
