// The program from outside: answers, exit codes, and errors for bad input.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/places_test.hpp"
#include "base/sanitized_test.hpp"
#include "base/text.hpp"
#include "engine/scheduler.hpp"
#include "json_of.hpp"
#include "placement/policy.hpp"

namespace cleave {
namespace {

using testing_program::cleave;
using testing_program::json_of;
using testing_program::Outcome;
using testing_program::Scratch;
using testing_program::shell;

Json json(const std::string& arguments, int exit_code = 0) {
  return json_of(cleave(arguments + " --json"), exit_code);
}

TEST(Gpu, CountsStatesForAnySetOfProfiles) {
  const Json five = json("gpu A100-40GB --profiles 1g.5gb,2g.10gb,3g.20gb,4g.20gb,7g.40gb");
  EXPECT_EQ(five["states"], 298);
  EXPECT_EQ(five["maximal_states"], 19);
  EXPECT_EQ(five["maximal_multisets"], 14);
  const Json six = json("gpu A100-40GB --profiles 1g.5gb,1g.10gb,2g.10gb,3g.20gb,4g.20gb,7g.40gb");
  EXPECT_EQ(six["states"], 723);
  EXPECT_EQ(six["maximal_states"], 78);
  EXPECT_EQ(json("gpu A100-80GB")["states"], 2319);
  EXPECT_EQ(json("gpu A100-80GB")["maximal_states"], 239);
  EXPECT_EQ(json("gpu A30-24GB --profiles plain")["states"], 26);
  EXPECT_EQ(json("gpu 'NVIDIA RTX PRO 6000 Blackwell Server Edition'")["states"], 717);
  EXPECT_EQ(five["profiles"][2]["name"], "3g.20gb");
  EXPECT_EQ(five["profiles"][2]["starts"], Json::parse("[4, 0]"));
  EXPECT_TRUE(json("gpu B300-269GB")["profiles"][0]["memory_mib"].is_null())
      << "unknown stays unknown";
  EXPECT_EQ(json("gpu H200-141GB")["placements"], "inferred");
  EXPECT_GE(json("gpu")["models"].size(), 15U);
}

// Against the Taming paper's tables II and IV, for the board that it measured.
TEST(Gpu, ShowsBandwidthWasteAndLink) {
  const Json gh200 = json("gpu H100-96GB-GH200");
  struct Row {
    const char* name;
    double gib_per_s, sms_wasted, direct;
    int copy_engines;
  };
  const Row rows[] = {{"7g.96gb", 3175, 0, 333, 8},  {"4g.48gb", 1635, 68, 333, 4},
                      {"3g.48gb", 1611, 12, 333, 3}, {"2g.24gb", 812, 36, 303, 2},
                      {"1g.24gb", 812, 28, 207, 2},  {"1g.12gb", 406, 20, 207, 1}};
  for (const Row& row : rows) {
    const auto found = std::ranges::find(gh200["profiles"], row.name,
                                         [](const Json& profile) { return profile["name"]; });
    ASSERT_NE(found, gh200["profiles"].end());
    EXPECT_EQ((*found)["bandwidth_gib_per_s"], row.gib_per_s) << row.name;
    EXPECT_EQ((*found)["sms_wasted"], row.sms_wasted) << row.name;
    EXPECT_EQ((*found)["engines"]["copy"], row.copy_engines) << row.name;
    EXPECT_NEAR((*found)["link_gib_per_s"].get<double>(), 44, 0.1) << row.name;
    EXPECT_NEAR((*found)["link_direct_gib_per_s"].get<double>(), row.direct, 0.3) << row.name;
  }
  EXPECT_EQ(gh200["link"]["rates_are"], "measured");
  const Json h200 = json("gpu H200-141GB");
  EXPECT_TRUE(h200["profiles"][0]["bandwidth_gib_per_s"].is_null()) << "nobody measured it";
  EXPECT_TRUE(h200["bandwidth_source"].is_null());
  EXPECT_EQ(h200["link"]["rates_are"], "inferred");
  const Outcome text = cleave("gpu H100-96GB-GH200");
  EXPECT_NE(text.out.find("Taming GPU Underutilization, table II"), std::string::npos) << text.out;
  EXPECT_NE(cleave("gpu H200-141GB").out.find("not measured on this model"), std::string::npos);
}

TEST(Layout, AnswersAsTheContractSays) {
  const Json legal = json("layout A100-40GB 2g.10gb@0 --profiles plain");
  EXPECT_EQ(legal["legal"], true);
  EXPECT_EQ(legal["fragmentation"]["exact"], "1/6");
  EXPECT_EQ(legal["maximal"], false);
  EXPECT_EQ(legal["free"][0], Json::parse(R"({"profile": "3g.20gb", "start": 4})"));
  EXPECT_EQ(legal["profiles"].size(), 6U);
  const Json illegal = json("layout A100-40GB 2g.10gb@3");
  EXPECT_EQ(illegal["legal"], false);
  EXPECT_EQ(illegal["reason"], "start not allowed");
  EXPECT_TRUE(illegal["reachability"].is_null());
  EXPECT_EQ(json("layout A100-40GB ''")["reachability"], 239);
}

TEST(Place, StartsOfAnEmptyGpu) {
  EXPECT_EQ(json("place --fleet 1xA100-40GB --profile 1g.5gb")["start"], 6);
  EXPECT_EQ(json("place --fleet 1xA100-40GB --profile 2g.10gb")["start"], 4);
  EXPECT_EQ(json("place --fleet 1xA100-40GB --profile 3g.20gb")["start"], 4);
  const Json first = json("place --fleet 2xA100-40GB --memory 18GiB --policy first-fit");
  EXPECT_EQ(first["profile"], "4g.20gb");
  EXPECT_EQ(first["gpu"], "n0/0");
  EXPECT_EQ(first["destroys"], Json::array());
}

TEST(Place, SaysWhenItFitsBySizeButNotByPosition) {
  const Scratch scratch;
  const std::string fleet =
      scratch.write("holes.json", R"({"gpus": [{"name": "n0/0", "model": "A100-40GB", "instances": [
    {"profile": "1g.5gb", "start": 1, "workload": "a"}, {"profile": "1g.5gb", "start": 3,
      "workload": "b"}, {"profile": "1g.5gb", "start": 5, "workload": "c"}]}]})");
  const Outcome outcome = cleave("place --profile 2g.10gb --fleet " + fleet);
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("2g.10gb fits by size on 1 of 1 GPUs, but by position on none"),
            std::string::npos)
      << outcome.err;
  EXPECT_EQ(json("place --profile 2g.10gb --fleet " + fleet, 1)["error"]["kind"], "infeasible");
}

