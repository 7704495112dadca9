// The simulator: schedules computed by hand, the laws under random work, and hardware that refuses.

#include "simulate/simulator.hpp"

#include <gtest/gtest.h>

#include <sstream>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "model/workload_file.hpp"
#include "physics/reconfiguration.hpp"
#include "simulate/event_log.hpp"
#include "simulate/generate/generate.hpp"
#include "simulate/world.hpp"

namespace cleave {
namespace {

FleetFile fleet_of_profiles(std::string_view text, std::string_view profiles = "all") {
  return *parse_fleet_in_short(text, *ProfileChoice::parse(profiles));
}

RunSummary run_simulated(const FleetFile& fleet, const Workload& workload, std::string_view spec) {
  const auto summary = simulate(fleet, workload, *parse_scheduler(spec));
  EXPECT_TRUE(summary) << summary.error().text();
  return summary ? *summary : RunSummary();
}

RunSummary run_simulated(std::string_view fleet, std::string_view jobs, std::string_view spec) {
  const auto workload = parse_workload(jobs, "jobs");
  EXPECT_TRUE(workload) << workload.error().text();
  return run_simulated(fleet_of_profiles(fleet), *workload, spec);
}

double create_s(std::string_view profile) {
  const GpuModel& model = **find_gpu_model("A100-40GB");
  const Geometry geometry(model, ProfileChoice().on(model));
  return in_seconds(create_time(
      geometry,
      PlacementSet::of(
          geometry.of_profile(static_cast<int>(model.find(profile) - model.profiles.data()))
              .first())));
}

// Two 1g jobs at half speed: side by side on one GPU, where the whole GPU takes them one after the
// other. The second instance is made after the first: a GPU's driver does one thing at a time.
TEST(Simulator, TwoSmallJobsByHand) {
  const std::string jobs =
      R"({"id": "a", "profile": "1g.5gb", "duration_s": 60, "speed": {"1g.5gb": 0.5, "7g.40gb": 1}}
{"id": "b", "profile": "1g.5gb", "duration_s": 60, "speed": {"1g.5gb": 0.5, "7g.40gb": 1}})";
  const RunSummary online = run_simulated("1xA100-40GB", jobs, "online");
  const double made = create_s("1g.5gb");
  EXPECT_NEAR(in_seconds(online.makespan), 120 + 2 * made, 1e-6);
  EXPECT_NEAR(in_seconds(online.wait.max), 2 * made, 1e-6);
  EXPECT_NEAR(in_seconds(online.wait.mean), 1.5 * made, 1e-6);
  EXPECT_EQ(online.creates, 2U);
  EXPECT_EQ(online.destroys, 0U);
  EXPECT_EQ(online.events, 4U);

  const RunSummary full = run_simulated("1xA100-40GB", jobs, "full-gpu");
  EXPECT_EQ(full.makespan, std::chrono::seconds(120));
  EXPECT_EQ(full.wait.max, std::chrono::seconds(60));
  EXPECT_EQ(full.compute_utilization, 1);
  EXPECT_EQ(full.creates, 0U);
}

// Times by the law of slices: a job without floor takes 6.7 times as long on the 1g.5gb, one with
// nothing but a floor is as fast there, and a table of two profiles stands for the others.
TEST(Simulator, JobsOfTwoNumbersAndCompletedTables) {
  const auto execution = [](const std::string& profile, const std::string& speed) {
    return in_seconds(run_simulated("1xA100-40GB",
                                    R"({"id": "a", "profile": ")" + profile + "\", " + speed + "}",
                                    "online")
                          .execution.mean);
  };
  EXPECT_NEAR(execution("1g.5gb", R"("law": {"a_s": 0, "w_s": 100})"), 670, 1e-6);
  EXPECT_NEAR(execution("1g.5gb", R"("law": {"a_s": 3, "w_s": 0}, "duration_s": 100)"), 100, 1e-6);
  EXPECT_NEAR(execution("7g.40gb", R"("law": {"a_s": 3, "w_s": 4, "p": 2})"), 5, 1e-6);
  const std::string table =
      R"("duration_s": 100, "speed": {"2g.10gb": 0.5, "7g.40gb": 1, "complete": true})";
  EXPECT_NEAR(execution("2g.10gb", table), 200, 1e-6) << "as listed";
  EXPECT_GT(execution("3g.20gb", table), 100);
  EXPECT_LT(execution("3g.20gb", table), 200);
}

