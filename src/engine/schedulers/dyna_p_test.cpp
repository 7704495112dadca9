// What `dyna-p` and `oracle` promise: no job is stopped while a GPU could take the work as it is;
// whose time counts when jobs are stopped; what late jobs get; the window; what slices cost others;
// and places by predicted ends.

#include "engine/schedulers/dyna_p.hpp"

#include <gtest/gtest.h>

#include "base/format.hpp"
#include "base/random.hpp"
#include "engine/schedulers/dyna_p_world_test.hpp"

namespace cleave {
namespace {

using std::chrono::seconds;

Instant at(int second) {
  return Instant(seconds(second));
}

WorldJob profile_job(std::string_view profile, int full_s) {
  WorldJob job;
  job.request = {ByProfile{std::string(profile)}, {}};
  job.full = seconds(full_s);
  job.bend = 0;  // as long on its profile as on the whole GPU
  return job;
}

WorldJob sized_job(int mib, int full_s, double bend) {
  WorldJob job;
  job.request = {BySize{MiB{mib}, {}}, {}};
  job.full = seconds(full_s);
  job.bend = bend;
  return job;
}

// ---- The last resort ----

struct LawRun {
  std::size_t stops = 0, jobs = 0;
};

/// Random jobs on a random fleet; some name a profile, some a size, some have deadlines.
LawRun run_law(std::string_view spec, std::uint64_t seed) {
  constexpr std::string_view fleets[] = {"1xA30-24GB", "2xA30-24GB",  "3xA100-40GB",
                                         "4xA30-24GB", "2xA100-40GB", "1xA100-40GB,2xA30-24GB"};
  Random random(seed);
  const std::string_view fleet = fleets[random.below(std::size(fleets))];
  const bool named = fleet.find(',') == std::string_view::npos;
  const GpuModel& model = **find_gpu_model(fleet.find("A100") < 4 ? "A100-40GB" : "A30-24GB");
  DynaPWorld world(spec, fleet);
  LawRun result;
  double now_s = 0;
  const double gap_s = 2 + 60 * random.uniform();
  for (int i = 0; i < 60; ++i) {
    std::vector<WorldJob> jobs;
    for (std::uint64_t n = 1 + random.below(3); n > 0; --n) {
      const auto full = static_cast<int>(1 + random.below(300));
      WorldJob job = sized_job(static_cast<int>(500 + random.below(22000)), full, random.uniform());
      if (named && random.below(2) == 0) {
        const auto list = ProfileChoice::plain().on(model);
        const Geometry geometry(model, list);
        const auto profiles = geometry.profile_list();
        job.request = {ByProfile{std::string(profiles[random.below(profiles.size())]->name)}, {}};
      }
      if (random.below(3) == 0)
        job.deadline = Instant(Duration{std::llround(1e9 * (now_s + full * 6 * random.uniform()))});
      job.restartable = random.below(8) != 0;
      jobs.push_back(std::move(job));
    }
    result.jobs += jobs.size();
    world.submit(jobs, Instant(Duration{std::llround(now_s * 1e9)}));
    now_s += random.exponential(gap_s);
  }
  world.end_all();
  EXPECT_EQ(world.ended(), result.jobs) << "every job ends";
  for (const std::string& each : world.needless_stops()) ADD_FAILURE() << each;
  result.stops = world.stops();
  return result;
}

TEST(DynaPLaw, NoJobIsStoppedWhileAGpuCouldTakeTheWork) {
  constexpr std::string_view bases[] = {"own", "full", "priced"};
  constexpr std::string_view layouts[] = {"inside", "after"};
  constexpr std::string_view losses[] = {"every", "largest"};
  constexpr std::string_view windows[] = {"all", "auto", "3", "16"};
  std::size_t stops = 0;
  for (std::uint64_t seed = 1; seed <= 1000 && !testing::Test::HasFailure(); ++seed) {
    Random random(seed ^ 0x6c617374);
    const auto any = [&](const auto& words) { return words[random.below(std::size(words))]; };
    const std::string spec = fmt::format(
        "oracle:base={};layout={};losses={};window={};alpha={};beta={};place={};order={}",
        any(bases), any(layouts), any(losses), any(windows), random.below(2) * 5,
        random.below(3) * 500, random.below(2) == 0 ? "first" : "end",
        random.below(2) == 0 ? "deadline" : "arrival");
    SCOPED_TRACE(fmt::format("seed {} {}", seed, spec));
    stops += run_law(spec, seed).stops;
  }
  EXPECT_GT(stops, 1000U) << "or the law says nothing";
}

// Two 1g in the middle of one A30 leave no place for a 2g there; the other GPU is empty. What fits
// there is placed there, whatever the order of the GPUs.
TEST(DynaP, AnEmptyGpuIsTakenBeforeRunningJobsAreStopped) {
  DynaPWorld world("oracle:beta=1e6", "2xA30-24GB");
  for (int i = 0; i < 4; ++i) world.submit({profile_job("1g.6gb", 1000)}, at(0));
  world.end(JobId{0}, at(100));
  world.end(JobId{2}, at(100));
  EXPECT_EQ(world.place(1), "0 1g.6gb@1");
  EXPECT_EQ(world.place(3), "0 1g.6gb@3");
  world.submit({profile_job("2g.12gb", 1000)}, at(300));
  EXPECT_EQ(world.stops(), 0U);
  EXPECT_EQ(world.place(4), "1 2g.12gb@0");
}

TEST(DynaP, WithoutAnotherGpuTheyAreStopped) {
  DynaPWorld world("oracle:beta=1e6", "1xA30-24GB");
  for (int i = 0; i < 4; ++i) world.submit({profile_job("1g.6gb", 1000)}, at(0));
  world.end(JobId{0}, at(100));
  world.end(JobId{2}, at(100));
  world.submit({profile_job("2g.12gb", 1000)}, at(300));
  EXPECT_EQ(world.stops(), 2U);
  EXPECT_NE(world.place(4), "");
}

// Three jobs lose 100 s each, and one is spared 201: not worth it, though 100 is less than 201.
TEST(DynaP, EveryLossIsCounted) {
  const auto stops = [](std::string_view losses, int length) {
    DynaPWorld world(fmt::format("oracle:alpha=0;losses={}", losses), "1xA100-40GB");
    for (int i = 0; i < 7; ++i) world.submit({profile_job("1g.5gb", length)}, at(0));
    for (const unsigned job : {0U, 2U, 4U, 6U}) world.end(static_cast<JobId>(job), at(50));
    world.submit({profile_job("3g.20gb", 1000)}, at(100));
    return world.stops();
  };
  EXPECT_EQ(stops("largest", 301), 3U);
  EXPECT_EQ(stops("every", 301), 0U);
  EXPECT_EQ(stops("every", 401), 3U);
}

// Three slices are free on an A100, in no place for a 1g.10gb. Three of them fit by slices, but not
// beside the four jobs that run; two do.
TEST(DynaP, NotOnlyTheBestBatchIsTried) {
  DynaPWorld world("oracle:beta=1e6", "1xA100-40GB");
  for (int i = 0; i < 7; ++i) world.submit({profile_job("1g.5gb", 1000)}, at(0));
  for (const unsigned job : {0U, 2U, 4U}) world.end(static_cast<JobId>(job), at(10));
  EXPECT_EQ(world.place(6), "0 1g.5gb@6");
  world.submit(std::vector<WorldJob>(3, profile_job("1g.10gb", 500)), at(20));
  EXPECT_EQ(world.stops(), 4U);
  EXPECT_NE(world.place(7), "");
  EXPECT_NE(world.place(8), "");
  EXPECT_EQ(world.place(9), "");
}

// ---- Late jobs ----

TEST(DynaP, ALateJobGetsWhatServesItBest) {
  for (const std::string_view base : {"own", "full", "priced"}) {
    const auto place = [&](std::optional<Instant> deadline) {
      DynaPWorld world(fmt::format("oracle:base={}", base), "1xA100-40GB");
      WorldJob job = sized_job(4000, 100, 0.1);
      job.deadline = deadline;
      std::vector<WorldJob> jobs{job};
      for (int i = 0; i < 40; ++i) jobs.push_back(sized_job(4000, 100, 0.1));
      world.submit(jobs, at(1000));
      return world.place(0);
    };
    EXPECT_EQ(place(at(1001)), place(at(999'999))) << base << ": as if it had no deadline to miss";
    EXPECT_NE(place(at(1001)), "0 7g.40gb@0") << base;
  }
}

// ---- The job that waits longest ----

/// Small jobs come as fast as they end, on each GPU; the fifth job needs a whole one.
struct Stream {
  explicit Stream(std::string_view options, int gpus = 1, bool deadlines = false)
      : world(fmt::format("oracle:{}", options), fmt::format("{}xA30-24GB", gpus)) {
    for (int i = 0; i < 100; ++i) {
      std::vector<WorldJob> jobs(static_cast<std::size_t>(gpus), profile_job("1g.6gb", 40));
      if (deadlines)
        for (WorldJob& job : jobs) job.deadline = at(10 * i + 200);
      if (i == 4) jobs.insert(jobs.begin(), profile_job("4g.24gb", 50));
      for (WorldJob& job : jobs) job.restartable = false;
      world.submit(jobs, at(10 * i));
      if (i == 9)
        for (unsigned id = 15; id < 21; ++id) during += world.place(id).substr(0, 1);
    }
    world.end_all();
  }
  DynaPWorld world;
  std::string during;  // the GPUs of those that came lately, at 90
};

TEST(DynaP, ALargeJobIsOvertakenABoundedNumberOfTimes) {
  EXPECT_GT(Stream("overtakes=any;window=all").world.end_of(4), at(1000)) << "as printed";
  EXPECT_GT(Stream("overtakes=any").world.end_of(4), at(1000));
  // Four start before it, from 40 to 70; the last of them ends at 110.
  for (const std::string_view options : {"overtakes=4", "overtakes=4;window=all",
                                         "overtakes=4;layout=after", "overtakes=4;place=end"})
    EXPECT_EQ(Stream(options).world.end_of(4), at(160)) << options;
  EXPECT_EQ(Stream("overtakes=auto").world.end_of(4), at(280)) << "four times as often";
  EXPECT_EQ(Stream("overtakes=0").world.end_of(4), at(120)) << "those that ran end at 70";
}

TEST(DynaP, AJobWithoutADeadlineIsNotStarvedByThoseThatHaveOne) {
  EXPECT_GT(Stream("overtakes=any;window=1", 1, true).world.end_of(4), at(1000));
  EXPECT_EQ(Stream("overtakes=4;window=1", 1, true).world.end_of(4), at(160));
}

TEST(DynaP, OnlyThePlaceThatIsKeptIsHeldBack) {
  Stream two("overtakes=4", 2);
  EXPECT_LT(two.world.end_of(8), at(200));
  EXPECT_GE(two.during.size(), 2U) << "others go on";
  EXPECT_EQ(two.during, std::string(two.during.size(), two.during[0])) << "on the other GPU";
}

// ---- The window ----

TEST(DynaP, AWindowConsidersTheFirstByDeadline) {
  // The earliest needs half a GPU; small ones with later deadlines fill it otherwise.
  const auto end = [](std::string_view window) {
    DynaPWorld world(fmt::format("oracle:window={}", window), "1xA30-24GB");
    std::vector<WorldJob> first;
    for (int i = 0; i < 4; ++i) first.push_back(profile_job("1g.6gb", 100 + i));
    world.submit(first, at(0));
    std::vector<WorldJob> jobs{profile_job("2g.12gb", 100)};
    jobs[0].deadline = at(250);
    for (int i = 0; i < 12; ++i) {
      jobs.push_back(profile_job("1g.6gb", 100));
      jobs.back().deadline = at(5000 + i);
    }
    world.submit(jobs, at(1));
    world.end_all();
    return world.end_of(4);
  };
  EXPECT_LE(end("1"), at(250));
  EXPECT_GT(end("all"), at(250));
}

TEST(DynaP, LowerPrioritiesWaitUntilAllHigherOnesHaveBeenConsidered) {
  DynaPWorld world("oracle:window=2", "1xA30-24GB");
  std::vector<WorldJob> jobs(6, profile_job("1g.6gb", 100));
  world.submit(jobs, at(0));
  world.end_all();
  EXPECT_EQ(world.ended(), 6U) << "the window moves on";
}

// ---- What slices cost others ----

TEST(DynaP, AnIdleFleetGivesWholeGpusAndACrowdedOneDoesNot) {
  const auto places = [](std::string_view base, int jobs) {
    DynaPWorld world(fmt::format("oracle:base={}", base), "2xA30-24GB");
    world.submit(std::vector<WorldJob>(static_cast<std::size_t>(jobs), sized_job(4000, 100, 0.5)),
                 at(0));
    return world.place(0);
  };
  EXPECT_EQ(places("priced", 1), "0 4g.24gb@0");
  EXPECT_EQ(places("priced", 2), "0 4g.24gb@0");
  EXPECT_EQ(places("priced", 40), "0 1g.6gb@0");
  EXPECT_EQ(places("own", 1), "0 1g.6gb@0") << "as the paper has it";
}

TEST(DynaP, JobsThatScaleWellHaveWholeGpusOneAfterTheOther) {
  DynaPWorld world("oracle:base=priced", "1xA30-24GB");
  world.submit(std::vector<WorldJob>(4, sized_job(4000, 100, 1)), at(0));
  EXPECT_EQ(world.place(0), "0 4g.24gb@0");
  EXPECT_EQ(world.place(1), "");
}

// ---- Places by predicted ends ----

// On an A30 with a job at 0 that ends at 100 and one at 2 that ends at 1000, a third that ends at
// 1000 goes beside the second: then the first half is free at 100.
TEST(DynaP, JobsThatEndTogetherStandTogether) {
  const auto place = [](std::string_view where) {
    DynaPWorld world(fmt::format("oracle:place={}", where), "1xA30-24GB");
    for (const int length : {100, 20, 1000, 20})
      world.submit({profile_job("1g.6gb", length)}, at(0));
    world.end_until(at(30));
    world.submit({profile_job("1g.6gb", 970)}, at(30));
    return world.place(4);
  };
  EXPECT_EQ(place("first"), "0 1g.6gb@1");
  EXPECT_EQ(place("end"), "0 1g.6gb@3");
}

TEST(DynaP, EndsFollowWhatJobsReport) {
  DynaPWorld world("oracle:place=end", "1xA30-24GB");
  for (const int length : {100, 20, 1000, 20}) world.submit({profile_job("1g.6gb", length)}, at(0));
  world.end_until(at(30));
  world.report_end(0, at(1000));
  world.report_end(2, at(100));
  world.submit({profile_job("1g.6gb", 970)}, at(30));
  EXPECT_EQ(world.place(4), "0 1g.6gb@1") << "beside the one that will end with it now";
}

// By what was declared most is left, by what is reported hardly anything.
TEST(DynaP, NoJobNearlyDoneByItsReportsIsStopped) {
  const auto stops = [](bool reports) {
    DynaPWorld world("oracle:alpha=0;beta=0", "1xA30-24GB");
    for (int i = 0; i < 4; ++i) world.submit({profile_job("1g.6gb", 1000)}, at(0));
    world.end(JobId{0}, at(10));
    world.end(JobId{2}, at(10));
    for (const unsigned job : {1U, 3U})
      if (reports) world.report_end(job, at(110));
    world.submit({profile_job("2g.12gb", 1000)}, at(100));
    return world.stops();
  };
  EXPECT_EQ(stops(false), 2U) << "100 s of each are lost, 900 s of waiting spared";
  EXPECT_EQ(stops(true), 0U) << "10 s of waiting spared";
}

}  // namespace
}  // namespace cleave
