// `cleave compare`: CSV, sweeps, and charts.

#include "cli/compare/sweep.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/csv.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/assumed_range.hpp"
#include "program.hpp"
#include "simulate/generate/generate.hpp"

namespace cleave::cli {
namespace {

using testing_program::Outcome;
using testing_program::Scratch;
using testing_program::shell;
using testing_program::text_of;

const std::string small =
    "cleave compare --fleet 2xA100-40GB --generate lab-day --schedulers full-gpu,online ";

/// The rows of a file, by column.
std::vector<std::map<std::string, std::string>> rows_of(const std::string& file) {
  const std::string text = text_of(file);
  auto reader = CsvReader::open(text, file);
  EXPECT_TRUE(reader) << file;
  std::vector<std::map<std::string, std::string>> rows;
  std::vector<std::string> cells;
  while (reader->next(cells).value_or(false)) {
    auto& row = rows.emplace_back();
    for (std::size_t i = 0; i < cells.size(); ++i) row[reader->columns()[i]] = cells[i];
  }
  return rows;
}

TEST(CompareCsv, HasARowForEachSchedulerAndSeed) {
  const Scratch scratch;
  const Outcome ran = shell(small + "--seeds 3 --csv '" + scratch.path("runs.csv") + "' --json");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const auto rows = rows_of(scratch.path("runs.csv"));
  ASSERT_EQ(rows.size(), 6U);
  const Json runs = Json::parse(ran.out)["runs"];
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i].at("scheduler"), runs[i]["scheduler"].get<std::string>());
    EXPECT_EQ(rows[i].at("seed"), std::to_string(1 + i / 2));
    EXPECT_DOUBLE_EQ(std::stod(rows[i].at("makespan_s")), runs[i]["makespan_s"].get<double>());
    EXPECT_DOUBLE_EQ(std::stod(rows[i].at("turnaround_mean_s")),
                     runs[i]["turnaround_s"]["mean"].get<double>());
  }
}

TEST(CompareCsv, HasJobsToo) {
  const Scratch scratch;
  const std::string file = scratch.path("jobs.csv"), lines = scratch.path("jobs.jsonl");
  ASSERT_EQ(shell(small + "--outcomes '" + file + "'").exit_code, 0);
  ASSERT_EQ(shell(small + "--outcomes '" + lines + "'").exit_code, 0);
  const auto rows = rows_of(file);
  ASSERT_EQ(rows.size(), 400U);
  std::istringstream json(text_of(lines));
  for (const auto& row : rows) {
    std::string line;
    ASSERT_TRUE(std::getline(json, line));
    const Json job = Json::parse(line);
    EXPECT_EQ(row.at("job"), job["job"].get<std::string>());
    EXPECT_EQ(row.at("scheduler"), job["scheduler"].get<std::string>());
    EXPECT_DOUBLE_EQ(std::stod(row.at("wait_s")), job["wait_s"].get<double>());
  }
  EXPECT_EQ(shell(small + "--csv x.csv --outcomes ./x.csv").exit_code, 2);
}

TEST(Sweep, RunsEachValueAsIfItWereAlone) {
  const Scratch scratch;
  const Outcome swept =
      shell(small + "--seeds 2 --sweep gpus=2,4 --json --csv '" + scratch.path("all.csv") + "'");
  ASSERT_EQ(swept.exit_code, 0) << swept.err;
  const Json all = Json::parse(swept.out);
  EXPECT_EQ(all["sweep"], "gpus");
  ASSERT_EQ(all["points"].size(), 2U);
  const Json alone = Json::parse(
      shell("cleave compare --fleet 4xA100-40GB --generate lab-day --schedulers full-gpu,online "
            "--seeds 2 --json")
          .out);
  EXPECT_EQ(all["points"][1]["value"], "4");
  EXPECT_EQ(all["points"][1]["comparison"], alone["comparison"]);
  const auto rows = rows_of(scratch.path("all.csv"));
  ASSERT_EQ(rows.size(), 8U);
  EXPECT_EQ(rows[7].at("gpus"), "4");
}

TEST(Sweep, CompressesArrivalsOfEveryWorkload) {
  const Scratch scratch;
  const std::string file = scratch.write(
      "jobs.jsonl",
      "{\"id\":\"a\",\"profile\":\"7g.40gb\",\"duration_s\":100}\n"
      "{\"id\":\"b\",\"profile\":\"7g.40gb\",\"duration_s\":100,\"arrival_s\":100}\n");
  const Outcome ran = shell("cleave compare --fleet 1xA100-40GB --workload '" + file +
                            "' --schedulers full-gpu --sweep compress=1,2,4 --json");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const Json points = Json::parse(ran.out)["points"];
  // The second job comes at 100, 50 and 25, and waits for the first.
  const double arrivals[] = {100, 50, 25};
  for (std::size_t i = 0; i < 3; ++i) {
    const Json& run = points[i]["runs"][0];
    const double takes = run["execution_s"]["mean"].get<double>();
    EXPECT_GT(takes, 60) << "as long as without a sweep";
    EXPECT_NEAR(run["wait_s"]["mean"].get<double>(), std::max(0.0, takes - arrivals[i]) / 2, 1e-6);
  }
}

