// What schedulers are told where not everything is: errors that do not depend on who asks, speeds
// as finished jobs showed them, and what is needed and withheld.

#include "simulate/known_jobs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "model/workload_file.hpp"
#include "simulate/simulator.hpp"

namespace cleave {
namespace {

using std::chrono::seconds;

/// A workload on one A30, and what is told of it.
struct World {
  World(const std::string& jobs, const std::string& knowledge, std::uint64_t seed = 1)
      : file(*parse_fleet_in_short("1xA30-24GB", ProfileChoice::plain())),
        workload(*parse_workload(jobs, "jobs")),
        fleet(file),
        requests(file.geometries),
        speeds(workload, fleet, {}) {
    for (const Request& request : workload.requests) ids.push_back(requests.intern(request));
    facts.emplace(workload, speeds, fleet, ids, nullptr,
                  Told{*parse_knowledge(knowledge), MayInterrupt::all, seed, &requests});
  }

  int profile(std::string_view name) const {
    const GpuModel& model = file.geometries.front().model();
    return static_cast<int>(model.find(name) - model.profiles.data());
  }
  std::optional<double> time(int job, std::string_view on) const {
    const auto told = facts->time_on(static_cast<JobId>(job), 0, profile(on));
    return told ? std::optional(in_seconds(*told)) : std::nullopt;
  }
  std::optional<double> speed(int job, std::string_view on) const {
    return facts->speed_on(static_cast<JobId>(job), 0, profile(on));
  }