TEST(Place, NamesTheMoveThatMakesRoom) {
  const Outcome outcome = cleave("place --fleet examples/fleets/fragmented.json --profile 2g.10gb");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(
      outcome.err.find(
          "move 'notebook-2' (1g.5gb) from n0/0 at 3 to n0/0 at 0, then 2g.10gb fits on n0/0 at 2"),
      std::string::npos)
      << outcome.err;
}

TEST(Admit, AnswersAsTheContractSays) {
  const Scratch scratch;
  const std::string batch = scratch.write(
      "batch.json", R"({"requests": [{"profile": "1g.5gb", "count": 8}, {"profile": "7g.40gb"}]})");
  const Json answer = json("admit --fleet 2xA100-40GB --batch " + batch);
  EXPECT_EQ(answer,
            Json::parse(R"({"fits": false, "missing_gpus": 1, "exact_by": "closed form"})"));
  EXPECT_EQ(json("admit --fleet 3xA100-40GB --batch " + batch)["fits"], true);
  EXPECT_EQ(json("admit --fleet 3xA100-40GB,1xA30-24GB --add A30-24GB --batch " + batch)["fits"],
            true);
  EXPECT_TRUE(
      json("admit --fleet 2xA100-40GB,1xA30-24GB --add A30-24GB --batch " + batch)["missing_gpus"]
          .is_null());
}

TEST(Bench, PlacementDecidesTheSameInEveryWay) {
  const std::string gpus = sanitized ? "8,40" : "8,300";
  for (const char* more : {"", " --models A100-40GB,A30-24GB --walls 0.1", " --policy reachability",
                           " --policy preference --profiles all"}) {
    const Json bench = json(fmt::format("bench placement --gpus {} --seconds 0.01{}", gpus, more));
    ASSERT_EQ(bench["fleets"].size(), 4U);
    for (const Json& run : bench["fleets"]) EXPECT_EQ(run["identical"], true) << more;
  }
  EXPECT_EQ(json("bench simulation --gpus 20 --jobs 500")["runs"][0]["no_index_identical"], true);
  EXPECT_EQ(json("bench admission --gpus 50")["runs"][0]["identical"], true);
  const Json decided = json("bench decisions --gpus 2 --waiting 20 --decisions 100")["runs"];
  ASSERT_EQ(decided.size(), 3U);
  EXPECT_EQ(decided[0]["scheduler"], "adaptive");
  EXPECT_GE(decided[0]["decisions"], 100);
  EXPECT_LE(decided[0]["median_us"], decided[0]["p99_us"]);
  const Json gangs = json("bench gangs --gpus 16")["runs"][0];
  for (const char* figure : {"no_us", "start_us", "keep_us"})
    EXPECT_GT(gangs[figure], 0.0) << figure;
}

TEST(Reproduce, TamingWritesItsPage) {
  const Scratch scratch;
  const Json all = json("reproduce taming --write " + scratch.path("pages"));
  EXPECT_GT(all["claims"].size(), 50U);
  EXPECT_EQ(all["rewards"].size(), 9U);
  EXPECT_GT(all["outside"].size(), 0U);
  EXPECT_TRUE(std::filesystem::exists(scratch.path("pages/taming.md")));
  EXPECT_EQ(cleave("reproduce taming --write /dev/null/pages").exit_code, 2);
}

TEST(Bench, PlannerHasTheAssignmentModelBesideIt) {
  const Json bench = json("bench planner --gpus 8,20 --cases 2 --assignment-limit 1");
  ASSERT_EQ(bench["runs"].size(), 8U);
  for (const Json& run : bench["runs"]) EXPECT_EQ(run["status"], "optimal") << run;
  ASSERT_EQ(bench["assignment"].size(), 8U);
  for (const Json& run : bench["assignment"])
    for (const char* key :
         {"problem", "gpus", "seconds_to_gap", "seconds", "status", "binary", "counted"})
      EXPECT_TRUE(run.contains(key)) << key;
  for (const Json& run : bench["assignment"])
    for (const char* way : {"counted", "binary"}) {
      const bool exact = run[way]["status"] == "optimal" && run[way]["unmerged_gpus"] == 0;
      EXPECT_NE(run[way]["planner_is"], "worse") << run;
      EXPECT_TRUE(!exact || run[way]["planner_is"] == "same") << run;
    }
  EXPECT_TRUE(json("bench planner --gpus 8 --cases 1 --assignment-limit 0")["assignment"].empty());
  for (const char* gpus : {"0", "-1", "5000000", "8,0", "x"})
    EXPECT_EQ(cleave(std::string("bench planner --gpus ") + gpus).exit_code, 2) << gpus;
}

TEST(Reproduce, DynaPWritesItsPage) {
  const Scratch scratch;
  const std::string pages = scratch.path("pages");
  const Json study = json("reproduce dyna-p --seeds 1 --cluster-jobs 20 --write " + pages);
  EXPECT_EQ(study["seeds"], 1);
  for (const Json& experiment : study["experiments"])
    for (const Json& claim : experiment["claims"]) EXPECT_FALSE(claim["verdict"].empty());
  EXPECT_TRUE(std::filesystem::exists(pages + "/dyna-p.md"));
  EXPECT_EQ(cleave("reproduce dyna-p --seeds 0").exit_code, 2);
}

TEST(Outputs, ADashIsNotAFile) {
  const Outcome outcome = cleave(
      "simulate --fleet 1xA100-40GB --scheduler online --outcomes - --workload "
      "data/workloads/lab-day.jsonl");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.err,
            "cleave: -: a file is written here, not standard output; name a file; ./- is one of "
            "that name\n");
}

TEST(Reproduce, MigmWritesItsPage) {
  const Scratch scratch;
  const std::string pages = scratch.path("pages");
  const Json study = json("reproduce migm --seeds 1 --write " + pages);
  EXPECT_EQ(study["seeds"], 1);
  EXPECT_EQ(study["experiments"].size(), 7U);
  EXPECT_TRUE(std::filesystem::exists(pages + "/migm.md"));
  EXPECT_EQ(cleave("reproduce migm --seeds 0").exit_code, 2);
}

