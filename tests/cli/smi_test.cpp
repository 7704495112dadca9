// The program that stands for nvidia-smi on simulated nodes, from outside: what it makes and
// destroys, and that other programs read what it prints.

#include <chrono>
#include <set>
#include <thread>

#include "sim_node.hpp"

namespace cleave::testing_program {
namespace {

class Smi : public SimNode {
 public:
  using SimNode::SimNode;
  [[nodiscard]] std::string command(const std::string& arguments) const {
    return fmt::format("LD_LIBRARY_PATH={0} {1}={2} {0}/cleave-smi {3}",
                       binary_dir() + "/lib/cleave-nvmlsim", sim_node_variable, directory,
                       arguments);
  }
  [[nodiscard]] Outcome smi(const std::string& arguments) const {
    return shell(command(arguments));
  }
  /// Its output; fails unless it ends with this code.
  [[nodiscard]] std::string said(const std::string& arguments, int code = 0) const {
    const Outcome outcome = smi(arguments);
    EXPECT_EQ(outcome.exit_code, code) << arguments << "\n" << outcome.out << outcome.err;
    return outcome.out;
  }
};

// What `cleave plan --export commands` writes leads to the plan's layout, as `import` reads it
// back.
TEST(Smi, CarriesOutAnExportedPlan) {
  const Smi node("2xA100-40GB");
  (void)node.said("mig -i 0 -cgi 2g.10gb:0,1g.5gb:6 -C");
  (void)node.said("mig -i 1 -cgi 1g.5gb:2 -C");
  const Scratch scratch;
  const std::string smi =
      scratch.write("smi.sh", "#!/bin/sh\nexec env " + node.command("\"$@\"") + "\n");
  const auto imported = [&] {
    const std::string listing = scratch.write("lgi.txt", node.said("mig -lgi"));
    const Outcome outcome =
        shell("cleave import smi --gpus 2 --node n0 --model A100-40GB " + listing);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
  };
  // A person says what runs there, and that it may move.
  std::string now = imported();
  for (const char* name : {"a", "b", "c"}) {
    const std::string held = "\"movable\": false";
    now.replace(now.find(held), held.size(),
                fmt::format("\"movable\": true, \"workload\": \"{}\"", name));
  }
  const std::string fleet = scratch.write("fleet.json", now);
  const std::string plan = "cleave plan compact --fleet " + fleet;
  const Outcome script = shell(plan + " --export commands");
  ASSERT_EQ(script.exit_code, 0) << script.err;
  EXPECT_NE(script.out.find("# wave 1 of "), std::string::npos) << script.out;
  EXPECT_NE(script.out.find("\nready 'drain '"), std::string::npos) << script.out;
  const Outcome ran = shell("chmod +x " + smi + " && READY=1 ON=local NVIDIA_SMI=" + smi + " sh " +
                            scratch.write("plan.sh", script.out));
  EXPECT_EQ(ran.exit_code, 0) << ran.out << ran.err;
  const auto after = parse_json(imported(), "the fleet afterwards");
  ASSERT_TRUE(after) << after.error().text();
  const Json& reached = (*after)["gpus"];
  std::multiset<std::string> there, planned;
  for (const Json& gpu : reached)
    for (const Json& instance : gpu["instances"])
      there.insert(fmt::format("{} {}@{}", gpu["name"].get<std::string>(),
                               instance["profile"].get<std::string>(),
                               instance["start"].get<int>()));
  const Json wanted = document(shell(plan + " --json"));
  for (const Json& placement : wanted["placements"])
    planned.insert(fmt::format("{} {}@{}", placement["gpu"].get<std::string>(),
                               placement["profile"].get<std::string>(),
                               placement["start"].get<int>()));
  EXPECT_EQ(there, planned);
  EXPECT_EQ(planned.size(), 3U);
  // A second time the state is another, and the script stops at the first difference.
  const Outcome again =
      shell("READY=1 ON=local NVIDIA_SMI=" + smi + " sh " + scratch.path("plan.sh"));
  EXPECT_NE(again.exit_code, 0);
}

TEST(Smi, MakesListsAndDestroysInstances) {
  const Smi node("1xA100-40GB,1xH100-80GB-SXM5");
  EXPECT_EQ(node.said("mig -lgi", 6), "No GPU instances found: Not Found\n");
  EXPECT_EQ(node.said("mig -cgi 9:4,2g.10gb -C -i 0"),
            "Successfully created GPU instance ID  1 on GPU  0 using profile MIG 3g.20gb (ID  9)\n"
            "Successfully created compute instance ID  0 on GPU  0 GPU instance ID  1 using "
            "profile MIG 3g.20gb (ID  2)\n"
            "Successfully created GPU instance ID  5 on GPU  0 using profile MIG 2g.10gb (ID 14)\n"
            "Successfully created compute instance ID  0 on GPU  0 GPU instance ID  5 using "
            "profile MIG 2g.10gb (ID  1)\n");
  (void)node.said("mig -cgi 1g.10gb -i 1");
  (void)node.said("mig -cci -i 1");
  const auto view = look_at_sim_node(node.directory);
  ASSERT_TRUE(view);
  ASSERT_EQ(view->gpus[0].instances.size(), 2U);
  EXPECT_EQ(view->gpus[0].instances[1].start, 4);
  const std::string list = node.said("-L");
  EXPECT_NE(list.find(fmt::format("  MIG 3g.20gb     Device  0: (UUID: {})\n",
                                  view->gpus[0].instances[1].compute_instances[0].uuid)),
            std::string::npos)
      << list;
  EXPECT_NE(list.find("  MIG 1g.10gb     Device  0: (UUID: MIG-"), std::string::npos) << list;
  EXPECT_EQ(node.said("mig -dgi -gi 1", 19),
            "Unable to destroy GPU instance ID  1 from GPU  0: In use by another client\n"
            "Failed to destroy GPU instances: In use by another client\n");
  EXPECT_EQ(node.said("mig -dci -gi 1 -i 0"),
            "Successfully destroyed compute instance ID  0 from GPU  0 GPU instance ID  1\n");
  EXPECT_EQ(node.said("mig -dgi -gi 1 -i 0"),
            "Successfully destroyed GPU instance ID  1 from GPU  0\n");
  EXPECT_EQ(node.said("mig -dgi -gi 1", 6), "No GPU instances found: Not Found\n");
  EXPECT_EQ(look_at_sim_node(node.directory)->gpus[0].instances.size(), 1U);
  // A GPU without instances is passed over.
  (void)node.said("mig -dci");
  (void)node.said("mig -dgi -i 0");
  EXPECT_TRUE(node.said("mig -dgi").ends_with("from GPU  1\n"));
}

TEST(Smi, RefusesAsTheDriverDoes) {
  const Smi node("2xA100-40GB");
  EXPECT_EQ(node.said("mig -cgi 0,0 -i 1", 23),
            "Successfully created GPU instance ID  0 on GPU  1 using profile MIG 7g.40gb (ID  0)\n"
            "Unable to create a GPU instance on GPU  1 using profile 0: Insufficient Resources\n"
            "Failed to create GPU instances: Insufficient Resources\n");
  EXPECT_NE(node.said("mig -cgi 8g.80gb -i 0", 2).find("Invalid Argument"), std::string::npos);
  EXPECT_NE(node.said("mig -cgi 9:x -i 0", 2).find("Invalid profile in '9:x'"), std::string::npos);
  EXPECT_EQ(node.said("-i 7", 6), "No devices were found\n");
  EXPECT_EQ(node.said("-i 0 -mig 0"), "Disabled MIG Mode for GPU 00000000:01:00.0\nAll done.\n");
  EXPECT_EQ(node.said("mig -lgip -i 0", 6), "No MIG-enabled devices found.\n");
  EXPECT_NE(node.said("-i 1 -mig 0").find("pending disable"), std::string::npos);
  const std::string alone = fmt::format("{}/lib/cleave-nvmlsim/cleave-smi -L", binary_dir());
  EXPECT_EQ(shell("LD_LIBRARY_PATH= " + alone).exit_code, 12);
}

TEST(Smi, ItsListingsAreReadBack) {
  for (const auto& [model, smallest] :
       {std::pair("A30-24GB", "1g.6gb"), std::pair("A100-40GB", "1g.5gb"),
        std::pair("H100-80GB-SXM5", "1g.10gb"), std::pair("RTX-PRO-6000-BW-96GB", "1g.24gb")}) {
    const Smi node(fmt::format("2x{}", model));
    (void)node.said(fmt::format("mig -cgi {0},{0} -C", smallest));
    const Outcome read =
        shell(fmt::format("({}; {}) | cleave import smi --node n --model {} -",
                          node.command("mig -lgi"), node.command("mig -lci"), model));
    ASSERT_EQ(read.exit_code, 0) << read.err << node.said("mig -lgi");
    const Json fleet = document(read);
    const auto view = look_at_sim_node(node.directory);
    ASSERT_TRUE(view);
    ASSERT_EQ(fleet["gpus"].size(), 2U) << fleet;
    for (std::size_t gpu = 0; gpu < 2; ++gpu) {
      const auto& made = view->gpus[gpu].instances;
      const Json& listed = fleet["gpus"][gpu]["instances"];
      ASSERT_EQ(listed.size(), made.size());
      for (std::size_t i = 0; i < made.size(); ++i) {
        EXPECT_EQ(listed[i]["profile"], made[i].profile->name);
        EXPECT_EQ(listed[i]["start"], made[i].start);
        EXPECT_EQ(listed[i]["x-smi"]["gpu_instance"], made[i].id);
      }
    }
    EXPECT_NE(node.said("mig -lgip").find(smallest), std::string::npos);
    EXPECT_NE(node.said("mig -lgipp").find("Placements: {"), std::string::npos);
    EXPECT_NE(node.said("mig -lcip").find("* "), std::string::npos);
  }
}

TEST(Smi, TellsOfAJobInTableQueryAndXml) {
  const Smi node("1xA100-40GB");
  (void)node.said("mig -cgi 9 -C");
  const auto view = look_at_sim_node(node.directory);
  ASSERT_TRUE(view);
  auto process =
      SimProcess::start(node.directory, view->gpus[0].instances[0].compute_instances[0].uuid,
                        static_cast<std::uint32_t>(::getpid()));
  ASSERT_TRUE(process) << process.error().text();
  ASSERT_TRUE(process->hold(MiB{3000}));
  EXPECT_EQ(node.said("--query-compute-apps=pid,used_memory --format=csv,noheader"),
            fmt::format("{}, 3000 MiB\n", ::getpid()));
  EXPECT_EQ(node.said("--query-gpu=memory.used,mig.mode.current --format=csv,noheader,nounits"),
            "3000, Enabled\n");
  const std::string table = node.said("");
  EXPECT_NE(table.find("3000MiB /  20096MiB"), std::string::npos) << table;
  EXPECT_NE(table.find(fmt::format("{}      C ", ::getpid())), std::string::npos) << table;
  if (shell("command -v python3").exit_code != 0) GTEST_SKIP() << "there is no python3";
  const Outcome read =
      shell(node.command("-q -x") +
            " | python3 -c 'import sys, xml.etree.ElementTree as tree\n"
            "gpu = tree.fromstring(sys.stdin.read()).find(\"gpu\")\n"
            "mig = gpu.find(\"mig_devices\").find(\"mig_device\")\n"
            "print(gpu.get(\"id\"), mig.find(\"index\").text, mig.find(\"gpu_instance_id\").text,\n"
            "      mig.find(\"fb_memory_usage/used\").text, "
            "gpu.find(\"processes/process_info/pid\").text)'");
  EXPECT_EQ(read.exit_code, 0) << read.err;
  EXPECT_EQ(read.out, fmt::format("00000000:01:00.0 0 {} 3000 MiB {}\n",
                                  view->gpus[0].instances[0].id, ::getpid()));
  EXPECT_TRUE(process->end());
}

TEST(Smi, PrintsAgainUntilItIsInterrupted) {
  const Smi node("1xA100-40GB");
  const Outcome looped = shell("timeout -s INT 1 sh -c '" +
                               node.command("--query-gpu=index --format=csv -lms 50") + "'");
  EXPECT_TRUE(looped.out.starts_with("index\n0\n0\n")) << looped.out;
  EXPECT_EQ(looped.out.find("index", 1), std::string::npos) << "one header";
}

}  // namespace
}  // namespace cleave::testing_program
