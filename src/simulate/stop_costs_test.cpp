// What saving, restoring and moving takes by memory and link, and switching MIG, by hand.

#include <gtest/gtest.h>

#include "base/format.hpp"
#include "model/workload_file.hpp"
#include "simulate/known_jobs.hpp"
#include "simulate/simulator.hpp"
#include "simulate/world.hpp"

namespace cleave {
namespace {

using std::chrono::seconds;

FleetFile plain_fleet(std::string_view text) {
  return *parse_fleet_in_short(text, *ProfileChoice::parse("plain"));
}

/// 8000 MiB at so many GB/s.
Duration copied_at(double gb_per_s) {
  return Duration{std::llround(8000.0 * 1048576 / gb_per_s)};
}

/// The second of three jobs, which holds 8000 MiB, is moved at 15 s, after 10 s of its work, to an
/// instance that is there at 20 s.
struct Moved {
  RunSummary summary;
  std::vector<JobOutcome> outcomes;
};
Moved moved(std::string_view progress, std::string_view checkpoint) {
  const auto workload = *parse_workload(
      fmt::format(
          R"({{"id": "a", "profile": "3g.20gb", "duration_s": 10, "speed": {{"3g.20gb": 1}}}}
{{"id": "b", "memory_mib": 8000, "duration_s": 100, "speed": {{"2g.10gb": 1}}, "progress": "{}"}}
{{"id": "c", "profile": "4g.20gb", "arrival_s": 1, "duration_s": 10, "speed": {{"4g.20gb": 1}}}})",
          progress),
      "jobs");
  SimulationOptions options;
  options.reconfiguration = seconds(5);
  options.stops = *parse_stop_terms(checkpoint);
  Moved result;
  options.outcomes = &result.outcomes;
  result.summary = *simulate(plain_fleet("1xA100-40GB"), workload,
                             *parse_scheduler("online:threshold=0.1"), options);
  return result;
}

TEST(StopCosts, ACheckpointCrossesTheLinkTwice) {
  const Moved training = moved("checkpoint", "memory");
  const Duration copied = copied_at(24);
  EXPECT_EQ(training.summary.migrations, 1U);
  // Written long before its new instance is there.
  EXPECT_EQ(training.outcomes[1].turnaround, seconds(20) + copied + seconds(90));
  EXPECT_EQ(training.summary.checkpoint_s, in_seconds(copied));
  EXPECT_EQ(training.summary.restore_s, in_seconds(copied));
}

TEST(StopCosts, AStoreMayBeSlowerThanTheLink) {
  const Moved slow = moved("checkpoint", "memory:0.5");
  const Duration copied = copied_at(0.5);  // 16.8 s
  EXPECT_EQ(slow.outcomes[1].turnaround, seconds(15) + 2 * copied + seconds(90));
  EXPECT_EQ(moved("checkpoint", "memory:1000").outcomes[1].turnaround,
            moved("checkpoint", "memory").outcomes[1].turnaround)
      << "the link is slower";
}

// The next job can have its place when the replica has taken over.
TEST(StopCosts, AReplicaLoadsWhatItHolds) {
  const Moved server = moved("stateless", "memory:0.5");
  EXPECT_EQ(server.outcomes[1].turnaround, seconds(105)) << "it runs on meanwhile";
  const Moved free = moved("stateless", "30");
  EXPECT_EQ(server.outcomes[2].wait - free.outcomes[2].wait, copied_at(0.5));
}

TEST(StopCosts, WholeGpusAreNotBoundByCopyEngines) {
  const HostLink& link = host_link(**find_gpu_model("GH200-144GB"));
  EXPECT_EQ(copy_time(link, false, MiB{8000}), copied_at(47.2));
  EXPECT_EQ(copy_time(link, true, MiB{8000}), copied_at(357.6));
  EXPECT_EQ(copy_time(link, true, MiB{8000}, {2.0}), copied_at(2));
}

// What schedulers are told of it is what it costs; where its memory is not told, at most what its
// place holds.
TEST(StopCosts, SchedulersAreToldThem) {
  const Workload workload = *parse_workload(
      R"({"id": "a", "memory_mib": 8000, "duration_s": 100}
{"id": "b", "memory_mib": 8000, "duration_s": 100, "progress": "stateless"}
{"id": "c", "profile": "2g.10gb", "duration_s": 100})",
      "jobs");
  const FleetFile file = plain_fleet("1xA100-40GB");
  const Fleet fleet(file);
  RequestTable requests(file.geometries);
  std::vector<RequestId> ids;
  for (const Request& request : workload.requests) ids.push_back(requests.intern(request));
  const Speeds speeds(workload, fleet, WorldTerms());
  const auto told = [&](std::string_view know, std::string_view checkpoint, unsigned job) {
    const KnownJobs facts(workload, speeds, fleet, ids, nullptr,
                          {.knowledge = *parse_knowledge(know),
                           .requests = &requests,
                           .stops = *parse_stop_terms(checkpoint)});
    return facts.checkpoint_time(static_cast<JobId>(job), 0);
  };
  EXPECT_EQ(told("", "memory", 0), 2 * copied_at(24));
  EXPECT_EQ(told("", "12", 0), seconds(12));
  const auto whole_place = 2 * copy_time(host_link(**find_gpu_model("A100-40GB")), false,
                                         *file.geometries.front().model().find("2g.10gb")->usable);
  EXPECT_EQ(told("memory=none", "memory", 0), whole_place);
  EXPECT_EQ(told("", "memory", 1), Duration::zero()) << "a server writes nothing";
  EXPECT_EQ(told("", "memory", 2), whole_place) << "it does not say what it holds";
}

