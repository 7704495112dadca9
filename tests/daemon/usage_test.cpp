// Energy and use, through the programs that people use: jobs are real processes on simulated GPUs,
// whose counters are NVML's.

#include <cmath>
#include <thread>

#include "base/format.hpp"
#include "daemon_stand.hpp"

namespace cleave::whole {
namespace {

using std::chrono::seconds;

struct UsageStand : DaemonStand {
  explicit UsageStand(const std::string& gpus, const std::string& more = "")
      : DaemonStand([&] {
          StandOptions options;
          options.gpus = gpus;
          options.config = "look_every_s = 0.2\nscheduler = \"online:migration=off\"\n" + more;
          return options;
        }()) {}

  /// What GPUs' counters show less what is accounted for, in joules, at a moment between two
  /// readings: as long as nothing is lost or counted twice it never changes.
  double beyond_account() {
    for (int tries = 0; tries < 100; ++tries) {
      const double before = counters();
      double used = 0;
      const Json sums = get("/v1/usage?by=&user=all");
      for (const Json& each : sums["usage"]) used += each["energy_j"].get<double>();
      if (counters() == before) return before - used;
    }
    ADD_FAILURE() << "the counters never stand still";
    return 0;
  }
  double counters() {
    double sum = 0;
    const Json gpus = get("/v1/gpus");
    for (const Json& each : gpus["gpus"]) sum += each["energy_j"].get<double>();
    return sum;
  }
  double of(const std::string& whose) {
    double sum = 0;
    const Json sums = get("/v1/usage?by=&user=all");
    for (const Json& each : sums["usage"])
      if (each["whose"] == whose) sum += each["energy_j"].get<double>();
    return sum;
  }
};

/// A job that keeps its instance busy.
constexpr const char* works = "-- cleave-job --phases cpu=1.5 --quiet";

TEST(DaemonUsage, JobsIdleGpusAndOthersAddUpToTheCountersAlsoWhereTheDaemonIsKilled) {
  UsageStand stand("2xA100-40GB");
  stand.foreign("2g.10gb", 0, 1);
  const double begin = stand.beyond_account();
  std::vector<std::int64_t> jobs;
  for (const char* size : {"--profile 3g.20gb", "--profile 4g.20gb", "--profile 1g.5gb"})
    jobs.push_back(stand.submit(fmt::format("{} {}", size, works)));
  stand.all_over(jobs);
  EXPECT_NEAR(stand.beyond_account(), begin, 0.01);

  // One that runs while no daemon does.
  jobs.push_back(stand.submit("--profile 3g.20gb -- cleave-job --phases cpu=4 --quiet"));
  ASSERT_TRUE(stand.wait_for_state(jobs.back(), "running"));
  stand.kill();
  std::this_thread::sleep_for(std::chrono::milliseconds(700));
  stand.start();
  ASSERT_TRUE(stand.wait_until_ready());
  EXPECT_NEAR(stand.beyond_account(), begin, 0.01);
  stand.over(jobs.back());
  EXPECT_TRUE(stand.wait_until([&] { return stand.job(jobs.back())["energy_j"].is_number(); }));
  EXPECT_NEAR(stand.beyond_account(), begin, 0.01);

  double of_jobs = 0;
  EXPECT_TRUE(stand.wait_until([&] {
    of_jobs = 0;
    for (const std::int64_t each : jobs) of_jobs += stand.job(each)["energy_j"].get<double>();
    return std::abs(of_jobs - stand.of("jobs")) < 0.01;
  })) << of_jobs
      << " and " << stand.of("jobs");
  // 3g and 4g of an A100 that are busy draw up to 350 W beyond the idle part.
  EXPECT_GT(of_jobs, 100);
  EXPECT_LT(of_jobs, 10'000);
  EXPECT_EQ(stand.of("foreign"), 0) << "nothing runs there";
  const Json rows = stand.get("/v1/usage?by=gpu&user=all")["usage"];
  EXPECT_EQ(rows.size(), 5U) << rows.dump(1);  // jobs, idle; on the second GPU foreign too
}

TEST(DaemonUsage, IsShownByWhatIsAskedFor) {
  UsageStand stand("1xA100-40GB");
  const std::int64_t job =
      stand.submit(fmt::format("--profile 7g.40gb --application resnet {}", works));
  stand.over(job);
  EXPECT_TRUE(stand.wait_until([&] { return stand.job(job)["energy_j"].is_number(); }));
  EXPECT_TRUE(stand.run(fmt::format("show {}", job)).out.contains("\nenergy       "));
  const Outcome table = stand.run("usage --by application");
  EXPECT_EQ(table.exit_code, 0) << table.err;
  EXPECT_TRUE(table.out.starts_with(
      "application  jobs  attempts  lost  moves  slice-hours  GPU-hours    kWh\n"
      "resnet          1         1     0      0         0.00       0.00  0.000\n"))
      << table.out;
  const Outcome csv = stand.run("usage --by user,application --csv");
  EXPECT_TRUE(
      csv.out.starts_with("user,application,whose,jobs,attempts,lost,moves,slice_hours,"
                          "gpu_hours,energy_kwh,energy_j,unmetered_gpu_hours\n"))
      << csv.out;
  EXPECT_TRUE(csv.out.contains(",resnet,jobs,1,1,0,0,0.")) << csv.out;
  const auto json = Json::parse(stand.run("usage --by day,gpu --user all --json").out);
  EXPECT_EQ(json["usage"].size(), 2U) << json.dump(1);
  EXPECT_EQ(json["usage"][0]["whose"], "jobs");
  EXPECT_EQ(json["usage"][1]["whose"], "idle");
  EXPECT_EQ(json["usage"][0]["day"], json["until"]);
  EXPECT_TRUE(stand.run("usage --user all").out.contains("idle"));
  EXPECT_EQ(stand.run("usage --by colour").exit_code, 2);
  EXPECT_EQ(stand.run("usage --since yesterday").exit_code, 2);
  EXPECT_EQ(stand.run("usage --since 2020-01-01 --until 2020-01-02").out, "");
  const auto refused = stand.ask("GET", "/v1/usage?since=2026-13-01");
  ASSERT_FALSE(refused);
  EXPECT_TRUE(refused.error().text().contains("is not a day")) << refused.error().text();
}

TEST(DaemonUsage, HasAWholeGpuWithMigOff) {
  UsageStand stand("2xA100-40GB", "may_switch_mig = true\n");
  const std::int64_t first = stand.submit("--profile 3g.20gb --movable -- sleep 600");
  ASSERT_TRUE(stand.wait_for_state(first, "running"));
  const double begin = stand.beyond_account();
  const std::int64_t whole = stand.submit(fmt::format("--gpus 1 {}", works));
  stand.over(whole);
  EXPECT_TRUE(stand.wait_until([&] { return stand.job(whole)["energy_j"].is_number(); }));
  EXPECT_GT(stand.job(whole)["energy_j"].get<double>(), 50);
  EXPECT_NEAR(stand.beyond_account(), begin, 0.01);
}

}  // namespace
}  // namespace cleave::whole
