// Random live situations with real processes, by seeds: jobs that may move by each of the ways and
// jobs that may not, instances of somebody else, drivers that refuse, and a daemon that is killed
// right before or after each of its effects while a plan is carried out. As in
// tests/control/plan_seeds_test.cpp, which draws many more without processes.
//
//   CLEAVE_SITUATIONS   how many; the long form is 100
//   CLEAVE_SITUATION    the first; alone, only that one

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/number_asked_test.hpp"
#include "base/random.hpp"
#include "daemon/stop_points.hpp"
#include "moving_jobs.hpp"

namespace cleave::whole {
namespace {

using std::chrono::seconds;

/// What happened in all of them.
struct Happened {
  std::size_t plans = 0, nothing = 0, calm = 0, finished = 0, stopped = 0, moved = 0, left = 0,
              deaths = 0, refused = 0, foreign = 0, restored = 0;
};

StandOptions options_of(Random& random) {
  StandOptions options;
  options.gpus = fmt::format("{}xA100-40GB", 2 + random.below(3));
  options.config = "scheduler = \"online:migration=off\"\n";
  return options;
}

class Situation {
 public:
  Situation(std::uint64_t seed, Happened& all)
      : random_(seed), all_(all), calm_(seed % 3 == 0), stand_(options_of(random_)) {}

  void run() {
    furnish();
    const std::string file = stand_.path("plan");
    const Outcome planned = stand_.run(fmt::format("plan compact --live -o {}", file));
    ASSERT_EQ(planned.exit_code, 0) << planned.err;
    if (text_of(file).empty()) {
      EXPECT_NE(planned.out.find("No job needs to be moved"), std::string::npos) << planned.out;
      ++all_.nothing;
      return;
    }
    if (!calm_) disturb();
    const Outcome applied = stand_.run(fmt::format("apply {}", file));
    if (applied.exit_code != 0 && !dying_) ADD_FAILURE() << applied.err;
    wait_for_end();
    stand_.wait_until([&] { return settled(); });
    check_jobs();
  }