// One job holds 4 of 7 compute and 4 of 8 memory slices for the whole run; 4g at 0 fragments
// nothing.
TEST(Simulator, UtilisationsByHand) {
  const RunSummary s = run_simulated(
      "2xA100-40GB", R"({"id": "a", "memory_mib": 18000, "compute_slices": 4, "duration_s": 100})",
      "online");
  EXPECT_NEAR(s.compute_utilization, 4.0 / 14, 1e-12);
  EXPECT_NEAR(s.memory_allocated_utilization, 4.0 / 16, 1e-12);
  EXPECT_EQ(s.fragmentation_mean, 0);
  // Speed is 56 of 98 SMs; resident memory counts while the job runs, not while its instance is
  // made.
  EXPECT_NEAR(in_seconds(s.execution.mean), 100 / (56.0 / 98), 1e-6);
  EXPECT_NEAR(*s.memory_used_utilization,
              18000.0 / (2 * 40320) * in_seconds(s.execution.mean) / in_seconds(s.makespan), 1e-12);
  // Equation 5 of Dyna-P on one of two GPUs: 4/7 of the slices times a relative speed of 4/7.
  // It makes progress from when its instance is made.
  EXPECT_NEAR(s.system_throughput,
              0.5 * (4.0 / 7) * (56.0 / 98) * in_seconds(s.execution.mean) / in_seconds(s.makespan),
              1e-12);
  // 50 W idle each, and 4/7 of the 350 W between that and the cap while it runs.
  EXPECT_NEAR(*s.idle_energy_j, 100 * in_seconds(s.makespan), 1e-6);
  EXPECT_NEAR(*s.job_energy_j, 200 * in_seconds(s.execution.mean), 1e-6);
  EXPECT_NEAR(*s.energy_j, *s.idle_energy_j + *s.job_energy_j, 1e-6);
  EXPECT_EQ(*s.power_peak_w, 300);
}

// A job within the range of the clock is beyond it under a cap that leaves it next to nothing.
TEST(Simulator, AJobThatIsSlowedBeyondTheClockIsAnError) {
  const auto workload =
      *parse_workload(R"({"id": "a", "duration_s": 1.5e9, "profile": "4g.24gb"})", "jobs");
  SimulationOptions options;
  options.world.power = {.beta = 0.7, .cap = Milliwatts{31'000}};
  const auto capped =
      simulate(fleet_of_profiles("1xA30-24GB"), workload, *parse_scheduler("online"), options);
  ASSERT_FALSE(capped);
  EXPECT_NE(capped.error().text().find("more than 200 years"), std::string::npos)
      << capped.error().text();
  options.world.power = {};
  EXPECT_TRUE(
      simulate(fleet_of_profiles("1xA30-24GB"), workload, *parse_scheduler("online"), options));
}

TEST(Simulator, AllocatingIsSlowerOnceThereAreOtherInstances) {
  std::string text;
  for (int i = 0; i < 7; ++i)
    text += fmt::format(R"({{"id": "{}", "duration_s": 10, "profile": "1g.5gb", "speed": )"
                        R"({{"none": 1, "1g.5gb": 1}}}})"
                        "\n",
                        i);
  const auto workload = *parse_workload(text, "jobs");
  SimulationOptions options;
  options.reconfiguration = Duration::zero();
  options.process_start = std::chrono::seconds(1);
  const auto makespan = [&](std::string_view scheduler) {
    const auto s =
        simulate(fleet_of_profiles("1xA100-40GB"), workload, *parse_scheduler(scheduler), options);
    EXPECT_TRUE(s) << s.error().text();
    return s ? in_seconds(s->makespan) : 0;
  };
  EXPECT_DOUBLE_EQ(makespan("scheme-a"), 11);
  options.world.slow_allocation = true;
  // 0.98 and 0.02469 s instead of 0.24 and 0.00058 s, table 3 of *Managing Multi Instance GPUs*.
  EXPECT_NEAR(makespan("scheme-a"), 11 + 0.76411, 1e-9);
  EXPECT_DOUBLE_EQ(makespan("full-gpu"), 77) << "whole GPUs have no instances";
}

TEST(Simulator, AtOneInstantEndsComeBeforeArrivals) {
  // The second job arrives at the moment the first ends and finds the GPU free.
  const RunSummary s =
      run_simulated("1xA100-40GB", R"({"id": "a", "duration_s": 10, "profile": "7g.40gb"}
{"id": "b", "arrival_s": 10, "duration_s": 10, "profile": "7g.40gb"})",
                    "full-gpu");
  EXPECT_EQ(s.wait.max, Duration::zero());
}

TEST(Simulator, AccountsForEveryJob) {
  const RunSummary s = run_simulated(
      "1xA30-24GB", R"({"id": "a", "duration_s": 10, "profile": "1g.6gb", "deadline_s": 1}
{"id": "b", "duration_s": 10, "profile": "7g.40gb", "deadline_s": 100}
{"id": "c", "duration_s": 10, "profile": "7g.40gb"})",
      "online");
  EXPECT_EQ(s.finished, 1U);
  EXPECT_EQ(s.rejected, 2U);
  ASSERT_EQ(s.rejections.size(), 1U);
  EXPECT_EQ(s.rejections[0].reason, "no A30-24GB here has a profile 7g.40gb");
  EXPECT_EQ(s.rejections[0].count, 2U);
  EXPECT_EQ(s.deadline_misses, 2U);
}

