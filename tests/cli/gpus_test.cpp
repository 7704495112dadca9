// The commands on live GPUs from outside, on simulated nodes: answers, refusals, and that only
// Cleave's own instances are touched.

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/format.hpp"
#include "device/gpu_lock.hpp"
#include "sim_node.hpp"

namespace cleave {
namespace {

using testing_program::document;
using testing_program::Outcome;
using testing_program::Scratch;
using testing_program::shell;
using testing_program::SimNode;

void says(const Outcome& outcome, int exit_code, std::initializer_list<const char*> parts) {
  EXPECT_EQ(outcome.exit_code, exit_code) << outcome.out << outcome.err;
  for (const char* part : parts)
    EXPECT_NE(outcome.err.find(part), std::string::npos)
        << "no '" << part << "' in: " << outcome.err;
}

std::string uuid_of(const Outcome& created) {
  const std::size_t at = created.out.find("CUDA_VISIBLE_DEVICES=");
  EXPECT_NE(at, std::string::npos) << created.out << created.err;
  if (at == std::string::npos) return {};
  const std::string rest = created.out.substr(at + std::string("CUDA_VISIBLE_DEVICES=").size());
  return rest.substr(0, rest.find('\n'));
}

std::vector<Json> standing(const SimNode& node) {
  const Json all = node.json("instances");
  return {all["instances"].begin(), all["instances"].end()};
}

/// How many instances belong to this owner.
std::ptrdiff_t owned_as(const SimNode& node, std::string_view owner) {
  return std::ranges::count_if(
      standing(node), [&](const Json& each) { return each["owner"].get<std::string>() == owner; });
}

std::string layout_of(const SimNode& node, int gpu = 0) {
  std::string text;
  const Json all = node.json(fmt::format("instances --gpu {}", gpu));
  for (const Json& each : all["instances"])
    text += fmt::format("{}{}@{}", text.empty() ? "" : ",", each["profile"].get<std::string>(),
                        each["start"].get<int>());
  return text;
}

TEST(SimNodes, AreMadeShownBrokenAndDestroyed) {
  const Scratch scratch;
  const std::string directory = scratch.path("a node");
  const std::string at = fmt::format("'{}'", directory);
  const Outcome made = shell(fmt::format("cleave sim-node create {}", at) +
                             " --gpus 1xA30-24GB,2xH100-80GB-SXM5 --instant");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_EQ(
      made.out.find(fmt::format("export CLEAVE_SIM_NODE='{}'\nexport LD_LIBRARY_PATH=", directory)),
      0U)
      << made.out;
  EXPECT_EQ(shell(fmt::format("cleave sim-node show {}", at)).exit_code, 0);
  const Json view = document(shell(fmt::format("cleave sim-node show {}", at) + " --json"));
  EXPECT_EQ(view["gpus"].size(), 3U);
  EXPECT_EQ(view["gpus"][2]["model"], "H100-80GB-SXM5");
  EXPECT_TRUE(view["flaw"].is_null());
  EXPECT_NE(shell(fmt::format("cleave sim-node create {}", at) + " --gpus 1xA30-24GB").exit_code, 0)
      << "there is one already";
  EXPECT_EQ(shell(fmt::format("cleave sim-node fault {}", at) + " --gpu 1 lost").exit_code, 0);
  EXPECT_EQ(
      document(shell(fmt::format("cleave sim-node show {}", at) + " --json"))["gpus"][1]["lost"],
      true);
  says(shell(fmt::format("cleave sim-node fault {}", at) + " --gpu 1 los"), 2,
       {"did you mean 'lost'?"});
  says(shell(fmt::format("cleave sim-node fault {}", at) + " --gpu 3 lost"), 2,
       {"there is no GPU 3", "3 GPUs"});
  EXPECT_EQ(
      shell(fmt::format("CLEAVE_SIM_NODE={}", at) + " cleave create --gpu 0 1g.6gb").exit_code, 0);
  EXPECT_TRUE(std::filesystem::exists(directory + "/cleave/ledger.jsonl"));
  EXPECT_EQ(shell(fmt::format("cleave sim-node destroy {}", at)).exit_code, 0);
  EXPECT_FALSE(std::filesystem::exists(directory)) << "with what was remembered of it";
  EXPECT_NE(shell(fmt::format("cleave sim-node destroy {}", at)).exit_code, 0);
  EXPECT_NE(shell(fmt::format("cleave sim-node show {}", at)).exit_code, 0);
  says(shell(fmt::format("cleave sim-node create {}", at) + " --gpus 4xA100-40G"), 2,
       {"A100-40GB"});
  says(shell(fmt::format("cleave sim-node create {}", at) + " --gpus 65xA100-40GB"), 2, {"64"});
  EXPECT_FALSE(std::filesystem::exists(directory));
}

TEST(SimNodes, AreNotDestroyedWhileSomebodyUsesThem) {
  const SimNode node;
  const auto seen = look_at_sim_node(node.directory);
  ASSERT_TRUE(seen);
  std::filesystem::create_directories(node.directory + "/cleave");
  {
    const auto held =
        GpuLock::take(node.directory + "/cleave", seen->gpus.back().uuid, "GPU 1", "cleaved");
    ASSERT_TRUE(held);
    says(shell(fmt::format("cleave sim-node destroy {}", node.directory)), 1,
         {"the node is used by cleaved", "end it first"});
    EXPECT_EQ(node.run("gpus").exit_code, 0) << "it is still there";
  }
  EXPECT_EQ(shell(fmt::format("cleave sim-node destroy {}", node.directory)).exit_code, 0);
}

TEST(SimNodes, AreNotEndedByAUserWhoMayNotRemoveThem) {
  const std::string nobody = "setpriv --reuid 65534 --regid 65534 --clear-groups ";
  if (::geteuid() != 0 || shell(nobody + "cleave --version").exit_code != 0)
    GTEST_SKIP() << "needs root, setpriv and a program that others may run";
  const SimNode node;
  std::filesystem::permissions(node.scratch.path("."), std::filesystem::perms{0755});
  EXPECT_NE(shell(fmt::format("{}cleave sim-node destroy {}", nobody, node.directory)).exit_code,
            0);
  EXPECT_EQ(node.run("gpus").exit_code, 0) << "it is still there";
}

TEST(SimNodes, HaveUuidsOfTheirOwnUnlessASeedIsGiven) {
  const SimNode one("1xA100-40GB"), two("1xA100-40GB"), three("1xA100-40GB", "--instant --seed 1"),
      four("1xA100-40GB", "--instant --seed 1");
  const auto uuid = [](const SimNode& node) { return node.json("gpus")["gpus"][0]["uuid"]; };
  EXPECT_NE(uuid(one), uuid(two));
  EXPECT_EQ(uuid(three), uuid(four));
}

TEST(Gpus, ShowsEachWithItsInstances) {
  const SimNode node("1xA100-40GB,1xA30-24GB");
  ASSERT_EQ(node.run("create --gpu 0 3g.20gb@0").exit_code, 0);
  const std::string foreign = node.foreign("1g.5gb", 6);
  const Json gpus = node.json("gpus");
  EXPECT_EQ(gpus["simulated"], true);
  ASSERT_EQ(gpus["gpus"].size(), 2U);
  EXPECT_EQ(gpus["gpus"][0]["model"], "A100-40GB");
  EXPECT_EQ(gpus["gpus"][0]["picture"], "[aaaa..#.]");
  EXPECT_EQ(gpus["gpus"][0]["mig"], Json::parse(R"({"enabled": true, "pending": true})"));
  EXPECT_EQ(gpus["gpus"][0]["instances"], Json::parse(R"([
                {"profile": "3g.20gb", "start": 0, "owner": "ours", "claim": null},
                {"profile": "1g.5gb", "start": 6, "owner": "foreign", "claim": null}])"));
  EXPECT_GT(gpus["gpus"][0]["power_w"].get<double>(), 0);
  EXPECT_EQ(gpus["gpus"][1]["picture"], "[....]");
  const Outcome text = node.run("gpus");
  EXPECT_NE(text.out.find("2 GPUs simulated"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("[aaaa..#.]"), std::string::npos) << text.out;

  auto job = SimProcess::start(node.directory, foreign, static_cast<std::uint32_t>(::getpid()));
  ASSERT_TRUE(job) << job.error().text();
  ASSERT_TRUE(job->hold(MiB{1000}));
  const Json instances = node.json("instances --gpu 0")["instances"];
  ASSERT_EQ(instances.size(), 2U);
  EXPECT_EQ(instances[1]["owner"], "foreign");
  EXPECT_EQ(instances[1]["processes"][0]["pid"], ::getpid());
  EXPECT_EQ(instances[1]["compute_instances"][0]["uuid"], foreign);
  EXPECT_GE(instances[1]["memory_used_mib"].get<int>(), 1000);
  ASSERT_TRUE(job->end());
}

TEST(Gpus, ThatAreLostAreShownAndNoneIsAnError) {
  const SimNode node;
  ASSERT_EQ(
      shell(fmt::format("cleave sim-node fault {}", node.directory) + " --gpu 1 lost").exit_code,
      0);
  const Json all = node.json("gpus");
  const Json& gpus = all["gpus"];
  ASSERT_EQ(gpus.size(), 2U);
  EXPECT_TRUE(gpus[1].contains("error")) << gpus[1];
  EXPECT_NE(node.run("gpus").out.find("unreachable"), std::string::npos);
  says(node.run("instances --gpu 1"), 1, {"GPU 1"});
  says(node.run("create --gpu 1 1g.5gb"), 1, {"GPU 1"});
  EXPECT_EQ(node.run("instances").exit_code, 0) << "the others are there";
  const Json listed = node.json("instances");
  ASSERT_EQ(listed["errors"].size(), 1U) << listed;
  EXPECT_NE(listed["errors"][0]["place"].get<std::string>().find("GPU 1"), std::string::npos);
  says(node.run("create --gpu GPU-00000000-0000-0000-0000-000000000000 1g.5gb"), 1,
       {"GPU 1 did not answer"});
  says(node.run("destroy MIG-00000000-0000-0000-0000-000000000000"), 1, {"GPU 1 did not answer"});

  const Scratch scratch;
  const std::string none =
      fmt::format(" --nvml {} --state {}", scratch.path("libnothing.so"), scratch.path("state"));
  says(shell(fmt::format("cleave gpus{}", none)), 1, {"libnothing.so"});
  says(shell(fmt::format("cleave create --gpu 0 1g.5gb{}", none)), 1, {"libnothing.so"});
  EXPECT_EQ(shell(fmt::format("cleave doctor{}", none)).exit_code, 1);
  const std::string no_node =
      fmt::format("CLEAVE_SIM_NODE={} cleave gpus", scratch.path("nowhere"));
  says(shell(no_node), 2, {"nowhere"});
  EXPECT_FALSE(std::filesystem::exists(scratch.path("state"))) << "looking makes nothing";
}

TEST(Gpus, ShowTheirPublicFactsToUsersOtherThanRoot) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody else for a while";
  const SimNode node("1xA100-40GB,1xA30-24GB", "--instant --check-root");
  ASSERT_EQ(node.run("create --gpu 0 3g.20gb@0").exit_code, 0);
  const std::string uuid = node.json("instances")["instances"][0]["compute_instances"][0]["uuid"];
  // That user must be able to reach the programs and the node.
  const std::string open =
      fmt::format("chmod -R a+rwX {} && chmod a+rx {}", node.directory,
                  std::filesystem::path(node.directory).parent_path().string());
  ASSERT_EQ(shell(open).exit_code, 0);
  const auto as_nobody = [&](const std::string& arguments) {
    return shell(fmt::format("setpriv --reuid=65534 --regid=65534 --clear-groups env {}",
                             node.command(arguments)));
  };
  if (as_nobody("--version").exit_code != 0) GTEST_SKIP() << "nobody cannot run the program here";
  const Outcome gpus = as_nobody("gpus");
  EXPECT_EQ(gpus.exit_code, 0) << gpus.err;
  for (const std::string& part :
       {std::string("places, are visible"), std::string("privileged"), uuid})
    EXPECT_NE(gpus.out.find(part), std::string::npos) << part << " is not in\n" << gpus.out;
  EXPECT_EQ(gpus.out.find("[aaaa"), std::string::npos) << gpus.out;
  EXPECT_EQ(gpus.out.find("[...."), std::string::npos) << "it is not empty: " << gpus.out;
  const Json listed = document(as_nobody("gpus --json"))["gpus"][0];
  EXPECT_EQ(listed["model"], "A100-40GB");
  EXPECT_EQ(listed["instances"][0]["uuid"], uuid);
  const Outcome instances = as_nobody("instances");
  EXPECT_EQ(instances.exit_code, 0) << instances.err;
  EXPECT_NE(instances.out.find(uuid), std::string::npos) << instances.out;
  EXPECT_NE(instances.err.find("are visible"), std::string::npos) << instances.err;
  EXPECT_EQ(document(as_nobody("instances --gpu 0 --json"))["instances"][0]["memory_mib"].is_null(),
            false);
  says(as_nobody("instances --gpu 1"), 1, {"privileged"});
  says(as_nobody("create --gpu 0 1g.5gb"), 1, {"privileged"});
}

TEST(Create, StandsWhereTheDriverLikesItOrWhereItIsTold) {
  const SimNode node;
  const Outcome first = node.run("create --gpu 0 3g.20gb");
  ASSERT_EQ(first.exit_code, 0) << first.err;
  EXPECT_EQ(first.out.find("3g.20gb@4 on GPU 0: MIG-"), 0U) << first.out;
  EXPECT_EQ(node.json("create --gpu 0 1g.5gb@2")["start"], 2);
  EXPECT_EQ(layout_of(node), "1g.5gb@2,3g.20gb@4");
  const Json seen = node.json("instances --gpu 0")["instances"];
  EXPECT_EQ(seen[1]["compute_instances"][0]["uuid"], uuid_of(first));
  EXPECT_EQ(seen[1]["owner"], "ours");
  const std::string by_uuid = node.json("gpus")["gpus"][1]["uuid"];
  EXPECT_EQ(node.json(fmt::format("create --gpu {}", by_uuid) + " 7g.40gb")["gpu"], 1);
}

// As many equal compute instances as asked for, each of the largest size, and all or nothing.
TEST(Create, DividesAnInstanceIntoComputeInstances) {
  const SimNode node;
  const Json made = node.json("create --gpu 0 7g.40gb --compute-instances 3");
  ASSERT_EQ(made["compute_instances"].size(), 3U);
  for (const Json& each : made["compute_instances"]) EXPECT_EQ(each["compute_slices"], 2);
  const Json seen = node.json("instances --gpu 0")["instances"];
  ASSERT_EQ(seen.size(), 1U) << "one GPU instance";
  EXPECT_EQ(seen[0]["compute_instances"], made["compute_instances"]);
  EXPECT_EQ(seen[0]["owner"], "ours");
  says(node.run("create --gpu 1 3g.20gb --compute-instances 4"), 2, {"3 compute slices"});
  says(node.run("create --gpu 1 3g.20gb --compute-instances 0"), 2, {"at least 1"});
  const std::string last = made["compute_instances"][2]["uuid"];
  says(node.run("destroy " + last), 2, {"one of 3 compute instances", "--instance"});
  const auto instance = seen[0]["gpu_instance"].get<int>();
  ASSERT_EQ(node.run(fmt::format("destroy --gpu 0 --instance {}", instance)).exit_code, 0);
  EXPECT_EQ(layout_of(node), "");
  // A driver that refuses the compute instances leaves no GPU instance behind.
  ASSERT_EQ(node.run("sim-node fault " + node.directory + " --gpu 1 fail-compute").exit_code, 0);
  says(node.run("create --gpu 1 3g.20gb --compute-instances 3"), 1, {"no compute instance"});
  EXPECT_EQ(node.json("instances --gpu 1")["instances"].size(), 0U);
}

TEST(Create, RefusesWithTheReason) {
  const SimNode node;
  ASSERT_EQ(node.run("create --gpu 0 4g.20gb").exit_code, 0);
  says(node.run("create --gpu 0 4g.20gb"), 1, {"no room for 4g.20gb", "4g.20gb@0"});
  says(node.run("create --gpu 0 1g.5gb@0"), 1, {"no room for 1g.5gb@0"});
  says(node.run("create --gpu 0 2g.10gb@5"), 2, {"2g.10gb may start at 0, 2 or 4, not at 5"});
  says(node.run("create --gpu 0 2g.10bg"), 2, {"did you mean '2g.10gb'?"});
  says(node.run("create --gpu 2 1g.5gb"), 2, {"there is no GPU '2'", "0 to 1"});
  says(node.run("create --gpu x 1g.5gb"), 2, {"there is no GPU 'x'"});
  says(node.run("create --gpu 0 1g.5gb,1g.5gb"), 2, {"gpu-layout"});
  says(node.run("create --gpu 0 ''"), 2, {});
  says(node.run("create 1g.5gb"), 2, {"--gpu"});
  const Outcome json = node.run("create --gpu 0 4g.20gb --json");
  EXPECT_EQ(document(json)["error"]["kind"], "infeasible");
  EXPECT_EQ(layout_of(node), "4g.20gb@0") << "bad input changes nothing";
  ASSERT_EQ(node.run("create --gpu 1 1g.5gb+me@0").exit_code, 0);
  says(node.run("create --gpu 1 1g.5gb+me"), 1,
       {"GPU 1", "more than one media-extension instance"});
  says(node.run("create --gpu 1 1g.5gb+me@3"), 1, {"more than one media-extension instance"});
  const SimNode off("1xA100-40GB", "--instant --mig off");
  says(off.run("create --gpu 0 1g.5gb"), 1, {"MIG is off", "cleave mig enable --gpu 0"});
}

TEST(Create, LeavesNothingBehindWhenTheSecondStepFails) {
  const SimNode node;
  ASSERT_EQ(shell(fmt::format("cleave sim-node fault {}", node.directory) +
                  " --gpu 0 fail-compute --times 1")
                .exit_code,
            0);
  EXPECT_EQ(node.run("create --gpu 0 3g.20gb").exit_code, 1);
  EXPECT_EQ(layout_of(node), "");
  EXPECT_EQ(node.json("doctor")["findings"].dump().find("not ended"), std::string::npos);
  EXPECT_EQ(node.run("create --gpu 0 3g.20gb").exit_code, 0);
}

TEST(Create, AFailedInstanceThatStaysIsOurs) {
  const SimNode node;
  for (const char* kind : {"fail-compute --times 1", "stuck-in-use"})
    ASSERT_EQ(
        shell(fmt::format("cleave sim-node fault {} --gpu 0 {}", node.directory, kind)).exit_code,
        0);
  says(node.run("create --gpu 0 3g.20gb"), 1, {"left behind"});
  ASSERT_EQ(standing(node).size(), 1U);
  const Json left = standing(node)[0];
  EXPECT_EQ(left["owner"], "ours");
  EXPECT_EQ(left["compute_instances"], Json::array());
  ASSERT_EQ(shell(fmt::format("cleave sim-node fault {} --gpu 0 none", node.directory)).exit_code,
            0);
  EXPECT_EQ(node.run(fmt::format("destroy --gpu 0 --instance {}", left["gpu_instance"].get<int>()))
                .exit_code,
            0);
  EXPECT_EQ(layout_of(node), "");
  EXPECT_EQ(node.json("doctor")["findings"].dump().find("not ended"), std::string::npos);
}

TEST(GpuLayout, RebuildsInstancesWithoutComputeInstance) {
  const SimNode node;
  for (const char* kind : {"fail-compute --times 1", "stuck-in-use"})
    ASSERT_EQ(
        shell(fmt::format("cleave sim-node fault {} --gpu 0 {}", node.directory, kind)).exit_code,
        0);
  ASSERT_EQ(node.run("create --gpu 0 3g.20gb@4").exit_code, 1);
  ASSERT_EQ(shell(fmt::format("cleave sim-node fault {} --gpu 0 none", node.directory)).exit_code,
            0);
  ASSERT_EQ(standing(node)[0]["compute_instances"], Json::array());
  const Json done = node.json("gpu-layout --gpu 0 2g.10gb@0,3g.20gb@4");
  EXPECT_EQ(done["done"].size(), 3U) << done;
  EXPECT_EQ(done["kept"], "");
  EXPECT_EQ(layout_of(node), "2g.10gb@0,3g.20gb@4");
  for (const Json& each : standing(node)) EXPECT_EQ(each["compute_instances"].size(), 1U) << each;
  EXPECT_EQ(node.json("doctor")["findings"].dump().find("not ended"), std::string::npos);
}

TEST(Destroy, ARefusedAdoptionLeavesTheInstanceForeign) {
  const SimNode node;
  const std::string foreign = node.foreign("2g.10gb", 2);
  auto job = SimProcess::start(node.directory, foreign, static_cast<std::uint32_t>(::getpid()));
  ASSERT_TRUE(job) << job.error().text();
  EXPECT_EQ(node.run(fmt::format("destroy {} --adopt", foreign)).exit_code, 1);
  ASSERT_TRUE(job->end());
  EXPECT_EQ(standing(node)[0]["owner"], "foreign");
  EXPECT_EQ(node.run("gpu-layout --gpu 0 ''").exit_code, 0);
  EXPECT_EQ(layout_of(node), "2g.10gb@2");
  // Instances that a layout names and takes over are Cleave's from then on.
  const Outcome taken = node.run("gpu-layout --gpu 0 2g.10gb@2,1g.5gb@0 --adopt");
  EXPECT_NE(taken.out.find("goal  [a.bb....]"), std::string::npos) << taken.out;
  EXPECT_EQ(standing(node)[1]["owner"], "ours");
  EXPECT_EQ(node.run(fmt::format("destroy {}", foreign)).exit_code, 0);
}

TEST(Destroy, WaitsForInstancesInUseUntilCtrlC) {
  const SimNode node;
  const std::string ours = uuid_of(node.run("create --gpu 0 3g.20gb"));
  auto job = SimProcess::start(node.directory, ours, static_cast<std::uint32_t>(::getpid()));
  ASSERT_TRUE(job) << job.error().text();
  // timeout(1) exits with 124 for any command that it ended; the command's own output is kept.
  says(shell(fmt::format("timeout -s INT 1 env {}", node.command("destroy " + ours))), 124,
       {"still in use when the wait was interrupted"});
  ASSERT_TRUE(job->end());
  EXPECT_EQ(standing(node)[0]["owner"], "ours");
  EXPECT_EQ(node.run("destroy " + ours).exit_code, 0);
}

TEST(Doctor, NamesUnwritableFilesAndOverwritesNone) {
  const SimNode node;
  EXPECT_EQ(node.run("create --gpu 0 3g.20gb").exit_code, 0);
  const std::string ledger = node.directory + "/cleave/ledger.jsonl",
                    before = shell("cat " + ledger).out;
  EXPECT_NE(before, "");
  says(node.run("doctor --record " + ledger), 2, {"among files that Cleave keeps"});
  says(node.run(fmt::format("doctor --record {}/state", node.directory)), 2,
       {"among files that Cleave keeps"});
  EXPECT_EQ(shell("cat " + ledger).out, before);
  EXPECT_EQ(standing(node)[0]["owner"], "ours");
  if (::geteuid() != 0) GTEST_SKIP() << "only root can look at a node of root's as another user";
  const SimNode checks("1xA100-40GB", "--instant --check-root");
  // The other user must be able to read its folder and the program.
  EXPECT_EQ(shell("chmod a+rx " + checks.scratch.path("") + " " + checks.directory).exit_code, 0);
  const auto as_nobody = [&](const std::string& state) {
    return shell("setpriv --reuid 65534 --clear-groups env " +
                 checks.command("doctor --json --state " + state));
  };
  const Outcome said = as_nobody("/usr/no-such-folder");
  if (said.exit_code == 127 || said.exit_code == 126)
    GTEST_SKIP() << "the other user cannot run it";
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_EQ(document(said)["usable"], false) << said.out;
  EXPECT_NE(said.out.find("lets only root"), std::string::npos) << said.out;
  EXPECT_NE(said.out.find("cannot create it in /usr"), std::string::npos) << said.out;
  EXPECT_EQ(document(as_nobody("/tmp/no-such-folder"))["usable"], false);
}

TEST(Destroy, TakesOnlyOurs) {
  const SimNode node;
  const std::string ours = uuid_of(node.run("create --gpu 0 3g.20gb"));
  const std::string foreign = node.foreign("1g.5gb", 0);
  says(node.run(fmt::format("destroy {}", foreign)), 1,
       {"Cleave did not make this 1g.5gb", "--adopt"});
  says(node.run("destroy --gpu 0 --instance 99"), 1, {"no such instance"});
  says(node.run("destroy MIG-00000000-0000-0000-0000-000000000000"), 1, {"no GPU has an instance"});
  says(node.run("destroy"), 2, {"no instance is named"});
  says(node.run("destroy --gpu 0"), 2, {"no instance is named"});
  says(node.run(fmt::format("destroy {}", ours) + " --gpu 0"), 2, {"no instance is named"});
  EXPECT_EQ(layout_of(node), "1g.5gb@0,3g.20gb@4");
  EXPECT_EQ(node.json(fmt::format("destroy {}", ours))["destroyed"]["start"], 4);
  EXPECT_EQ(layout_of(node), "1g.5gb@0");
  EXPECT_EQ(node.run(fmt::format("destroy --adopt {}", foreign)).exit_code, 0);
  EXPECT_EQ(layout_of(node), "");
  // The same number and place again, by another program: not ours.
  const std::string again = node.foreign("3g.20gb", 4);
  says(node.run(fmt::format("destroy {}", again)), 1, {"did not make"});
}

TEST(Destroy, NamesTheProcessesOfABusyInstanceAndKeepsIt) {
  const SimNode node;
  const std::string uuid = uuid_of(node.run("create --gpu 0 3g.20gb"));
  auto job = SimProcess::start(node.directory, uuid, static_cast<std::uint32_t>(::getpid()));
  ASSERT_TRUE(job) << job.error().text();
  const std::string pid = std::to_string(::getpid());
  says(node.run(fmt::format("destroy {}", uuid)), 1, {pid.c_str()});
  says(node.run("gpu-layout --gpu 0 ''"), 1, {"processes run in", uuid.c_str()});
  EXPECT_EQ(node.json("instances --gpu 0")["instances"][0]["owner"], "ours");
  ASSERT_TRUE(job->end());
  EXPECT_EQ(node.run(fmt::format("destroy {}", uuid)).exit_code, 0);
}

TEST(GpuLayout, ShowsItsPlanAndTouchesOnlyWhatDiffers) {
  const SimNode node;
  const std::string kept = uuid_of(node.run("create --gpu 0 1g.5gb@0"));
  ASSERT_EQ(node.run("create --gpu 0 3g.20gb@4").exit_code, 0);
  const std::string goal = "gpu-layout --gpu 0 1g.5gb,2g.10gb,2g.10gb,1g.5gb";
  const Json dry = node.json(goal + " --dry-run");
  EXPECT_EQ(dry["destroys"], 1);
  EXPECT_EQ(dry["creates"], 3);
  EXPECT_EQ(layout_of(node), "1g.5gb@0,3g.20gb@4") << "a dry run changes nothing";
  const Json done = node.json(goal);
  EXPECT_EQ(done["steps"], dry["steps"]);
  EXPECT_EQ(done["done"].size(), 4U);
  EXPECT_EQ(layout_of(node), done["result"].get<std::string>());
  EXPECT_EQ(node.json("instances --gpu 0")["instances"][0]["compute_instances"][0]["uuid"], kept);
  EXPECT_EQ(node.json(goal)["steps"], Json::array()) << "it stands already";
  const Outcome text = node.run("gpu-layout --gpu 0 7g.40gb");
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("kept: nothing\n"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("created   7g.40gb@0  MIG-"), std::string::npos) << text.out;
  EXPECT_EQ(node.run("gpu-layout --gpu 0 ''").exit_code, 0);
  EXPECT_EQ(layout_of(node), "");
}

TEST(GpuLayout, LeavesForeignInstancesAloneUnlessTold) {
  const SimNode node;
  const std::string foreign = node.foreign("3g.20gb", 4);
  says(node.run("gpu-layout --gpu 0 7g.40gb"), 1, {"3g.20gb@4 (", foreign.c_str(), "--adopt"});
  EXPECT_EQ(node.run("gpu-layout --gpu 0 4g.20gb").exit_code, 0);
  EXPECT_EQ(layout_of(node), "4g.20gb@0,3g.20gb@4");
  EXPECT_EQ(node.run("gpu-layout --gpu 0 ''").exit_code, 0);
  EXPECT_EQ(layout_of(node), "3g.20gb@4");
  EXPECT_EQ(node.run("gpu-layout --gpu 0 7g.40gb --adopt").exit_code, 0);
  EXPECT_EQ(layout_of(node), "7g.40gb@0");
  says(node.run("gpu-layout --gpu 0 4g.20gb,4g.20gb"), 2, {"does not fit together"});
  says(node.run("gpu-layout --gpu 0 2g.10gb@1"), 2, {"2g.10gb may start at 0, 2 or 4, not at 1"});
  says(node.run("gpu-layout --gpu 0 2g.10gb,,"), 2, {});
}

TEST(GpuLayout, SaysWhatWasDoneWhenAStepFails) {
  const SimNode node;
  ASSERT_EQ(node.run("create --gpu 0 7g.40gb").exit_code, 0);
  ASSERT_EQ(shell(fmt::format("cleave sim-node fault {}", node.directory) +
                  " --gpu 0 fail-create --times 1")
                .exit_code,
            0);
  const Outcome failed = node.run("gpu-layout --gpu 0 3g.20gb@0,3g.20gb@4");
  says(failed, 1, {"stopped after 1 of 3 steps; left to do: create 3g.20gb@"});
  EXPECT_NE(failed.out.find("destroyed 7g.40gb@0"), std::string::npos) << failed.out;
  EXPECT_EQ(layout_of(node), "");
  EXPECT_EQ(node.run("gpu-layout --gpu 0 3g.20gb@0,3g.20gb@4").exit_code, 0)
      << "and goes on from there";

  // The same for programs, with the UUIDs of what was made.
  ASSERT_EQ(node.run("create --gpu 1 3g.20gb@4").exit_code, 0);
  ASSERT_EQ(shell(fmt::format("cleave sim-node fault {}", node.directory) +
                  " --gpu 1 fail-destroy --times 1")
                .exit_code,
            0);
  const Json half = node.json("gpu-layout --gpu 1 2g.10gb@0,2g.10gb@4", 1);
  EXPECT_EQ(half["error"]["kind"], "infeasible");
  ASSERT_EQ(half["done"].size(), 1U) << half;
  EXPECT_EQ(half["left"].size(), 2U) << half;
  EXPECT_EQ(half["done"][0]["op"], "create");
  EXPECT_EQ(half["done"][0]["instance"],
            node.json("instances --gpu 1")["instances"][0]["compute_instances"][0]["uuid"]);
  EXPECT_EQ(half["left"][0]["op"], "destroy");
}

TEST(GpuLayout, NamesHalfMadeOnesAndHowToClearThemUp) {
  const SimNode node;
  ASSERT_EQ(node.run("create --gpu 0 3g.20gb@4").exit_code, 0);
  const auto id = GpuInstanceId{standing(node)[0]["gpu_instance"].get<std::uint32_t>()};
  ASSERT_TRUE(node.client()->destroy_compute_instance(GpuIndex{0}, id, ComputeInstanceId{0}));
  ASSERT_EQ(standing(node)[0]["owner"], "half-made");
  const std::string clear_up =
      fmt::format("cleave destroy --gpu 0 --instance {} --adopt", static_cast<std::uint32_t>(id));
  says(node.run("gpu-layout --gpu 0 7g.40gb"), 1, {"is half-made: 3g.20gb@4", clear_up.c_str()});
  says(node.run("gpu-layout --gpu 0 3g.20gb@4"), 1,
       {"without a compute instance", clear_up.c_str()});
  EXPECT_EQ(node.run("gpu-layout --gpu 0 3g.20gb@4 --adopt").exit_code, 0);
  EXPECT_EQ(standing(node)[0]["compute_instances"].size(), 1U);
}

TEST(GpuLayout, InterruptedOrKilledItLeavesLedgerAndGpuAgreeing) {
  const SimNode node("1xA100-40GB", "");
  const std::string goal = "gpu-layout --gpu 0 1g.5gb,1g.5gb,1g.5gb,1g.5gb,1g.5gb,1g.5gb,1g.5gb";
  const Outcome interrupted = shell(fmt::format(
      "CLEAVE_SIM_NODE={} timeout --preserve-status -s INT 0.4 cleave {}", node.directory, goal));
  // On a busy machine the signal may come before the program listens, or when all is done: 130.
  if (interrupted.exit_code != 0 && interrupted.exit_code != 130)
    says(interrupted, 1, {"interrupted", "left to do: create 1g.5gb@"});
  for (const Json& each : standing(node)) EXPECT_EQ(each["owner"], "ours");
  for (const char* after : {"0.1", "0.23", "0.31", "0.4", "0.55"}) {
    (void)shell(fmt::format("CLEAVE_SIM_NODE={} timeout -s KILL {} cleave {}", node.directory,
                            after, goal));
    EXPECT_EQ(owned_as(node, "foreign"), 0) << after;
    (void)shell(
        fmt::format("CLEAVE_SIM_NODE={} timeout -s KILL {} cleave gpu-layout --gpu 0 '' --adopt",
                    node.directory, after));
    EXPECT_EQ(owned_as(node, "foreign"), 0) << after;
  }
  const Outcome whole = node.run(goal + " --adopt");
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_EQ(node.json("instances")["instances"].size(), 7U);
  EXPECT_EQ(*sim_node_flaw(node.directory), "");
}

TEST(GpuLayout, GoesOnWhereInterruptsAreIgnored) {
  const SimNode node("1xA100-40GB", "");
  const Outcome whole = shell(
      fmt::format("trap '' HUP; CLEAVE_SIM_NODE={} cleave gpu-layout --gpu 0 ", node.directory) +
      "1g.5gb,1g.5gb,1g.5gb,1g.5gb,1g.5gb,1g.5gb,1g.5gb & p=$!; "
      "for i in 1 2 3 4 5 6 7 8 9; do sleep 0.1; kill -HUP $p 2>/dev/null; done; wait $p");
  EXPECT_EQ(whole.exit_code, 0) << whole.err;
  EXPECT_EQ(standing(node).size(), 7U);
}

TEST(Mig, TakingBackAPendingChangeDestroysNothing) {
  const SimNode node("1xA100-40GB");
  ASSERT_EQ(node.run("create --gpu 0 3g.20gb").exit_code, 0);
  // The state in which `nvidia-smi -mig 0` leaves a GPU that is in use.
  ASSERT_TRUE(node.client()->set_mig_mode(GpuIndex{0}, false));
  ASSERT_EQ(node.json("gpus")["gpus"][0]["mig"],
            Json::parse(R"({"enabled": true, "pending": false})"));
  (void)node.foreign("1g.5gb", 0);
  EXPECT_EQ(node.run("mig enable --gpu 0 --yes").exit_code, 0)
      << "and what others made is no hindrance";
  EXPECT_EQ(node.json("gpus")["gpus"][0]["mig"],
            Json::parse(R"({"enabled": true, "pending": true})"));
  EXPECT_EQ(layout_of(node), "1g.5gb@0,3g.20gb@4");
}

TEST(Mig, IsChangedOnlyWhenAgreedAndSaysWhatIsPending) {
  const SimNode node("1xA100-40GB", "--instant --mig off");
  says(node.run("mig enable --gpu 0"), 2, {"--yes"});
  EXPECT_EQ(node.json("gpus")["gpus"][0]["mig"]["enabled"], false);
  EXPECT_EQ(node.json("mig enable --gpu 0 --yes")["enabled"], true);
  EXPECT_EQ(node.run("mig enable --gpu 0").exit_code, 0) << "it is on already";
  (void)node.foreign("1g.5gb", 0);
  ASSERT_EQ(node.run("create --gpu 0 3g.20gb").exit_code, 0);
  says(node.run("mig disable --gpu 0 --yes"), 1, {"Cleave did not make this 1g.5gb", "--adopt"});
  EXPECT_EQ(layout_of(node), "1g.5gb@0,3g.20gb@4");
  says(node.run("mig disable --gpu 0 --adopt"), 2,
       {"destroys 1g.5gb@0 (MIG-", "destroys 3g.20gb@4 (MIG-"});
  EXPECT_EQ(node.json("mig disable --gpu 0 --yes --adopt")["destroyed"].size(), 2U);
  EXPECT_EQ(node.json("mig enable --gpu 0 --yes")["destroyed"], Json::array());
  ASSERT_EQ(node.run("create --gpu 0 3g.20gb").exit_code, 0);
  const Outcome off = node.run("mig disable --gpu 0 --yes");
  EXPECT_EQ(off.out.find("destroys 3g.20gb@4 (MIG-"), 0U) << off.out;
  EXPECT_EQ(node.json("gpus")["gpus"][0]["mig"]["enabled"], false);
  ASSERT_EQ(shell(fmt::format("cleave sim-node fault {}", node.directory) + " --gpu 0 mig-pending")
                .exit_code,
            0);
  const Outcome pending = node.run("mig enable --gpu 0 --yes");
  EXPECT_EQ(pending.exit_code, 0) << pending.err;
  EXPECT_NE(pending.out.find("pending"), std::string::npos) << pending.out;
  EXPECT_NE(pending.out.find("resets nothing"), std::string::npos) << pending.out;
  EXPECT_EQ(node.json("gpus")["gpus"][0]["mig"],
            Json::parse(R"({"enabled": false, "pending": true})"));
  says(node.run("create --gpu 0 1g.5gb"), 1, {"MIG is off", "reset"});
}

TEST(Doctor, SaysWhatIsWrongAndWhatToDo) {
  const SimNode node;
  const Json fresh = node.json("doctor");
  EXPECT_EQ(fresh["usable"], true);
  for (const Json& finding : fresh["findings"]) EXPECT_NE(finding["level"], "problem") << finding;
  ASSERT_EQ(node.run("create --gpu 0 3g.20gb").exit_code, 0);
  // The state after a crash between the instance and its record: the last line of the ledger is
  // lost.
  const std::string ledger = node.directory + "/cleave/ledger.jsonl";
  std::filesystem::resize_file(ledger, std::filesystem::file_size(ledger) - 10);
  EXPECT_EQ(node.json("instances")["instances"][0]["owner"], "half-made");
  const Outcome half = node.run("doctor");
  EXPECT_EQ(half.exit_code, 1) << "there is a problem";
  {
    const std::string gpu = node.json("gpus")["gpus"][0]["uuid"];
    const auto held = GpuLock::take(node.directory + "/cleave", gpu, "GPU 0", "cleave");
    ASSERT_TRUE(held);
    const Outcome meanwhile = node.run("doctor");
    EXPECT_EQ(meanwhile.out.find("cleave destroy"), std::string::npos) << meanwhile.out;
    EXPECT_NE(meanwhile.out.find("changing right now"), std::string::npos) << meanwhile.out;
    EXPECT_EQ(meanwhile.exit_code, 0) << meanwhile.out;
  }
  EXPECT_NE(half.out.find("the last line is not complete"), std::string::npos) << half.out;
  EXPECT_NE(half.out.find("that Cleave may have made"), std::string::npos) << half.out;
  EXPECT_NE(half.out.find("cleave destroy --gpu 0 --instance"), std::string::npos) << half.out;
  says(node.run("destroy " + node.json("instances")["instances"][0]["compute_instances"][0]["uuid"]
                                 .get<std::string>()),
       1, {"half-made", "--adopt"});

  std::ofstream(ledger, std::ios::app) << "\nnonsense\n";
  const Json damaged = node.json("doctor", 1);
  EXPECT_EQ(damaged["usable"], false) << "nothing can be changed";
  EXPECT_NE(damaged["findings"].dump().find("ledger.jsonl:"), std::string::npos);
  says(node.run("instances"), 2, {"ledger.jsonl:2"});
  says(node.run("create --gpu 0 1g.5gb"), 2, {"ledger.jsonl:2"});
  EXPECT_EQ(node.run("gpus").exit_code, 0) << "GPUs can be looked at all the same";
  const Json unknown = node.json("gpus");
  EXPECT_TRUE(unknown["gpus"][0]["instances"][0]["owner"].is_null()) << "nobody knows";
  EXPECT_EQ(unknown["ledger_error"]["kind"], "bad input");

  const std::string recording = node.scratch.path("recording.jsonl");
  EXPECT_EQ(node.run(fmt::format("doctor --record {}", recording)).exit_code, 1)
      << "still not usable";
  EXPECT_GT(std::filesystem::file_size(recording), 1000U);
}

TEST(Locks, AGpuThatADaemonManagesIsNotChanged) {
  const SimNode node;
  const std::string uuid = node.json("gpus")["gpus"][0]["uuid"];
  ASSERT_TRUE(std::filesystem::create_directory(node.directory + "/cleave"));
  const auto held = GpuLock::take(node.directory + "/cleave", uuid, "GPU 0", "cleaved");
  ASSERT_TRUE(held);
  const std::string who = fmt::format("GPU 0 is managed by cleaved (pid {})", ::getpid());
  says(node.run("create --gpu 0 1g.5gb"), 1, {who.c_str()});
  says(node.run("gpu-layout --gpu 0 1g.5gb"), 1, {who.c_str()});
  says(node.run("mig disable --gpu 0 --yes"), 1, {who.c_str()});
  EXPECT_EQ(node.run("gpu-layout --gpu 0 1g.5gb --dry-run").exit_code, 0)
      << "reading takes no lock";
  EXPECT_EQ(node.run("create --gpu 1 1g.5gb").exit_code, 0);
  EXPECT_NE(node.run("doctor").out.find("cleaved (pid "), std::string::npos);
}

TEST(Races, CommandsOnOneGpuTakeTurns) {
  const SimNode node("1xA100-40GB", "");
  std::string all;
  for (int i = 0; i < 7; ++i) all += node.command("create --gpu 0 1g.5gb") + " & ";
  const Outcome outcome = shell(all + " wait");
  EXPECT_EQ(outcome.err, "") << outcome.err;
  const Json instances = node.json("instances")["instances"];
  EXPECT_EQ(instances.size(), 7U);
  for (const Json& each : instances) EXPECT_EQ(each["owner"], "ours");
}

TEST(Races, AgainstAnotherClientEachKeepsItsOwn) {
  const SimNode node("1xA100-40GB");
  const auto door = node.client();
  const auto profile = find_driver_profile(*door, GpuIndex{0}, "1g.5gb");
  ASSERT_TRUE(profile);
  std::atomic<bool> stop = false;
  std::set<std::string> theirs;
  int gone_under_them = 0;
  std::thread other([&] {
    while (!stop) {
      const auto made = create_instance(*door, GpuIndex{0}, *profile, {});
      if (!made) continue;
      if (theirs.size() < 2 && theirs.insert(made->computes.front().uuid).second) continue;
      gone_under_them += destroy_instance(*door, GpuIndex{0}, made->id) ? 0 : 1;
    }
  });
  int created = 0;
  for (int round = 0; round < 20; ++round) {
    const Outcome made = node.run("create --gpu 0 1g.5gb");
    if (made.exit_code == 0) {
      ++created;
      const Outcome gone = node.run(fmt::format("destroy {}", uuid_of(made)));
      EXPECT_EQ(gone.exit_code, 0) << gone.err;
    } else {
      EXPECT_EQ(made.exit_code, 1) << made.err;
    }
  }
  stop = true;
  other.join();
  EXPECT_GT(created, 0);
  EXPECT_EQ(gone_under_them, 0);
  EXPECT_EQ(*sim_node_flaw(node.directory), "");
  std::set<std::string> left;
  for (const Json& each : standing(node)) {
    EXPECT_EQ(each["owner"], "foreign") << each;
    left.insert(each["compute_instances"][0]["uuid"]);
  }
  EXPECT_EQ(left, theirs);
}

TEST(LiveCommands, RefuseBadUsage) {
  const SimNode node;
  says(node.run("mig"), 2, {});
  says(node.run("mig enable"), 2, {"--gpu"});
  says(node.run("sim-node"), 2, {});
  says(node.run("gpus --nvml ''"), 2, {});
  says(node.run("instances --gpu -1"), 2, {"there is no GPU"});
  says(node.run("destroy --gpu 0 --instance -1"), 2, {"whole number"});
  says(node.run("gpus --state ''"), 2, {});
}

}  // namespace
}  // namespace cleave