TEST(Reproduce, WritesThePageAndItsFigures) {
  const Scratch scratch;
  const Json answer =
      json("reproduce optimal-placement --cases 1 --write " + scratch.path("pages"));
  EXPECT_EQ(answer["results"].size(), 6U);
  EXPECT_FALSE(answer["claims"].empty());
  EXPECT_EQ(answer["open_choices"].size(), 10U);
  for (const char* file : {"optimal-placement.md", "optimal-placement-figure-9.svg",
                           "optimal-placement-figure-10.svg", "optimal-placement-figure-11.svg"})
    EXPECT_TRUE(std::filesystem::exists(scratch.path(std::string("pages/") + file))) << file;
  EXPECT_EQ(cleave("reproduce optimal-placement --cases 1 --write /dev/null/pages").exit_code, 2);
}

TEST(Tables, AreListedWhole) {
  EXPECT_EQ(json("policies")["policies"].size(), policies().size());
  EXPECT_EQ(json("schedulers")["schedulers"].size(), schedulers().size());
  const std::string help = cleave("place --help").out;
  for (const Policy& policy : policies())
    for (const OptionRow& row : policy.options)
      EXPECT_NE(help.find("--" + std::string(row.name)), std::string::npos);
}

TEST(Simulate, TheSummaryHasEveryKeyOfTheContract) {
  const Json s = json(
      "simulate --fleet 4xA100-40GB --workload data/workloads/lab-day.jsonl --scheduler online "
      "--seed 3");
  for (const char* key : {"scheduler",
                          "seed",
                          "read",
                          "left_out",
                          "jobs",
                          "finished",
                          "failed",
                          "rejected",
                          "waiting",
                          "rejections",
                          "makespan_s",
                          "throughput_jobs_per_s",
                          "bounded_slowdown",
                          "first_wait_max_s",
                          "disruptions_mean",
                          "disruptions_max",
                          "shared_starts",
                          "wait_s",
                          "turnaround_s",
                          "execution_s",
                          "system_throughput",
                          "memory_allocated_utilization",
                          "memory_used_utilization",
                          "compute_utilization",
                          "fragmentation_mean",
                          "energy_j",
                          "creates",
                          "destroys",
                          "migrations",
                          "oom_restarts",
                          "early_restarts",
                          "deadline_misses",
                          "events"})
    EXPECT_TRUE(s.contains(key)) << key;
  for (const char* key : {"mean", "p50", "p95", "p98", "p99", "max"})
    EXPECT_TRUE(s["wait_s"].contains(key)) << key;
  EXPECT_EQ(s["seed"], 3);
  EXPECT_FALSE(s.contains("seconds")) << "wall-clock times only with --timing";
  EXPECT_EQ(s["jobs"].get<int>(), s["finished"].get<int>() + s["failed"].get<int>() +
                                      s["rejected"].get<int>() + s["waiting"].get<int>());
}

TEST(Simulate, SameSeedSameBytes) {
  const std::string arguments =
      "simulate --fleet 2xA100-40GB --workload data/workloads/lab-day.jsonl --scheduler online "
      "--json";
  EXPECT_EQ(cleave(arguments).out, cleave(arguments).out);
}

TEST(Threads, CompareAnswersTheSameAsOneRunAfterTheOther) {
  const std::string what = " --fleet 2xA100-40GB --workload data/workloads/lab-day.jsonl ";
  const Json together =
      json("compare" + what + "--schedulers full-gpu,online:policy=first-fit,online");
  ASSERT_EQ(together["runs"].size(), 3U);
  EXPECT_EQ(together["runs"][2], json("simulate" + what + "--scheduler online"));
  EXPECT_EQ(together["runs"][0], json("simulate" + what + "--scheduler full-gpu"));
}

std::string content_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Compare, WritesTheOutcomesOfAllRunsWhateverTheThreads) {
  const Scratch scratch;
  const std::string what =
      "compare --fleet 3xA100-40GB --generate lab-day --seed 3 --seeds 4 --schedulers "
      "online:migration=off,full-gpu";
  const auto written = [&](const std::string& to, const std::string& threads) {
    EXPECT_EQ(cleave(what + " --outcomes " + to + " --threads " + threads).exit_code, 0);
    return content_of(to);
  };
  const std::string one = written(scratch.path("1.jsonl"), "1");
  EXPECT_EQ(std::ranges::count(one, '\n'), 4 * 2 * 200);
  EXPECT_TRUE(one.starts_with(R"({"scheduler":"online:migration=off","seed":3,"job":)"));
  EXPECT_EQ(written(scratch.path("7.jsonl"), "7"), one);
  EXPECT_EQ(cleave(what + " --threads 3 --outcomes " + scratch.path("runs/")).exit_code, 0);
  EXPECT_EQ(cleave("simulate --fleet 3xA100-40GB --generate lab-day --seed 5 --scheduler full-gpu "
                   "--outcomes " +
                   scratch.path("alone.jsonl"))
                .exit_code,
            0);
  EXPECT_EQ(content_of(scratch.path("runs/seed-5-2-full-gpu.jsonl")),
            content_of(scratch.path("alone.jsonl")));
  EXPECT_TRUE(std::filesystem::exists(scratch.path("runs/seed-3-1-online_migration=off.jsonl")));
  EXPECT_EQ(cleave(what + " --outcomes /dev/null/runs/").exit_code, 1);
}

TEST(Compare, HasLowerBoundsBesideWhatTheyBound) {
  const Json answer =
      json("compare --fleet 3xA100-40GB --generate lab-day --seeds 2 --schedulers online,full-gpu");
  for (const Json& scheduler : answer["comparison"]["schedulers"])
    for (const auto& [name, figure] : scheduler["figures"].items()) {
      const bool bounded = name == "makespan_s" || name == "turnaround_mean_s";
      EXPECT_EQ(figure.contains("bound"), bounded) << name;
      if (!bounded) continue;
      EXPECT_GE(figure["times_bound"]["low"].get<double>(), 1);
    }
}

TEST(Compare, TellsAllSchedulersAsMuchAndSaysHowMuch) {
  const std::string what =
      "compare --fleet 3xA100-40GB --generate lab-day --schedulers oracle,dyna-p,full-gpu ";
  const Json usual = json(what);
  EXPECT_FALSE(usual["runs"][0]["run"].contains("know"));
  EXPECT_FALSE(usual["runs"][0]["run"].contains("may"));
  EXPECT_EQ(json(what + "--may all --know \"times=true;speeds=true;memory=true\""), usual);
  const Json less = json(what + "--may none --know \"times=unknown;speeds=none\"");
  EXPECT_EQ(less["runs"][0]["run"]["know"], "speeds=true;times=true;memory=true") << "oracle";
  EXPECT_EQ(less["runs"][1]["run"]["know"], "speeds=none;times=unknown;memory=true");
  EXPECT_EQ(less["runs"][1]["run"]["times"], "unknown");
  EXPECT_EQ(less["runs"][1]["run"]["may"], "none");
  EXPECT_NE(less["runs"][1]["turnaround_s"], usual["runs"][1]["turnaround_s"]);
  EXPECT_EQ(less["runs"][2]["turnaround_s"], usual["runs"][2]["turnaround_s"]) << "asks nothing";
  EXPECT_NE(cleave(what + "--know times=unknown").out.find("told no times (oracle the truth)"),
            std::string::npos);
}

