// `cleave import` from outside: it prints a fleet that the other commands read, and in which
// nothing moves before a person allows it.

#include <gtest/gtest.h>

#include "base/json.hpp"
#include "program.hpp"

namespace cleave {
namespace {

using testing_program::cleave;
using testing_program::Outcome;
using testing_program::Scratch;
using testing_program::shell;

constexpr const char* example = "import smi --node n0 --model A100-40GB examples/smi/a100-node.txt";

void refused(const std::string& arguments, const std::string& part) {
  const Outcome outcome = cleave("import smi " + arguments);
  EXPECT_EQ(outcome.exit_code, 2) << arguments << outcome.err;
  EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  EXPECT_EQ(outcome.out, "") << arguments;
}

Json document(const std::string& text) {
  const auto parsed = parse_json(text, "stdout");
  EXPECT_TRUE(parsed) << text;
  return parsed ? *parsed : Json::object();
}

TEST(Import, PrintsAFleetWithWhatTheListingsSay) {
  const Outcome outcome = cleave(example);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  const Json fleet = document(outcome.out);
  ASSERT_EQ(fleet["gpus"].size(), 2U);
  EXPECT_EQ(fleet["gpus"][0]["name"], "n0/0");
  EXPECT_EQ(fleet["gpus"][1]["name"], "n0/2") << "GPU 1 is in no row";
  EXPECT_EQ(fleet["gpus"][0]["model"], "A100-40GB");
  EXPECT_EQ(fleet["gpus"][0]["instances"][0],
            Json::parse(R"({"profile": "4g.20gb", "start": 0, "movable": false,
                            "x-smi": {"gpu_instance": 2, "compute_instances": ["1c.4g.20gb",
                              "2c.4g.20gb"]}})"));
  EXPECT_EQ(fleet["gpus"][1]["instances"][0]["x-smi"], Json::parse(R"({"gpu_instance": 7})"));
  for (const char* part : {"5 instances on 2 GPUs", "\"workload\"", "\"movable\": true",
                           "1 instance has no compute instance", "--gpus N"})
    EXPECT_NE(outcome.err.find(part), std::string::npos) << part << "\n" << outcome.err;
  const Outcome all = cleave(std::string(example) + " --gpus 4");
  EXPECT_EQ(document(all.out)["gpus"].size(), 4U);
  EXPECT_EQ(all.err.find("--gpus N"), std::string::npos);
  EXPECT_EQ(cleave(example).out, outcome.out) << "same input, same bytes";
}

TEST(Import, MergesNodes) {
  const std::string file = "examples/smi/a100-node.txt";
  const auto names = [](const Outcome& outcome) {
    EXPECT_EQ(outcome.exit_code, 0) << outcome.command << outcome.err;
    std::string said;
    const Json fleet = document(outcome.out);
    for (const Json& gpu : fleet["gpus"]) said += gpu["name"].get<std::string>() + " ";
    return said;
  };
  const Scratch scratch;
  const std::string copy = scratch.path("copy.txt"), all = scratch.path("all.txt");
  ASSERT_EQ(shell("cp " + file + " " + copy).exit_code, 0);
  const Outcome two = cleave("import smi --model A100-40GB n0=" + file + " n1=" + copy);
  EXPECT_EQ(names(two), "n0/0 n0/2 n1/0 n1/2 ");
  EXPECT_NE(two.err.find("10 instances on 4 GPUs of 2 nodes"), std::string::npos) << two.err;
  // As pdsh writes it, with the list of GPUs: model and number need not be named.
  ASSERT_EQ(shell("for n in a b c; do for i in 0 1 2 3; do echo \"$n: GPU $i: NVIDIA "
                  "A100-SXM4-40GB (UUID: GPU-$i)\"; done; sed \"s/^/$n: /\" " +
                  file + "; done > " + all)
                .exit_code,
            0);
  const Outcome listed = cleave("import smi " + all);
  EXPECT_EQ(names(listed), "a/0 a/1 a/2 a/3 b/0 b/1 b/2 b/3 c/0 c/1 c/2 c/3 ");
  EXPECT_EQ(listed.err.find("--gpus N"), std::string::npos) << listed.err;
  refused("--model A100-40GB n0=" + all, "the file says itself which nodes it is of");
}

TEST(Import, ATableOfNodesIsAFleet) {
  const Scratch scratch;
  const std::string table = scratch.write(
      "nodes.csv",
      "gpu_model,gpu_capacity_num,cpu_num,node_name\nA100-SXM4-80GB,8,128,0\nA10,1,64,1\n");
  const Outcome outcome = cleave("import nodes " + table);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_NE(outcome.err.find("left out: 1 A10 in 1 node"), std::string::npos) << outcome.err;
  EXPECT_EQ(cleave("place --profile 1g.10gb --fleet " + scratch.write("fleet.json", outcome.out))
                .exit_code,
            0);
}

TEST(Import, NothingMovesUntilAPersonSaysSo) {
  const Scratch scratch;
  const std::string fleet = scratch.path("fleet.json");
  ASSERT_EQ(shell(std::string("cleave ") + example + " --gpus 3 > " + fleet).exit_code, 0);
  for (const std::string problem : {"compact", "reconfigure"}) {
    const Outcome outcome = cleave("plan " + problem + " --json --fleet " + fleet);
    ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
    const Json plan = document(outcome.out);
    EXPECT_EQ(plan["status"], "optimal");
    EXPECT_EQ(plan["placements"], Json::array());
    EXPECT_EQ(plan["metrics"], plan["metrics_now"]) << problem;
    EXPECT_EQ(plan["metrics"]["gpus"], 2);
  }
  EXPECT_EQ(cleave("place --profile 7g.40gb --json --fleet " + fleet).exit_code, 0)
      << "other commands read it";
}

TEST(Import, ACompletedFileIsPlanned) {
  const Scratch scratch;
  const std::string fleet = scratch.path("fleet.json");
  const std::string complete =
      R"( | sed 's/"start": 4, "movable": false/"start": 4, "workload": "w%", "movable": true/; )"
      R"(s/"start": 2, "movable": false/"start": 2, "movable": true/' |
      awk '{gsub("%", NR); print}' > )";
  ASSERT_EQ(shell(std::string("cleave ") + example + " --gpus 3" + complete + fleet).exit_code, 0);
  const Outcome outcome = cleave("plan reconfigure --json --fleet " + fleet);
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  EXPECT_EQ(document(outcome.out)["placements"].size(), 2U);
}

TEST(Import, SeveralFilesAndStandardInputAreOneNode) {
  const Scratch scratch;
  const std::string split =
      "awk '/mig -lci/{n=1} {print > (\"" + scratch.path("part") + "\" n \".txt\")}' ";
  ASSERT_EQ(shell(split + "examples/smi/a100-node.txt").exit_code, 0);
  const std::string smi = "cleave import smi --node n0 --model 'NVIDIA A100-SXM4-40GB' ";
  const Outcome parts = shell(smi + scratch.path("part1.txt") + " - < " + scratch.path("part.txt"));
  EXPECT_EQ(parts.exit_code, 0) << parts.err;
  EXPECT_EQ(parts.out, cleave(example).out);
  const Outcome without = shell(smi + "- < " + scratch.path("part.txt"));
  EXPECT_EQ(without.out.find("compute_instances"), std::string::npos);
  EXPECT_EQ(without.err.find("no compute instance"), std::string::npos) << "nobody asked -lci";
}

TEST(Import, EmptyNodes) {
  const std::string smi = " | cleave import smi --node rack7/n3 --model A30-24GB - ";
  const Outcome none = shell("echo 'No GPU instances found: Not Found'" + smi + "--gpus 2");
  EXPECT_EQ(none.exit_code, 0) << none.err;
  EXPECT_EQ(document(none.out)["gpus"][1]["name"], "rack7/n3/1");
  const Outcome off = shell("echo 'No MIG-enabled devices found.'" + smi + "--gpus 2");
  EXPECT_NE(off.err.find("no GPU has MIG on"), std::string::npos) << off.err;
  const Outcome how_many = shell("echo 'No GPU instances found: Not Found'" + smi + "--json");
  EXPECT_EQ(how_many.exit_code, 2);
  EXPECT_EQ(document(how_many.out)["error"]["place"], "standard input");
  EXPECT_EQ(document(how_many.out)["error"]["remedy"], "give their number with --gpus N");
}

TEST(Import, BadInputIsToldWhereAndWhat) {
  const Scratch scratch;
  const std::string file = "examples/smi/a100-node.txt ";
  refused("--model A100-40GB " + file, "a node needs a name");
  refused("--node n0 " + file, "--model: of which model the GPUs of n0 are is not known");
  refused("--node n0 --model A100-40GB", "FILE is required");
  refused("--node '' --model A100-40GB " + file, "a node needs a name");
  refused("--node n0 --model A100 " + file, "--model: unknown GPU model 'A100'");
  refused("--node n0 --model A100-40GB nowhere.txt", "nowhere.txt");
  refused("--node n0 --model A100-40GB --gpus 0 " + file, "--gpus");
  refused("--node n0 --model A100-40GB --gpus 9999 " + file, "--gpus");
  refused("--node n0 --model A100-40GB --gpus 2 " + file,
          "a100-node.txt: line 13: expected a GPU below 2, found 2");
  refused("--node n0 --model A100-40GB --profiles plain " + file,
          "a100-node.txt: line 13: 1g.5gb+me is not among the chosen profiles; widen --profiles");
  refused("--node n0 --model A100-40GB --profiles 9g.1gb " + file, "9g.1gb");
  refused("--node n0 --model A30-24GB " + file,
          "a100-node.txt: line 7: expected a profile of the A30-24GB, found '1g.5gb'; is the model "
          "right? "
          "A100-40GB has it");
  refused("--node n0 --model A100-40GB " + file + file, "a100-node.txt: this file was given twice");
  const std::string copy = scratch.path("copy.txt");
  ASSERT_EQ(shell("cp " + file + copy).exit_code, 0);
  refused("--node n0 --model A100-40GB " + file + copy,
          "copy.txt: line 7: GPU 0 is listed a second time, before in the table of "
          "examples/smi/a100-node.txt: line 3");
  refused("--node n0 --model A100-40GB examples/fleets/one-node.json",
          "line 1: expected the table 'GPU instances:', found JSON");
  const std::string torn = scratch.path("torn.txt");
  ASSERT_EQ(shell("head -n 9 " + file + "> " + torn).exit_code, 0);
  refused("--node n0 --model A100-40GB " + torn,
          "torn.txt: line 9: expected the table's closing border");
}

}  // namespace
}  // namespace cleave