TEST(Simulator, WorkOfTheFleetStaysAndJobsThatNeedItsPlaceAreRejected) {
  const FleetFile fleet = *parse_fleet(
      R"({"gpus": [{"name": "g", "model": "A100-40GB", "instances": [{"profile": "1g.5gb", )"
      R"("start": 3, "workload": "stays"}]}]})",
      "f", {});
  const auto workload = *parse_workload(R"({"id": "a", "duration_s": 10, "profile": "7g.40gb"}
{"id": "b", "duration_s": 10, "profile": "1g.5gb"})",
                                        "jobs");
  const RunSummary online = run_simulated(fleet, workload, "online");
  EXPECT_EQ(online.rejected, 1U) << "the whole GPU will never be free";
  EXPECT_EQ(online.rejections[0].reason,
            "no GPU has room for it beside foreign instances and the fleet's own work");
  EXPECT_EQ(online.finished, 1U) << "and nobody waits behind it";
  EXPECT_EQ(run_simulated(fleet, workload, "full-gpu").rejected, 2U)
      << "the GPU is partitioned and in use";
}

TEST(Simulator, AWholeGpuIsClearedOfIdleInstancesFirst) {
  const FleetFile fleet = *parse_fleet(
      R"({"gpus": [{"name": "g", "model": "A100-40GB", "instances": [{"profile": "1g.5gb", )"
      R"("start": 3}]}]})",
      "f", {});
  const auto workload =
      *parse_workload(R"({"id": "a", "duration_s": 10, "profile": "1g.5gb"})", "jobs");
  const RunSummary full = run_simulated(fleet, workload, "full-gpu");
  EXPECT_EQ(full.destroys, 1U);
  EXPECT_GT(full.wait.max, Duration::zero()) << "destroying takes its time";
}

TEST(Simulator, SaysThatTheSpeedTableIsTheReason) {
  const RunSummary s = run_simulated("1xA100-40GB",
                                     R"({"id": "a", "duration_s": 10, "speed": {"none": 1.1}}
{"id": "b", "duration_s": 10, "profile": "1g.10gb", "speed": {"A100-80GB:1g.10gb": 0.5}}
{"id": "c", "duration_s": 10, "profile": "1g.5gb", )"
                                     R"("speed": {"nvidia a100-sxm4-40gb:1g.5gb": 0.5}})",
                                     "online");
  EXPECT_EQ(s.finished, 1U) << "models in a table of speeds go by any of their names";
  ASSERT_EQ(s.rejections.size(), 2U);
  EXPECT_EQ(s.rejections[1].reason,
            "on A100-40GB, the job's table of speeds has no profile for 1g.10gb");
}

TEST(Simulator, AnAbsurdlyLongRunIsRefused) {
  const auto workload = *parse_workload(
      R"({"id": "a", "duration_s": 3e9, "profile": "1g.5gb", "speed": {"1g.5gb": 0.001}})", "jobs");
  const auto summary =
      simulate(fleet_of_profiles("1xA100-40GB"), workload, *parse_scheduler("online"));
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().message, "it would end more than 200 years after the start");
}

TEST(World, RefusesWhatHardwareRefuses) {
  const FleetFile file = fleet_of_profiles("1xA100-40GB", "plain");
  const Geometry& geometry = file.geometries.front();
  const auto at = [&](std::string_view profile, int start) {
    return *geometry.find(profile, start);
  };
  World world{Fleet(file)};
  const GpuId gpu{};
  ASSERT_TRUE(world.create(gpu, at("4g.20gb", 0), Instant{}));
  EXPECT_FALSE(world.create(gpu, at("1g.5gb", 3), Instant{})) << "overlap";
  EXPECT_FALSE(world.create(gpu, at("4g.20gb", 0), Instant{})) << "there already";
  EXPECT_FALSE(world.start(gpu, at("1g.5gb", 6), Instant{})) << "no such instance";
  ASSERT_TRUE(world.start(gpu, at("4g.20gb", 0), Instant{}));
  EXPECT_FALSE(world.start(gpu, at("4g.20gb", 0), Instant{})) << "a second job on it";
  EXPECT_FALSE(world.destroy(gpu, at("4g.20gb", 0), Instant{})) << "in use";
  EXPECT_FALSE(world.start_whole(gpu, Instant{})) << "partitioned and in use";
  world.end(gpu, at("4g.20gb", 0));
  EXPECT_TRUE(world.destroy(gpu, at("4g.20gb", 0), Instant{}));
  EXPECT_FALSE(world.destroy(gpu, at("4g.20gb", 0), Instant{})) << "gone";
}

