// Unmodified programs of other projects on simulated GPUs: they behave as on a real machine.
// tools/clients.sh fetches them; if it could not, these tests are skipped with the reason.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <regex>

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

/// Why the client cannot be run here; empty: it can. `file` is its path in the fetched packages.
std::string cannot_run([[maybe_unused]] const std::string& file) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return "a library with sanitizers cannot be loaded into a program without; run in release only";
#else
  if (std::filesystem::exists(fmt::format("{}/unpacked/{}", fetched, file))) return {};
  std::ifstream missing(fmt::format("{}/missing", fetched));
  std::string why;
  if (!std::getline(missing, why)) why = "not fetched; run tools/clients.sh";
  return why;
#endif
}

/// The same for those from PyPI.
std::string cannot_run_wheels() {
  if (const std::string why = cannot_run("usr/lib/python3/dist-packages/psutil/__init__.py");
      !why.empty())
    return why;
  if (std::filesystem::exists(fetched + "/wheels/which")) return {};
  std::ifstream missing(fetched + "/missing-wheels");
  std::string why;
  if (!std::getline(missing, why)) why = "not fetched; run tools/clients.sh";
  return why;
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

}  // namespace
}  // namespace cleave
