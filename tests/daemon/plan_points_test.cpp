// A plan with real processes, and the daemon killed right before and after each effect that it
// takes: the first time it comes to that, the second, and so on until it comes to it no more. One
// job moves, by each of the ways, to an instance for which an idle one must go first.
//
// Laws: the plan goes on and finishes; the job is moved once, and runs once; the other one never
// notices; the GPU is freed; nobody's order is lost, though its answer may be.

#include <set>

#include "base/format.hpp"
#include "daemon/stop_points.hpp"
#include "moving_jobs.hpp"

namespace cleave::whole {
namespace {

using std::chrono::seconds;

struct Stop {
  Way way = Way::replica;
  std::string point;  // "before-write"
  int count = 1;      // at which arrival there
};

class StoppedPlan {
 public:
  explicit StoppedPlan(Stop stop) : stop_(std::move(stop)), stand_(options()) {}

  /// Whether the daemon came to the point.
  bool run() {
    furnish();
    EXPECT_EQ(stand_.stop(), 0);
    stand_.start({fmt::format("{}={}:{}", stop_variable, stop_.point, stop_.count)});
    (void)stand_.wait_until_ready();
    revive();
    order();
    EXPECT_TRUE(stand_.wait_until([&] { return has_ended(); }, seconds(30))) << stand_.events();
    // What it writes later is not of the plan.
    stand_.kill();
    stand_.start();
    EXPECT_TRUE(stand_.wait_until_ready()) << stand_.log();
    check();
    return died_;
  }

 private:
  static StandOptions options() {
    StandOptions options;
    options.config = "scheduler = \"online:migration=off\"\n";
    return options;
  }
  /// On each GPU a 3g.20gb that moves, beside an idle 4g.20gb where another would fit.
  void furnish() {
    std::set<std::int64_t> large;
    for (const char* profile : {"4g.20gb", "4g.20gb", "3g.20gb", "3g.20gb"}) {
      const std::int64_t number = submit_moving(stand_, profile, stop_.way);
      EXPECT_TRUE(stand_.wait_for_state(number, "running"));
      (profile[0] == '4' ? large : jobs_).insert(number);
    }
    for (const std::int64_t each : large)
      EXPECT_EQ(stand_.run(fmt::format("cancel --now {}", each)).exit_code, 0);
    for (const std::int64_t each : large) (void)stand_.over(each);
  }
  /// Like a user who asks again where no answer came.
  void order() {
    const std::string file = stand_.path("plan");
    EXPECT_TRUE(stand_.wait_until([&] {
      revive();
      return stand_.run(fmt::format("plan compact --live -o {}", file)).exit_code == 0;
    }));
    EXPECT_TRUE(stand_.wait_until([&] {
      if (stand_.run(fmt::format("apply {}", file)).exit_code == 0) return true;
      revive();
      const auto answer = stand_.ask("GET", "/v1/plans");
      return answer && !(*answer)["plans"].empty();
    })) << stand_.log();
  }
  void revive() {
    if (stand_.runs()) return;
    died_ = true;
    stand_.start();
    EXPECT_TRUE(stand_.wait_until_ready()) << stand_.log();
  }
  bool has_ended() {
    revive();
    const auto answer = stand_.ask("GET", "/v1/plans/1");
    if (!answer || !(*answer)["ended_at"].is_string()) return false;
    plan_ = *answer;
    return true;
  }
  void check() {
    EXPECT_EQ(plan_["state"], "finished") << plan_.dump(1) << stand_.events();
    EXPECT_EQ(plan_["freed"], 1) << plan_.dump(1);
    ASSERT_EQ(plan_["moves"].size(), 1U);
    const std::int64_t moved = plan_["moves"][0]["job"];
    std::set<std::string> devices, gpus;
    for (const std::int64_t each : jobs_) {
      const Json job = stand_.job(each);
      EXPECT_EQ(job["state"], "running") << job.dump(1);
      check_starts(job, each == moved);
      devices.insert(job["instance"]["device"].get<std::string>());
      gpus.insert(job["instance"]["gpu"].get<std::string>());
      (void)began_as_told(stand_, stop_.way, job);
    }
    EXPECT_EQ(devices.size(), 2U);
    EXPECT_EQ(gpus.size(), 1U);
    EXPECT_TRUE(stand_.wait_until([&] { return stand_.supervisors().size() == 2; }))
        << stand_.supervisors().size() << " run";
  }
  /// A replica that is not known to have begun does not take over, and another is started. Of the
  /// other ways an attempt that the daemon had written down and not started counts for nothing.
  void check_starts(const Json& job, bool moved) {
    const auto began = std::ranges::count_if(
        job["history"], [](const Json& each) { return each["began_at"].is_string(); });
    const bool twice = died_ && stop_.way == Way::replica;
    EXPECT_GE(began, moved ? 2 : 1) << job.dump(1) << stand_.events();
    EXPECT_LE(began, !moved ? 1 : twice ? 3 : 2) << job.dump(1) << stand_.events();
    EXPECT_LE(job["attempts"], !moved ? 1 : died_ ? 3 : 2) << job.dump(1) << stand_.events();
  }

  Stop stop_;
  DaemonStand stand_;
  std::set<std::int64_t> jobs_;
  Json plan_;
  bool died_ = false;
};

bool run(const Stop& stop) {
  SCOPED_TRACE(
      fmt::format("way {}, {}, arrival {}", static_cast<int>(stop.way), stop.point, stop.count));
  return StoppedPlan(stop).run();
}

/// The effects that a move of this way has, but for the store's. What a command saves ends by it.
std::vector<std::string> effects_of(Way way) {
  std::vector<std::string> all = {"start",
                                  way == Way::command ? "checkpoint" : "stop",
                                  "create-gpu-instance",
                                  "create-compute-instance",
                                  "destroy-compute-instance",
                                  "destroy-gpu-instance"};
  return all;
}

TEST(PlanPoints, AreEachSurvived) {
  if (std::getenv("CLEAVE_LONG") == nullptr) {
    constexpr Way ways[] = {Way::command, Way::replica, Way::signal};
    for (std::size_t i = 0; i < (sanitized ? 3 : 6); ++i) {
      const Way way = ways[i % 3];
      const std::string point =
          fmt::format("{}-{}", i % 2 == 0 ? "after" : "before", effects_of(way).at((i + 1) % 6));
      EXPECT_TRUE(run({way, point, 1})) << point;
    }
    EXPECT_TRUE(run({Way::replica, "after-write", 4}));
    return;
  }
  std::size_t deaths = 0;
  for (const Way way : {Way::replica, Way::signal, Way::command}) {
    const std::vector<std::string> expected = effects_of(way);
    for (const std::string& effect : stop_points())
      for (const char* when : {"before", "after"}) {
        int times = 0;
        while (!testing::Test::HasFailure() &&
               run({way, fmt::format("{}-{}", when, effect), times + 1}))
          ++times;
        deaths += static_cast<std::size_t>(times);
        fmt::print("way {}: {}-{} {} times\n", static_cast<int>(way), when, effect, times);
        std::fflush(stdout);
        const bool taken = std::ranges::find(expected, effect) != expected.end();
        EXPECT_TRUE(times > 0 || !taken) << when << "-" << effect;
      }
  }
  fmt::print("{} deaths\n", deaths);
}

}  // namespace
}  // namespace cleave::whole