TEST(Compare, RefusesWhatCannotBeToldOrDone) {
  const std::string what =
      "simulate --fleet 3xA100-40GB --generate lab-day --scheduler online:migration=off ";
  const auto refusal = [&](const std::string& arguments) {
    const Outcome outcome = cleave(what + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments;
    return outcome.err;
  };
  EXPECT_NE(refusal("--know times=often").find("noise:S"), std::string::npos);
  EXPECT_NE(refusal("--know power=true").find("no option 'power'"), std::string::npos);
  EXPECT_NE(refusal("--know memory=forecast").find("name one with --forecast"), std::string::npos);
  EXPECT_NE(refusal("--know memory=none --forecast last-value").find("write memory=forecast"),
            std::string::npos);
  refusal("--may sometimes");
  EXPECT_EQ(cleave(what + "--know memory=forecast --forecast last-value").exit_code, 0);
  EXPECT_EQ(cleave("simulate --fleet 3xA100-40GB --generate lab-day --scheduler miso --may none")
                .exit_code,
            2);
}

TEST(Simulate, SaysWhoHeldTheSlices) {
  const Scratch scratch;
  const std::string workload = scratch.path("jobs.jsonl");
  std::ofstream(workload)
      << R"({"id":"a","user":"ann","account":"x","duration_s":10,"profile":"3g.20gb"}
{"id":"b","user":"bob","account":"x","duration_s":10,"profile":"1g.5gb"}
)";
  const std::string what =
      "simulate --fleet 1xA100-40GB --scheduler online --reconfiguration 0 --workload " + workload;
  const Json answer = json(what);
  ASSERT_EQ(answer["slices_by_user"].size(), 2U);
  EXPECT_EQ(answer["slices_by_user"][0]["user"], "ann");
  const double ann = answer["slices_by_user"][0]["compute_slice_s"],
               bob = answer["slices_by_user"][1]["compute_slice_s"];
  EXPECT_DOUBLE_EQ(answer["slices_by_user"][0]["share"].get<double>(), ann / (ann + bob));
  EXPECT_EQ(answer["slices_by_account"].size(), 1U);
  EXPECT_EQ(answer["slices_by_account"][0]["share"], 1);
  EXPECT_NE(cleave(what).out.find("of compute-slice seconds"), std::string::npos);
}

TEST(Compare, SeedsDrawAgainAndThreadsChangeNothing) {
  const std::string what =
      "compare --fleet 4xA100-40GB --generate lab-day --seed 3 --seeds 6 --schedulers "
      "full-gpu,online "
      "--faults 'mtbf=20000;repair=900;job-failure=0.05' --json";
  const Outcome one = cleave(what + " --threads 1");
  ASSERT_EQ(one.exit_code, 0) << one.err;
  for (const char* threads : {"2", "5"})
    EXPECT_EQ(cleave(what + " --threads " + threads).out, one.out) << threads;
  const Json answer = *parse_json(one.out, "stdout");
  ASSERT_EQ(answer["runs"].size(), 12U);
  EXPECT_EQ(answer["runs"][2]["seed"], 4);
  EXPECT_EQ(
      answer["runs"][3],
      json("simulate --fleet 4xA100-40GB --generate lab-day --seed 4 --scheduler online --faults "
           "'mtbf=20000;repair=900;job-failure=0.05'"));
  const Json& comparison = answer["comparison"];
  EXPECT_EQ(comparison["distinct_seeds"], 6);
  const Json& wait = comparison["schedulers"][1]["figures"]["wait_mean_s"];
  EXPECT_EQ(wait["seeds"], 6);
  EXPECT_TRUE(wait["exceeds_spread"].is_boolean());
  EXPECT_EQ(wait["lower"].get<int>() + wait["higher"].get<int>() + wait["equal"].get<int>(), 6);
  const Outcome text = cleave(
      "compare --fleet 4xA100-40GB --workload data/workloads/lab-day.jsonl --seeds 3 --schedulers "
      "full-gpu,online");
  EXPECT_NE(text.out.find("the 3 seeds make no difference"), std::string::npos) << text.out;
}

