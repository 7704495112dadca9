// `cleave plan` from outside: plans for people and for programs, and problems without a plan.

#include <gtest/gtest.h>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "json_of.hpp"

namespace cleave {
namespace {

using testing_program::cleave;
using testing_program::json_of;
using testing_program::Outcome;
using testing_program::Scratch;
using testing_program::shell;

constexpr const char* scattered = " --fleet examples/fleets/scattered.json";

Json plan_json(const std::string& arguments, int exit_code = 0) {
  return json_of(cleave("plan " + arguments + " --json"), exit_code);
}

std::vector<std::int64_t> values(const Json& plan) {
  std::vector<std::int64_t> list;
  for (const Json& objective : plan["objective"]) list.push_back(objective["value"]);
  return list;
}

TEST(Plan, EveryProblemIsProvenAndHasTheKeysOfTheFormat) {
  for (const std::string kind : {"deploy", "compact", "reconfigure", "joint"}) {
    const Json plan = plan_json(kind + scattered);
    EXPECT_EQ(plan["problem"], kind);
    EXPECT_EQ(plan["status"], "optimal");
    ASSERT_EQ(plan["objective"].size(), 5U);
    EXPECT_EQ(plan["objective"][0]["name"], "pending_memory_slices");
    EXPECT_EQ(plan["objective"][3]["name"],
              kind == "reconfigure" ? "previously_used_gpus" : "migration_memory_slices");
    for (const Json& objective : plan["objective"])
      EXPECT_EQ(objective["value"], objective["bound"]);
    const bool has_new = kind == "deploy" || kind == "joint";
    EXPECT_EQ(plan["placements"].size(), has_new ? 9U : 7U);
    for (const char* key :
         {"gpus", "memory_wastage", "compute_wastage", "availability", "migration_size",
          "pending_size", "sequential_migrations", "memory_utilization", "compute_utilization"})
      EXPECT_TRUE(plan["metrics"].contains(key) && plan["metrics_now"].contains(key)) << key;
  }
}

TEST(Plan, MigPartedReadsWhatIsExported) {
  const Outcome outcome = cleave(std::string("plan compact --export mig-parted") + scattered);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  // The few lines of YAML that there are: version, a list for each node, and its entries.
  EXPECT_NE(outcome.out.find("version: v1\nmig-configs:\n  \"n0\":\n    - devices: [0"),
            std::string::npos)
      << outcome.out;
  const Json plan = plan_json(std::string("compact") + scattered);
  std::map<std::string, int> exported, planned;
  int devices = 0;
  for (const std::string_view line : split(outcome.out, '\n')) {
    if (line.contains("devices: [")) devices = static_cast<int>(split(line, ',').size());
    const auto words = split(trimmed(line), '"');
    if (line.starts_with("        \"") && words.size() == 3)
      exported[std::string(words[1])] +=
          devices * static_cast<int>(*parse_integer(trimmed(words[2].substr(1))));
  }
  for (const Json& placement : plan["placements"])
    ++planned[placement["profile"].get<std::string>()];
  for (const auto& [profile, count] : planned) EXPECT_GE(exported[profile], count) << profile;
  EXPECT_FALSE(planned.empty());
}

TEST(Plan, SlurmReadsWhatIsExported) {
  const Outcome outcome = cleave(std::string("plan compact --export gres") + scattered);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::string gres;
  for (const std::string_view line : split(outcome.out, '\n')) {
    if (line.empty() || line.starts_with('#') || line == "AutoDetect=nvml") continue;
    const auto words = split(line, ' ');
    ASSERT_EQ(words.size(), 4U) << line;
    EXPECT_TRUE(words[0].starts_with("NodeName=") && words[1] == "Name=gpu" &&
                words[2].starts_with("Type=") && words[3].starts_with("Count="))
        << line;
    gres += fmt::format("gres/gpu:{}={},", words[2].substr(5), words[3].substr(6));
  }
  ASSERT_FALSE(gres.empty());
  EXPECT_NE(outcome.out.find("# NodeName=n0 Gres=gpu:"), std::string::npos) << outcome.out;
  // What Slurm would account of them is read back as these profiles.
  const Scratch scratch;
  std::string jobs = "JobID|Submit|Start|ElapsedRaw|State|AllocTRES\n";
  int number = 0;
  gres.pop_back();
  for (const std::string_view entry : split(gres, ','))
    jobs += fmt::format("{}|1|1|9|COMPLETED|{}\n", ++number, entry);
  const Outcome read = cleave("workload from sacct:" + scratch.write("log.txt", jobs));
  EXPECT_EQ(read.exit_code, 0) << read.err;
  EXPECT_NE(read.err.find("0 left out"), std::string::npos) << read.err;
  EXPECT_EQ(read.out.find("gpu_share"), std::string::npos) << "a type that is no profile";
}

TEST(Plan, ExportsAreOfFleetFilesAlone) {
  const auto refused = [](const std::string& arguments, const std::string& part) {
    const Outcome outcome = cleave("plan " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  };
  refused("compact --live --export gres", "carried out by the daemon");
  refused(std::string("compact --json --export gres") + scattered, "contradicts --json");
  refused(std::string("compact --export yaml") + scattered, "yaml");
  const Scratch scratch;
  const std::string named =
      scratch.write("fleet.json", R"({"gpus": [{"name": "front", "model": "A30-24GB"}]})");
  refused("compact --export gres --fleet " + named, "its name does not end in its number");
}

TEST(Plan, FewestGpusLeastWasteFewestMoves) {
  EXPECT_EQ(values(plan_json(std::string("compact") + scattered)),
            (std::vector<std::int64_t>{0, 2, 0, 8, 1}));
  EXPECT_EQ(values(plan_json(std::string("compact --method rules") + scattered)),
            (std::vector<std::int64_t>{0, 2, 2, 5, 0}));
}

TEST(Plan, SameInputSameBytes) {
  const std::string arguments = std::string("plan joint --json") + scattered;
  EXPECT_EQ(cleave(arguments).out, cleave(arguments).out);
}

TEST(Plan, LimitsAndWeightsAreKept) {
  const Json limited = plan_json(std::string("compact --max-migrations 1") + scattered);
  int moves = 0;
  for (const Json& placement : limited["placements"])
    moves += placement["action"] != "stay" ? 1 : 0;
  EXPECT_LE(moves, 1);
  EXPECT_EQ(plan_json(std::string("compact --max-moved 0") + scattered)["metrics"]["gpus"], 3);
  const Json weighted =
      plan_json(std::string("compact --weights gpus=1,migration=0.125") + scattered);
  ASSERT_EQ(weighted["objective"].size(), 1U);
  EXPECT_EQ(weighted["objective"][0]["name"], "weighted_sum");
  EXPECT_EQ(weighted["objective"][0]["value"], 2000 + 5 * 125);
}

TEST(Plan, APictureIsWrittenWholeOrNotAtAll) {
  const Scratch scratch;
  const std::string arguments = std::string("plan compact") + scattered + " --svg ";
  const Outcome outcome = cleave(arguments + scratch.path("plan.svg"));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("Proven optimal"), std::string::npos);
  EXPECT_EQ(shell("ls " + scratch.path("")).out, "plan.svg\n");
  const Scratch other;
  const std::string fleet =
      other.write("fleet.json", shell("cat examples/fleets/scattered.json").out);
  EXPECT_EQ(cleave("plan compact --fleet " + fleet + " --svg " + fleet).exit_code, 2);
  EXPECT_TRUE(shell("cat " + fleet).out.starts_with("{"));
  const std::string svg = shell("cat " + scratch.path("plan.svg")).out;
  EXPECT_TRUE(svg.starts_with("<?xml") && svg.ends_with("</svg>\n")) << svg;
  EXPECT_NE(svg.find("compact: 3 GPUs in use now, 2 after; 3 workloads move"), std::string::npos);

  EXPECT_TRUE(cleave(arguments + "/dev/stdout").out.starts_with(svg));
  const Outcome nowhere = cleave(arguments + scratch.path("nowhere/plan.svg"));
  EXPECT_EQ(nowhere.exit_code, 1);
  EXPECT_EQ(nowhere.out, "");
  EXPECT_NE(nowhere.err.find("nowhere/plan.svg: cannot be written: No such file or directory"),
            std::string::npos)
      << nowhere.err;
  EXPECT_EQ(cleave(arguments + scratch.path("")).exit_code, 1);
  EXPECT_EQ(shell("ls " + scratch.path("")).out, "plan.svg\n");
}

TEST(Plan, ForPeopleWithThePictureAndTheProof) {
  const Outcome outcome = cleave(std::string("plan compact --explain") + scattered);
  EXPECT_EQ(outcome.exit_code, 0);
  for (const char* part :
       {"Proven optimal", "[AAAABBBB]", "B 3g.40gb search <- n0/1", "metric ", "closed form"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << "\n" << outcome.out;
}

TEST(Plan, PendingWorkSaysWhy) {
  const Scratch scratch;
  const std::string fleet = scratch.write("fleet.json", R"({"gpus": [
    {"name": "n0/0", "model": "A30-24GB", "instances": [{"profile": "4g.24gb", "start": 0,
      "owned": false}]},
    {"name": "n0/1", "model": "A30-24GB"}],
   "waiting": [{"workload": "a", "profile": "1g.6gb", "pin": "n0/0"},
               {"workload": "b", "profile": "1g.6gb", "group": "g"}, {"workload": "c",
                 "profile": "1g.6gb", "group": "g"},
               {"workload": "d", "profile": "4g.24gb", "pin": "n0/1", "forbid": ["n0"]}]})");
  const Json plan = plan_json("deploy --fleet " + fleet);
  std::map<std::string, std::string> reasons;
  for (const Json& pending : plan["pending"]) reasons[pending["workload"]] = pending["reason"];
  EXPECT_EQ(reasons.size(), 3U);
  EXPECT_NE(reasons["a"].find("what must stay on n0/0 leaves no room"), std::string::npos)
      << reasons["a"];
  EXPECT_NE(reasons["c"].find("group 'g' has 2 members"), std::string::npos) << reasons["c"];
  EXPECT_NE(reasons["d"].find("pinned to n0/1, which has no instance"), std::string::npos)
      << reasons["d"];
}

TEST(Plan, ConflictsAreNamedAndNothingIsPlanned) {
  const Outcome outcome = cleave("plan compact --fleet examples/fleets/conflict.json");
  EXPECT_EQ(outcome.exit_code, 1);
  EXPECT_NE(outcome.err.find("'web' runs and must find a place"), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  EXPECT_EQ(plan_json("compact --fleet examples/fleets/conflict.json", 1)["error"]["kind"],
            "infeasible");
}

TEST(Plan, BadInputIsToldWhereAndWhat) {
  const Scratch scratch;
  const auto fleet = [&](const std::string& waiting) {
    return scratch.write(
        "fleet.json",
        R"({"gpus": [{"name": "n0/0", "model": "A100-40GB"}], "waiting": [)" + waiting + "]}");
  };
  const auto refused = [](const std::string& arguments, const std::string& part) {
    const Outcome outcome = cleave("plan " + arguments);
    EXPECT_EQ(outcome.exit_code, 2) << arguments << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  };
  refused("deploy --fleet " + fleet(R"({"workload": "w", "profile": "2g.10bg"})"), "waiting[0]");
  refused("deploy --fleet " + fleet(R"({"workload": "w", "profile": "2g.10gb", "pin": "n0/9"})"),
          "waiting[0].pin: the fleet has no GPU and no node 'n0/9'; did you mean 'n0/0'?");
  refused("deploy --fleet " +
              fleet(R"({"workload": "w", "profile": "2g.10gb", "forbid": ["n0", "x"]})"),
          "forbid[1]");
  refused("deploy --weights gpus=1,gpus=2 --fleet 2xA30-24GB", "'gpus' is given twice");
  refused("deploy --weights gpus=0.0001 --fleet 2xA30-24GB", "'0.0001' is not a weight");
  refused("deploy --method best --fleet 2xA30-24GB", "'best' is not a method");
  refused("joint --method rules --fleet 2xA30-24GB", "not both at once");
  refused("deploy --weights cost=3 --fleet 2xA30-24GB", "'cost' has no weight");
  refused("deploy --weights gpus --fleet 2xA30-24GB", "'gpus' is not NAME=WEIGHT");
  refused("deploy --weights gpus=-1 --fleet 2xA30-24GB", "'-1' is not a weight");
  refused("deploy --time-limit 0 --fleet 2xA30-24GB", "--time-limit");
  refused("compact --max-migrations -1 --fleet 2xA30-24GB", "--max-migrations");
  refused("compact --max-moved lots --fleet 2xA30-24GB", "--max-moved");
  refused("shuffle --fleet 2xA30-24GB", "plan");
}

TEST(Plan, SaysThatAllInstancesMustStay) {
  const testing_program::Scratch scratch;
  const auto fleet = [&](const char* more) {
    return scratch.write(
        "fleet.json",
        fmt::format(R"({{"gpus": [{{"name": "n0/0", "model": "A100-40GB", "instances": )"
                    R"([{{"profile": "1g.5gb", "start": 0, {}}}]}}]}})",
                    more));
  };
  const auto imported =
      testing_program::cleave("plan compact --fleet " + fleet(R"("movable": false)"));
  ASSERT_EQ(imported.exit_code, 0) << imported.err;
  EXPECT_TRUE(imported.out.starts_with("the only instance of this fleet must stay: it is a wall"))
      << imported.out;
  EXPECT_NE(imported.out.find("\"movable\": true"), std::string::npos);
  const auto declared = testing_program::cleave("plan compact --fleet " +
                                                fleet(R"("movable": true, "workload": "a")"));
  EXPECT_EQ(declared.out.find("must stay"), std::string::npos) << declared.out;
}

}  // namespace
}  // namespace cleave
