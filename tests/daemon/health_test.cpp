// Signs of a GPU's health, from the simulated driver to what people see: the daemon's own programs.

#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "base/format.hpp"
#include "base/places_test.hpp"
#include "daemon_stand.hpp"

namespace cleave::whole {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

StandOptions quick_looks() {
  StandOptions options;
  options.config = "look_every_s = 0.2\n";
  return options;
}

const std::string sleeps = "cleave-job --memory 1GiB --phases cpu=60 --quiet";

/// NVML's number of the instance with this UUID, and its GPU.
std::pair<int, int> instance_of(const DaemonStand& stand, const std::string& device) {
  const auto view = look_at_sim_node(stand.node());
  for (std::size_t gpu = 0; gpu < view->gpus.size(); ++gpu)
    for (const SimGpuInstanceView& each : view->gpus[gpu].instances)
      if (!each.compute_instances.empty() && each.compute_instances[0].uuid == device)
        return {static_cast<int>(gpu), static_cast<int>(each.id)};
  ADD_FAILURE() << "there is no instance " << device;
  return {0, 0};
}

std::string device_of(DaemonStand& stand, std::int64_t job) {
  return stand.job(job)["history"].back()["instance"]["device"].get<std::string>();
}

TEST(DaemonHealth, AContainedErrorMovesOneJob) {
  DaemonStand stand(quick_looks());
  const std::int64_t hit = stand.submit("--profile 3g.20gb --restartable -- " + sleeps);
  const std::int64_t other = stand.submit("--profile 2g.10gb -- " + sleeps);
  ASSERT_TRUE(stand.wait_for_state(hit, "running") && stand.wait_for_state(other, "running"));
  const std::string device = device_of(stand, hit);
  const auto [gpu, instance] = instance_of(stand, device);
  EXPECT_EQ(stand
                .run(fmt::format("sim-node fault {} --gpu {} xid-94 --instance {}", stand.node(),
                                 gpu, instance))
                .exit_code,
            0);
  ASSERT_TRUE(stand.wait_until([&] { return stand.job(hit)["attempts"] == 2; }))
      << stand.job(hit).dump(1) << stand.events();
  ASSERT_TRUE(stand.wait_for_state(hit, "running"));
  const Json job = stand.job(hit);
  EXPECT_EQ(job["history"][0]["end"], "lost");
  EXPECT_TRUE(has(job["history"][0]["why"], "Xid 94 (contained memory error)")) << job.dump(1);
  EXPECT_NE(device_of(stand, hit), device);
  EXPECT_EQ(stand.job(other)["attempts"], 1);
  EXPECT_TRUE(has(stand.events(), "instance-quarantined")) << stand.events();
  EXPECT_TRUE(stand.wait_until([&] { return stand.get("/healthz")["status"] == "ok"; }))
      << stand.get("/healthz").dump(1);
}

TEST(DaemonHealth, ADrainedGpuSaysWhyAndWhatBringsItBack) {
  DaemonStand stand(quick_looks());
  stand.fault(1, "recovery-action-1");
  ASSERT_TRUE(stand.wait_until([&] { return stand.get("/healthz")["status"] == "degraded"; }));
  const std::string trouble = stand.get("/healthz")["troubles"].dump();
  EXPECT_TRUE(has(trouble, "GPU 1: drained: recovery action 1 (GPU reset)")) << trouble;
  EXPECT_TRUE(has(trouble, "the driver no longer asking for it")) << trouble;
  const std::int64_t first = stand.submit("--profile 7g.40gb -- " + sleeps);
  const std::int64_t second = stand.submit("--profile 7g.40gb -- " + sleeps);
  ASSERT_TRUE(stand.wait_for_state(first, "running"));
  EXPECT_TRUE(stand.wait_until([&] {
    return has(stand.reason_of(second), "GPU 1 is drained for its health");
  })) << stand.reason_of(second);
  EXPECT_TRUE(has(stand.run("ps").err, "recovery action 1")) << stand.run("ps").err;
  const Json gpu = stand.get("/v1/gpus")["gpus"][1];
  EXPECT_EQ(gpu["drained"], true);
  EXPECT_TRUE(has(gpu["trouble"], "recovery action 1 (GPU reset)")) << gpu.dump(1);
  ASSERT_EQ(stand.stop(), 0);
  stand.start();
  ASSERT_TRUE(stand.wait_until_ready());
  EXPECT_TRUE(has(stand.get("/healthz")["troubles"].dump(), "recovery action 1"));
  EXPECT_EQ(stand.state_of(second), "queued");
  stand.fault(1, "none");
  EXPECT_TRUE(stand.wait_for_state(second, "running"));
  EXPECT_EQ(stand.get("/healthz")["status"], "ok") << stand.get("/healthz").dump(1);
}

TEST(DaemonHealth, AnOperatorTakesAGpuBack) {
  DaemonStand stand(quick_looks());
  stand.fault(0, "xid-64");
  ASSERT_TRUE(stand.wait_until([&] { return stand.get("/healthz")["status"] == "degraded"; }));
  EXPECT_TRUE(has(stand.get("/healthz")["troubles"].dump(), "cleave undrain 0"));
  EXPECT_EQ(stand.run("undrain 0").exit_code, 0);
  EXPECT_TRUE(stand.wait_until([&] { return stand.get("/healthz")["status"] == "ok"; }));
}

/// A process on an instance that no job has: it escaped from a job, or was never in one.
TEST(DaemonHealth, AStrangersProcessKeepsItsInstanceFromTheNextJob) {
  DaemonStand stand(quick_looks());
  const std::int64_t first = stand.submit("--profile 2g.10gb -- true");
  EXPECT_EQ(stand.over(first)["state"], "finished");
  const std::string device = device_of(stand, first);
  const pid_t stranger = ::fork();
  if (stranger == 0) {
    ::execlp("sleep", "sleep", "600", nullptr);
    ::_exit(127);
  }
  ASSERT_GT(stranger, 0);
  auto held = SimProcess::start(stand.node(), device, static_cast<std::uint32_t>(stranger));
  ASSERT_TRUE(held) << held.error().text();
  const std::int64_t next = stand.submit("--profile 2g.10gb -- true");
  EXPECT_EQ(stand.over(next)["state"], "finished");
  EXPECT_NE(device_of(stand, next), device);
  const std::string health = stand.get("/healthz")["troubles"].dump();
  EXPECT_TRUE(has(health, fmt::format("is quarantined: process {} is there, and no job", stranger)))
      << health;
  const std::int64_t whole = stand.submit("--profile 7g.40gb -- true");
  EXPECT_EQ(stand.over(whole)["state"], "finished") << "on the other GPU";
  ::kill(stranger, SIGKILL);
  ::waitpid(stranger, nullptr, 0);
  EXPECT_TRUE(stand.wait_until([&] { return stand.get("/healthz")["troubles"].empty(); }))
      << stand.get("/healthz").dump(1);
  const std::int64_t last = stand.submit("--profile 7g.40gb -- true");
  EXPECT_EQ(stand.over(last)["state"], "finished");
}

/// A program that asks for the handles of all MIG devices, as exporters do, and keeps them.
class Monitor {
 public:
  explicit Monitor(const DaemonStand& stand) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::setenv("CLEAVE_SIM_NODE", stand.node().c_str(), 1);
    watch(::dlopen((binary_dir() + "/lib/cleave-nvmlsim/libnvidia-ml.so.1").c_str(), RTLD_NOW));
    ::_exit(1);
  }
  ~Monitor() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;
  /// As the daemon says it.
  [[nodiscard]] std::string in_words() const { return fmt::format("(process {})", pid_); }