TEST(Simulate, SaysHowTheRunWent) {
  const std::string what = "simulate --fleet 2xA100-40GB --generate lab-day --scheduler online ";
  const Json usual = json(what)["run"];
  EXPECT_TRUE(usual["reconfiguration_s"].is_null());
  EXPECT_EQ(usual["checkpoint_s"], 30.0);
  const Json said =
      json(what +
           "--outage n0/1@700-900 --outage n0/1@50-60.5 --reconfiguration 0 --checkpoint 8 "
           "--process-start 1.5 --forecast last-value:margin=0.2");
  EXPECT_EQ(said["run"],
            Json::parse(R"({"reconfiguration_s": 0.0, "checkpoint_s": 8.0, "process_start_s": 1.5,
    "forecast": "last-value:margin=0.2", "times": "true",
    "faults": {"mtbf_s": null, "repair_s": null, "job_failure": 0.0,
    "outages": ["n0/1@50-60.5", "n0/1@700-900"]}, "reservations": []})"));
  EXPECT_EQ(said["gpu_losses"], 2);
  EXPECT_EQ(said["trace"]["generator"], "lab-day");
  const Outcome text = cleave(what + "--outage n0/1@700-900");
  EXPECT_NE(text.out.find("run: lost: n0/1@700-900"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("faults        GPUs lost"), std::string::npos) << text.out;
}

TEST(Simulate, SchedulersAreToldPredictedTimes) {
  const Scratch scratch;
  std::string jobs;
  for (int i = 0; i < 6; ++i)
    jobs += fmt::format(R"({{"id":"j{}","arrival_s":{},"duration_s":92,"memory_mib":4000,)"
                        R"("application":"resnet","batch":256,)"
                        R"("speed":{{"1g.5gb":0.3,"7g.40gb":1}}}})"
                        "\n",
                        i, 400 * i);
  const std::string workload = scratch.write("jobs.jsonl", jobs);
  const std::string outcomes = scratch.path("outcomes.jsonl");
  const std::string what = fmt::format(
      "simulate --fleet 1xA100-40GB --workload {} --scheduler online "
      "--profiles-repository examples/profiles/two-profiles.jsonl",
      workload);
  const Json answer = json(what + " --outcomes " + outcomes);
  EXPECT_EQ(answer["run"]["times"], "predicted");
  EXPECT_EQ(answer["predictions"], 6);
  // On 1g: 286 s were measured, and 92 / 0.3 come out.
  EXPECT_NEAR(answer["prediction_error_median"].get<double>(), 1 - 286 * 0.3 / 92, 1e-6);
  std::ifstream lines(outcomes);
  std::string line;
  ASSERT_TRUE(std::getline(lines, line));
  const Json first = Json::parse(line);
  EXPECT_NEAR(first["predicted_s"].get<double>(), 286, 1e-6);
  EXPECT_NEAR(first["seen_s"].get<double>(), 92 / 0.3, 1e-6);
  const Outcome text = cleave(what);
  EXPECT_NE(text.out.find("schedulers are told predicted times, from 2 profiles"),
            std::string::npos)
      << text.out;
  EXPECT_NE(text.out.find("predicted     6 jobs, off by 7 % at the median"), std::string::npos)
      << text.out;
  EXPECT_EQ(cleave(what + " --time-model examples/fleet.json").exit_code, 2);
  EXPECT_EQ(cleave("simulate --fleet 1xA100-40GB --generate lab-day --scheduler online "
                   "--profiles-repository nowhere.jsonl")
                .exit_code,
            2);
}

TEST(Simulate, JobsThatTheRepositoryDoesNotKnowAreNamed) {
  const Scratch scratch;
  const std::string known = R"({"id":"a","duration_s":92,"application":"resnet","batch":256})",
                    other = R"({"id":"b","duration_s":92,"application":"bert","batch":8})",
                    plain = R"({"id":"c","duration_s":92})";
  const auto said = [&](const std::string& jobs, const std::string& command) {
    const Outcome run = cleave(
        fmt::format("{} --workload {} --profiles-repository examples/profiles/two-profiles.jsonl",
                    command, scratch.write("jobs.jsonl", jobs)));
    EXPECT_EQ(run.exit_code, 0) << run.err;
    return run.err;
  };
  const std::string simulate = "simulate --fleet 1xA100-40GB --scheduler online";
  EXPECT_EQ(said(known + "\n", simulate), "");
  const std::string none = said(other + "\n" + plain + "\n", simulate);
  EXPECT_EQ(none,
            "cleave: no time is predicted for 2 of 2 jobs; 1 job without `application`; nothing is "
            "known of bert with batch 8; the repository knows resnet with batch 256 on these "
            "GPUs: give jobs the `application` and `batch` that were measured\n");
  EXPECT_NE(said(known + "\n" + plain + "\n", simulate).find("for 1 of 2 jobs"), std::string::npos);
  EXPECT_NE(said(plain + "\n", "compare --fleet 1xA30-24GB --schedulers online,scheme-b")
                .find("no profile of this fleet's GPU models"),
            std::string::npos);
}

TEST(Simulate, AllocationIsSlowerWhereThatIsAskedFor) {
  const std::string what = "simulate --fleet 2xA100-40GB --generate lab-day --scheduler online ";
  const Json usual = json(what), slower = json(what + "--allocation measured");
  EXPECT_EQ(usual["world"]["allocation"], "off");
  EXPECT_EQ(slower["world"]["allocation"], "measured");
  EXPECT_GT(slower["execution_s"]["mean"], usual["execution_s"]["mean"]);
  const Outcome text = cleave(what + "--allocation measured");
  EXPECT_NE(text.out.find("run: processes allocate more slowly beside other instances"),
            std::string::npos)
      << text.out;
  EXPECT_EQ(cleave(what + "--allocation slow").exit_code, 2);
}

TEST(Simulate, CountsEnergyByJobAndByUser) {
  const Scratch scratch;
  std::string jobs;
  for (const char* user : {R"(, "user": "bob")", "", R"(, "user": "ada")", R"(, "user": "bob")"})
    jobs += fmt::format(R"({{"id": "j{}", "profile": "1g.5gb", "duration_s": 60{}}})"
                        "\n",
                        jobs.size(), user);
  const std::string workload = scratch.write("users.jsonl", jobs);
  const std::string outcomes = scratch.path("outcomes.jsonl");
  const std::string what =
      fmt::format("simulate --fleet 1xA100-40GB --workload {} --scheduler online ", workload);
  const Json answer = json(what + "--outcomes " + outcomes);
  const Json& users = answer["energy_by_user"];
  ASSERT_EQ(users.size(), 3U);
  EXPECT_EQ(users[0]["user"], "ada");
  EXPECT_EQ(users[1]["user"], "bob");
  EXPECT_EQ(users[1]["jobs"], 2);
  EXPECT_TRUE(users[2]["user"].is_null());
  std::map<std::string, double> by_user;
  double all = 0;
  std::istringstream lines(shell("cat " + outcomes).out);
  for (std::string line; std::getline(lines, line);) {
    const Json job = *parse_json(line, "outcomes");
    EXPECT_EQ(job["end"], "finished");
    EXPECT_GT(job["turnaround_s"], 60);
    by_user[job.value("user", "")] += job["energy_j"].get<double>();
    all += job["energy_j"].get<double>();
  }
  EXPECT_NEAR(all, answer["job_energy_j"].get<double>(), 1e-3);
  EXPECT_NEAR(by_user["bob"], users[1]["energy_j"].get<double>(), 1e-3);
  EXPECT_NEAR(by_user[""], users[2]["energy_j"].get<double>(), 1e-3);
  EXPECT_EQ(cleave(what + "--outcomes " + workload).exit_code, 2) << "it is read from there";
  EXPECT_FALSE(json(what + "--power off").contains("energy_by_user"));
}

TEST(Simulate, WritesEventsWholeOrNotAtAll) {
  const Scratch scratch;
  const std::string events = scratch.path("events.jsonl"), trace = scratch.path("trace.json");
  const std::string what = "simulate --fleet 2xA100-40GB --scheduler online ";
  const Json summary =
      json(what + "--generate lab-day --events " + events + " --trace-events " + trace);
  const Outcome lines = shell("grep -c '\"event\": \"created\"' " + events);
  EXPECT_EQ(lines.out, summary["creates"].dump() + "\n");
  const auto document = parse_json(shell("cat " + trace).out, "trace");
  ASSERT_TRUE(document);
  EXPECT_EQ((*document)["otherData"]["scheduler"], "online");
  // The second job would end in centuries: the run fails midway and keeps the existing files.
  const std::string endless =
      scratch.write("endless.jsonl", R"({"id": "a", "duration_s": 10, "profile": "7g.40gb"}
{"id": "b", "duration_s": 3000000000, "profile": "1g.5gb", "speed": {"1g.5gb": 0.001}})");
  const std::string before = shell("md5sum " + events + " " + trace).out;
  EXPECT_EQ(
      cleave(what + "--workload " + endless + " --events " + events + " --trace-events " + trace)
          .exit_code,
      1);
  EXPECT_EQ(shell("md5sum " + events + " " + trace).out, before);
  EXPECT_EQ(shell("ls " + scratch.path(".") + " | grep -c part").out, "0\n");
  EXPECT_EQ(cleave(what + "--generate lab-day --events " + events + " --trace-events " + events)
                .exit_code,
            2);
  EXPECT_EQ(cleave(what + "--generate lab-day --events " + scratch.path("no/where")).exit_code, 1);
}

TEST(Simulate, RefusesRunsThatCannotBe) {
  const std::string what = "simulate --fleet 2xA100-40GB --generate lab-day --scheduler online ";
  for (const char* wrong :
       {"--faults mtbf=0", "--faults nothing=1", "--faults job-failure=2", "--outage n0/7@1-2",
        "--outage n0/0@5-1", "--outage n0/0@1-5 --outage n0/0@4-9",
        "--outage n0/0@1-2 --faults mtbf=9", "--forecast las", "--forecast last-value:margin=x",
        "--reconfiguration -1", "--checkpoint soon", "--process-start 1e30", "--workload x.jsonl"})
    EXPECT_EQ(cleave(what + wrong).exit_code, 2) << wrong;
  EXPECT_EQ(cleave("simulate --fleet 2xA100-40GB --generate lab-da --scheduler online").exit_code,
            2);
  EXPECT_EQ(
      cleave("simulate --fleet 2xA100-40GB --generate lab-day:x=1 --scheduler online").exit_code,
      2);
  for (const char* wrong : {"--seeds 0", "--seeds 1000000000", "--threads 0"})
    EXPECT_EQ(cleave("compare --fleet 2xA100-40GB --generate lab-day --schedulers online " +
                     std::string(wrong))
                  .exit_code,
              2)
        << wrong;
}

TEST(PublicTrace, EveryPodIsAccountedFor) {
  const std::string file = "../shared/data/alibaba-gpu-v2023/openb_pod_list_default.csv.gz";
  if (!std::filesystem::exists(std::filesystem::path(source_dir()) / file))
    GTEST_SKIP() << "the public trace (alibaba-gpu-v2023) is not here";
  for (const char* rule : {"round-up", "nearest"}) {
    const Json s = json(std::string("simulate --fleet 160xA100-40GB --trace alibaba2023:") + file +
                        " --compress 20 --scheduler online --rule " + rule);
    std::size_t left_out = 0;
    for (const Json& entry : s["left_out"]) left_out += entry["count"].get<std::size_t>();
    EXPECT_EQ(s["read"].get<std::size_t>(), 7064U);
    EXPECT_EQ(s["jobs"].get<std::size_t>(), 7064U - left_out);
    EXPECT_EQ(s["finished"], s["jobs"]);
    EXPECT_EQ(s["trace"]["rule"], rule);
    EXPECT_EQ(s["trace"]["compress"], "20");
  }
}

/// Every kind of bad input: exit 2, one line on standard error that begins with the program's name
/// and contains `said`, nothing on standard output, and with --json the same as a document.
void expect_refused(const std::string& arguments, const std::string& said) {
  SCOPED_TRACE(arguments);
  const Outcome outcome = cleave(arguments);
  EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_TRUE(outcome.err.starts_with("cleave: ")) << outcome.err;
  EXPECT_EQ(std::ranges::count(outcome.err, '\n'), 1) << outcome.err;
  EXPECT_NE(outcome.err.find(said), std::string::npos) << outcome.err;
  const Json error = json(arguments, 2)["error"];
  for (const char* key : {"kind", "place", "message", "remedy"})
    EXPECT_TRUE(error.contains(key)) << key;
}

TEST(Trace, LogsOfSitesRunToTheEnd) {
  const std::string sacct =
      "simulate --trace sacct:examples/traces/sacct.txt --scheduler online --fleet ";
  const Json slurm = json(sacct + "4xA100-40GB");
  EXPECT_EQ(slurm["read"], 9);
  EXPECT_EQ(slurm["finished"], 7) << "one of four GPUs too";
  EXPECT_EQ(slurm["state_timeout"], 1);
  EXPECT_EQ(slurm["trace"]["format"], "sacct");
  EXPECT_NEAR(
      slurm["gpu_hours"]["finished"].get<double>() + slurm["gpu_hours"]["left_out"].get<double>(),
      slurm["gpu_hours"]["read"].get<double>(), 1e-9);
  const Json small = json(sacct + "1xA100-40GB");
  EXPECT_EQ(small["rejected"], 1);
  EXPECT_NEAR(small["gpu_hours"]["rejected"].get<double>(), 96, 1e-9) << "four GPUs for a day";
  EXPECT_NE(cleave(sacct + "1xA100-40GB").out.find("GPU-hours finished, 96.0 rejected"),
            std::string::npos);
  EXPECT_EQ(json(sacct + "1xA100-40GB --several leave-out")["jobs"], 6);
  const std::string swf =
      "simulate --trace swf:examples/traces/log.swf --scheduler online --fleet ";
  EXPECT_EQ(json(swf + "4xA100-40GB --processors-per-gpu 7")["finished"], 6);
  EXPECT_EQ(json(swf + "1xA100-40GB --processors-per-gpu 7")["finished"], 5);
  EXPECT_EQ(json(swf + "1xA100-40GB --processors-per-gpu 28")["finished"], 6)
      << "the largest is a whole GPU now";
}

TEST(Trace, BecomesAWorkloadThatRunsAlike) {
  for (const char* trace :
       {"sacct:examples/traces/sacct.txt", "swf:examples/traces/log.swf --processors-per-gpu 7"}) {
    SCOPED_TRACE(trace);
    const std::string fleet = " --fleet 4xA100-40GB --scheduler online";
    const Json traced = json(std::string("simulate --trace ") + trace + fleet);
    const Outcome written =
        shell(std::string("cleave workload from ") + trace + " 2> /dev/null | " +
              "cleave simulate --json --workload -" + fleet);
    ASSERT_EQ(written.exit_code, 0) << written.err;
    const Json again = Json::parse(written.out);
    for (const char* key :
         {"jobs", "finished", "makespan_s", "wait_s", "turnaround_s", "execution_s"})
      EXPECT_EQ(again.at(key), traced.at(key)) << key;
  }
}

TEST(WorkloadInfo, CountsJobsByTheirPlaces) {
  const Json info = json("workload info sacct:examples/traces/sacct.txt");
  EXPECT_EQ(info["jobs"], 7);
  EXPECT_EQ(info["read"], 9);
  ASSERT_EQ(info["places"].size(), 2U);
  EXPECT_EQ(info["places"][1]["least"], 3);
  EXPECT_EQ(info["places"][1]["most"], 4);
  EXPECT_EQ(info["places"][1]["jobs"], 1);
  EXPECT_NEAR(info["gpu_hours"]["left_out"].get<double>() + info["gpu_hours"]["jobs"].get<double>(),
              info["gpu_hours"]["read"].get<double>(), 1e-9);
  const Json file = json("workload info examples/workloads/three-jobs.csv");
  EXPECT_EQ(file["jobs"], 3);
  EXPECT_EQ(file["gpu_hours"]["read"], file["gpu_hours"]["jobs"]);
  expect_refused("workload info examples/workloads/three-jobs.csv --several gpus",
                 "--several: this belongs to traces");
  expect_refused("workload info sacct:examples/traces/sacct.txt --gap 3",
                 "--gap: the trace format sacct has no such option");
  EXPECT_EQ(cleave("workload from examples/workloads/three-jobs.csv").exit_code, 2);
}

TEST(PublicTrace, DrawnArrivalsFollowTheSeed) {
  const std::string file = "../shared/data/mig-miso-a100-40gb/jobs_100.csv";
  if (!std::filesystem::exists(std::filesystem::path(source_dir()) / file))
    GTEST_SKIP() << "the public trace (mig-miso-a100-40gb) is not here";
  const std::string run = "simulate --fleet 2xA100-40GB --scheduler online --trace miso:" + file;
  const Json first = json(run + " --seed 1"), again = json(run), other = json(run + " --seed 2");
  EXPECT_EQ(first, again);
  EXPECT_EQ(first["finished"], 100);
  EXPECT_EQ(other["trace"]["seed"], "2");
  EXPECT_NE(first["makespan_s"], other["makespan_s"]);
}

TEST(Generate, MakesAWorkloadThatRuns) {
  const Outcome outcome = shell(
      "cleave workload generate lab-day --seed 9 | cleave simulate --fleet 4xA100-40GB --workload "
      "- "
      "--scheduler online --json");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("\"finished\": 200"), std::string::npos);
}