TEST(MigSwitch, TakesItsTimeEitherWay) {
  const FleetFile file = plain_fleet("1xA100-40GB");
  const Fleet fleet(file);
  World world(fleet, seconds(1), std::nullopt, seconds(10));
  constexpr GpuId gpu{0};
  const PlacementId all = world.graph(world[gpu]).geometry().of_profile(0).first();
  const auto at = [](int s) { return Instant{} + seconds(s); };
  // The first use finds it as it wants it.
  EXPECT_EQ(world.start_whole(gpu, at(0)), at(0));
  world.end_whole(gpu);
  EXPECT_EQ(world.start_whole(gpu, at(20)), at(20));
  world.end_whole(gpu);
  // On, and then the instance is made.
  ASSERT_TRUE(world.create(gpu, all, at(40)));
  EXPECT_EQ(world.start(gpu, all, at(40)), at(51));
  world.end(gpu, all);
  // Destroyed, and then off.
  ASSERT_TRUE(world.destroy(gpu, all, at(60)));
  EXPECT_EQ(world.start_whole(gpu, at(60)), at(71));
}

// What was saved on the whole GPU is written before MIG is switched on, whatever changes take.
TEST(MigSwitch, WaitsForWhatIsStillWritten) {
  const FleetFile file = plain_fleet("1xA100-40GB");
  const Fleet fleet(file);
  for (const std::optional<Duration> each : {std::optional<Duration>(seconds(1)), {}}) {
    World world(fleet, each, std::nullopt, seconds(10));
    constexpr GpuId gpu{0};
    const PlacementId all = world.graph(world[gpu]).geometry().of_profile(0).first();
    ASSERT_TRUE(world.start_whole(gpu, Instant{}));
    world.end_whole(gpu, Instant{} + seconds(30));
    ASSERT_TRUE(world.create(gpu, all, Instant{} + seconds(5)));
    const auto usable = world.start(gpu, all, Instant{} + seconds(5));
    ASSERT_TRUE(usable);
    EXPECT_GT(*usable, Instant{} + seconds(40));
    EXPECT_LE(*usable, Instant{} + seconds(41));
  }
}

TEST(StopTerms, AreReadAndWritten) {
  for (const char* each : {"30", "0", "memory", "memory:2.5"})
    EXPECT_EQ(text(*parse_stop_terms(each)), each);
  for (const char* wrong : {"", "-1", "memory:", "memory:0", "memory:x", "memory2", "1e300", "nan"})
    EXPECT_FALSE(parse_stop_terms(wrong)) << wrong;
}

}  // namespace
}  // namespace cleave
