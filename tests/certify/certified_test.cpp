// `cleave certify` from outside, on simulated GPUs that are like the simulated GPU of their model,
// and on some that were made to differ from it.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <sstream>

#include "../cli/sim_node.hpp"
#include "base/format.hpp"
#include "base/text.hpp"
#include "certify/bundle.hpp"
#include "certify/reading_functions.hpp"
#include "changing_functions.hpp"
#include "device/recording.hpp"
#include "model/gpu_model.hpp"

namespace cleave {
namespace {

using testing_program::Outcome;
using testing_program::shell;
using testing_program::SimNode;

std::string in_front(const std::string& name) {
  return fmt::format("{}/lib/in-front/cleave-nvmlsim/libnvml_{}.so", binary_dir(), name);
}

std::string content(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// What `cleave certify` finds on a GPU that differs in this.
Json findings(const SimNode& node, const std::string& differs, const std::string& options = "") {
  const Outcome outcome = shell(fmt::format(
      "CLEAVE_DIFFERS='{}' {}", differs,
      node.command(fmt::format("certify --nvml {} --json {}", in_front("differing"), options))));
  EXPECT_EQ(outcome.exit_code, differs == "nothing" ? 0 : 1) << outcome.err;
  return testing_program::document(outcome);
}

/// The functions in which it is different.
std::set<std::string> different(const Json& answer) {
  std::set<std::string> functions;
  for (const Json& each : answer["findings"])
    if (each["verdict"] == "different") functions.insert(each["function"].get<std::string>());
  return functions;
}

/// As root, or as somebody else; empty where this user cannot become them.
std::optional<Outcome> certified_as(const SimNode& node, bool root, const std::string& arguments) {
  if (::geteuid() != 0) return {};
  if (root) return node.run(arguments);
  const std::string somebody = "setpriv --reuid 65534 --regid 65534 --clear-groups -- env ";
  if (shell(somebody + "cleave --version").exit_code != 0) return {};
  std::filesystem::permissions(node.scratch.path(""), std::filesystem::perms{0777});
  return shell(somebody + node.command(arguments));
}

class EveryModel : public testing::TestWithParam<std::string> {};

TEST_P(EveryModel, IsLikeItself) {
  for (const char* mig : {"on", "off"}) {
    const SimNode node("1x" + GetParam(), fmt::format("--instant --mig {}", mig));
    const Outcome outcome = node.run("certify");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    EXPECT_NE(outcome.out.find(" 0 different"), std::string::npos) << outcome.out;
  }
}

std::vector<std::string> models() {
  return names_of(gpu_models(), &GpuModel::key);
}
INSTANTIATE_TEST_SUITE_P(OfTables, EveryModel, testing::ValuesIn(models()), [](const auto& each) {
  std::string name = each.param;
  std::erase_if(name, [](char c) { return c == '-'; });
  return name;
});

TEST(Certified, InstancesOfOthersAreMadeOnTheSimulatedGpuToo) {
  const SimNode node("1xA100-40GB");
  EXPECT_NE(node.foreign("3g.20gb", 4), "");
  ASSERT_EQ(node.run("create --gpu 0 2g.10gb --compute-instances 2").exit_code, 0);
  const Json answer = node.json("certify");
  EXPECT_EQ(answer["checks"]["different"], 0) << answer.dump(2);
}

struct DifferenceRow {
  const char* what;
  std::set<std::string> functions;
  const char* means;  // in the words of the report
};

TEST(Certified, WhatDiffersIsFoundAndNamed) {
  const DifferenceRow rows[] = {
      {"nothing", {}, ""},
      {"memory", {"nvmlDeviceGetGpuInstanceProfileInfo"}, "src/model/gpu_model.cpp"},
      {"placement", {"nvmlDeviceGetGpuInstancePossiblePlacements_v2"}, "layouts planned"},
      {"capacity", {"nvmlDeviceGetGpuInstanceRemainingCapacity"}, "how many instances still fit"},
      {"error order", {"nvmlDeviceGetMigMode"}, "one function after another"},
      {"crash", {"nvmlDeviceGetBAR1MemoryInfo"}, "one function after another"},
      {"board", {"nvmlDeviceGetNumGpuCores"}, "src/nvmlsim/board.cpp"},
  };
  const SimNode node("1xA100-40GB");
  for (const DifferenceRow& row : rows) {
    const Json answer = findings(node, row.what);
    EXPECT_EQ(different(answer), row.functions) << row.what << answer.dump(2);
    EXPECT_NE(answer.dump().find(row.means), std::string::npos) << row.what;
  }
}

TEST(Certified, NumbersOfBothSidesAreShown) {
  const SimNode node("1xA100-40GB", "--instant --mig off");
  const Outcome outcome =
      shell("CLEAVE_DIFFERS=memory " +
            node.command(fmt::format("certify --nvml {}", in_front("differing"))));
  EXPECT_EQ(outcome.exit_code, 1);
  for (const char* part :
       {"\ngeometry\n  nvmlDeviceGetGpuInstanceProfileInfo, number 0\n", "GPU: memory_mib 4736\n",
        "simulated: memory_mib 4864\n", "of an instance: MIG is off\n"})
    EXPECT_NE(outcome.out.find(part), std::string::npos) << part << " in " << outcome.out;
}

TEST(Certified, NothingIsChangedWithoutConsent) {
  std::set<std::string> changing;
#define CLEAVE_NAME(name) changing.insert(#name);
  CLEAVE_CHANGING_FUNCTIONS(CLEAVE_NAME)
#undef CLEAVE_NAME
  for (const nvml::FunctionRow& row : certify::reading_functions())
    EXPECT_FALSE(changing.contains(row.name)) << row.name;
  const SimNode node("1xH100-80GB-SXM5");
  EXPECT_NE(node.foreign("1g.10gb", 0), "");
  const std::string log = node.scratch.path("log");
  const Json before = node.json("instances");
  const Outcome outcome =
      shell(fmt::format("CLEAVE_GUARD_LOG={} {}", log,
                        node.command(fmt::format("certify --nvml {}", in_front("guarding")))));
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(content(log), "");
  EXPECT_EQ(node.json("instances"), before);
  // The guard would have seen it.
  shell(fmt::format(
      "CLEAVE_GUARD_LOG={} {}", log,
      node.command(fmt::format("certify --make-instances --yes --nvml {}", in_front("guarding")))));
  EXPECT_NE(content(log).find("nvmlDeviceCreateGpuInstanceWithPlacement\n"), std::string::npos);
}

/// Every function is either one that only reads, one that changes something, or one that makes
/// objects of the caller's process.
TEST(Certified, EveryFunctionIsKnownToReadOrToChange) {
  std::set<std::string> known = {
      "nvmlInit", "nvmlInitWithFlags", "nvmlInit_v2", "nvmlShutdown", "nvmlEventSetCreate",
      "nvmlEventSetFree", "nvmlEventSetWait", "nvmlEventSetWait_v2", "nvmlDeviceRegisterEvents",
      "nvmlGpmSampleAlloc", "nvmlGpmSampleFree", "nvmlDeviceWorkloadPowerProfileGetCurrentProfiles",
      "nvmlDeviceWorkloadPowerProfileGetProfilesInfo",
      // Read, but more than that:
      "nvmlDeviceGetConfComputeGpuAttestationReport", "nvmlDeviceGetConfComputeGpuCertificate",
      "nvmlDeviceGetLastBBXFlushTime", "nvmlSystemGetConfComputeKeyRotationThresholdInfo"};
#define CLEAVE_NAME(name) known.insert(#name);
  CLEAVE_CHANGING_FUNCTIONS(CLEAVE_NAME)
#undef CLEAVE_NAME
  for (const nvml::FunctionRow& row : nvml::function_rows())
    if (row.state != nvml::FunctionState::absent) {
      EXPECT_NE(certify::only_reads(row.name), known.contains(row.name)) << row.name;
    }
}

TEST(Certified, AReplayReportsTheSame) {
  const SimNode node("1xA100-40GB");
  const std::string bundle = node.scratch.path("bundle.json");
  const Outcome live =
      shell("CLEAVE_DIFFERS=memory " + node.command(fmt::format("certify --nvml {} --bundle {}",
                                                                in_front("differing"), bundle)));
  const Outcome replay = shell(fmt::format("cleave certify --replay {}", bundle));
  EXPECT_EQ(replay.exit_code, live.exit_code);
  EXPECT_EQ(replay.out, live.out);
  const Outcome again = shell(fmt::format("cleave certify --replay {} --again", bundle));
  EXPECT_EQ(again.exit_code, live.exit_code) << again.err;
  EXPECT_EQ(again.out, live.out);
  // Written again it is the same bundle.
  const std::string copy = node.scratch.path("copy.json");
  shell(fmt::format("cleave certify --replay {} --bundle {}", bundle, copy));
  EXPECT_EQ(content(copy), content(bundle));
  const auto parsed = certify::parse_bundle(content(bundle), "bundle");
  ASSERT_TRUE(parsed);
  // Its recording stands in for the GPU.
  const auto door = ReplayDoor::parse(parsed->recording, "recording");
  ASSERT_TRUE(door) << door.error().text();
  std::ostringstream recorded;
  record_reading(**door, recorded, GpuIndex{0});
  EXPECT_EQ(recorded.str(), parsed->recording);
  EXPECT_NE(recorded.str().find("\"call\":\"profiles\""), std::string::npos);
}

/// What root's bundle has, another user's replay has too, and the other way round.
TEST(Certified, ABundleIsAskedAgainWithTheRightsOfThen) {
  for (const bool root : {true, false}) {
    const SimNode node("1xA100-40GB", "--check-root");
    if (root) {  // others are not told where it is
      EXPECT_NE(node.foreign("3g.20gb", 4), "");
    }
    const std::string bundle = node.scratch.path("bundle.json");
    const auto made = certified_as(node, root, "certify --bundle " + bundle);
    if (!made || !certified_as(node, false, "--version"))
      GTEST_SKIP() << "only root can become somebody else, who must reach the program";
    ASSERT_EQ(made->exit_code, 0) << made->out << made->err;
    for (const bool now_root : {true, false}) {
      const auto again = certified_as(node, now_root, "certify --replay " + bundle + " --again");
      EXPECT_EQ(again->exit_code, 0) << root << now_root << again->out << again->err;
    }
  }
}

TEST(Certified, OptionsThatABundleAnswersAreRefused) {
  const SimNode node("1xA30-24GB");
  const std::string bundle = node.scratch.path("bundle.json");
  ASSERT_EQ(node.run("certify --bundle " + bundle).exit_code, 0);
  const std::string replay = "cleave certify --replay " + bundle;
  for (const char* option : {" --gpu 0", " --model A100-40GB", " --log log", " --nvml libx.so"})
    EXPECT_EQ(shell(replay + option).exit_code, 2) << option;
  EXPECT_EQ(shell(replay + " --again --model A100-40GB").exit_code, 1);
}

/// A machine that hangs has the question in the log already.
TEST(Certified, TheLogHasEachStepBeforeItIsDone) {
  const SimNode node("1xA30-24GB");
  const std::string log = node.scratch.path("log");
  ASSERT_EQ(node.run("certify --make-instances --yes --log " + log).exit_code, 0);
  const std::string text = content(log);
  const std::string question = "memory: nvmlDeviceGetMemoryInfo";
  const auto asked = text.find("asking  " + question);
  ASSERT_NE(asked, std::string::npos);
  EXPECT_NE(text.find("ms  " + question + ": ", asked), std::string::npos);
  for (const char* step : {"doing  create a GPU instance, profile 0\n",
                           "doing  create a compute instance, GPU instance ",
                           "doing  destroy a GPU instance, GPU instance "})
    EXPECT_NE(text.find(step), std::string::npos) << step;
}

TEST(Certified, AnInterruptEndsTheSimulatedHalfToo) {
  const SimNode node("1xA100-40GB", "");  // instances take their time, on both sides
  const Outcome outcome = shell(
      fmt::format("{} & job=$!; until grep -q 'what is left' {}; do sleep 0.05; done; sleep 1; "
                  "kill -TERM $job; begin=$(date +%s%N); wait $job; code=$?; "
                  "echo $((($(date +%s%N) - begin) / 1000000)); exit $code",
                  node.command("certify --make-instances --yes --log " + node.scratch.path("log")),
                  node.scratch.path("log")));
  EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
  EXPECT_NE(outcome.err.find("interrupted"), std::string::npos) << outcome.err;
  EXPECT_LT(std::stod(outcome.out), 3000) << "milliseconds";
}

TEST(Certified, ADamagedBundleIsRefusedWithItsPlace) {
  const SimNode node("1xA30-24GB");
  const std::string bundle = node.scratch.path("bundle.json");
  ASSERT_EQ(node.run("certify --bundle " + bundle).exit_code, 0);
  std::string text = content(bundle);
  const auto damaged = [&](const std::string& from, const std::string& to) {
    std::string other = text;
    other.replace(other.find(from), from.size(), to);
    const Outcome outcome =
        shell("cleave certify --replay " + node.scratch.write("damaged.json", other));
    EXPECT_EQ(outcome.exit_code, 2) << from;
    return outcome.err;
  };
  EXPECT_NE(damaged("\"version\": 1", "\"version\": 2").find(": version"), std::string::npos);
  EXPECT_NE(damaged("\"topic\":\"geometry\"", "\"topic\":\"weather\"").find("answers["),
            std::string::npos);
  EXPECT_NE(damaged("\"calls\":", "\"cells\":").find("recording"), std::string::npos);
  EXPECT_NE(damaged("\"facts\"", "\"fact\"").find("fact"), std::string::npos);
  const Outcome cut = shell("cleave certify --replay " +
                            node.scratch.write("cut.json", text.substr(0, text.size() / 2)));
  EXPECT_EQ(cut.exit_code, 2);
}

TEST(Certified, WithConsentInstancesAreMadeMeasuredAndDestroyed) {
  const SimNode node("1xH100-80GB-SXM5");
  const std::string others = node.foreign("1g.10gb", 0);
  EXPECT_EQ(node.run("certify --make-instances").exit_code, 2);
  EXPECT_EQ(node.run("certify -- sleep 1").exit_code, 2);
  const std::string bundle = node.scratch.path("bundle.json");
  const Json answer = node.json("certify --make-instances --yes --bundle " + bundle);
  EXPECT_EQ(answer["checks"]["different"], 0) << answer.dump(2);
  const Json standing = node.json("instances")["instances"];
  ASSERT_EQ(standing.size(), 1U);
  EXPECT_EQ(standing[0]["compute_instances"][0]["uuid"], others);
  const auto parsed = certify::parse_bundle(content(bundle), "bundle");
  ASSERT_TRUE(parsed);
  using certify::Topic;
  for (const char* what : {"time to create a GPU instance, ms", "memory of an idle instance",
                           "memory of a busy instance", "counting of a busy instance"}) {
    const auto* found = certify::find(parsed->gpu, Topic::lifecycle, what, "1g.10gb");
    ASSERT_NE(found, nullptr) << what;
    EXPECT_TRUE(found->told()) << what;
  }
  const auto* held = certify::find(parsed->gpu, Topic::lifecycle,
                                   "hold: destroy while another process has the handle", "1g.10gb");
  ASSERT_NE(held, nullptr);
  EXPECT_EQ(held->code, nvml::Return::in_use);
  const auto* whole = certify::find(parsed->gpu, Topic::lifecycle, "create", "7g.80gb");
  ASSERT_NE(whole, nullptr);
  EXPECT_EQ(whole->outcome, certify::Outcome::not_asked);  // there is no room for it
}

TEST(Certified, AnotherRuleOfDestroyingAndOtherTimesAreFound) {
  const SimNode node("1xA30-24GB");
  EXPECT_EQ(different(findings(node, "destroy rule", "--make-instances --yes")),
            (std::set<std::string>{"hold: destroy while another process has the handle",
                                   "hold: destroy while a program runs on it"}));
  const auto slow = different(findings(node, "time", "--make-instances --yes"));
  EXPECT_TRUE(slow.contains("time to create a GPU instance, ms"));
}

TEST(Certified, AProfileThatTheDriverRefusesIsADifference) {
  const SimNode node("1xA30-24GB");
  ASSERT_EQ(
      shell(fmt::format("cleave sim-node fault {} --gpu 0 fail-compute --times 1", node.directory))
          .exit_code,
      0);
  const Outcome outcome = node.run("certify --json --make-instances --yes");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  EXPECT_EQ(different(testing_program::document(outcome)), std::set<std::string>{"create"});
}

TEST(Certified, WhatABusyCommandBeginsEndsWithIt) {
  const SimNode node("1xA30-24GB");
  const Outcome outcome = node.run(
      "certify --make-instances --yes -- sh -c 'cleave-job --memory 1GiB --seconds 60; true'");
  EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_EQ(node.json("instances")["instances"].size(), 0U) << "nothing stays in use";
}

TEST(Certified, NothingMadeIsSaidAsAnError) {
  const SimNode node("1xA30-24GB", "--instant --mig off");
  const Outcome outcome = node.run("certify --make-instances --yes");
  EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
  EXPECT_NE(outcome.err.find("no instance was made: MIG is off"), std::string::npos) << outcome.err;
  const Outcome nowhere = node.run("certify --bundle /nowhere/x.json");
  EXPECT_NE(nowhere.exit_code, 0);
  EXPECT_NE(nowhere.out.find(" 0 different"), std::string::npos) << "the report is not lost";
  EXPECT_EQ(node.run("certify --bundle b --log ./b").exit_code, 2);
}

TEST(Certified, AGpuInUseIsLeftAlone) {
  const SimNode node("1xA100-40GB");
  const std::string uuid = node.foreign("2g.10gb", 0);
  const Outcome outcome = shell(fmt::format(
      "CLEAVE_SIM_NODE={} CUDA_VISIBLE_DEVICES={} cleave-job --memory 1GiB --seconds 60 & job=$!; "
      "until {} | grep -q '\"pid\"'; do sleep 0.02; done; {} > {}; kill $job",
      node.directory, uuid, node.command("instances --json"),
      node.command("certify --make-instances --yes"), node.scratch.path("report")));
  EXPECT_NE(content(node.scratch.path("report")).find("create: the GPU is in use by"),
            std::string::npos)
      << content(node.scratch.path("report")) << outcome.err;
  EXPECT_EQ(node.json("instances")["instances"].size(), 1U);
}

TEST(Certified, AnInterruptedOneCleansUp) {
  const SimNode node("1xA100-40GB", "");  // instances take their time
  const Outcome outcome = shell(fmt::format(
      "{} & job=$!; until {} | grep -q '\"profile\"'; do sleep 0.02; done; "
      "kill -TERM $job; wait $job",
      node.command("certify --make-instances --yes"), node.command("instances --json")));
  EXPECT_EQ(outcome.exit_code, 2) << outcome.out;
  EXPECT_NE(outcome.err.find("interrupted; the instances that were made are destroyed"),
            std::string::npos)
      << outcome.err;
  EXPECT_EQ(node.json("instances")["instances"].size(), 0U);
}

TEST(Certified, WhatTheDriverWillNotDestroyIsNamed) {
  const SimNode node("1xA30-24GB");
  ASSERT_EQ(
      shell(fmt::format("cleave sim-node fault {} --gpu 0 fail-destroy", node.directory)).exit_code,
      0);
  const Json answer = node.json("certify --make-instances --yes", 1);
  EXPECT_TRUE(different(answer).contains("what is left")) << answer.dump(2);
  EXPECT_NE(answer.dump().find("4g.24gb"), std::string::npos);
  shell(fmt::format("cleave sim-node fault {} --gpu 0 none", node.directory));
  const Json left = node.json("instances")["instances"];
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0]["owner"], "ours");  // `cleave destroy` takes it
}

/// Of a comparison with what a real GPU answered: the simulated one answers the same but for what
/// docs/certify.md lists.
struct Left {
  std::size_t crashes = 0, fields = 0, memory = 0, others = 0;
};
Left left_of(const std::string& bundle) {
  Left left;
  const Outcome outcome = shell("cleave certify --replay " + bundle + " --again --json");
  EXPECT_EQ(outcome.exit_code, 1) << outcome.err;
  if (outcome.exit_code != 1) return left;
  const Json answer = testing_program::document(outcome);
  EXPECT_GE(answer["checks"]["same"].get<int>() + answer["checks"]["not supported"].get<int>(),
            300);
  for (const Json& each : answer["findings"]) {
    if (each["verdict"] != "different") continue;
    const std::string function = each["function"], gpu = each["gpu"];
    const bool crashed = gpu.starts_with("the call crashes");
    const bool field = function == "nvmlDeviceGetFieldValues" &&
                       each["simulated"].get<std::string>().starts_with("answer 3");
    const bool memory =
        gpu.starts_with("memory_mib") || function.starts_with("nvmlDeviceGetMemoryInfo");
    ++(crashed ? left.crashes : field ? left.fields : memory ? left.memory : left.others);
    if (crashed || field || memory) continue;
    EXPECT_TRUE(function == "nvmlDeviceGetSamples" || function == "nvmlDeviceOnSameBoard")
        << each.dump();
  }
  return left;
}

/// Both with driver 580.159.04 and MIG off, without their UUIDs and serial numbers, and without
/// what holds of all functions.
TEST(Certified, SimulatedGpusAnswerAsThoseMeasured) {
  const Left h100 = left_of("tests/certify/h100-80gb-hbm3.json");
  EXPECT_EQ(h100.crashes, 83U);
  EXPECT_EQ(h100.fields, 33U);
  EXPECT_EQ(h100.memory, 0U);
  EXPECT_EQ(h100.others, 3U);
  const Left h200 = left_of("tests/certify/h200-141gb.json");
  EXPECT_EQ(h200.crashes, 83U);
  EXPECT_EQ(h200.fields, 33U);
  EXPECT_GT(h200.memory, 0U) << "the table keeps an older listing of its sizes";
  EXPECT_EQ(h200.others, 3U);
}

TEST(Certified, WhatCannotBeAskedIsBadInput) {
  const SimNode two("2xA30-24GB");
  EXPECT_EQ(two.run("certify").exit_code, 2);
  EXPECT_EQ(two.run("certify --gpu 1").exit_code, 0);
  EXPECT_EQ(two.run("certify --gpu 7").exit_code, 2);
  EXPECT_EQ(two.run("certify --gpu 0 --model nothing").exit_code, 2);
  EXPECT_EQ(two.run("certify --gpu 0 --model A100-40GB").exit_code, 1);
  const Outcome none = shell("cleave certify --nvml /nowhere/libnvidia-ml.so.1");
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_NE(none.err.find("/nowhere/libnvidia-ml.so.1"), std::string::npos);
}

}  // namespace
}  // namespace cleave