 private:
  static void watch(void* library) {
    using Number = unsigned;
    const auto begin = reinterpret_cast<int (*)()>(::dlsym(library, "nvmlInit_v2"));
    const auto gpu = reinterpret_cast<int (*)(Number, void**)>(
        ::dlsym(library, "nvmlDeviceGetHandleByIndex_v2"));
    const auto instance = reinterpret_cast<int (*)(void*, Number, void**)>(
        ::dlsym(library, "nvmlDeviceGetMigDeviceHandleByIndex"));
    if (begin() != 0) return;
    for (;; ::usleep(10'000))
      for (Number i = 0; i < 2; ++i)
        for (Number j = 0; j < 7; ++j) {
          void *device = nullptr, *mig = nullptr;
          if (gpu(i, &device) == 0) instance(device, j, &mig);
        }
  }

  pid_t pid_;
};

TEST(DaemonHealth, AMonitorThatKeepsHandlesDelaysOnlyWhatNeedsItsRoom) {
  StandOptions options = quick_looks();
  options.config += "keep_idle_s = 0.1\n";
  DaemonStand stand(options);
  std::int64_t large = 0;
  {
    const Monitor monitor(stand);
    std::vector<std::int64_t> jobs;
    for (int i = 0; i < 40; ++i) jobs.push_back(stand.submit("--profile 1g.5gb -- sleep 0.1"));
    stand.all_over(jobs);
    // What was to go is in the way by now, and other room is used as before.
    ASSERT_TRUE(stand.wait_until([&] {
      return has(stand.get("/healthz").dump(), "cannot be destroyed yet");
    })) << stand.events();
    EXPECT_EQ(stand.over(stand.submit("--profile 1g.5gb -- true"))["state"], "finished");
    EXPECT_TRUE(has(stand.get("/healthz")["troubles"].dump(), monitor.in_words()))
        << stand.get("/healthz").dump(1);
    large = stand.submit("--instances 2x7g.40gb -- true");
    EXPECT_TRUE(stand.wait_until([&] {
      return has(stand.job(large)["reason"].dump(), monitor.in_words());
    })) << stand.job(large).dump(1);
    EXPECT_EQ(stand.job(large)["state"], "queued");
  }
  EXPECT_EQ(stand.over(large)["state"], "finished") << stand.events();
  EXPECT_TRUE(stand.wait_until([&] { return stand.get("/healthz")["status"] == "ok"; }));
}

/// How long 40 jobs of one profile take on two GPUs, where all instances have been idle for so long
/// that they were to go.
double seconds_of_forty(DaemonStand& stand) {
  std::vector<std::int64_t> earlier, jobs;
  for (int i = 0; i < 14; ++i) earlier.push_back(stand.submit("--profile 1g.5gb -- sleep 1"));
  stand.all_over(earlier);
  ::usleep(2'000'000);
  const auto begun = std::chrono::steady_clock::now();
  for (int i = 0; i < 40; ++i) jobs.push_back(stand.submit("--profile 1g.5gb -- sleep 5"));
  stand.all_over(jobs);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

TEST(DaemonHealth, ThreeMonitorsTakeNoThroughput) {
  if (std::getenv("CLEAVE_LONG") == nullptr) GTEST_SKIP() << "set CLEAVE_LONG=1 to run it";
  StandOptions options = quick_looks();
  options.config += "keep_idle_s = 0.5\n";
  // By turns, since the machine may be busy with something else for a while.
  std::vector<double> without, with;
  for (int round = 0; round < 2; ++round) {
    DaemonStand alone(options);
    without.push_back(seconds_of_forty(alone));
    DaemonStand watched(options);
    const Monitor first(watched), second(watched), third(watched);
    with.push_back(seconds_of_forty(watched));
    fmt::print("40 jobs: {:.2f} s without, {:.2f} s with three monitors\n", without.back(),
               with.back());
  }
  EXPECT_LE(std::ranges::min(with), 1.1 * std::ranges::min(without));
}

}  // namespace
}  // namespace cleave::whole
