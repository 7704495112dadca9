// Unmodified programs of other projects on simulated GPUs: they behave as on a real machine.
// tools/clients.sh fetches them; if it could not, these tests are skipped with the reason.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>

#include "../cli/program.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/places_test.hpp"
#include "nvmlsim/sim_node.hpp"

namespace cleave {
namespace {

using testing_program::Scratch;
using testing_program::shell;

const std::string fetched = source_dir() + "/build/clients";
const std::string library = binary_dir() + "/lib/cleave-nvmlsim";
constexpr const char* packages = "usr/lib/python3/dist-packages";

/// Why something that the script fetches is not there; `name` is one of the script's.
std::string why_missing(const std::string& name) {
  std::ifstream missing(fmt::format("{}/missing/{}", fetched, name));
  std::string why;
  if (!std::getline(missing, why)) why = "not fetched; see tools/clients.sh";
  return why;
}

/// Why the client cannot be run here; empty: it can. `file` is its path in the fetched packages.
std::string cannot_run([[maybe_unused]] const std::string& file,
                       [[maybe_unused]] const std::string& name = "debian") {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return "a library with sanitizers cannot be loaded into a program without; run in release only";
#else
  if (std::filesystem::exists(fmt::format("{}/unpacked/{}", fetched, file))) return {};
  return why_missing(name);
#endif
}

/// The same for those from PyPI.
std::string cannot_run_wheels() {
  if (const std::string why = cannot_run("usr/lib/python3/dist-packages/psutil/__init__.py");
      !why.empty())
    return why;
  return std::filesystem::exists(fetched + "/wheels/which") ? std::string() : why_missing("wheels");
}

class Clients : public testing::Test {
 protected:
  void make(std::string_view gpus) {
    const auto models = parse_sim_gpus(gpus);
    ASSERT_TRUE(models);
    SimNodeSpec spec;
    spec.gpus = *models;
    spec.instant = true;
    const auto made = create_sim_node(node(), spec);
    ASSERT_TRUE(made) << made.error().text();
  }
  void TearDown() override {
    if (!std::filesystem::exists(node())) return;
    const auto flaw = sim_node_flaw(node());
    ASSERT_TRUE(flaw) << flaw.error().text();
    EXPECT_EQ(*flaw, "");
    EXPECT_TRUE(destroy_sim_node(node()));
  }
  [[nodiscard]] std::string node() const { return scratch_.path("node"); }
  /// The prefix of a command: its environment on the node. Debian's own Python first, for which the
  /// packages are made.
  [[nodiscard]] std::string on_the_node() const {
    return fmt::format(
        "PATH=/usr/bin:\"$PATH\" LC_ALL=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 "
        "PYTHONPATH='{}/unpacked/{}' "
        "LD_LIBRARY_PATH='{}' CLEAVE_SIM_NODE='{}' ",
        fetched, packages, library, node());
  }