TEST(World, AnInstanceThatIsSharedIsFreeWhenTheLastHasLeftIt) {
  const FleetFile file = fleet_of_profiles("1xA100-40GB", "plain");
  World world{Fleet(file)};
  const GpuId gpu{};
  const PlacementId large = *file.geometries.front().find("7g.40gb", 0);
  const auto after = [](int seconds) { return Instant{} + std::chrono::seconds(seconds); };
  ASSERT_TRUE(world.create(gpu, large, Instant{}));
  ASSERT_TRUE(world.start(gpu, large, Instant{}));
  world.end(gpu, large, after(15));
  EXPECT_EQ(*world.start_shared(gpu, large, {}, after(1)), after(15));
  EXPECT_EQ(*world.start_shared(gpu, large, {}, after(1)), after(15)) << "not before the first";
  world.end_shared(gpu, large, {}, after(30));
  EXPECT_EQ(*world.start_shared(gpu, large, {}, after(20)), after(30)) << "a seat is being left";
  world.end_shared(gpu, large, {});
  world.end_shared(gpu, large, {});
  EXPECT_EQ(*world.start(gpu, large, after(20)), after(30)) << "one of them is still being written";
}

TEST(World, NeverTouchesInstancesOfOthers) {
  const FleetFile file = *parse_fleet(
      R"({"gpus": [{"name": "g", "model": "A100-40GB", "instances": [{"profile": "1g.5gb", )"
      R"("start": 3, "owned": false}]}]})",
      "f", {});
  World world{Fleet(file)};
  const PlacementId wall = *file.geometries.front().find("1g.5gb", 3);
  EXPECT_FALSE(world.destroy(GpuId{}, wall, Instant{}));
  EXPECT_FALSE(world.start(GpuId{}, wall, Instant{}));
  EXPECT_FALSE(world.create(GpuId{}, *file.geometries.front().find("4g.20gb", 0), Instant{}));
}

// A later change of the GPU takes nothing from the time that an earlier one needs.
TEST(World, NoJobUsesAnInstanceBeforeItIsMade) {
  const FleetFile file = fleet_of_profiles("1xA100-40GB", "plain");
  World world(Fleet(file), std::chrono::seconds(10));
  const auto at = [&](int start) { return *file.geometries.front().find("1g.5gb", start); };
  const auto after = [](int seconds) { return Instant{} + std::chrono::seconds(seconds); };
  const GpuId gpu{};
  ASSERT_TRUE(world.create(gpu, at(0), after(0)));
  ASSERT_TRUE(world.create(gpu, at(1), after(0)));
  ASSERT_TRUE(world.start(gpu, at(0), after(0)));
  ASSERT_TRUE(world.create(gpu, at(2), after(4)));
  EXPECT_EQ(*world.start(gpu, at(1), after(5)), after(10));
  EXPECT_EQ(*world.start(gpu, at(2), after(6)), after(14));
}

// A checkpoint that is still being written keeps the place, although a job was started behind it
// and has left.
TEST(World, APlaceIsInUseUntilTheLastProcessHasLeft) {
  const FleetFile file = fleet_of_profiles("1xA100-40GB", "plain");
  World world(Fleet(file), std::chrono::seconds(1));
  const Geometry& geometry = file.geometries.front();
  const PlacementId small = *geometry.find("1g.5gb", 0), pair = *geometry.find("2g.10gb", 0);
  const auto after = [](int seconds) { return Instant{} + std::chrono::seconds(seconds); };
  const GpuId gpu{};
  ASSERT_TRUE(world.create(gpu, small, after(0)));
  ASSERT_TRUE(world.start(gpu, small, after(1)));
  world.end(gpu, small, after(20));
  EXPECT_EQ(*world.start(gpu, small, after(5)), after(20));
  world.end(gpu, small);
  ASSERT_TRUE(world.destroy(gpu, small, after(6)));
  ASSERT_TRUE(world.create(gpu, pair, after(6)));
  EXPECT_EQ(*world.start(gpu, pair, after(6)), after(21));
}

