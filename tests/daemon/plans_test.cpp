// Plans, through the programs that people use: jobs are real processes on simulated GPUs.

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "base/text.hpp"
#include "daemon_stand.hpp"

namespace cleave::whole {
namespace {

using std::chrono::seconds;

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// With a scheduler that moves nothing by itself.
StandOptions still(const std::string& gpus = "2xA100-40GB") {
  StandOptions options;
  options.gpus = gpus;
  options.config = "scheduler = \"online:migration=off\"\n";
  return options;
}

/// A 3g.20gb on each GPU, where there were two.
std::vector<std::int64_t> fragment(DaemonStand& stand, int gpus, const std::string& allows) {
  std::vector<std::int64_t> all, kept;
  for (int i = 0; i < 2 * gpus; ++i)
    all.push_back(stand.submit(fmt::format("--profile 3g.20gb {} -- sleep 600", allows)));
  std::map<std::string, std::vector<std::int64_t>> on;
  for (const std::int64_t each : all) {
    EXPECT_TRUE(stand.wait_for_state(each, "running"));
    on[stand.job(each)["instance"]["gpu"].get<std::string>()].push_back(each);
  }
  for (const auto& [gpu, there] : on) {
    kept.push_back(there.front());
    for (std::size_t i = 1; i < there.size(); ++i)
      EXPECT_EQ(stand.run(fmt::format("cancel {}", there[i])).exit_code, 0);
    for (std::size_t i = 1; i < there.size(); ++i) stand.over(there[i]);
  }
  EXPECT_EQ(kept.size(), static_cast<std::size_t>(gpus));
  return kept;
}

TEST(DaemonPlans, ALargeJobIsServedThatOnlyACompactionCanServe) {
  DaemonStand stand(still());
  const auto kept = fragment(stand, 2, "--movable");
  const std::int64_t large = stand.submit("--profile 7g.40gb -- sleep 600");
  EXPECT_FALSE(stand.wait_until([&] { return stand.state_of(large) != "queued"; }, seconds(1)));
  EXPECT_TRUE(has(stand.run("plans").out, "no plans"));

  const Outcome planned =
      stand.run(fmt::format("plan compact --live -o {} --explain", stand.path("plan")));
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  for (const char* each :
       {"Proven optimal", "a replica takes over", "none", "Freed: gpu/", " to change instances (",
        " times the planner's law, as this node's last",
        "Nothing has been changed yet. It is kept in "})
    EXPECT_TRUE(has(planned.out, each)) << each << "\n" << planned.out;
  EXPECT_EQ(stand.state_of(large), "queued");

  const Outcome applied = stand.run(fmt::format("apply {} --wait", stand.path("plan")));
  EXPECT_EQ(applied.exit_code, 0) << applied.err;
  EXPECT_EQ(applied.out, "plan 1 (compact) has finished; moves done: 1 of 1, GPUs freed: 1 of 1\n");
  EXPECT_TRUE(stand.wait_for_state(large, "running"));
  std::size_t moved = 0;
  for (const std::int64_t each : kept) {
    const Json job = stand.job(each);
    EXPECT_EQ(job["state"], "running");
    if (job["attempts"] == 1) continue;
    ++moved;
    EXPECT_EQ(job["history"][0]["end"], "moved");
    EXPECT_LE(job["history"][1]["began_at"], job["history"][0]["ended_at"]) << "no gap";
  }
  EXPECT_EQ(moved, 1U) << "and no more than planned";

  const Outcome again = stand.run(fmt::format("apply {}", stand.path("plan")));
  EXPECT_EQ(again.exit_code, 1) << "it was made for what is no more";
  EXPECT_TRUE(has(again.err, "is not on") && has(again.err, "make it again")) << again.err;
  EXPECT_TRUE(has(stand.run("plans").out, "finished"));
  const std::string shown = stand.run("plans show 1").out;
  for (const char* each : {"done", "expected     ", ", after ", "GPU 0 ", "to be freed  GPU "})
    EXPECT_TRUE(has(shown, each)) << shown;
  EXPECT_FALSE(has(shown, "GPU-")) << "UUIDs are for --wide\n" << shown;
  for (const std::string_view line : split(shown, '\n')) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_TRUE(has(stand.run("plans show 1 --wide").out, "GPU-"));
  EXPECT_EQ(stand.run("plans cancel 1").exit_code, 1);
  EXPECT_EQ(stand.run("plans show 9").exit_code, 2);
  EXPECT_TRUE(has(stand.events(), "plan-finished plan 1 finished"));
  const std::string nothing = stand.path("nothing");
  const Outcome no_moves =
      stand.run(fmt::format("plan reconfigure --live --max-migrations 0 -o {}", nothing));
  EXPECT_TRUE(has(no_moves.out, "Nothing to do. ") && has(no_moves.out, "is not written"))
      << no_moves.out << no_moves.err;
  const Outcome as_json =
      stand.run(fmt::format("plan reconfigure --live --max-migrations 0 --json -o {}", nothing));
  EXPECT_TRUE(has(as_json.err, "is not written")) << as_json.err;
  EXPECT_FALSE(std::filesystem::exists(nothing));
  EXPECT_TRUE(has(text_of(stand.state() + "/audit.jsonl"), "/v1/plans"));
}

/// For clients that cannot plan themselves.
TEST(DaemonPlans, APlanIsPreviewedAndThenCarriedOut) {
  DaemonStand stand(still());
  const auto kept = fragment(stand, 2, "--movable");
  const auto order = stand.ask("POST", "/v1/plans/preview", R"({"kind":"compact"})");
  ASSERT_TRUE(order) << order.error().text();
  ASSERT_EQ((*order)["moves"].size(), 1U) << order->dump(1);
  EXPECT_EQ((*order)["kind"], "compact");
  EXPECT_GT((*order)["expected_s"], 0);
  for (const std::int64_t each : kept) EXPECT_EQ(stand.job(each)["attempts"], 1) << "only shown";
  const auto begun = stand.ask("POST", "/v1/plans", order->dump());
  ASSERT_TRUE(begun) << begun.error().text();
  EXPECT_TRUE(stand.wait_until([&] { return stand.get("/v1/plans/1")["state"] == "finished"; }));
  const auto nothing = stand.ask("POST", "/v1/plans/preview", R"({"kind":"compact"})");
  ASSERT_TRUE(nothing) << nothing.error().text();
  EXPECT_TRUE((*nothing)["moves"].empty());
  for (const char* other : {"", "[]", R"({"kind":"deploy"})", R"({"kind":"compact","x":1})"})
    EXPECT_FALSE(stand.ask("POST", "/v1/plans/preview", other)) << other;
}

/// What the simulator makes of the same: two 3g.20gb that serve on and on, one on each GPU where
/// there were two, and a 7g.40gb of this many seconds that comes when the others have gone.
struct Simulated {
  double turnaround_s = 0;
  std::int64_t moves = 0, served = 0;
};
Simulated simulated(DaemonStand& stand, int seconds_of_work, const std::string& rules) {
  std::ofstream jobs(stand.path("jobs.jsonl"));
  for (int i = 0; i < 4; ++i)
    jobs << fmt::format(
        R"({{"id": "{}", "profile": "3g.20gb", "duration_s": {}, "progress": "stateless"}})"
        "\n",
        i, i < 2 ? 600 : 5);
  jobs << fmt::format(
              R"({{"id": "large", "profile": "7g.40gb", "arrival_s": 10, "duration_s": {}}})",
              seconds_of_work)
       << '\n'
       << std::flush;
  const Outcome ran = stand.run(fmt::format(
      "simulate --fleet 2xA100-40GB --workload {} --scheduler online:migration=off --compaction "
      "'{}' --outcomes {} --json",
      stand.path("jobs.jsonl"), rules, stand.path("outcomes")));
  EXPECT_EQ(ran.exit_code, 0) << ran.err;
  const Json summary = Json::parse(ran.out);
  Simulated result{0, summary["compaction_moves"], summary["compactions_served"]};
  std::ifstream outcomes(stand.path("outcomes"));
  for (std::string line; std::getline(outcomes, line);)
    if (const Json job = Json::parse(line); job["job"] == "large")
      result.turnaround_s = job["turnaround_s"];
  return result;
}

TEST(DaemonPlans, ThePolicyServesALargeJobAsItDoesInTheSimulator) {
  const std::string rules = "when_waiting=2 s;gain=2";
  constexpr int work = 10;
  DaemonStand stand(still());
  const Simulated expected = simulated(stand, work, rules);
  EXPECT_EQ(expected.moves, 1);
  EXPECT_EQ(expected.served, 1);
  const auto kept = fragment(stand, 2, "--movable --progress stateless");
  stand.reload(still().config + "compaction = { when_waiting = \"2 s\", gain = 2 }\n");
  const auto begin = std::chrono::steady_clock::now();
  const std::int64_t large = stand.submit(fmt::format("--profile 7g.40gb -- sleep {}", work));
  ASSERT_TRUE(stand.wait_for_state(large, "finished"));
  const double took =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  EXPECT_NEAR(took, expected.turnaround_s, expected.turnaround_s / 10);
  const Json plan = stand.get("/v1/plans/1");
  EXPECT_EQ(plan["state"], "finished") << plan.dump(1);
  EXPECT_EQ(plan["by"], "compaction policy");
  EXPECT_EQ(plan["moves"].size(), static_cast<std::size_t>(expected.moves));
  EXPECT_EQ(plan["purpose"]["job"], large);
  EXPECT_EQ(plan["purpose"]["fewest"], expected.moves);
  EXPECT_EQ(plan["served"], true);
  const std::string shown = stand.run("plans show 1").out;
  EXPECT_TRUE(has(shown, fmt::format("makes room   for job {}, with 1 move at least", large)) &&
              has(shown, "served       yes"))
      << shown;
  EXPECT_TRUE(has(stand.events(), "has the place that was made for it"));
  for (const std::int64_t each : kept) EXPECT_EQ(stand.state_of(each), "running");
}

TEST(DaemonPlans, AreGoneOnWithWhereTheDaemonIsKilledBetweenTwoMoves) {
  DaemonStand stand(still("4xA100-40GB"));
  const auto kept = fragment(stand, 4, "--movable");
  // Four cancels of the past do not count: the first stop is of the first job that has moved.
  ASSERT_EQ(stand.stop(), 0);
  stand.start({"CLEAVE_STOP_AT=before-stop:1"});
  ASSERT_TRUE(stand.wait_until_ready());
  ASSERT_EQ(stand.run(fmt::format("plan compact --live -o {}", stand.path("plan"))).exit_code, 0);
  ASSERT_EQ(stand.run(fmt::format("apply {}", stand.path("plan"))).exit_code, 0);
  ASSERT_EQ(stand.wait_for_end(), 128 + 9);
  stand.start();
  ASSERT_TRUE(stand.wait_until_ready());
  EXPECT_TRUE(stand.wait_until([&] { return stand.get("/v1/plans/1")["ended_at"].is_string(); }));
  const Json plan = stand.get("/v1/plans/1");
  EXPECT_EQ(plan["state"], "finished") << plan.dump(1);
  EXPECT_EQ(plan["freed"], 2);
  EXPECT_EQ(plan["moves"].size(), 2U);
  EXPECT_TRUE(stand.wait_until([&] { return stand.supervisors().size() == kept.size(); }))
      << stand.supervisors().size() << " run";
  for (const std::int64_t each : kept) EXPECT_EQ(stand.state_of(each), "running");
}

TEST(DaemonPlans, AJobThatSavesItsWorkGoesOnElsewhere) {
  DaemonStand stand(still());
  const auto kept =
      fragment(stand, 2, "--progress checkpoint --checkpoint-signal USR1 --checkpoint-grace 0.3");
  const Outcome planned = stand.run(fmt::format("plan compact --live -o {}", stand.path("plan")));
  EXPECT_TRUE(has(planned.out, "saves its work, ends, and starts there")) << planned.out;
  EXPECT_TRUE(has(planned.out, "at most 30 s to save and end")) << planned.out;
  EXPECT_EQ(stand.run(fmt::format("apply {} --wait", stand.path("plan"))).exit_code, 0);
  EXPECT_EQ(
      stand.run("plan compact --live").out.find("No job needs to be moved") == std::string::npos,
      false);
  std::vector<std::int64_t> attempts;
  for (const std::int64_t each : kept) attempts.push_back(stand.job(each)["attempts"]);
  std::ranges::sort(attempts);
  EXPECT_EQ(attempts, (std::vector<std::int64_t>{1, 2}));
}

/// A program that knows nothing of checkpoints: what it counts goes on elsewhere.
TEST(DaemonPlans, AProgramThatCriuSavesGoesOnElsewhere) {
  if (std::system("criu check >/dev/null 2>&1") != 0)
    GTEST_SKIP() << "CRIU is not there, or does not work with this kernel or user";
  DaemonStand stand(still());
  const std::string save = source_dir() + "/examples/checkpoint/cuda_criu.py";
  const std::string count = stand.path("count.sh");
  std::ofstream(count) << "n=0\nwhile [ $n -lt 20 ]; do n=$((n + 1)); echo $n; sleep 0.2; done\n"
                          "exit 7\n";
  const auto allowing = fmt::format(
      "--restartable --checkpoint-grace 60 --checkpoint-command '{0} save {1}-$CLEAVE_JOB' "
      "--restore-command 'exec {0} restore {1}-$CLEAVE_JOB'",
      save, stand.path("images"));
  std::vector<std::int64_t> all;
  for (const char* profile : {"4g.20gb", "4g.20gb", "3g.20gb", "3g.20gb"})
    all.push_back(stand.submit(fmt::format("--profile {} {} -- sh {}", profile, allowing, count)));
  for (const std::int64_t each : all) EXPECT_TRUE(stand.wait_for_state(each, "running"));
  for (const std::int64_t each : {all[0], all[1]})
    EXPECT_EQ(stand.run(fmt::format("cancel --now {}", each)).exit_code, 0);
  stand.all_over({all[0], all[1]});
  ASSERT_EQ(stand.run(fmt::format("plan compact --live -o {}", stand.path("plan"))).exit_code, 0);
  const Outcome applied = stand.run(fmt::format("apply {} --wait", stand.path("plan")));
  EXPECT_EQ(applied.exit_code, 0) << applied.out << stand.events();
  const std::int64_t moved = stand.get("/v1/plans/1")["moves"][0]["job"];
  const Json job = stand.over(moved);
  EXPECT_EQ(job["attempts"], 2) << job.dump(1);
  EXPECT_EQ(job["history"][1]["exit_code"], 7) << job.dump(1);
  std::string counted = stand.run(fmt::format("logs {} --attempt 1", moved)).out +
                        stand.run(fmt::format("logs {} --attempt 2", moved)).out;
  std::string expected;
  for (int i = 1; i <= 20; ++i) expected += fmt::format("{}\n", i);
  EXPECT_EQ(counted, expected) << stand.events();
}

TEST(DaemonPlans, GoToALayoutOfTheUsersOwn) {
  DaemonStand stand(still());
  fragment(stand, 2, "--movable");
  const Outcome fleet = stand.run("plan fleet");
  ASSERT_EQ(fleet.exit_code, 0) << fleet.err;
  Json goal = Json::parse(fleet.out);
  auto& instances = goal["gpus"][0]["instances"];
  Json moved = goal["gpus"][1]["instances"];
  instances = Json::array({*std::ranges::find_if(
      instances, [](const Json& each) { return each.contains("workload"); })});
  const Json work =
      *std::ranges::find_if(moved, [](const Json& each) { return each.contains("workload"); });
  instances.push_back(work);
  instances[1]["start"] = instances[0]["start"] == 0 ? 4 : 0;
  goal["gpus"][1]["instances"] = Json::array();
  std::ofstream(stand.path("goal")) << goal;
  const Outcome planned = stand.run(
      fmt::format("plan migrate --live --goal {} -o {}", stand.path("goal"), stand.path("plan")));
  ASSERT_EQ(planned.exit_code, 0) << planned.err;
  EXPECT_EQ(stand.run(fmt::format("apply {} --wait", stand.path("plan"))).exit_code, 0);
  EXPECT_EQ(stand.get("/v1/plans/1")["moves"][0]["to"]["start"], instances[1]["start"]);
  EXPECT_EQ(stand.get("/v1/plans/1")["kind"], "migrate");
}

}  // namespace
}  // namespace cleave::whole