TEST(CommandLine, AnUnknownCommandIsNamed) {
  expect_refused("plann deploy", "there is no command 'plann'; did you mean 'plan'?");
  expect_refused("qqqq", "there is no command 'qqqq'; see `cleave --help`");
  expect_refused("plan deploi --fleet x",
                 "cleave plan has no command 'deploi'; did you mean 'deploy'?");
  expect_refused("bench qqqq", "cleave bench has no command 'qqqq'; see `cleave bench --help`");
  expect_refused("plan", "no command was given; see `cleave plan --help`");
  expect_refused("place nonsense --profile 1g.5gb", "--fleet is required");
  expect_refused("place nonsense --fleet 4xA100-40GB",
                 "unexpected argument 'nonsense'; `cleave place` takes only options");
  expect_refused("place --flet 4xA100-40GB",
                 "cleave place has no option '--flet'; did you mean '--fleet'?");
  expect_refused("gpu H200", "unknown GPU model 'H200'; did you mean 'H200-141GB'?");
}

TEST(BadInput, IsRefusedWithThePlaceAndTheRemedy) {
  const Scratch scratch;
  const std::string empty = scratch.write("empty", "");
  const std::string broken = scratch.write("broken.json", "{\"gpus\": [{\"name\": \"a\",, ]}");
  const std::string overlap = scratch.write(
      "overlap.json",
      R"({"gpus": [{"name": "a", "model": "A100-40GB", "instances": [{"profile": "4g.20gb", )"
      R"("start": 0}, {"profile": "2g.10gb", "start": 2}]}]})");

  expect_refused("place --fleet nowhere.json --profile 1g.5gb",
                 "nowhere.json: No such file or directory");
  expect_refused("place --fleet " + broken + " --profile 1g.5gb",
                 "broken.json: line 1, column 24: this is not valid JSON");
  expect_refused("place --fleet " + empty + " --profile 1g.5gb",
                 "the JSON text is empty; is it the right file?");
  expect_refused("place --fleet README.md --profile 1g.5gb",
                 "README.md: line 1, column 1: this is not valid JSON; is it the right file?");
  expect_refused("place --fleet " + overlap + " --profile 1g.5gb",
                 "overlap.json: gpus[0].instances[1]: 2g.10gb at 2 overlaps");
  expect_refused("place --fleet . --profile 1g.5gb", ".: Is a directory");
  expect_refused("place --fleet 4xA100-41GB --profile 1g.5gb", "did you mean 'A100-40GB'?");
  expect_refused("place --fleet 4xA100-40GB --profile 2g.12gb",
                 "no GPU of this fleet has a profile '2g.12gb'; did you mean '2g.10gb'?");
  expect_refused("place --fleet 4xA100-40GB", "say what to place");
  expect_refused("place --fleet 4xA100-40GB --profile 1g.5gb --memory 3", "one of the two");
  expect_refused("place --fleet 4xA100-40GB --memory 9GB", "'9GB' is not a size");
  expect_refused("place --fleet 4xA100-40GB --profile 1g.5gb --policy best",
                 "there is no policy 'best'");
  expect_refused("place --fleet 4xA100-40GB --profile 1g.5gb --policy first-fit:x=1",
                 "policy 'first-fit:x=1' is written with options, but first-fit has none");
  expect_refused("place --fleet 4xA100-40GB --profile 1g.5gb --policy reachability:across=best",
                 "give its options beside the name: across");
  expect_refused("place --fleet 4xA100-40GB --profile 1g.5gb --policy first-fit --threshold 0.3",
                 "policy first-fit has no option 'threshold'");
  expect_refused("place --fleet 4xA100-40GB --profile 1g.5gb --threshold nan",
                 "threshold: 'nan' is not a plain decimal number");
  expect_refused("admit --fleet 4xA100-40GB --batch " + broken, "this is not valid JSON");
  expect_refused("admit --fleet 4xA100-40GB,1xA30-24GB --batch examples/batches/class.json",
                 "say which one to add: A100-40GB or A30-24GB");
  expect_refused("admit --fleet 4xA30-24GB --batch examples/batches/class.json",
                 "no GPU of this fleet has a profile '1g.5gb'");
  expect_refused("bench simulation --gpus 10,20 --jobs 5",
                 "give as many numbers of jobs as fleets");
}