// Resources that are still in use, or still being made, are not used before their time, whatever
// was commanded since.
TEST(World, WaitsForLeavingJobsAndForInstancesBeingMade) {
  const FleetFile file = fleet_of_profiles("1xA100-40GB", "plain");
  const Geometry& geometry = file.geometries.front();
  const auto at = [&](std::string_view profile, int start) {
    return *geometry.find(profile, start);
  };
  const auto second = [](int s) { return Instant{} + std::chrono::seconds(s); };
  World world(Fleet(file), std::chrono::seconds(10));
  const GpuId gpu{};
  ASSERT_TRUE(world.create(gpu, at("1g.5gb", 0), second(0)));
  EXPECT_EQ(*world.start(gpu, at("1g.5gb", 0), second(0)), second(10));
  world.end(gpu, at("1g.5gb", 0));
  ASSERT_TRUE(world.create(gpu, at("1g.5gb", 1), second(2)));
  EXPECT_EQ(*world.start(gpu, at("1g.5gb", 0), second(3)), second(10))
      << "stopped before it was there";
  EXPECT_EQ(*world.start(gpu, at("1g.5gb", 1), second(3)), second(12));
  world.end(gpu, at("1g.5gb", 0), second(40));
  world.end(gpu, at("1g.5gb", 1), second(20));
  EXPECT_EQ(*world.start(gpu, at("1g.5gb", 1), second(15)), second(20)) << "each waits for its own";
  ASSERT_TRUE(world.destroy(gpu, at("1g.5gb", 0), second(15)));
  ASSERT_TRUE(world.create(gpu, at("1g.5gb", 0), second(15)));
  EXPECT_EQ(*world.start(gpu, at("1g.5gb", 0), second(15)), second(50))
      << "destroyed when it is left";
}

// Readings F10 and F14. At 15 s b moves from 2g at 0 to 4, where a's 3g leaves first; b continues
// to run meanwhile. The 4g for c is made at b's old place once b's replica runs.
TEST(Simulator, AMoveByHand) {
  const auto workload = *parse_workload(
      R"({"id": "a", "profile": "3g.20gb", "duration_s": 10, "speed": {"3g.20gb": 1}}
{"id": "b", "profile": "2g.10gb", "duration_s": 100, "speed": {"2g.10gb": 1}}
{"id": "c", "profile": "4g.20gb", "arrival_s": 1, "duration_s": 10, "speed": {"4g.20gb": 1}})",
      "jobs");
  SimulationOptions options;
  options.reconfiguration = std::chrono::seconds(5);
  std::vector<JobOutcome> outcomes;
  options.outcomes = &outcomes;
  const auto s = simulate(fleet_of_profiles("1xA100-40GB", "plain"), workload,
                          *parse_scheduler("online:threshold=0.1"), options);
  ASSERT_TRUE(s) << s.error().text();
  EXPECT_EQ(s->migrations, 1U);
  EXPECT_EQ(outcomes[1].turnaround, std::chrono::seconds(105)) << "nothing is lost";
  EXPECT_EQ(outcomes[2].wait, std::chrono::seconds(24)) << "from 1 s to 15 + 5 + 5";
}

/// Random work of every kind of request, some of it impossible, on a mixed fleet with walls and
/// running work.
Workload random_workload(Random& random, int jobs) {
  const char* profiles[] = {"1g.5gb",  "1g.5gb+me", "1g.10gb", "2g.10gb", "3g.20gb",
                            "4g.20gb", "7g.40gb",   "1g.6gb",  "2g.12gb", "9g"};
  Workload workload;
  double now = 0;
  for (int i = 0; i < jobs; ++i) {
    Request request;
    switch (random.below(4)) {
      case 0:
        request.wanted = BySize{MiB{static_cast<std::int64_t>(random.below(42000))},
                                {static_cast<int>(random.below(8))}};
        break;
      case 1:
        request.wanted = ByShare{1 + static_cast<int>(random.below(1000)),
                                 random.below(2) == 0 ? ShareRule::round_up : ShareRule::nearest};
        break;
      case 2:
        request.wanted = Unknown{};
        break;
      default:
        request.wanted = ByProfile{profiles[random.below(std::size(profiles))]};
        break;
    }
    Job job;
    job.id = std::to_string(i);
    now += random.below(4) == 0 ? 0 : random.exponential(40);
    job.arrival = Instant{} + *duration_from_seconds(now);
    job.duration = *duration_from_seconds(random.below(10) == 0 ? 0 : random.exponential(60));
    job.request = workload.intern(request);
    job.speed = workload.intern(SpeedModel());
    workload.jobs.push_back(std::move(job));
  }
  workload.read = workload.jobs.size();
  return workload;
}