 private:
  void furnish() {
    constexpr const char* profiles[] = {"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb"};
    if (random_.uniform() < 0.4) {
      foreign_ = stand_.foreign("1g.5gb", static_cast<std::uint32_t>(random_.below(7)));
      ++all_.foreign;
    }
    const std::uint64_t count = 6 + random_.below(7);
    for (std::uint64_t i = 0; i < count; ++i) {
      // In peace none is refused its checkpoint.
      const Way way = static_cast<Way>(random_.below(5));
      const Way allows = calm_ && way == Way::no_command ? Way::command : way;
      const std::int64_t number =
          submit_moving(stand_, profiles[random_.below(std::size(profiles))], allows);
      ways_[number] = allows;
    }
    stand_.wait_until([&] { return settled(); }, seconds(3));
    for (const auto& [number, way] : ways_)
      if (random_.uniform() < 0.5) {
        EXPECT_EQ(stand_.run(fmt::format("cancel --now {}", number)).exit_code, 0);
        cancelled_.insert(number);
      }
    for (const std::int64_t each : cancelled_) (void)stand_.over(each);
    // One that waits would come to run on what is free: the plan is for those that run.
    stand_.wait_until([&] { return settled(); }, seconds(3));
  }
  /// The driver refuses some of what follows, or the daemon is killed at one of its effects.
  void disturb() {
    if (random_.uniform() < 0.35) {
      constexpr const char* faults[] = {"fail-create", "fail-compute", "fail-destroy"};
      for (int gpu = 0; gpu < 2; ++gpu)
        stand_.fault(gpu, faults[random_.below(std::size(faults))],
                     static_cast<std::uint32_t>(1 + random_.below(6)));
      ++all_.refused;
    }
    if (random_.uniform() < 0.25) return;
    std::vector<std::string> points = stop_points();
    std::erase(points, "forget");  // nothing is, so soon
    dying_ = true;
    EXPECT_EQ(stand_.stop(), 0);
    stand_.start(
        {fmt::format("{}={}-{}:{}", stop_variable, random_.below(2) == 0 ? "before" : "after",
                     points[random_.below(points.size())], 1 + random_.below(3))});
    (void)stand_.wait_until_ready();
  }
  /// Begins it again where it was killed.
  bool revive() {
    if (stand_.runs()) return false;
    ++all_.deaths;
    stand_.start();
    EXPECT_TRUE(stand_.wait_until_ready());
    return true;
  }
  void wait_for_end() {
    Json plan;
    const bool ended = stand_.wait_until(
        [&] {
          revive();
          const auto answer = stand_.ask("GET", "/v1/plans");
          if (!answer) return false;
          if ((*answer)["plans"].empty()) return dying_;  // it died before it had written that
          plan = (*answer)["plans"][0];
          return plan["ended_at"].is_string();
        },
        seconds(60));
    EXPECT_TRUE(ended) << plan.dump(1) << stand_.events();
    if (plan.is_null() || !ended) return;
    plan = stand_.get("/v1/plans/1");
    ++all_.plans;
    check_plan(plan);
  }
  void check_plan(const Json& plan) {
    std::size_t made = 0;
    for (const Json& move : plan["moves"]) {
      const bool done = move["state"] == "done" || move["state"] == "over";
      EXPECT_TRUE(done || move["state"] == "left") << plan.dump(1);
      EXPECT_TRUE(done || !move["why_not"].get<std::string>().empty()) << plan.dump(1);
      made += done ? 1 : 0;
      ++(done ? all_.moved : all_.left);
    }
    const bool whole = made == plan["moves"].size();
    EXPECT_EQ(whole, plan["state"] == "finished") << plan.dump(1);
    ++(whole ? all_.finished : all_.stopped);
    if (!calm_) return;
    ++all_.calm;
    EXPECT_TRUE(whole) << plan.dump(1);
    EXPECT_EQ(plan["freed"], plan["frees"].size()) << plan.dump(1);
  }
  /// Nothing is about to begin or end, but what the scheduler would do anyway.
  [[nodiscard]] bool settled() {
    revive();
    for (const auto& [number, way] : ways_) {
      const auto job = stand_.ask("GET", fmt::format("/v1/jobs/{}", number));
      if (!job) return false;
      const std::string state = (*job)["state"];
      if (state == "starting" || state == "stopping") return false;
    }
    return true;
  }
  void check_jobs() {
    EXPECT_TRUE(settled()) << stand_.run("ps --all").out;
    std::size_t running = 0;
    std::set<std::string> devices;
    for (const auto& [number, way] : ways_) {
      const Json job = stand_.job(number);
      const std::string state = job["state"];
      if (cancelled_.contains(number)) {
        EXPECT_EQ(state, "cancelled") << job.dump(1);
        continue;
      }
      EXPECT_TRUE(state == "running" || state == "queued") << job.dump(1);
      if (state != "running") continue;
      ++running;
      EXPECT_TRUE(devices.insert(job["instance"]["device"].get<std::string>()).second)
          << "two jobs on " << job["instance"].dump();
      all_.restored += began_as_told(stand_, way, job) ? 1 : 0;
    }
    EXPECT_TRUE(stand_.wait_until([&] { return stand_.supervisors().size() == running; }))
        << stand_.supervisors().size() << " run instead of " << running;
    if (!foreign_.empty()) {
      const auto there = stand_.instances();
      EXPECT_NE(std::ranges::find(there, foreign_), there.end()) << "it was somebody else's";
    }
  }

  Random random_;
  Happened& all_;
  bool calm_, dying_ = false;
  DaemonStand stand_;
  std::map<std::int64_t, Way> ways_;
  std::set<std::int64_t> cancelled_;
  std::string foreign_;
};

TEST(PlanSituations, EndWhereTheySay) {
  const bool one = std::getenv("CLEAVE_SITUATION") != nullptr;
  const std::uint64_t first = number_asked("CLEAVE_SITUATION", 1);
  const std::uint64_t usual = std::getenv("CLEAVE_LONG") != nullptr ? 100 : sanitized ? 3 : 8;
  const std::uint64_t count = number_asked("CLEAVE_SITUATIONS", one ? 1 : usual);
  Happened all;
  for (std::uint64_t seed = first; seed < first + count && !testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(
        fmt::format("repeat it: CLEAVE_SITUATION={} build/release/bin/daemon_plans_test "
                    "--gtest_filter=PlanSituations.*",
                    seed));
    Situation(seed, all).run();
  }
  fmt::print(
      "{} situations: {} plans ({} undisturbed), {} without a move; {} finished, {} stopped; {} "
      "moves done, {} left, {} jobs restored; {} deaths, {} drivers that refuse, {} with an "
      "instance of somebody else\n",
      count, all.plans, all.calm, all.nothing, all.finished, all.stopped, all.moved, all.left,
      all.restored, all.deaths, all.refused, all.foreign);
  if (count < 50) return;
  for (const std::size_t each : {all.calm, all.finished, all.stopped, all.moved, all.left,
                                 all.restored, all.deaths, all.refused, all.foreign})
    EXPECT_GT(each, 0U);
}

}  // namespace
}  // namespace cleave::whole