TEST(BadInput, OfModelsAndWorkloadsIsRefusedToo) {
  const Scratch scratch;
  const std::string negative =
      scratch.write("negative.jsonl", "{\"id\": \"a\", \"arrival_s\": -1, \"duration_s\": 3}\n");
  const std::string torn = scratch.write(
      "torn.csv",
      "name,num_gpu,gpu_milli,creation_time,deletion_time,scheduled_time\na,1,1000,1,2,1\nb,1,10");
  const std::string jobs = scratch.write("jobs.jsonl", "{\"id\": \"a\", \"duration_s\": 3}\n");

  expect_refused("simulate --fleet 1xA30-24GB --workload README.md --scheduler online",
                 "README.md:1: this is not a workload: its first line names no column 'id'; write "
                 "CSV with a header, or one JSON object a line");
  expect_refused(
      "simulate --fleet 1xA30-24GB --workload examples/fleets/one-node.json --scheduler online",
      "one JSON object a line");
  expect_refused("compare --fleet 1xA30-24GB --workload " + jobs + " --schedulers online,online",
                 "scheduler 'online' was given twice; name each scheduler once");
  expect_refused("gpu MI300X", "unknown GPU model 'MI300X'");
  expect_refused("gpu A100-40GB --profiles 8g.80gb",
                 "--profiles: no GPU here has a profile '8g.80gb'");
  expect_refused("layout A100-40GB 4g.20gb", "'4g.20gb' is not an instance");
  expect_refused("layout A100-40GB 4g.24gb@0",
                 "the A100-40GB has no profile '4g.24gb'; did you mean '4g.20gb'?");
  expect_refused("simulate --fleet 1xA30-24GB --workload " + negative + " --scheduler online",
                 "negative.jsonl:1: arrival_s: a time of -1 s is negative");
  expect_refused("simulate --fleet 1xA30-24GB --trace alibaba2023:" + torn + " --scheduler online",
                 "torn.csv:3: the line has 3 cells, the header 6");
  expect_refused("simulate --fleet 1xA30-24GB --trace philly9:" + torn + " --scheduler online",
                 "does not name a trace format; write alibaba2023:FILE");
  expect_refused("simulate --fleet 1xA30-24GB --workload " + jobs + " --scheduler onlin",
                 "did you mean 'online'?");
  expect_refused(
      "simulate --fleet 1xA30-24GB --workload " + jobs + " --scheduler online:threshold=2",
      "'2' is not a number from 0 to 1");
  expect_refused("simulate --fleet 1xA30-24GB --scheduler online", "say what to run");
  expect_refused(
      "simulate --fleet 1xA30-24GB --workload " + jobs + " --scheduler online --compress 3",
      "this belongs to traces");
  expect_refused("simulate --fleet 1xA30-24GB --trace alibaba2023:" + torn +
                     " --scheduler online --compress 0",
                 "0 is not above 0");
  expect_refused("simulate --fleet 1xA30-24GB --workload " + jobs + " --scheduler online --seed x",
                 "see `cleave simulate --help`");
  expect_refused("compare --fleet 1xA30-24GB --workload " + jobs + " --schedulers online,,full-gpu",
                 "there is no scheduler ''");
  expect_refused("workload generate lab-dya", "did you mean 'lab-day'?");
  expect_refused("workload generate hm1:job=3", "did you mean 'jobs'?");
  expect_refused("bench graph --repeats 0", "see `cleave bench graph --help`");
  expect_refused("nonsense", "see `cleave --help`");
  expect_refused("", "see `cleave --help`");
}