constexpr std::string_view mixed_fleet = R"({"gpus": [
  {"name": "a/%d", "model": "A100-40GB", "count": 2},
  {"name": "b/0", "model": "A30-24GB", "instances": [{"profile": "1g.6gb", "start": 1, )"
                                         R"("owned": false}]},
  {"name": "b/1", "model": "RTX-PRO-6000-BW-96GB"}, {"name": "b/2", "model": "A30-24GB"},
  {"name": "a/9", "model": "A100-40GB", "instances": [{"profile": "2g.10gb", "start": 2}, )"
                                         R"({"profile": "1g.5gb", "start": 6, "owned": false}]}]})";

// The world refuses every violation of a hardware law, so a run that ends well had none.
TEST(Laws, RandomWorkloadsBreakNoneAndLoseNoJob) {
  const FleetFile fleet = *parse_fleet(mixed_fleet, "fleet", {});
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    const Workload workload = random_workload(random, 400);
    for (const char* spec :
         {"online", "online:policy=first-fit", "online:threshold=0.8;load=joint;across=rise",
          "online:threshold=auto;eligibility=lowers-imbalance", "full-gpu"}) {
      const RunSummary s = run_simulated(fleet, workload, spec);
      ASSERT_EQ(s.jobs, s.finished + s.failed + s.rejected + s.waiting)
          << "seed " << seed << " " << spec;
      ASSERT_EQ(s.waiting, 0U) << "nothing stands in the way for good: seed " << seed << " "
                               << spec;
      ASSERT_EQ(s.events, s.jobs + s.finished);
      ASSERT_LE(s.compute_utilization, 1);
      ASSERT_LE(s.memory_allocated_utilization, 1);
      ASSERT_GE(s.wait.p50, Duration::zero());
      ASSERT_LE(s.destroys, s.creates + 1) << "only one idle instance was there before";
    }
  }
}

TEST(Laws, TheIndexChangesNothing) {
  const FleetFile fleet = *parse_fleet(mixed_fleet, "fleet", {});
  Random random(5);
  const Workload workload = random_workload(random, 1500);
  for (const char* spec :
       {"online", "online:threshold=auto", "online:migration=off",
        "online:policy=reachability;across=best", "online:policy=preference",
        "online:policy=largest-gap", "online:policy=first-fit", "online:policy=load-balanced"}) {
    const SchedulerSpec parsed = *parse_scheduler(spec);
    EXPECT_EQ(to_json(*simulate(fleet, workload, parsed)).dump(),
              to_json(*simulate(fleet, workload, parsed, {.use_index = false})).dump())
        << spec;
  }
}

TEST(Laws, SameInputSameBytes) {
  const FleetFile fleet = *parse_fleet(mixed_fleet, "fleet", {});
  Random random(7), again(7);
  const std::string first =
      to_json(run_simulated(fleet, random_workload(random, 500), "online")).dump();
  EXPECT_EQ(to_json(run_simulated(fleet, random_workload(again, 500), "online")).dump(), first);
}

// Jobs that are as fast on the smallest profile as on the whole GPU: no schedule ends before n /
// (GPUs x most instances) of them have run one after the other.
TEST(Laws, NoSchedulerBeatsTheGpu) {
  std::string jobs;
  for (int i = 0; i < 50; ++i)
    jobs += fmt::format(
                R"({{"id": "{}", "profile": "1g.5gb", "duration_s": 10, "speed": {{"1g.5gb": 1, )"
                R"("7g.40gb": 1}}}})",
                i) +
            "\n";
  EXPECT_GE(run_simulated("1xA100-40GB", jobs, "online").makespan, std::chrono::seconds(80));
  EXPECT_EQ(run_simulated("1xA100-40GB", jobs, "full-gpu").makespan, std::chrono::seconds(500));
}

/// Jobs of one slice, one every `gap` seconds: the first runs for `first` seconds, each later one
/// for `more` longer.
std::string jobs_of_one_slice(int count, int gap, int first, int more) {
  std::string jobs;
  for (int i = 0; i < count; ++i)
    jobs += fmt::format(R"({{"id": "j{}", "arrival_s": {}, "duration_s": {}, )"
                        R"("profile": "1g.5gb", "speed": {{"1g.5gb": 1}}}})"
                        "\n",
                        i, gap * i, first + more * i);
  return jobs;
}

// Small jobs that keep arriving, each before the last has ended, and one that needs half the GPU:
// it waits for those that came before it, not for all of them.
TEST(Simulator, SchemeAStarvesNoLargerClass) {
  const std::string jobs =
      jobs_of_one_slice(1000, 2, 3, 0) +
      R"({"id": "large", "arrival_s": 5, "duration_s": 60, "profile": "3g.20gb", )"
      R"("speed": {"3g.20gb": 1}})";
  const Workload workload = *parse_workload(jobs, "jobs");
  std::vector<JobOutcome> outcomes;
  SimulationOptions options;
  options.outcomes = &outcomes;
  const RunSummary summary =
      *simulate(fleet_of_profiles("1xA100-40GB"), workload, *parse_scheduler("scheme-a"), options);
  EXPECT_EQ(summary.finished, 1001U);
  const auto large = std::ranges::find(workload.jobs, "large", &Job::id) - workload.jobs.begin();
  EXPECT_LT(outcomes[static_cast<std::size_t>(large)].wait, std::chrono::seconds(4));
  // Small jobs that came meanwhile wait for the large one, those that come later for nobody.
  EXPECT_LT(summary.wait.max, std::chrono::seconds(70));
  EXPECT_LT(outcomes.back().wait, std::chrono::seconds(1));
}

// All jobs at once would hold half of the fleet's compute slices.
TEST(Simulator, ThresholdOfAllTasksIsTheirAverageLoad) {
  const std::string jobs = jobs_of_one_slice(14, 1, 20, 7);
  const auto figures = [&](const char* threshold) {
    return run_simulated("4xA100-40GB", jobs, fmt::format("online:threshold={}", threshold));
  };
  const auto same = [](const RunSummary& a, const RunSummary& b) {
    return a.fragmentation_mean == b.fragmentation_mean && a.creates == b.creates &&
           a.migrations == b.migrations;
  };
  EXPECT_TRUE(same(figures("tasks"), figures("0.5")));
  EXPECT_FALSE(same(figures("tasks"), figures("0.2"))) << "else this test says nothing";
}

// Fifty GPUs, one of which is always absent, and a job that waits for space that a wall takes.
TEST(Simulator, ARunEndsThoughGpusAreAlwaysLost) {
  const FleetFile fleet = *parse_fleet(
      R"({"gpus": [{"name": "h", "model": "H100-80GB-SXM5", "instances": [{"profile": "1g.10gb", )"
      R"("start": 0, "owned": false}]},
                   {"name": "g%d", "model": "A30-24GB", "count": 50}]})",
      "fleet", {});
  const auto workload = *parse_workload(R"({"id": "a", "duration_s": 10, "profile": "1g.6gb"}
{"id": "b", "duration_s": 10, "profile": "7g.80gb"})",
                                        "jobs");
  SimulationOptions options;
  options.faults = *parse_faults("mtbf=1000;repair=500");
  const RunSummary s = *simulate(fleet, workload, *parse_scheduler("scheme-a"), options);
  EXPECT_EQ(s.finished, 1U);
  EXPECT_EQ(s.rejected, 1U);
}