  FleetFile file;
  Workload workload;
  Fleet fleet;
  RequestTable requests;
  Speeds speeds;
  std::vector<RequestId> ids;
  std::optional<KnownJobs> facts;
};

std::string jobs(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += fmt::format(R"({{"id":"j{}","duration_s":100,"application":"a","profile":"2g.12gb",)"
                        R"("speed":{{"1g.6gb":0.125,"2g.12gb":0.5,"4g.24gb":1}}}})"
                        "\n",
                        i);
  return text;
}

TEST(KnownJobs, ErrorsAreOfTheJobAlone) {
  const World world(jobs(400), "times=noise:0.5");
  std::vector<double> logs;
  for (int job = 399; job >= 0; --job) {
    const double factor = *world.time(job, "4g.24gb") / 100;
    EXPECT_NEAR(*world.time(job, "1g.6gb"), 800 * factor, 1e-6) << "on all profiles the same";
    logs.push_back(std::log(factor));
  }
  double mean = 0, square = 0;
  for (const double each : logs) mean += each / 400;
  for (const double each : logs) square += (each - mean) * (each - mean) / 399;
  EXPECT_NEAR(mean, 0, 0.1);
  EXPECT_NEAR(std::sqrt(square), 0.5, 0.06);
  const World again(jobs(400), "times=noise:0.5"), other(jobs(400), "times=noise:0.5", 2);
  EXPECT_EQ(*again.time(7, "1g.6gb"), *world.time(7, "1g.6gb")) << "asked in another order";
  EXPECT_NE(*other.time(7, "1g.6gb"), *world.time(7, "1g.6gb"));
  EXPECT_TRUE(world.facts->predicts()) << "no scheduler adds errors of its own";
}

TEST(KnownJobs, WithoutTimesSpeedsMayBeKnown) {
  const World world(jobs(1), "times=unknown");
  EXPECT_FALSE(world.time(0, "2g.12gb"));
  EXPECT_FALSE(world.facts->tells_times());
  EXPECT_DOUBLE_EQ(*world.speed(0, "1g.6gb") / *world.speed(0, "4g.24gb"), 0.125);
  const World neither(jobs(1), "times=unknown;speeds=none");
  EXPECT_FALSE(neither.speed(0, "1g.6gb"));
  const World known(jobs(1), "speeds=none");
  EXPECT_FALSE(known.speed(0, "1g.6gb")) << "times say it";
}

TEST(KnownJobs, WithoutSpeedsOtherProfilesGoByTheProcessors) {
  const World world(jobs(1), "speeds=none");
  EXPECT_DOUBLE_EQ(*world.time(0, "2g.12gb"), 200) << "what it asks for";
  EXPECT_DOUBLE_EQ(*world.time(0, "4g.24gb"), 100);
  EXPECT_FALSE(world.time(0, "1g.6gb")) << "less than it asks for";
}

TEST(KnownJobs, LearnFromJobsOfTheirApplication) {
  const std::string other = R"({"id":"x","duration_s":100,"application":"b","profile":"1g.6gb",)"
                            R"("speed":{"1g.6gb":0.1,"2g.12gb":0.5,"4g.24gb":1}})";
  std::string text = jobs(2);
  text.replace(text.find("2g.12gb"), 7, "1g.6gb");  // the first asks for less
  World world(text + other, "speeds=learn");
  EXPECT_DOUBLE_EQ(*world.time(0, "1g.6gb"), 800);
  EXPECT_DOUBLE_EQ(*world.time(0, "4g.24gb"), 200) << "by the processors";
  world.facts->learn(static_cast<JobId>(1), 0, world.profile("2g.12gb"), seconds(200));
  EXPECT_NEAR(*world.time(0, "4g.24gb"), 800 * std::pow(0.25, 0.6), 1e-6)
      << "what one profile shows is carried to others by less than the share of processors";
  world.facts->learn(static_cast<JobId>(1), 0, world.profile("4g.24gb"), seconds(160));
  world.facts->learn(static_cast<JobId>(0), 0, world.profile("1g.6gb"), seconds(400));
  EXPECT_NEAR(*world.time(0, "4g.24gb"), 800 * 160.0 / 400, 1e-6) << "as was seen";
  EXPECT_NEAR(*world.time(0, "2g.12gb"), 800 * 200.0 / 400, 1e-6);
  world.facts->learn(static_cast<JobId>(0), 0, world.profile("4g.24gb"), seconds(240));
  EXPECT_NEAR(*world.time(0, "4g.24gb"), 800 * 200.0 / 400, 1e-6) << "the mean of 160 and 240";
  EXPECT_DOUBLE_EQ(*world.time(2, "4g.24gb"), 250) << "another application's";
}

TEST(KnownJobs, LearntSpeedsFollowTheLawWhereTwoSizesWereSeen) {
  World world(jobs(1), "times=unknown;speeds=learn");
  EXPECT_FALSE(world.speed(0, "4g.24gb"));
  // A floor of 100 s and 100 s of work that slices divide, one after the other or not.
  world.facts->learn(JobId{}, 0, world.profile("1g.6gb"), seconds(500));
  world.facts->learn(JobId{}, 0, world.profile("4g.24gb"), seconds(200));
  const double ratio = *world.speed(0, "4g.24gb") / *world.speed(0, "2g.12gb");
  EXPECT_GT(ratio, 1.2);
  EXPECT_LT(ratio, 1.9) << "less than twice as fast, as the processors would say";
}

TEST(KnownJobs, TheTextOfWhatIsToldReadsBack) {
  for (const char* text :
       {"speeds=true;times=true;memory=true", "speeds=learn;times=noise:0.25;memory=none",
        "speeds=none;times=unknown;memory=forecast"})
    EXPECT_EQ(cleave::text(*parse_knowledge(text)), text);
  EXPECT_EQ(*parse_knowledge(""), Knowledge());
  for (const char* wrong : {"times=noise:-1", "times=noise:", "times=noise:6", "times=no",
                            "speeds=noise:1", "memory", "power=true", "times=true;times=true"})
    EXPECT_FALSE(parse_knowledge(wrong)) << wrong;
  EXPECT_FALSE(parse_may("never"));
}

Result<RunSummary> run(const std::string& scheduler, const std::string& know, MayInterrupt may,
                       int count = 12) {
  SimulationOptions options;
  options.know = *parse_knowledge(know);
  options.may = may;
  return simulate(*parse_fleet_in_short("1xA30-24GB", ProfileChoice::plain()),
                  *parse_workload(jobs(count), "jobs"), *parse_scheduler(scheduler), options);
}

TEST(KnownJobs, WhatCannotDoWithoutIsRefused) {
  const auto miso = run("miso", "", MayInterrupt::never);
  ASSERT_FALSE(miso);
  EXPECT_EQ(miso.error().kind, ErrorKind::bad_usage);
  EXPECT_NE(miso.error().text().find("no job may be stopped"), std::string::npos);
  EXPECT_TRUE(run("miso", "", MayInterrupt::checkpoint));
  const auto best = run("static:layout=best", "times=unknown", MayInterrupt::all);
  ASSERT_FALSE(best);
  EXPECT_NE(best.error().text().find("layout=best needs to know how long"), std::string::npos);
  EXPECT_TRUE(run("static:layout=best", "times=noise:1;speeds=learn", MayInterrupt::all));
  for (const SchedulerRow& row : schedulers()) {
    const auto less =
        run(std::string(row.name), "times=unknown;speeds=none;memory=none", MayInterrupt::all);
    ASSERT_TRUE(less) << less.error().text();
    EXPECT_EQ(less->finished, 12U) << row.name;
  }
}

// A job that is not told to need 2g is given 1g, dies there at once, and asks for more.
TEST(KnownJobs, WithoutMemoryJobsFindOutWhereTheyFit) {
  const std::string text = R"({"id":"a","duration_s":100,"speed":{"2g.12gb":0.5,"4g.24gb":1}})";
  SimulationOptions options;
  const auto fleet = *parse_fleet_in_short("1xA30-24GB", ProfileChoice::plain());
  const Workload workload = *parse_workload(text, "jobs");
  for (const SchedulerRow& row : schedulers()) {
    options.know = {};
    const auto told = simulate(fleet, workload, *parse_scheduler(row.name), options);
    ASSERT_TRUE(told) << told.error().text();
    EXPECT_EQ(told->oom_restarts, 0U);
    options.know.memory = KnownMemory::unknown;
    const auto found = simulate(fleet, workload, *parse_scheduler(row.name), options);
    ASSERT_TRUE(found) << found.error().text();
    EXPECT_EQ(found->finished, 1U) << row.name;
    const bool smallest_first = row.name == "scheme-b" || row.name == "online";
    EXPECT_GE(found->oom_restarts, smallest_first ? 1U : 0U);
    EXPECT_LE(found->oom_restarts, row.truth ? 0U : 1U) << "some know the truth";
  }
}

}  // namespace
}  // namespace cleave