TEST(Program, RefusesOptionsThatATraceDoesNotHave) {
  expect_refused(
      "simulate --fleet 1xA30-24GB --trace alibaba2023:pods.csv --scheduler online --gap 9",
      "--gap: the trace format alibaba2023 has no such option; leave it out");
  expect_refused("simulate --fleet 1xA30-24GB --trace miso:pods.csv --scheduler online --gap 0",
                 "--gap: 0 is not above 0");
  expect_refused("simulate --fleet 1xA30-24GB --trace miso:pods.csv --scheduler online --gap soon",
                 "--gap: 'soon' is not a time; write 90 (seconds), 15m, 1h30m");
  expect_refused(
      "simulate --fleet 1xA30-24GB --trace philly:pods.csv --scheduler online --shares half",
      "see `cleave simulate --help`");
  expect_refused(
      "simulate --fleet 1xA30-24GB --workload jobs.csv --scheduler online --shares whole",
      "this belongs to traces");
}

TEST(Output, IsNotLostInSilence) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "/dev/full is not here";
  const Outcome outcome = shell("cleave gpu >/dev/full");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("could not be written"), std::string::npos) << outcome.err;
}

TEST(Help, HasAnExampleEachThatWorks) {
  for (const char* command :
       {"gpu", "layout", "place", "simulate", "compare", "advise", "policies", "schedulers",
        "admit", "workload generate", "workload list", "bench graph", "bench placement",
        "bench admission", "bench simulation"}) {
    const Outcome help = cleave(std::string(command) + " --help");
    EXPECT_EQ(help.exit_code, 0);
    const std::size_t at = help.out.find("Example:\n  ");
    ASSERT_NE(at, std::string::npos) << command;
    std::string example(trimmed(std::string_view(help.out).substr(at + 11)));
    if (const std::size_t redirect = example.find(" > "); redirect != std::string::npos)
      example.resize(redirect);
    EXPECT_EQ(shell(example).exit_code, 0) << example;
  }
}

TEST(Study, AMissingProgramIsNamed) {
  const testing_program::Scratch scratch;
  const std::string alone = scratch.path("cleave");
  const auto outcome = testing_program::shell("cp \"$(command -v cleave)\" " + alone + " && " +
                                              alone + " bench graph");
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_NE(outcome.err.find("build the target cleave-study"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace cleave