TEST(Sweep, SaysWhatDidNotFinishAndWhoseTimesDoNotCount) {
  const Scratch scratch;
  std::string jobs;
  for (const char* id : {"a", "b", "c"})
    jobs += fmt::format(R"({{"id":"{}","profile":"7g.40gb","duration_s":100}})", id) + "\n";
  jobs += R"({"id":"d","profile":"1g.5gb","duration_s":100})";
  const Outcome ran =
      shell("cleave compare --fleet 2xA100-40GB --workload '" + scratch.write("jobs.jsonl", jobs) +
            "' --schedulers 'full-gpu,static:layout=3g.20gb@0+3g.20gb@4' "
            "--sweep gpus=2,4");
  ASSERT_EQ(ran.exit_code, 0) << ran.err;
  const std::string fixed = "static:layout=3g.20gb@0+3g.20gb@4";
  for (const std::string& part :
       {"gpus=2: " + fixed + ": 3 rejected\n", "gpus=4: " + fixed + ": 3 rejected\n",
        "gpus=2: " + fixed +
            " finishes fewer than half as many jobs as the best: it is not in the "
            "times\n",
        std::string("*: "), std::string("-*")})
    EXPECT_TRUE(ran.out.contains(part)) << part << "\n" << ran.out;
  EXPECT_FALSE(shell(small + "--sweep gpus=2,4").out.contains("*")) << "all count";
}

TEST(Sweep, HasTablesAndChartsWhereTheyAreWanted) {
  const std::string sweep = small + "--seeds 2 --sweep gpus=2,4 ";
  const Outcome piped = shell(sweep);
  EXPECT_TRUE(piped.out.contains("mean turnaround, relative to full-gpu")) << piped.out;
  EXPECT_TRUE(piped.out.contains("gpus=4"));
  EXPECT_FALSE(piped.out.contains("###")) << "no charts in pipes";
  EXPECT_TRUE(shell("LC_ALL=C " + sweep + "--charts always").out.contains("####"));
  EXPECT_TRUE(shell("LC_ALL=C.UTF-8 " + sweep + "--charts always").out.contains("\u2588\u2588"));
  const Outcome waits = shell("LC_ALL=C " + small + "--charts always");
  EXPECT_TRUE(waits.out.contains("jobs by how long they waited")) << waits.out;
  EXPECT_TRUE(waits.out.contains("10 min"));
}

TEST(Sweep, SaysWhatIsWrong) {
  for (const auto& [given, said] : std::initializer_list<std::pair<const char*, const char*>>{
           {"seeds=1,2", "'seeds' cannot be swept; compress or gpus can"},
           {"gpus=2,x", "'x' is not a number of GPUs"},
           {"gpus=", "'' is not a number of GPUs"},
           {"gpus=2,2", "2 is there twice"},
           {"compress=0", "'0' is not a positive number"},
           {"compress", "'' is not a positive number"}}) {
    const Outcome ran = shell(small + "--sweep " + given);
    EXPECT_EQ(ran.exit_code, 2);
    EXPECT_TRUE(ran.err.contains(std::string("cleave: --sweep: ") + said)) << ran.err;
  }
  const Outcome file = shell(
      "cleave compare --fleet examples/fleets/one-node.json --generate lab-day --schedulers "
      "full-gpu --sweep gpus=2,4");
  EXPECT_EQ(file.exit_code, 2);
  EXPECT_TRUE(file.err.contains("gpus needs a fleet of one model, in short")) << file.err;
}

TEST(Sweep, ChangesTheNumberOfGpusOfAFleet) {
  EXPECT_EQ(with_gpus("4xA100-40GB", 16).value_or(""), "16xA100-40GB");
  EXPECT_EQ(with_gpus("8x8xA100-80GB", 16).value_or(""), "2x8xA100-80GB");
  EXPECT_FALSE(with_gpus("8x8xA100-80GB", 12)) << "one and a half nodes";
  EXPECT_FALSE(with_gpus("2xA100-40GB,1xA30-24GB", 4));
  EXPECT_FALSE(with_gpus("fleet.json", 4));
}