  Scratch scratch_;
};

TEST_F(Clients, PynvmlDoesAllThatInstancesCanAndMeetsEveryRefusal) {
  if (const auto why = cannot_run(fmt::format("{}/pynvml.py", packages)); !why.empty())
    GTEST_SKIP() << why;
  const std::string gpus = "1xA30-24GB,1xA100-40GB,1xH100-80GB-SXM5,1xRTX-PRO-6000-BW-96GB";
  ASSERT_NO_FATAL_FAILURE(make(gpus));
  const auto outcome =
      shell(on_the_node() + "timeout 300 python3 tests/clients/every_placement.py");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  const auto said = parse_json(outcome.out, "every_placement.py");
  ASSERT_TRUE(said) << outcome.out;
  const auto models = parse_sim_gpus(gpus);
  for (const GpuModel* model : *models) {
    int placements = 0;
    for (const Profile& profile : model->profiles) placements += profile.starts.size();
    const Json& tried = (*said)["placements"];
    ASSERT_TRUE(tried.contains(model->driver_names.front())) << outcome.out;
    EXPECT_EQ(tried[std::string(model->driver_names.front())], placements) << model->key;
  }
  EXPECT_GE((*said)["refusals"].size(), 25U) << (*said)["refusals"];
}

/// The UUID of the only compute instance of a GPU that gets one.
std::string instance_on(const std::string& node, const std::string& environment) {
  const auto made = shell(
      environment +
      "python3 -c 'from pynvml import *\n"
      "nvmlInit()\n"
      "gpu = nvmlDeviceGetHandleByIndex(0)\n"
      "profile = nvmlDeviceGetGpuInstanceProfileInfo(gpu, NVML_GPU_INSTANCE_PROFILE_3_SLICE)\n"
      "instance = nvmlDeviceCreateGpuInstance(gpu, profile.id)\n"
      "nvmlGpuInstanceCreateComputeInstance(instance, 2)\n'");
  EXPECT_EQ(made.exit_code, 0) << made.err;
  const auto view = look_at_sim_node(node);
  if (!view || view->gpus[0].instances.empty() ||
      view->gpus[0].instances[0].compute_instances.empty())
    return {};
  return view->gpus[0].instances[0].compute_instances[0].uuid;
}

TEST_F(Clients, GpustatPrintsTheGpusAndWhoUsesThem) {
  if (const auto why = cannot_run(fmt::format("{}/gpustat/core.py", packages)); !why.empty())
    GTEST_SKIP() << why;
  ASSERT_NO_FATAL_FAILURE(make("2xA100-40GB,1xH100-80GB-SXM5"));
  const auto outcome = shell(on_the_node() + "timeout 60 python3 -m gpustat --no-color -p");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  EXPECT_TRUE(
      std::regex_search(outcome.out, std::regex("\\[0\\] NVIDIA A100-SXM4-40GB .*/ 40960 MB")))
      << outcome.out;
  EXPECT_NE(outcome.out.find("[1] NVIDIA A100-SXM4-40GB"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("[2] NVIDIA H100 80GB HBM3"), std::string::npos) << outcome.out;
  const auto as_json = shell(on_the_node() + "timeout 60 python3 -m gpustat --json");
  EXPECT_EQ(as_json.exit_code, 0) << as_json.err;
  const auto said = parse_json(as_json.out, "gpustat");
  ASSERT_TRUE(said) << as_json.out;
  EXPECT_EQ((*said)["gpus"].size(), 3U);
  EXPECT_GT((*said)["gpus"][0]["power.draw"], 0);
}

TEST_F(Clients, NvtopShowsTheGpusAndAJobsMemory) {
  if (const auto why = cannot_run("usr/bin/nvtop"); !why.empty()) GTEST_SKIP() << why;
  if (shell("command -v tmux").exit_code != 0) GTEST_SKIP() << "there is no tmux";
  ASSERT_NO_FATAL_FAILURE(make("2xA100-40GB"));
  const std::string uuid = instance_on(node(), on_the_node());
  ASSERT_FALSE(uuid.empty());
  scratch_.write(
      "show.sh",
      on_the_node() +
          fmt::format("CUDA_VISIBLE_DEVICES={} cleave-job --memory 5000MiB --iterations 1 "
                      "--seconds 600 --quiet &\n"
                      "job=$!\n"
                      "trap 'kill $job; wait $job' EXIT\n",
                      uuid) +
          on_the_node() +
          fmt::format("timeout --foreground 60 '{}/unpacked/usr/bin/nvtop'\n", fetched));
  // A tmux server of its own, so that no other is touched; it ends with its only session.
  const std::string tmux = fmt::format("tmux -S '{}' ", scratch_.path("tmux"));
  const auto started =
      shell("TERM=xterm-256color " + tmux + "-f /dev/null new-session -d -x 160 -y 40 \"bash '" +
            scratch_.path("show.sh") + "'\"");
  ASSERT_EQ(started.exit_code, 0) << started.err;
  std::string screen;
  const std::regex job("cleave-job|5000 ?MiB");
  for (int tries = 0; tries < 100 && !std::regex_search(screen, job); ++tries) {
    screen = shell("sleep 0.2; " + tmux + "capture-pane -p").out;
  }
  (void)shell(tmux + "send-keys q; sleep 0.3; " + tmux + "kill-session");
  EXPECT_NE(screen.find("Device 0 [NVIDIA A100-SXM4-40GB]"), std::string::npos) << screen;
  EXPECT_NE(screen.find("Device 1 [NVIDIA A100-SXM4-40GB]"), std::string::npos) << screen;
  EXPECT_TRUE(std::regex_search(screen, std::regex("cleave-job"))) << screen;
  EXPECT_TRUE(std::regex_search(screen, std::regex("500[0-9] ?MiB"))) << screen;
}

TEST_F(Clients, NvitopShowsEveryMigDevice) {
  if (const auto why = cannot_run_wheels(); !why.empty()) GTEST_SKIP() << why;
  ASSERT_NO_FATAL_FAILURE(make("2xA100-40GB,1xH100-80GB-SXM5"));
  // Its own pynvml before that of the other clients.
  const std::string python =
      on_the_node() + fmt::format("PYTHONPATH='{0}/wheels:{0}/unpacked/{1}' ", fetched, packages);
  const auto outcome = shell(python + "timeout 100 python3 tests/clients/mig_monitors.py");
  ASSERT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
  const auto screen = shell(python + "TERM=xterm timeout 60 python3 -m nvitop -1");
  EXPECT_EQ(screen.exit_code, 0) << screen.err;
  const std::regex row("\\dg\\.\\d+gb @ GI/CI: *\\d+/0 .*BAR1:");
  const auto rows =
      std::distance(std::sregex_iterator(screen.out.begin(), screen.out.end(), row), {});
  EXPECT_EQ(rows, 3 + 6 + 1) << screen.out;
}

TEST_F(Clients, SmallMonitorsNameTheGpus) {
  if (const auto why = cannot_run_wheels(); !why.empty()) GTEST_SKIP() << why;
  ASSERT_NO_FATAL_FAILURE(make("1xA100-40GB,1xH100-80GB-SXM5"));
  for (const char* program : {"pynvml_utils", "py3nvml", "glances"}) {
    const auto told =
        shell(on_the_node() + fmt::format("PYTHONPATH='{0}/wheels:{0}/unpacked/{1}' timeout 100 "
                                          "python3 tests/clients/more_monitors.py {2}",
                                          fetched, packages, program));
    EXPECT_EQ(told.out, "[\"NVIDIA A100-SXM4-40GB\", \"NVIDIA H100 80GB HBM3\"]\n")
        << program << "\n"
        << told.err;
  }
}

/// The prefix of a command that runs on the host around a node.
std::string entered(const std::string& node) {
  return fmt::format("cleave sim-node enter '{}' -- ", node);
}

/// Why nothing can be run there; empty: it can.
std::string cannot_enter(const std::string& node) {
  const auto tried = shell(entered(node) + "true");
  return tried.exit_code == 0 ? std::string() : tried.err;
}

TEST_F(Clients, LspciAndHwlocSeeTheGpusOfTheHost) {
  for (const char* file : {"usr/bin/lspci", "usr/bin/lstopo-no-graphics"})
    if (const auto why = cannot_run(file); !why.empty()) GTEST_SKIP() << why;
  ASSERT_NO_FATAL_FAILURE(make("1xA100-40GB,1xH100-80GB-SXM5"));
  if (const auto why = cannot_enter(node()); !why.empty()) GTEST_SKIP() << why;
  const auto run = [&](const std::string& command) {
    const auto outcome =
        shell(entered(node()) + fmt::format("sh -c 'LD_LIBRARY_PATH=$LD_LIBRARY_PATH:{0}/usr/lib/"
                                            "x86_64-linux-gnu {0}/{1}'",
                                            fetched + "/unpacked", command));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.err;
    return outcome.out;
  };
  const std::string devices = run("usr/bin/lspci -n");
  EXPECT_NE(devices.find("01:00.0 0302: 10de:20b0 (rev a1)"), std::string::npos) << devices;
  EXPECT_NE(devices.find("02:00.0 0302: 10de:2330 (rev a1)"), std::string::npos) << devices;
  const std::string kernel = run("usr/bin/lspci -k -s 01:00.0");
  EXPECT_NE(kernel.find("Kernel driver in use: nvidia"), std::string::npos) << kernel;
  const std::string topology =
      run("usr/bin/lstopo-no-graphics --of console --filter pci:all --no-caches");
  EXPECT_NE(topology.find("PCI 01:00.0 (3D)"), std::string::npos) << topology;
}

/// Programs that are large, or that must be built first, for the long form.
class LargeClients : public Clients {
 protected:
  /// Makes the node, unless the test cannot run here: `file` is not there.
  void begin(const std::string& name, const std::string& file, std::string_view gpus) {
    if (std::getenv("CLEAVE_LONG") == nullptr) GTEST_SKIP() << "set CLEAVE_LONG=1 to run it";
    if (!std::filesystem::exists(fmt::format("{}/{}", fetched, file)))
      GTEST_SKIP() << why_missing(name);
    ASSERT_NO_FATAL_FAILURE(make(gpus));
    if (const auto why = cannot_enter(node()); !why.empty()) GTEST_SKIP() << why;
  }
  /// With Python's of an environment.
  void begin_python(const std::string& name, std::string_view gpus = "1xA100-40GB") {
    ASSERT_NO_FATAL_FAILURE(begin(name, fmt::format("environments/{}/which", name), gpus));
    python_ = entered(node()) +
              fmt::format("timeout 400 '{}/environments/{}/bin/python' ", fetched, name);
  }
  /// With a program that was built; `version` is the script's.
  void begin_built(const std::string& name, const std::string& version, std::string_view gpus) {
    const std::string folder = fmt::format("programs/{}/{}", name, version);
    ASSERT_NO_FATAL_FAILURE(begin(name, folder + "/which", gpus));
    programs_ = fmt::format("{}/{}/bin", fetched, folder);
  }
  /// A minute's energy by a tool, and by the counter of the GPU.
  void expect_energy_of(const std::string& tool) {
    ASSERT_NO_FATAL_FAILURE(begin_python(tool));
    if (IsSkipped()) return;
    const auto outcome = shell(python_ + "tests/clients/energy.py " + tool + " 60 2>&1");
    ASSERT_EQ(outcome.exit_code, 0) << outcome.out;
    std::istringstream words(outcome.out.substr(outcome.out.rfind(tool + " ")));
    std::string name;
    double measured = 0, counted = 0;
    ASSERT_TRUE(words >> name >> measured >> counted) << outcome.out;
    EXPECT_GT(counted, 60 * 40) << "an idle A100";
    EXPECT_NEAR(measured, counted, counted / 50) << outcome.out;  // it samples once a second
  }
  /// What a command says on the host around the node.
  std::string said(const std::string& command) {
    const auto outcome = shell(entered(node()) + "timeout 100 " + command);
    EXPECT_EQ(outcome.exit_code, 0) << outcome.out << outcome.err;
    return outcome.out;
  }
  /// Makes MIG devices, and gives their UUIDs by profile.
  std::map<std::string, std::string> make_instances(const std::string& arguments) {
    (void)said("nvidia-smi mig -C " + arguments);
    std::map<std::string, std::string> uuids;
    const auto view = look_at_sim_node(node());
    for (const SimGpuView& gpu : view->gpus)
      for (const SimGpuInstanceView& instance : gpu.instances)
        for (const auto& compute : instance.compute_instances)
          uuids[std::string(instance.profile->name)] = compute.uuid;
    return uuids;
  }
  std::string python_, programs_;
};

TEST_F(LargeClients, CodecarbonCountsTheEnergyOfTheNode) {
  expect_energy_of("codecarbon");
}
TEST_F(LargeClients, ZeusCountsTheEnergyOfTheNode) {
  expect_energy_of("zeus");
}
TEST_F(LargeClients, DistributedNamesTheGpu) {
  ASSERT_NO_FATAL_FAILURE(begin_python("distributed"));
  if (IsSkipped()) return;
  const auto told = shell(python_ + "tests/clients/more_monitors.py distributed");
  EXPECT_EQ(told.out, "[\"NVIDIA A100-SXM4-40GB\"]\n") << told.err;
}

/// One that compares what it reads with NVML, by tests/clients/large_monitors.py.
class LargeMonitors : public LargeClients, public testing::WithParamInterface<const char*> {};

TEST_P(LargeMonitors, ReadWhatThereIs) {
  ASSERT_NO_FATAL_FAILURE(begin_python(GetParam(), "4xA100-40GB,2xH100-80GB-SXM5"));
  if (IsSkipped()) return;
  const auto told = shell(python_ + "tests/clients/large_monitors.py " + GetParam());
  EXPECT_EQ(told.out, "6\n") << told.err;
}
INSTANTIATE_TEST_SUITE_P(LargeClients, LargeMonitors,
                         testing::Values("mlflow", "wandb", "ray", "nvdashboard", "cuda-core"),
                         [](const testing::TestParamInfo<const char*>& each) {
                           std::string name = each.param;
                           std::erase(name, '-');
                           return name;
                         });

TEST_F(LargeClients, SlurmFindsTheMigDevices) {
  ASSERT_NO_FATAL_FAILURE(begin("slurm", "unpacked/usr/sbin/slurmd", "2xA100-40GB"));
  if (IsSkipped()) return;
  const std::string plugins = "usr/lib/x86_64-linux-gnu/slurm-wlm";
  if (const auto why = cannot_run(plugins + "/gpu_nvml.so", "slurm"); !why.empty())
    GTEST_SKIP() << why;
  const auto devices = make_instances("-i 0 -cgi 3g.20gb,2g.10gb,1g.5gb");
  ASSERT_EQ(devices.size(), 3U);
  (void)said("nvidia-smi -i 1 -mig 0");
  const std::string folder = scratch_.path("slurm");
  std::filesystem::create_directories(folder + "/spool");
  const std::string host = shell("uname -n").out;
  scratch_.write("slurm/slurm.conf",
                 fmt::format("ClusterName=it\nSlurmctldHost={0}(127.0.0.1)\nAuthType=auth/none\n"
                             "PluginDir={1}/unpacked/{2}\nGresTypes=gpu\nProctrackType="
                             "proctrack/pgid\nTaskPlugin=task/none\nSlurmUser=root\n"
                             "SlurmdSpoolDir={3}/spool\nSlurmdPidFile={3}/pid\n"
                             "StateSaveLocation={3}\nNodeName={0} CPUs=1 Gres=gpu:"
                             "nvidia_a100_3g.20gb:1,gpu:nvidia_a100_2g.10gb:1,"
                             "gpu:nvidia_a100_1g.5gb:1,gpu:nvidia_a100-sxm4-40gb:1\n",
                             host.substr(0, host.find('\n')), fetched, plugins, folder));
  scratch_.write("slurm/gres.conf", "AutoDetect=nvml\n");
  scratch_.write("slurm/cgroup.conf", fmt::format("CgroupMountpoint={}/none\n", folder));
  const std::string told = said(
      fmt::format("sh -c 'LD_LIBRARY_PATH=$LD_LIBRARY_PATH:{0}/usr/lib/x86_64-linux-gnu:{0}/{1} "
                  "{0}/usr/sbin/slurmd -G -f {2}/slurm.conf 2>&1'",
                  fetched + "/unpacked", plugins, folder));
  // GPU instances 1, 5 and 13 of the first GPU, and the whole second one.
  const char* const types[] = {"3g.20gb", "2g.10gb", "1g.5gb"};
  const int minors[] = {12, 48, 120};
  for (int i = 0; i < 3; ++i) {
    const std::string row = fmt::format(
        "Type=nvidia_a100_{} Count=1 [^\n]*File=/dev/nvidia0,/dev/nvidia-caps/nvidia-cap{},"
        "/dev/nvidia-caps/nvidia-cap{}",
        types[i], minors[i], minors[i] + 1);
    EXPECT_TRUE(std::regex_search(told, std::regex(row))) << row << "\n" << told;
  }
  EXPECT_TRUE(std::regex_search(
      told, std::regex("Type=nvidia_a100-sxm4-40gb Count=1 [^\n]*File=/dev/nvidia1")))
      << told;
}

TEST_F(LargeClients, TheExamplesOfGoNvmlList) {
  ASSERT_NO_FATAL_FAILURE(begin_built("go-nvml", "v0.13.4-1", "2xA100-40GB"));
  if (IsSkipped()) return;
  const auto view = look_at_sim_node(node());
  const std::string listed = said(programs_ + "/devices");
  for (const SimGpuView& gpu : view->gpus)
    EXPECT_NE(listed.find("uuid=" + gpu.uuid + "\n"), std::string::npos) << listed;
  (void)said("nvidia-smi -mig 0");
  const std::string processes = said(
      fmt::format("sh -c 'CUDA_VISIBLE_DEVICES={} cleave-job --memory 700MiB --iterations 100000 "
                  "--seconds 100 --quiet & job=$!; for i in $(seq 100); do nvidia-smi "
                  "--query-compute-apps=pid,used_memory --format=csv,noheader,nounits | grep -q "
                  "\"$job, 700\" && break; sleep 0.1; done; {}/compute-processes 2>&1; echo job "
                  "$job; kill $job'",
                  view->gpus[1].uuid, programs_));
  std::smatch job;
  ASSERT_TRUE(std::regex_search(processes, job, std::regex("job (\\d+)"))) << processes;
  EXPECT_NE(processes.find("Found 1 processes on device 1"), std::string::npos) << processes;
  EXPECT_NE(processes.find(job[1].str() + " "), std::string::npos) << processes;
}

TEST_F(LargeClients, NvidiaCtkDescribesEveryMigDevice) {
  ASSERT_NO_FATAL_FAILURE(begin_built("nvidia-ctk", "v1.19.0", "1xA100-40GB,1xH100-80GB-SXM5"));
  if (IsSkipped()) return;
  const auto devices = make_instances("-i 0 -cgi 3g.20gb,1g.5gb");
  ASSERT_EQ(devices.size(), 2U);
  (void)said("nvidia-smi -i 1 -mig 0");
  const std::string told = said(programs_ +
                                "/nvidia-ctk --quiet cdi generate --mode nvml "
                                "--format json --driver-root /dev/cleave --dev-root /");
  const auto described = parse_json(told, "nvidia-ctk");
  ASSERT_TRUE(described) << told;
  std::map<std::string, std::vector<std::string>> nodes;
  for (const Json& device : (*described)["devices"])
    for (const Json& each : device["containerEdits"]["deviceNodes"])
      nodes[device["name"]].push_back(each["path"]);
  const std::vector<std::string> large = {"/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap12",
                                          "/dev/nvidia-caps/nvidia-cap13"};
  EXPECT_EQ(nodes["0:0"], large) << told;
  EXPECT_EQ(nodes[devices.at("3g.20gb")], large) << told;
  EXPECT_EQ(nodes["0:1"].size(), 3U) << told;
  EXPECT_EQ(nodes["0:1"], nodes[devices.at("1g.5gb")]) << told;
  EXPECT_NE(nodes["0:1"], nodes["0:0"]) << told;
  EXPECT_EQ(nodes["1"], std::vector<std::string>{"/dev/nvidia1"}) << told;
}

/// The Go libraries of mig-parted, the device plugin, the DRA driver and HAMi, by the same calls.
class MigCalls : public LargeClients {
 protected:
  void begin_calls(std::string_view gpus) {
    ASSERT_NO_FATAL_FAILURE(begin_built("mig-calls", "go-nvlib-v0.13.0", gpus));
  }
  Json calls(const std::string& arguments) {
    const std::string told = said(fmt::format("{}/mig-calls {}", programs_, arguments));
    const auto read = parse_json(told, "mig-calls");
    EXPECT_TRUE(read) << told;
    return read ? *read : Json();
  }
  /// What the node has, as "3g.20gb@4 1g.5gb@0", by start.
  [[nodiscard]] std::string stands(std::size_t gpu) const {
    std::string all;
    const auto view = look_at_sim_node(node());
    for (const SimGpuInstanceView& each : view->gpus[gpu].instances)
      all += fmt::format("{}{}@{}:{}", all.empty() ? "" : " ", each.profile->name, each.start,
                         each.compute_instances.size());
    return all;
  }
};

TEST_F(MigCalls, ApplyAndExportLayouts) {
  ASSERT_NO_FATAL_FAILURE(begin_calls("1xA100-40GB,1xH100-80GB-SXM5"));
  if (IsSkipped()) return;
  struct Row {
    const char *layout, *exported;
    std::size_t instances, computes;
  };
  const Row rows[] = {
      {"1g.5gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb 1g.5gb", R"({"1g.5gb":7})", 7, 7},
      // Only in some orders is there room for all of it.
      {"1g.5gb 1g.5gb+me 3g.20gb 2g.10gb", R"({"1g.5gb":1,"1g.5gb+me":1,"2g.10gb":1,"3g.20gb":1})",
       4, 4},
      {"1c.3g.20gb 2c.3g.20gb 3g.20gb", R"({"1c.3g.20gb":1,"2c.3g.20gb":1,"3g.20gb":1})", 2, 3},
      {"1c.7g.40gb 2c.7g.40gb 4c.7g.40gb", R"({"1c.7g.40gb":1,"2c.7g.40gb":1,"4c.7g.40gb":1})", 1,
       3},
  };
  Json before = Json::object();
  for (const Row& row : rows) {
    const Json told = calls(fmt::format("apply 0 {}", row.layout));
    EXPECT_EQ(told["Before"], before) << row.layout;
    EXPECT_EQ(told["After"].dump(), row.exported) << told;
    before = told["After"];
    std::size_t computes = 0;
    const auto view = look_at_sim_node(node());
    EXPECT_EQ(view->gpus[0].instances.size(), row.instances) << stands(0);
    for (const auto& each : view->gpus[0].instances) computes += each.compute_instances.size();
    EXPECT_EQ(computes, row.computes) << stands(0);
  }
  const Json impossible = calls("apply 0 4g.20gb 4g.20gb");
  EXPECT_EQ(impossible["Last"], "GPU instance: Insufficient Resources");
  EXPECT_EQ(impossible["After"], Json::object());
  EXPECT_EQ(stands(0), "");
  const Json hopper = calls("apply 1 1g.20gb 1g.10gb 2g.20gb 2g.20gb");
  EXPECT_EQ(hopper["After"].dump(), R"({"1g.10gb":1,"1g.20gb":1,"2g.20gb":2})") << hopper;
}

TEST_F(MigCalls, MakeFindAndTakeAwayEachPlacement) {
  ASSERT_NO_FATAL_FAILURE(begin_calls("1xA30-24GB,1xA100-40GB,1xH100-80GB-SXM5"));
  if (IsSkipped()) return;
  const auto view = look_at_sim_node(node());
  for (std::size_t gpu = 0; gpu < view->gpus.size(); ++gpu) {
    const Json told = calls(fmt::format("dynamic {}", gpu));
    for (const Profile& profile : view->gpus[gpu].model->profiles) {
      // Two kinds of GPU instances that go-nvlib has no names for.
      if (profile.name.ends_with("+me.all") || profile.name.ends_with("-me")) continue;
      for (const int start : profile.starts.ascending())
        EXPECT_EQ(told["Made"][fmt::format("{}@{}", profile.name, start)], 1) << told;
    }
    // What go-nvlib thinks of by itself: other compute instances as large as the GPU instance.
    for (const auto& [what, why] : told["Refused"].items()) {
      EXPECT_TRUE(what.ends_with("(7,0)") || what.ends_with("(8,0)")) << what;
      EXPECT_EQ(why, "profile of the compute instance: Not Supported") << what;
    }
    EXPECT_EQ(stands(gpu), "");
  }
}

TEST_F(MigCalls, ListWhatADevicePluginRegisters) {
  ASSERT_NO_FATAL_FAILURE(begin_calls("2xA100-40GB,1xH100-80GB-SXM5"));
  if (IsSkipped()) return;
  const auto devices = make_instances("-i 0 -cgi 3g.20gb,1g.5gb+me");
  (void)said("nvidia-smi -i 2 -mig 0");
  const Json host = calls("host");
  EXPECT_EQ(host["Platform"], "nvml");
  ASSERT_EQ(host["GPUs"].size(), 3U) << host;
  const Json told = calls("list");
  const auto view = look_at_sim_node(node());
  for (std::size_t gpu = 0; gpu < 3; ++gpu) {
    EXPECT_EQ(told[gpu]["UUID"], view->gpus[gpu].uuid);
    EXPECT_EQ(told[gpu]["Bus"], host["GPUs"][gpu]["Address"]);
    EXPECT_EQ(host["GPUs"][gpu]["Driver"], "nvidia");
    EXPECT_EQ(told[gpu]["Near"].size(), 2U) << "how near it is to the others";
    EXPECT_EQ(told[gpu]["Enabled"], gpu < 2);
  }
  EXPECT_EQ(told[2]["Architecture"], "Hopper");
  EXPECT_EQ(told[2]["Capability"], "9.0");
  ASSERT_EQ(told[0]["MIG"].size(), 2U) << told;
  for (const Json& mig : told[0]["MIG"]) {
    EXPECT_EQ(mig["UUID"], devices.at(mig["Profile"])) << mig;
    EXPECT_EQ(mig["Parent"], view->gpus[0].uuid);
  }
  const Json& large = told[0]["MIG"][told[0]["MIG"][0]["Profile"] == "3g.20gb" ? 0 : 1];
  EXPECT_EQ(large["Memory"], 20096);
  EXPECT_EQ(large["Processors"], 42);
}

TEST_F(MigCalls, HearWhichMigDeviceAnXidIsOf) {
  ASSERT_NO_FATAL_FAILURE(begin_calls("2xA100-40GB"));
  if (IsSkipped()) return;
  const auto devices = make_instances("-i 1 -cgi 3g.20gb,2g.10gb");
  const auto view = look_at_sim_node(node());
  for (const SimGpuInstanceView& each : view->gpus[1].instances) {
    const std::string told = said(fmt::format(
        "sh -c '{}/mig-calls health > {}/heard & heard=$!; for i in $(seq 200); do grep -q ready "
        "{}/heard && break; sleep 0.05; done; cleave sim-node fault {} --gpu 1 xid-94 --instance "
        "{} && wait $heard && tail -n 1 {}/heard'",
        programs_, scratch_.path(""), scratch_.path(""), node(), each.id, scratch_.path("")));
    const auto heard = parse_json(told, "mig-calls");
    ASSERT_TRUE(heard) << told;
    EXPECT_EQ((*heard)["Xid"], 94);
    EXPECT_EQ((*heard)["GPU"], view->gpus[1].uuid);
    EXPECT_EQ((*heard)["MIG"], devices.at(std::string(each.profile->name)));
  }
}

TEST_F(LargeClients, TheExampleOfNvmlWrapperDescribesTheGpu) {
  ASSERT_NO_FATAL_FAILURE(begin_built("nvml-wrapper", "0.13.0", "1xA100-40GB"));
  if (IsSkipped()) return;
  const std::string told = said(programs_ + "/basic_usage");
  for (const char* each :
       {"NVIDIA A100-SXM4-40GB (architecture: Ampere, CUDA cores: 6912)", "PCIe gen 4 x16",
        "a memory clock of 1215 MHz", "System CUDA version: 13.0"})
    EXPECT_NE(told.find(each), std::string::npos) << told;
}

}  // namespace
}  // namespace cleave
