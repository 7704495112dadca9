// Jobs that would slow each other, over the link to the host or by what they draw, are kept apart.

#include "engine/adaptive/neighbours.hpp"

#include "base/random.hpp"
#include "engine/adaptive/adaptive_world_test.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

/// On so many the next starts are not planned forward, and each place has its price.
constexpr std::string_view fleet = "20xA100-40GB";

/// A job that stays where it is, on half a GPU: more makes it no faster.
AdaptiveJob half(double transfer, double kappa = 1) {
  return stays({.request = {ByProfile{"3g.20gb"}, {}},
                .full = 1000s,
                .bend = 0,
                .transfer = transfer,
                .kappa = kappa});
}

unsigned gpu_of(const AdaptiveWorld& world, unsigned job) {
  return static_cast<unsigned>(std::stoul(world.place(job)));
}

// Against the definition.

TEST(Neighbours, WhatIsLeftOfAPaceIsWhatTheDefinitionSays) {
  std::size_t slowed = 0, alone = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    Random random(seed);
    const FleetFile file = *parse_fleet_in_short("1xA100-40GB", *ProfileChoice::parse("plain"));
    const Fleet gpus(file);
    RequestTable requests(file.geometries);
    const RequestId request = requests.intern({Unknown{}, {}});
    AdaptiveFacts facts(gpus, false);
    facts.shared.link = random.below(3) == 0   ? LinkSharing::off
                        : random.below(2) == 0 ? LinkSharing::spread
                                               : LinkSharing::together;
    const Geometry& rules = file.geometries.front();
    if (random.below(2) == 0)
      facts.shared.power = power_bounds(rules.model(), {.cap = Milliwatts{250'000}});
    const SchedulerSetup setup{.fleet = gpus, .requests = requests, .facts = &facts};
    JobLedger ledger(setup);
    Seats seats(gpus);
    Neighbours neighbours(setup, seats, ledger);
    std::vector<Command> commands;
    std::vector<std::pair<JobId, int>> here;  // and the profile of each
    const auto jobs = static_cast<unsigned>(1 + random.below(5));
    for (unsigned i = 0; i <= jobs; ++i) {
      const auto job = static_cast<JobId>(i);
      facts.of[job] = {.full = 100s, .transfer = random.below(2) == 0 ? 0 : random.uniform()};
      ledger.enter({job, request});
      neighbours.met(job);
      if (i == jobs) break;
      const GpuState& state = seats.fleet()[GpuId{0}];
      const PlacementSet free = seats.fleet().graph(state).free(state.occupied);
      if (free.empty()) continue;
      seats.start({job, request}, GpuId{0}, free.last(), commands);
      here.emplace_back(job, rules[free.last()].profile_index);
    }
    const auto last = static_cast<JobId>(jobs);
    const int profile = rules[rules.all().first()].profile_index;
    std::vector<SharedLoad> loads;
    for (const auto& [job, its] : here) loads.push_back(*facts.load_on(job, 0, its));
    std::vector<Pace> without(loads.size()), with(loads.size() + 1);
    paces_of(facts.shared, loads, without);
    loads.push_back(*facts.load_on(last, 0, profile));
    paces_of(facts.shared, loads, with);
    double lost = 1;
    for (std::size_t i = 0; i < without.size(); ++i)
      lost += std::max(0.0, 1 - with[i].speed / without[i].speed);
    const double kept = with.back().speed / pace_alone(facts.shared, loads.back()).speed;
    const double left = neighbours.left_of_pace(last, GpuId{0}, profile);
    EXPECT_NEAR(left, kept / lost, 1e-9) << seed;
    EXPECT_GT(left, 0);
    EXPECT_LE(left, 1);
    ++(left < 1 ? slowed : alone);
  }
  EXPECT_GT(slowed, 50U);
  EXPECT_GT(alone, 50U);
}

// What follows from it.

TEST(Neighbours, JobsThatFillTheLinkGetAGpuEach) {
  for (const double transfer : {0.0, 0.9}) {
    AdaptiveWorld world("adaptive", fleet);
    world.facts().shared.link = LinkSharing::spread;
    world.submit(0, half(transfer));
    world.submit(1, half(transfer));
    EXPECT_EQ(gpu_of(world, 0) == gpu_of(world, 1), transfer == 0) << transfer;
  }
}

TEST(Neighbours, OneThatDoesNotUseTheLinkGoesBesideOneThatDoes) {
  AdaptiveWorld world("adaptive", fleet);
  world.facts().shared.link = LinkSharing::spread;
  world.submit(0, half(0.9));
  world.submit(1, half(0));
  world.submit(2, half(0.9));
  EXPECT_EQ(gpu_of(world, 0), gpu_of(world, 1));
  EXPECT_NE(gpu_of(world, 0), gpu_of(world, 2));
}

TEST(Neighbours, JobsThatDrawMuchGetAGpuEachWhereACapIsLow) {
  for (const double kappa : {0.1, 1.0}) {
    AdaptiveWorld world("adaptive", fleet);
    world.facts().shared.power =
        power_bounds(**find_gpu_model("A100-40GB"), {.cap = Milliwatts{200'000}});
    world.submit(0, half(0, kappa));
    world.submit(1, half(0, kappa));
    EXPECT_EQ(gpu_of(world, 0) == gpu_of(world, 1), kappa < 1) << kappa;
  }
}

TEST(Neighbours, NoJobWaitsForAGpuOfItsOwnForLong) {
  AdaptiveWorld world("adaptive", "1xA100-40GB");
  world.facts().shared.link = LinkSharing::spread;
  world.submit(0, half(0.9));
  world.submit(1, half(0.9));
  EXPECT_TRUE(world.runs(0));
  EXPECT_TRUE(world.runs(1));
}

TEST(Neighbours, ThoseThatStartAtOnceAreKeptApartToo) {
  AdaptiveWorld world("adaptive", fleet);
  world.facts().shared.link = LinkSharing::spread;
  world.submit_all(0, std::vector<AdaptiveJob>(4, half(0.9)));
  std::set<unsigned> gpus;
  for (unsigned job = 0; job < 4; ++job) gpus.insert(gpu_of(world, job));
  EXPECT_EQ(gpus.size(), 4U);
}

}  // namespace
}  // namespace cleave