TEST(Simulator, AForecastRestartsAGrowingJobLongBeforeItDies) {
  for (const char* forecaster : {"trend", "laws"}) {
    const Workload workload = *generate_workload("qwen2:noise=2", 1);
    SimulationOptions without, with;
    with.forecaster = forecaster;
    const auto late =
        simulate(fleet_of_profiles("1xA100-40GB"), workload, *parse_scheduler("scheme-b"), without);
    const auto early =
        simulate(fleet_of_profiles("1xA100-40GB"), workload, *parse_scheduler("scheme-b"), with);
    ASSERT_TRUE(late && early);
    EXPECT_EQ(late->oom_restarts, 1U);
    EXPECT_EQ(early->oom_restarts, 0U) << forecaster;
    EXPECT_EQ(early->early_restarts, 1U) << forecaster;
    EXPECT_LT(early->makespan, late->makespan) << forecaster;
  }
}

// It is observed once, its reports go on, and it fails as without the warning.
TEST(Simulator, MemoryThatNoGpuHasIsWarnedOf) {
  const auto workload = *parse_workload(
      R"({"id": "a", "duration_s": 100, "memory": {"base_mib": 1000, "per_iteration_mib": 1000, )"
      R"("iterations": 100}})",
      "jobs");
  const FleetFile fleet = *parse_fleet_in_short("1xA100-40GB", {});
  SimulationOptions options;
  options.forecaster = "trend";
  std::ostringstream out;
  EventLog log(fleet, workload, out);
  options.observer = &log;
  const auto s = simulate(fleet, workload, *parse_scheduler("scheme-b"), options);
  ASSERT_TRUE(s) << s.error().text();
  EXPECT_EQ(s->failed, 1U);
  std::size_t warnings = 0, ends = 0;
  const std::string text = out.str();
  for (const std::string_view line : split(text, '\n')) {
    if (line.find("memory-warning") != std::string_view::npos) {
      ++warnings;
      const Json event = Json::parse(line);
      EXPECT_GT(event["memory_mib"].get<int>(), 40'000) << event;
      EXPECT_TRUE(event.contains("profile")) << event;
      EXPECT_EQ(ends, 0U) << "while it runs";
    }
    ends += line.find("\"failed\"") != std::string_view::npos ? 1 : 0;
  }
  EXPECT_GE(warnings, 1U) << out.str();
  EXPECT_EQ(ends, 1U);
  options.forecaster = "none";
  options.observer = nullptr;
  EXPECT_EQ(simulate(fleet, workload, *parse_scheduler("scheme-b"), options)->failed, 1U);
}

// Reports come once per iteration, and never without end, however short the iterations are.
TEST(Simulator, ShortIterationsEnd) {
  for (const char* duration_s : {"0.000000001", "0.000001", "0.001003", "0.1", "12.3"}) {
    const auto workload = *parse_workload(
        fmt::format(
            R"({{"id": "a", "duration_s": {}, "profile": "1g.5gb", "memory": {{"base_mib": 100, )"
            R"("per_iteration_mib": 1, "iterations": 777}}}})",
            duration_s),
        "jobs");
    SimulationOptions options;
    options.forecaster = "last-value";
    const auto s =
        simulate(fleet_of_profiles("1xA100-40GB"), workload, *parse_scheduler("online"), options);
    ASSERT_TRUE(s) << s.error().text();
    EXPECT_EQ(s->finished, 1U) << duration_s;
  }
}

// At 0 the smallest partition would do; at 100, when there is room, only 2g ends by the deadline
// (Algorithm 2, lines 3 to 7: partitions are predicted for every job of the queue on each pass).
TEST(Simulator, DynaPPlansAJobAgainThatHasWaitedTooLong) {
  const auto workload = *parse_workload(
      R"({"id": "first", "duration_s": 100, "profile": "4g.24gb"}
{"id": "late", "duration_s": 20, "deadline_s": 150, "speed": {"1g.6gb": 0.2, "2g.12gb": 0.4, )"
      R"("4g.24gb": 1}})",
      "jobs");
  SimulationOptions options;
  options.reconfiguration = Duration::zero();
  const auto s = simulate(fleet_of_profiles("1xA30-24GB", "plain"), workload,
                          *parse_scheduler("oracle:order=arrival"), options);
  ASSERT_TRUE(s) << s.error().text();
  EXPECT_EQ(s->finished, 2U);
  EXPECT_EQ(s->deadline_misses, 0U);
}

TEST(Simulator, ARunThatCannotEndSaysSo) {
  const auto workload =
      *parse_workload(R"({"id": "a", "duration_s": 100, "profile": "7g.40gb"})", "jobs");
  SimulationOptions options;
  options.faults = *parse_faults("mtbf=1;repair=1");
  const auto endless =
      simulate(fleet_of_profiles("1xA100-40GB"), workload, *parse_scheduler("full-gpu"), options);
  ASSERT_FALSE(endless);
  EXPECT_EQ(endless.error().kind, ErrorKind::infeasible);
  options.faults = *parse_faults("mtbf=50;repair=3e9");
  const auto centuries =
      simulate(fleet_of_profiles("1xA100-40GB"), workload, *parse_scheduler("full-gpu"), options);
  ASSERT_FALSE(centuries);
  EXPECT_EQ(centuries.error().kind, ErrorKind::infeasible);
}

// The jobs of *Dyna-P*, Figure 7, on one A30, with G on the full GPU, which it has in the paper's
// timeline from 155 on. The paper prints a makespan of 285 and C and D on time; at 120 its timeline
// leaves room unused that the algorithm fills, so all jobs end sooner (reading D15).
TEST(Simulator, TheJobsOfFigure7OfDynaP) {
  const auto job = [](std::string_view id, int arrival, std::string_view profile, int seconds,
                      int deadline) {
    return fmt::format(
        R"({{"id": "{}", "arrival_s": {}, "duration_s": {}, "deadline_s": {}, "profile": "{}", )"
        R"("speed": {{"{}": {}}}}})"
        "\n",
        id, arrival, seconds, deadline - arrival, profile, profile, 1);
  };
  const std::string jobs = job("A", 0, "1g.6gb", 30, 100) + job("B", 0, "2g.12gb", 120, 200) +
                           job("C", 5, "2g.12gb", 50, 85) + job("D", 60, "1g.6gb", 50, 130) +
                           job("E", 60, "1g.6gb", 70, 160) + job("F", 120, "1g.6gb", 70, 250) +
                           job("G", 120, "4g.24gb", 50, 220) + job("H", 120, "2g.12gb", 80, 300);
  const auto workload = parse_workload(jobs, "figure 7");
  ASSERT_TRUE(workload) << workload.error().text();
  SimulationOptions options;
  options.reconfiguration = Duration::zero();
  std::vector<JobOutcome> outcomes;
  options.outcomes = &outcomes;
  const auto summary = simulate(fleet_of_profiles("1xA30-24GB", "plain"), *workload,
                                *parse_scheduler("oracle"), options);
  ASSERT_TRUE(summary) << summary.error().text();
  EXPECT_LE(summary->makespan, std::chrono::seconds(285));
  EXPECT_EQ(outcomes[2].turnaround, std::chrono::seconds(75))
      << "C starts at 30, when A's instance is merged";
  EXPECT_EQ(outcomes[3].turnaround, std::chrono::seconds(70)) << "D ends at its deadline, 130";
  EXPECT_EQ(summary->finished, 8U);
}

}  // namespace
}  // namespace cleave
