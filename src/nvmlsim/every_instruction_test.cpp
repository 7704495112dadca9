// A program that is killed after the first, second, third, ... instruction of a change. Its parent
// steps through it with ptrace. Whenever the bytes of the state have changed, a copy of them is
// what a program killed there leaves behind: it must obey every rule, and the next program must be
// able to use it soon.

#include <sys/ptrace.h>

#include <chrono>
#include <cstring>
#include <fstream>

#include "nvmlsim/child_test.hpp"
#include "nvmlsim/library_test.hpp"
#include "nvmlsim/operations.hpp"

namespace cleave::sim {
namespace {

using enum nvml::Return;

/// Every kind of change of a GPU, once.
int make_use_and_destroy(const OpenNode& node) {
  const Functions& nvml = library();
  nvml::GpuInstance instance = nullptr;
  nvml::ComputeInstance compute = nullptr;
  nvml::ComputeInstanceInfo info{};
  if (nvml.nvmlDeviceCreateGpuInstance(node.gpu(), 14, &instance) != success) return 1;
  if (nvml.nvmlGpuInstanceCreateComputeInstance(instance, 0, &compute) != success) return 2;
  if (nvml.nvmlComputeInstanceGetInfo_v2(compute, &info) != success) return 3;
  auto process = SimProcess::start(node.path(), "0", static_cast<std::uint32_t>(::getpid()));
  if (!process || !process->hold(MiB{100}).value_or(false) || !process->keep_busy(1) ||
      !process->end())
    return 4;
  if (nvml.nvmlComputeInstanceDestroy(compute) != success) return 5;
  if (nvml.nvmlGpuInstanceDestroy(instance) != success) return 6;
  return 0;
}

/// The bytes after the process is dead: no live process has its identity.
std::string after_the_death_of(Identity identity, std::string bytes) {
  const Identity nobody = identity ^ 1ULL << 50;
  for (std::size_t at = 0; at + sizeof nobody <= bytes.size(); at += sizeof nobody)
    if (std::memcmp(bytes.data() + at, &identity, sizeof identity) == 0)
      std::memcpy(bytes.data() + at, &nobody, sizeof nobody);
  return bytes;
}

/// The next program: it looks, destroys what there is, and creates and destroys an instance.
void go_on_with(const std::filesystem::path& copy, const std::string& bytes) {
  {
    std::fstream out(copy / state_file_name, std::ios::binary | std::ios::in | std::ios::out);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  ASSERT_EQ(sim_node_flaw(copy).value(), "");
  const auto node = Node::open(copy).value();
  const auto begin = std::chrono::steady_clock::now();
  const GpuRecord now = [&] { return GpuAccess(*node, 0).record(); }();
  for (const ComputeInstanceRecord& compute : now.compute_instances)
    if (compute.serial != 0) {
      ASSERT_EQ(destroy_compute_instance(*node, 0, compute.serial), success);
    }
  for (const GpuInstanceRecord& instance : now.gpu_instances)
    if (instance.serial != 0) {
      ASSERT_EQ(destroy_gpu_instance(*node, 0, instance.serial), success);
    }
  std::uint64_t serial = 0;
  ASSERT_EQ(create_gpu_instance(*node, 0, 0, nullptr, serial), success);
  ASSERT_EQ(destroy_gpu_instance(*node, 0, serial), success);
  ASSERT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

constexpr int no_ptrace = 77;

TEST(Killed, AtEveryInstruction) {
  const OpenNode node("A100-40GB");
  const TemporaryFolder copy;
  ASSERT_TRUE(create_sim_node(copy.path(), node_spec("A100-40GB")));
  Child child([&] {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) return no_ptrace;
    ::raise(SIGSTOP);
    return make_use_and_destroy(node);
  });
  int status = 0;
  ::waitpid(child.pid(), &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == no_ptrace) {
    child.is_gone();
    GTEST_SKIP() << "ptrace is refused here";
  }
  const Identity identity = identity_of(static_cast<std::uint32_t>(child.pid()));
  const auto mapped =
      Node::open(node.path()).value();  // as the child sees it, without reading the file
  const std::string_view live(reinterpret_cast<const char*>(&mapped->header()),
                              mapped->header().bytes);
  std::string before(live);
  long instructions = 0, changes = 0;
  while (WIFSTOPPED(status)) {
    if (::ptrace(PTRACE_SINGLESTEP, child.pid(), nullptr, nullptr) != 0)
      GTEST_SKIP() << "ptrace does not step through a child here";
    ::waitpid(child.pid(), &status, 0);
    ++instructions;
    if (live == before) continue;
    ++changes;
    before = live;
    ASSERT_NO_FATAL_FAILURE(go_on_with(copy.path(), after_the_death_of(identity, before)))
        << "after " << instructions << " instructions";
  }
  child.is_gone();
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  EXPECT_GT(changes, 50) << "of " << instructions << " instructions";
}

}  // namespace
}  // namespace cleave::sim
