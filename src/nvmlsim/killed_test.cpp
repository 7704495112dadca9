// Programs killed at any moment leave a node that obeys every rule, and no program waits for them.

#include <chrono>
#include <memory>
#include <thread>

#include "base/random.hpp"
#include "nvmlsim/child_test.hpp"
#include "nvmlsim/library_test.hpp"

namespace cleave::sim {
namespace {

using enum nvml::Return;
using std::chrono::milliseconds;

constexpr std::uint32_t a100_profiles[] = {0, 5, 9, 14, 15, 19, 20};

/// One random change; refusals are ignored.
void change_something(nvml::Device gpu, Random& random) {
  const Functions& nvml = library();
  const std::uint32_t profile = a100_profiles[random.below(std::size(a100_profiles))];
  nvml::GpuInstance instance = nullptr;
  if (random.below(2) == 0) {
    if (nvml.nvmlDeviceCreateGpuInstance(gpu, profile, &instance) != success) return;
    nvml::ComputeInstance compute = nullptr;
    nvml.nvmlGpuInstanceCreateComputeInstance(instance, 0, &compute);
    return;
  }
  std::array<nvml::GpuInstance, 8> list{};
  std::uint32_t count = 0;
  if (nvml.nvmlDeviceGetGpuInstances(gpu, profile, list.data(), &count) != success) return;
  for (std::uint32_t i = 0; i < count; ++i) {
    nvml::ComputeInstance compute = nullptr;
    if (nvml.nvmlGpuInstanceGetComputeInstanceById(list[i], 0, &compute) == success)
      nvml.nvmlComputeInstanceDestroy(compute);
    nvml.nvmlGpuInstanceDestroy(list[i]);
  }
}

/// Uses instances as jobs do, under its own pid.
void work_somewhere(const OpenNode& node, Random& random) {
  const auto process = SimProcess::start(node.path(), random.below(2) == 0 ? "0" : "1",
                                         static_cast<std::uint32_t>(::getpid()));
  if (!process) return;
  auto running = SimProcess::start(node.path(), "0", static_cast<std::uint32_t>(::getpid()));
  if (running) {
    (void)running->hold(MiB{static_cast<std::int64_t>(random.below(6000))});
    (void)running->keep_busy(random.uniform());
    (void)running->end();
  }
}

int run_until_killed(const OpenNode& node, std::uint64_t seed) {
  Random random(seed);
  while (true) {
    change_something(node.gpu(static_cast<std::uint32_t>(random.below(2))), random);
    if (random.below(8) == 0) work_somewhere(node, random);
    if (random.below(50) == 0) {
      library().nvmlShutdown();
      library().nvmlInit_v2();
    }
  }
}

/// Checks that the next program is not delayed, and that the rules hold.
void expect_usable(const OpenNode& node) {
  ASSERT_EQ(node.flaw(), "");
  const auto begin = std::chrono::steady_clock::now();
  for (std::uint32_t gpu = 0; gpu < 2; ++gpu) {
    nvml::GpuInstance instance = nullptr;
    if (library().nvmlDeviceCreateGpuInstance(node.gpu(gpu), 19, &instance) == success) {
      ASSERT_EQ(library().nvmlGpuInstanceDestroy(instance), success);
    }
  }
  ASSERT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
}

void kill_again_and_again(const SimNodeSpec& spec, int rounds, int children,
                          std::uint64_t longest_ms) {
  const OpenNode node(spec);
  Random random(11);
  for (int round = 0; round < rounds; ++round) {
    std::vector<std::unique_ptr<Child>> running;
    for (int i = 0; i < children; ++i) {
      const std::uint64_t seed = random.bits();
      running.push_back(std::make_unique<Child>([&] { return run_until_killed(node, seed); }));
    }
    std::this_thread::sleep_for(milliseconds(1 + random.below(longest_ms)));
    // One after another: those that still run continue.
    for (auto& child : running) {
      child->kill_it();
      ASSERT_EQ(node.flaw(), "");
    }
    ASSERT_NO_FATAL_FAILURE(expect_usable(node));
  }
}

TEST(Killed, InTheMiddleOfInstantChanges) {
  kill_again_and_again(node_spec("A100-40GB,A100-40GB"), 150, 3, 8);
}

TEST(Killed, InTheMiddleOfSlowChanges) {
  SimNodeSpec spec = node_spec("A100-40GB,A100-40GB");
  spec.instant = false;
  kill_again_and_again(spec, 6, 3, 150);
}

// A killed program may stay a zombie for a long time.
TEST(Killed, ZombiesHoldNoLocks) {
  SimNodeSpec spec = node_spec("A100-40GB");
  spec.instant = false;
  const OpenNode node(spec);
  Child child([&] {
    nvml::GpuInstance instance = nullptr;
    return library().nvmlDeviceCreateGpuInstance(node.gpu(), 19, &instance) == success ? 0 : 1;
  });
  std::this_thread::sleep_for(
      milliseconds(30));  // it is waiting for its instance, and holds the change lock
  ::kill(child.pid(), SIGKILL);
  nvml::GpuInstance instance = nullptr;
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(library().nvmlDeviceCreateGpuInstance(node.gpu(), 19, &instance), success);
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(2));
  EXPECT_EQ(look_at_sim_node(node.path())->gpus[0].instances.size(), 1U);
}

}  // namespace
}  // namespace cleave::sim
