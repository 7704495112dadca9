// What `adaptive` does with single jobs: which it stops and which never, how often, and where jobs
// go when GPUs, memory or a site's orders ask for it.

#include "engine/adaptive/adaptive.hpp"

#include "base/random.hpp"
#include "engine/adaptive/adaptive_world_test.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

constexpr auto longest = std::chrono::seconds(100'000);

AdaptiveJob of_time(std::chrono::seconds full) {
  return {.full = full};
}
/// It takes any size, of which it uses what it gets.
AdaptiveJob elastic(std::chrono::seconds full) {
  return {.request = {Unknown{}, {}}, .full = full};
}

// Short and long.

TEST(Adaptive, AShortJobTakesThePlaceOfALongOneWhichGoesOnAfterwards) {
  AdaptiveWorld world("adaptive");
  world.submit(0, of_time(longest));
  world.wait(100s);
  world.submit(1, of_time(20s));
  EXPECT_FALSE(world.runs(0));
  EXPECT_TRUE(world.runs(1));
  EXPECT_EQ(world.of(0).saved, 1U);
  world.wait(20s);
  world.finish(1);
  EXPECT_TRUE(world.runs(0));
}

TEST(Adaptive, ALongJobTakesNoPlaceOfAShortOne) {
  AdaptiveWorld world("adaptive");
  world.submit(0, of_time(100s));
  world.wait(1s);
  world.submit(1, of_time(longest));
  EXPECT_TRUE(world.runs(0));
  EXPECT_EQ(world.of(0).saved, 0U);
}

// Where times are known and to stop a job costs something of what it takes, which the plan weighs.

TEST(Adaptive, AJobIsStoppedOnlyForOneThatEndsMuchSooner) {
  // A stop costs 30 s, and the first job has done 100 s by then.
  const std::pair<std::chrono::seconds, bool> cases[] = {{20s, true}, {890s, false}};
  for (const auto& [second, stopped] : cases) {
    AdaptiveWorld world("adaptive");
    world.submit(0, of_time(1000s));
    world.wait(100s);
    world.submit(1, of_time(second));
    EXPECT_EQ(world.runs(1), stopped) << second.count();
    EXPECT_EQ(world.of(0).saved, stopped ? 1U : 0U) << second.count();
  }
}

TEST(Adaptive, NoJobIsStoppedThatEndsBeforeAnotherCouldBegin) {
  AdaptiveWorld world("adaptive");
  world.submit(0, of_time(200s));
  world.wait(190s);
  world.submit_all(1, std::vector<AdaptiveJob>(5, of_time(100s)));
  EXPECT_TRUE(world.runs(0));
  world.finish(0);
  EXPECT_EQ(world.running().size(), 1U);
}

TEST(Adaptive, AShortJobStaysAwayFromWhatWouldBarelyMoveItIfAJobEndsSoon) {
  for (const auto left : {20s, 100'000s}) {
    AdaptiveWorld world("adaptive", "1xA100-40GB", {.idle = "3g.20gb@4"});
    const AdaptiveJob old{
        .request = {ByProfile{"3g.20gb"}, {}}, .full = 10'000s + left, .bend = 0, .saves = false};
    world.adopt(0, old, "3g.20gb@4", 10'000s);
    AdaptiveJob steep = elastic(20s);
    steep.bend = 3;
    world.submit(1, steep);
    EXPECT_EQ(world.runs(1), left > 20s);
    world.finish(0);
    EXPECT_TRUE(world.runs(1));
  }
}

TEST(Adaptive, TheMoreWaitBehindTwoJobsTheLessItMattersWhichIsFirst) {
  for (const std::size_t others : {0U, 20U}) {
    AdaptiveWorld world("adaptive");
    world.submit(0, of_time(103'000s));
    world.wait(100'000s);
    std::vector<AdaptiveJob> jobs(1 + others, of_time(3500s));
    jobs.front() = of_time(2600s);
    world.submit_all(1, jobs);
    EXPECT_EQ(world.runs(1), others == 0);
    EXPECT_EQ(world.runs(0), others > 0);
  }
}

TEST(Adaptive, WhatMayNotBeStoppedStaysHoweverShortOthersAre) {
  AdaptiveWorld world("adaptive");
  world.submit(0, stays(of_time(longest)));
  for (unsigned job = 1; job <= 20; ++job) {
    world.wait(100s);
    world.submit(job, of_time(10s));
    EXPECT_TRUE(world.runs(0));
    EXPECT_FALSE(world.runs(job));
  }
  world.finish(0);
  EXPECT_EQ(world.running().size(), 1U);
}

TEST(Adaptive, AJobOfHigherPriorityTakesThePlaceOfOneThatIsAsLong) {
  for (const std::int64_t priority : {0, 1}) {
    AdaptiveWorld world("adaptive");
    world.submit(0, of_time(10'000s));
    world.wait(10s);
    AdaptiveJob second = of_time(10'000s);
    second.priority = priority;
    world.submit(1, second);
    EXPECT_EQ(world.runs(1), priority > 0);
    EXPECT_EQ(world.runs(0), priority == 0);
  }
}

TEST(Adaptive, DisruptionsOfAJobWithinAnHourAreBounded) {
  for (const unsigned most : {0U, 1U, 3U}) {
    AdaptiveWorld world(fmt::format("adaptive:disruptions={}", most));
    world.submit(0, of_time(longest));
    unsigned job = 1;
    const auto is_displaced = [&] {
      world.wait(60s);
      world.submit(job, of_time(20s));
      const bool displaced = world.runs(job);
      EXPECT_NE(displaced, world.runs(0));
      world.wait(20s);
      if (!displaced) return false;
      world.finish(job++);
      return true;
    };
    for (unsigned i = 0; i < most; ++i) EXPECT_TRUE(is_displaced()) << i << " of " << most;
    EXPECT_FALSE(is_displaced()) << most;
    EXPECT_EQ(world.of(0).saved, most);
    world.wait(1h);
    world.cancel(job++);
    EXPECT_EQ(is_displaced(), most > 0) << "an hour later";
  }
}

// How large.

TEST(Adaptive, AJobThatAReplicaTakesOverGrowsWhenTheOthersHaveLeft) {
  AdaptiveWorld world("adaptive");
  AdaptiveJob job = elastic(10'000s);
  job.saves = false;
  job.live = true;
  world.submit_all(0, {job, job, job, job});
  ASSERT_EQ(world.running().size(), 4U);
  const int before = world.slices(3);
  for (unsigned other : {0U, 1U, 2U}) {
    world.wait(10s);
    world.finish(other);
  }
  EXPECT_GT(world.slices(3), before);
  EXPECT_GT(world.of(3).moved, 0U);
  EXPECT_EQ(world.of(3).saved, 0U);
}

TEST(Adaptive, ARunningJobShrinksForOneThatComes) {
  AdaptiveWorld world("adaptive");
  AdaptiveJob job = elastic(10'000s);
  job.bend = 0.5;
  world.submit(0, job);
  EXPECT_EQ(world.slices(0), 7);
  world.wait(2000s);
  world.submit(1, job);
  EXPECT_TRUE(world.runs(1));
  EXPECT_TRUE(world.runs(0));
  EXPECT_LT(world.slices(0), 7);
}

/// Of a job that may not be interrupted, by how its speed follows its size.
int slices_of_bend(double bend) {
  AdaptiveWorld world("adaptive");
  AdaptiveJob job = stays(elastic(1000s));
  job.bend = bend;
  world.submit(0, job);
  return world.slices(0);
}

TEST(Adaptive, AJobThatGainsNothingBySizeIsGivenTheSmallest) {
  EXPECT_EQ(slices_of_bend(0), 1);
  EXPECT_EQ(slices_of_bend(1.5), 7);
}

TEST(Adaptive, WhatIsLearntOfSpeedsChangesTheSizesOfThoseThatWait) {
  const auto run_beside = [](double bend) {
    AdaptiveWorld world("adaptive", "1xA100-40GB", {.predicted = true});
    AdaptiveJob job = elastic(0s);
    job.application = "a";
    world.submit(0, stays(of_time(0s)));
    world.submit_all(1, {job, job});
    EXPECT_EQ(world.running().size(), 1U);
    world.facts().bends["a"] = bend;
    world.wait(100s);
    world.finish(0);
    return world.running().size();
  };
  EXPECT_EQ(run_beside(0), 2U);
  EXPECT_EQ(run_beside(3), 1U);
}

TEST(Adaptive, WhatMayNotBeInterruptedIsGivenMoreThanItAsksForOnceItsSpeedsAreLearnt) {
  const auto slices = [](std::optional<double> bend) {
    AdaptiveWorld world("adaptive", "1xA100-40GB", {.predicted = true});
    AdaptiveJob job = stays(elastic(0s));
    job.application = "a";
    world.submit(0, stays(of_time(0s)));
    world.submit(1, job);
    if (bend) world.facts().bends["a"] = *bend;
    world.wait(100s);
    world.finish(0);
    return world.slices(1);
  };
  EXPECT_EQ(slices(std::nullopt), 1);
  EXPECT_EQ(slices(0), 1);
  EXPECT_EQ(slices(3), 7);
}

TEST(Adaptive, WhatAJobReportsSaysWhatItHasLeft) {
  const auto is_displaced = [](std::optional<double> progress) {
    AdaptiveWorld world("adaptive");
    world.submit(0, of_time(10'000s));
    world.wait(5'000s);
    world.known(0).progress = progress;
    world.submit(1, of_time(1'000s));
    return world.runs(1);
  };
  EXPECT_TRUE(is_displaced(std::nullopt)) << "5,000 s are left by the times";
  EXPECT_FALSE(is_displaced(0.99)) << "100 s are left by what it says";
  EXPECT_TRUE(is_displaced(0.1));
}

TEST(Adaptive, WithoutTimesTheTailOfThoseSeenSaysWhatIsLeft) {
  AdaptiveWorld world("adaptive");
  AdaptiveJob unknown = of_time(0s);
  for (unsigned job = 0; job < 40; ++job) {
    world.submit(job, unknown);
    world.wait(job == 0 ? 20'000s : 10s);
    world.finish(job);
  }
  world.submit(40, unknown);
  world.wait(2'000s);
  world.submit(41, unknown);
  EXPECT_TRUE(world.runs(41)) << "the first is one of the long ones";
  EXPECT_FALSE(world.runs(40));
}

// Jobs that run already.

TEST(Adaptive, AnAdoptedJobHoldsItsPlaceAndCountsAsWhatItIs) {
  for (const bool saves : {false, true}) {
    AdaptiveWorld world("adaptive", "1xA100-40GB", {.idle = "7g.40gb@0"});
    world.wait(1h);
    AdaptiveJob old = of_time(longest);
    old.saves = saves;
    world.adopt(0, old, "7g.40gb@0", 1000s);
    world.submit(1, of_time(longest));
    EXPECT_TRUE(world.runs(0));
    EXPECT_FALSE(world.runs(1));
    world.submit(2, of_time(10s));
    EXPECT_EQ(world.runs(2), saves);
    EXPECT_EQ(world.runs(0), !saves);
  }
}

TEST(Adaptive, WhatAnAdoptedJobHasDoneIsKnownByWhenItBegan) {
  for (const Duration ago : {Duration{0s}, Duration{9'990s}}) {
    AdaptiveWorld world("adaptive", "1xA100-40GB", {.idle = "7g.40gb@0"});
    world.wait(24h);
    world.adopt(0, of_time(10'000s), "7g.40gb@0", ago);
    world.submit(1, of_time(500s));
    EXPECT_EQ(world.runs(1), ago == Duration{}) << "it has 10 s left";
  }
}

// GPUs that go and come.

TEST(Adaptive, TheJobsOfALostGpuRunElsewhereWhenThatIsFree) {
  AdaptiveWorld world("adaptive", "2xA100-40GB");
  world.submit_all(0, {stays(of_time(1000s)), stays(of_time(1000s))});
  const unsigned on_first = world.place(0).starts_with('0') ? 0 : 1;
  const unsigned other = 1 - on_first;
  world.wait(10s);
  world.lose(0);
  EXPECT_FALSE(world.runs(on_first));
  EXPECT_TRUE(world.runs(other));
  world.wait(10s);
  world.finish(other);
  EXPECT_EQ(world.place(on_first), "1 7g.40gb@0");
}

TEST(Adaptive, AGpuThatReturnsTakesWhatWaits) {
  AdaptiveWorld world("adaptive");
  world.submit(0, of_time(1000s));
  world.lose(0);
  EXPECT_FALSE(world.runs(0));
  world.submit(1, of_time(2000s));
  EXPECT_FALSE(world.runs(1));
  world.tell(GpuReturned{GpuId{0}});
  EXPECT_TRUE(world.runs(0)) << "the shorter";
  EXPECT_EQ(world.of(0).starts, 2U);
}

TEST(Adaptive, WhatWasLostWithAGpuIsToBeDoneAgain) {
  AdaptiveWorld world("adaptive");
  world.submit(0, of_time(1'000s));
  world.wait(900s);
  world.lose(0);
  world.submit(1, of_time(500s));
  world.tell(GpuReturned{GpuId{0}});
  EXPECT_TRUE(world.runs(1)) << "the other has 1,000 s to do, not 100";
}

TEST(Adaptive, ADrainedGpuIsLeftAsItIs) {
  AdaptiveWorld world("adaptive", "2xA100-40GB");
  world.submit_all(0, {of_time(longest), of_time(longest)});
  const unsigned drained = world.place(0).starts_with('0') ? 0 : 1;
  world.wait(10s);
  world.tell(GpuDrained{GpuId{0}});
  EXPECT_TRUE(world.runs(drained));
  world.submit(2, of_time(10s));
  world.submit(3, of_time(10s));
  EXPECT_TRUE(world.runs(drained)) << "the short ones go to the other GPU";
  EXPECT_EQ(world.of(drained).disruptions.size(), 0U);
  EXPECT_EQ(world.running().size(), 2U);
  world.finish(drained);
  EXPECT_EQ(world.running().size(), 1U);
  world.tell(GpuUndrained{GpuId{0}});
  EXPECT_EQ(world.running().size(), 2U);
}

TEST(Adaptive, AnInstanceThatVanishesHasItsJobWaitAndStartAgain) {
  AdaptiveWorld world("adaptive");
  world.submit(0, stays(of_time(1000s)));
  world.vanish(0);
  EXPECT_TRUE(world.runs(0));
  EXPECT_EQ(world.of(0).starts, 2U);
}

// Cancelled jobs.

TEST(Adaptive, AJobThatIsCancelledWhileItWaitsNeverStarts) {
  AdaptiveWorld world("adaptive");
  world.submit(0, stays(of_time(1000s)));
  world.submit(1, of_time(10s));
  world.submit(2, of_time(20s));
  world.cancel(1);
  world.finish(0);
  EXPECT_FALSE(world.runs(1));
  EXPECT_TRUE(world.runs(2));
}

TEST(Adaptive, AJobThatIsCancelledAfterItWasSavedNeverStarts) {
  AdaptiveWorld world("adaptive");
  world.submit(0, of_time(longest));
  world.wait(10s);
  world.submit(1, of_time(10s));
  ASSERT_FALSE(world.runs(0));
  world.cancel(0);
  world.finish(1);
  EXPECT_TRUE(world.running().empty());
}

TEST(Adaptive, AJobThatIsCancelledWhileItRunsLeavesItsPlace) {
  AdaptiveWorld world("adaptive");
  world.submit(0, stays(of_time(1000s)));
  world.submit(1, of_time(1000s));
  world.cancel(0);
  EXPECT_TRUE(world.runs(1));
}

TEST(Adaptive, ACancellationOfAJobThatRunsChangesNothing) {
  AdaptiveWorld world("adaptive");
  world.submit(0, of_time(longest));
  world.wait(100s);
  world.tell(Cancelled{JobId{0}});
  EXPECT_TRUE(world.runs(0));
  world.submit(1, of_time(20s));
  EXPECT_TRUE(world.runs(1)) << "the first may still be stopped";
  EXPECT_EQ(world.of(0).saved, 1U);
}

// Memory.

TEST(Adaptive, AJobThatRanOutGetsALargerInstance) {
  AdaptiveWorld world("adaptive");
  AdaptiveJob flat = stays(elastic(1000s));
  flat.bend = 0;
  world.submit(0, flat);
  EXPECT_EQ(world.slices(0), 1);
  for (int times = 0; times < 3; ++times) {
    const auto had = world.usable(0);
    world.run_out(0);
    ASSERT_TRUE(world.runs(0));
    EXPECT_GT(world.usable(0), had);
  }
}

TEST(Adaptive, WhatOneNeededOthersOfItsApplicationGetFromTheBeginning) {
  for (const char* application : {"a", "b"}) {
    AdaptiveWorld world("adaptive", "2xA100-40GB");
    AdaptiveJob flat = stays(elastic(1000s));
    flat.bend = 0;
    flat.application = "a";
    world.submit(0, flat);
    world.run_out(0);
    flat.application = application;
    world.submit(1, flat);
    EXPECT_EQ(*world.usable(1) > MiB{9000}, *application == 'a') << world.usable(1)->value;
  }
}

TEST(Adaptive, AJobThatIsForecastToOutgrowItsInstanceIsMovedBeforeItDies) {
  const auto forecaster = make_forecaster("last-value");
  AdaptiveWorld world("adaptive", "1xA100-40GB", {.forecaster = forecaster->get()});
  AdaptiveJob flat = elastic(1000s);
  flat.bend = 0;
  world.submit(0, flat);
  const auto had = *world.usable(0);
  ASSERT_LT(had, MiB{15'000});
  for (std::int64_t i = 1; i <= 10; ++i)
    world.tell(MemoryReported{JobId{0}, {i, 100, MiB{15'000}, MiB{15'000}}, had});
  EXPECT_GE(*world.usable(0), MiB{15'000});
  EXPECT_EQ(world.of(0).stopped, 1U);
}

// The site's orders.

TEST(Adaptive, TheEarlierDeadlineGoesFirstWhereThatIsTheOrder) {
  for (const bool by_deadline : {false, true}) {
    AdaptiveWorld world(by_deadline ? "adaptive:order=deadline" : "adaptive");
    world.submit(0, stays(of_time(10s)));
    AdaptiveJob early = stays(of_time(1000s)), late = stays(of_time(10s));
    early.deadline = Instant{2000s};
    late.deadline = Instant{9000s};
    world.submit_all(1, {late, early});
    world.finish(0);
    EXPECT_EQ(world.runs(2), by_deadline);
    EXPECT_NE(world.runs(1), by_deadline);
  }
}

TEST(Adaptive, WithFairShareTheUserGoesFirstWhoHasUsedLess) {
  AdaptiveWorld world("adaptive:order=fair-share");
  AdaptiveJob of_ann = stays(of_time(100s)), of_bob = stays(of_time(1000s));
  of_ann.user = "ann";
  of_bob.user = "bob";
  world.submit(0, of_ann);
  world.submit_all(1, {of_ann, of_bob});
  world.wait(100s);
  world.finish(0);
  EXPECT_TRUE(world.runs(2)) << "though the other is shorter and was there before";
  EXPECT_FALSE(world.runs(1));
}

TEST(Adaptive, AUserHasNoMoreJobsThanTheLimit) {
  AdaptiveWorld world("adaptive:user-jobs=2", "2xA100-40GB");
  AdaptiveJob small = stays(elastic(100s));
  small.bend = 0;
  small.user = "ann";
  world.submit_all(0, {small, small, small});
  EXPECT_EQ(world.running().size(), 2U);
  EXPECT_TRUE(world.outlook(2).user_at_limit);
  small.user = "bob";
  world.submit(3, small);
  EXPECT_TRUE(world.runs(3));
  world.finish(0);
  EXPECT_TRUE(world.runs(2));
}

TEST(Adaptive, AReservedGpuIsLeftToItsUser) {
  AdaptiveWorld world("adaptive", "2xA100-40GB",
                      {.reservations = {{GpuId{0}, Instant{}, Instant{1h}, "ann"}}});
  AdaptiveJob of_bob = of_time(100s), of_ann = of_time(100s);
  of_bob.user = "bob";
  of_ann.user = "ann";
  world.submit_all(0, {of_bob, of_bob});
  EXPECT_EQ(world.running().size(), 1U);
  world.submit(2, of_ann);
  EXPECT_EQ(world.place(2), "0 7g.40gb@0");
}

// What is said of it.

TEST(Adaptive, AJobThatWaitsForABetterPlaceSaysSo) {
  AdaptiveWorld world("adaptive");
  AdaptiveJob ends_soon = stays(of_time(10s));
  ends_soon.request = {ByProfile{"4g.20gb"}, {}};
  ends_soon.bend = 0;
  world.submit(0, ends_soon);
  ASSERT_EQ(world.slices(0), 4);
  world.wait(1s);
  world.submit(1, stays(elastic(longest)));
  EXPECT_FALSE(world.runs(1)) << "three slices are free";
  EXPECT_TRUE(world.outlook(1).waits_for_better);
  EXPECT_FALSE(world.outlook(1).order.empty());
  world.wait(9s);
  world.finish(0);
  EXPECT_EQ(world.place(1), "0 7g.40gb@0");
  EXPECT_FALSE(world.outlook(1).waits_for_better);
  EXPECT_FALSE(world.outlook(1).size.empty());
  world.finish(1);
  EXPECT_TRUE(world.outlook(1).size.empty());
}

// The bound on overtaking.

TEST(Adaptive, AfterItsPatienceAPlaceIsKeptForAJobAndItIsNoMoreStopped) {
  for (const unsigned patience : {1U, 3U, 10U}) {
    AdaptiveWorld world(fmt::format("adaptive:patience={};disruptions=1000", patience));
    world.submit(0, of_time(longest));
    world.wait(10s);
    world.submit(1, of_time(10s));
    unsigned started = 1;
    while (world.submit(started + 1, of_time(10s)), !world.outlook(0).kept && started < 50) {
      EXPECT_FALSE(world.runs(0));
      world.wait(10s);
      world.finish(started++);
      EXPECT_TRUE(world.runs(started)) << "short ones go first";
    }
    EXPECT_EQ(started, 1 + patience) << "the first took its place";
    world.finish(started);
    EXPECT_TRUE(world.runs(0));
    for (unsigned job = 100; job < 110; ++job) {
      world.wait(10s);
      world.submit(job, of_time(10s));
      EXPECT_TRUE(world.runs(0)) << "it is no more stopped to wait";
    }
  }
}

// Anything.

/// Whether what began at these times was bounded within any hour.
bool bounded(const std::vector<Instant>& times, std::size_t most) {
  for (std::size_t i = most; i < times.size(); ++i)
    if (times[i] < times[i - most] + 1h) return false;
  return true;
}

AdaptiveJob any_job(Random& random) {
  AdaptiveJob job;
  switch (random.below(3)) {
    case 0:
      job.request = {Unknown{}, {}};
      break;
    case 1:
      job.request = {ByProfile{"2g.10gb"}, {}};
      break;
    default:
      break;
  }
  if (random.below(3) > 0)
    job.full = std::chrono::seconds(1 + random.below(random.below(3) == 0 ? 10'000 : 100));
  job.bend = random.uniform() * 1.2;
  job.saves = random.below(2) == 0;
  job.live = random.below(3) == 0;
  job.priority = random.below(5) == 0 ? 1 : 0;
  return job;
}

// The world holds that only what saves is saved and only what may move is moved.
TEST(Adaptive, NeverDoesToAJobWhatMayNotBeDoneNorTooOften) {
  std::size_t saved = 0, moved = 0, held_back = 0;
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const std::size_t most = random.below(4);
    AdaptiveWorld world(fmt::format("adaptive:disruptions={}", most), "2xA100-40GB");
    for (unsigned job = 0; job < 100; ++job) {
      world.wait(std::chrono::seconds(random.below(60)));
      world.submit(job, any_job(random));
      while (!world.running().empty() && random.below(3) > 0) {
        const auto running = world.running();
        auto ends = running.begin();
        std::advance(ends, static_cast<std::ptrdiff_t>(random.below(running.size())));
        world.finish(static_cast<unsigned>(index(*ends)));
      }
    }
    for (unsigned job = 0; job < 100; ++job) {
      const AdaptiveWorld::Counts& counts = world.of(job);
      EXPECT_TRUE(bounded(counts.disruptions, most)) << job;
      EXPECT_EQ(counts.stopped, 0U) << job;
      saved += counts.saved;
      moved += counts.moved;
      held_back += most > 0 && counts.disruptions.size() == most ? 1 : 0;
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(saved, 100U);
  EXPECT_GT(moved, 20U);
  EXPECT_GT(held_back, 20U);
}

}  // namespace
}  // namespace cleave