TEST(Times, AreTakenInEveryForm) {
  const auto run = [](const char* times) {
    const Outcome ran = shell(
        std::string("cleave simulate --fleet 2xA100-40GB --generate lab-day --scheduler ") + times);
    EXPECT_EQ(ran.exit_code, 0) << ran.err;
    return ran.out;
  };
  const std::string seconds =
      run("online --reconfiguration 90 --checkpoint 120 --process-start 5400 "
          "--faults 'mtbf=129600;repair=3600' --reserve n0/1@90000-180000=ann");
  const std::string words =
      run("online --reconfiguration 1m30s --checkpoint '2 min' --process-start "
          "01:30:00 --faults 'mtbf=1-12:00:00;repair=1h' --reserve n0/1@1-01:00:00-2-02:00:00=ann");
  const auto behind_names = [](const std::string& text) { return text.substr(text.find("run: ")); };
  EXPECT_EQ(behind_names(seconds), behind_names(words));
  EXPECT_TRUE(
      words.contains("90 s for each change of a GPU; checkpoints of 2 min; processes start "
                     "in 90 min; each GPU is lost every 36 h on average, for 1 h"))
      << words;
  for (const char* wrong : {"--process-start soon", "--reconfiguration 15:00", "--checkpoint 5x",
                            "--outage n0/0@soon-later", "--faults mtbf=0"}) {
    const Outcome refused = shell(
        std::string("cleave simulate --fleet 1xA100-40GB --generate lab-day --scheduler online ") +
        wrong);
    EXPECT_EQ(refused.exit_code, 2) << wrong;
    EXPECT_TRUE(refused.err.contains("1h30m")) << refused.err;
  }
  const auto arrivals = [](const std::string& gap) {
    const Scratch scratch;
    const std::string trace = scratch.write(
        "jobs.csv",
        "job,model,batch_size,runtime_on_full_gpu_s,iterations\n0,gnn,64,60,10\n1,gnn,64,60,10\n");
    const Outcome written = shell("cleave workload from miso:" + trace + " --gap " + gap);
    EXPECT_EQ(written.exit_code, 0) << written.err;
    return written.out;
  };
  EXPECT_EQ(arrivals("90"), arrivals("1m30s"));
  EXPECT_NE(arrivals("90"), arrivals("1h"));
}

TEST(AssumedRanges, AreThoseOfEachAssumptionAlone) {
  ComparisonPlan plan;
  plan.fleet = *parse_fleet_in_short("2xA100-40GB", ProfileChoice());
  plan.specs = {*parse_scheduler("full-gpu"), *parse_scheduler("online")};
  for (const std::uint64_t seed : {3U, 4U}) {
    plan.seeds.push_back(seed);
    Workload& workload = plan.workloads.emplace_back(*generate_workload("lab-day", seed));
    for (Job& job : workload.jobs) job.speed = workload.intern(SpeedModel{});
  }
  const auto alone = [&](const std::vector<Workload>& workloads) {
    ComparisonPlan other = plan;
    other.workloads = workloads;
    return compare(run_side_by_side(other, 1, [](std::size_t) { return Progress(); })->seeds);
  };
  const std::vector<Assumption> assumptions = assumptions_for(plan);
  ASSERT_EQ(assumptions.size(), 3U);
  const RunComparison as_it_is = alone(plan.workloads);
  for (const std::size_t threads : {1U, 4U}) {
    const auto range = run_range(plan, as_it_is, assumptions, threads);
    ASSERT_TRUE(range && range->by_assumption.size() == 3);
    for (std::size_t k = 0; k < 3; ++k)
      EXPECT_EQ(to_json(range->by_assumption[k]), assumptions[k].workloads.empty()
                                                      ? to_json(as_it_is)
                                                      : to_json(alone(assumptions[k].workloads)));
    EXPECT_NE(to_json(range->by_assumption[0]), to_json(as_it_is)) << "something is at stake";
  }
}

TEST(Rejections, OfAllJobsAreAFailure) {
  const Scratch scratch;
  const std::string jobs =
      scratch.write("jobs.jsonl", R"({"id": "a", "profile": "7g.40gb", "duration_s": 10}
{"id": "b", "profile": "7g.40gb", "duration_s": 10}
)");
  const std::string on_a30 = " --fleet 2xA30-24GB --workload " + jobs,
                    on_a100 = " --fleet 2xA100-40GB --workload " + jobs;
  const std::string said =
      "no job could run: 2 jobs were rejected: no A30-24GB here has a profile 7g.40gb; name a "
      "fleet that holds such jobs, or change what they ask for\n";
  const Outcome alone = shell("cleave simulate" + on_a30);
  EXPECT_EQ(alone.exit_code, 1);
  EXPECT_EQ(alone.err, "cleave: the run: " + said);
  EXPECT_TRUE(alone.out.contains("0 finished, 0 failed, 2 rejected")) << "the answer is there";
  const Outcome compared = shell("cleave compare --json --schedulers full-gpu,online" + on_a30);
  EXPECT_EQ(compared.exit_code, 1);
  EXPECT_EQ(compared.err, "cleave: the runs: " + said);
  EXPECT_TRUE(parse_json(compared.out, "stdout")) << "one document";
  EXPECT_EQ(shell("cleave simulate" + on_a100).exit_code, 0);
  scratch.write("jobs.jsonl", R"({"id": "a", "profile": "7g.40gb", "duration_s": 10}
{"id": "b", "profile": "1g.6gb", "duration_s": 10}
)");
  EXPECT_EQ(shell("cleave simulate" + on_a30).exit_code, 0) << "one of them runs";
}

}  // namespace
}  // namespace cleave::cli
