// Several threads of one program, also while it forks.

#include <thread>

#include "nvmlsim/child_test.hpp"
#include "nvmlsim/event_sets.hpp"
#include "nvmlsim/library_test.hpp"

namespace cleave::sim {
namespace {

using enum nvml::Return;

TEST(Threads, CallTheLibraryAtOnce) {
  const OpenNode node("A100-40GB");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (int round = 0; round < 2000; ++round) {
        nvml::GpuInstance instance = nullptr;
        if (library().nvmlDeviceCreateGpuInstance(node.gpu(), 19, &instance) == success) {
          EXPECT_EQ(library().nvmlGpuInstanceDestroy(instance), success);
        }
        EXPECT_EQ(library().nvmlInit_v2(), success);
        EXPECT_EQ(library().nvmlShutdown(), success);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(look_at_sim_node(node.path())->gpus[0].instances.empty());
}

/// Calls that take every mutex of the library.
int open_and_make_a_set() {
  nvml::EventSet set = nullptr;
  if (library().nvmlInit_v2() != success) return 1;
  if (library().nvmlEventSetCreate(&set) != success) return 2;
  if (library().nvmlEventSetFree(set) != success) return 3;
  return library().nvmlShutdown() == success ? 0 : 4;
}

// Children of forks, which have no other threads that could release a mutex.
TEST(Threads, LeaveNoMutexLockedInForks) {
  const OpenNode node("A100-40GB");
  std::atomic<bool> end{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&, i] {
      while (!end) {
        if (i < 2)
          EXPECT_EQ(open_and_make_a_set(), 0);
        else
          EXPECT_TRUE(look_at_sim_node(node.path()));
      }
    });
  for (int round = 0; round < 300; ++round) {
    Child child([&] {
      ::alarm(5);
      if (!look_at_sim_node(node.path())) return 5;
      return open_and_make_a_set();
    });
    const int status = child.wait();
    EXPECT_EQ(status, 0) << "round " << round;
    if (status != 0) break;
  }
  end = true;
  for (std::thread& thread : threads) thread.join();
}

TEST(Threads, ReadEventsWholeWhileTheyAreOverwritten) {
  const TemporaryFolder directory;
  ASSERT_TRUE(create_sim_node(directory.path(), node_spec("A100-40GB,A100-40GB")));
  const auto node = Node::open(directory.path()).value();
  const std::uint64_t set = make_event_set();
  for (std::uint32_t gpu = 0; gpu < 2; ++gpu)
    ASSERT_TRUE(register_events(*node, set, gpu, reported_events));
  constexpr std::uint64_t last = 100'000;
  const auto type_of = [](std::uint64_t data) {
    return data % 2 == 0 ? nvml::event_xid : nvml::event_gpu_unavailable;
  };
  std::thread reporter([&] {
    for (std::uint64_t data = 1; data <= last; ++data)
      node->report_event(static_cast<std::uint32_t>(data % 2), {type_of(data), data});
  });
  std::uint64_t before = 0, torn = 0;
  while (before < last) {
    SeenEvent event{};
    ASSERT_EQ(wait_for_event(*node, set, 30'000, event), success);
    torn += event.gpu != event.data % 2 || event.type != type_of(event.data) ? 1 : 0;
    EXPECT_GT(event.data, before);
    before = event.data;
  }
  reporter.join();
  EXPECT_EQ(torn, 0U);
  EXPECT_TRUE(free_event_set(set));
}

// A call that waited while the library was closed took an entry in the client table of its old
// node. What the program then holds on another node belongs to its entry there, not to the same
// index.
TEST(Threads, ThatAreInACallAtShutdownHoldNothingElsewhere) {
  const OpenNode old_node("A100-40GB");
  const TemporaryFolder other;
  ASSERT_TRUE(create_sim_node(other.path(), node_spec("A100-40GB")));
  const MadeInstance made = make_instance(old_node.gpu(), 0);
  Signal has_made, try_now;
  Child maker([&] {
    library().nvmlShutdown();
    ::setenv(sim_node_variable, other.path().c_str(), 1);
    if (library().nvmlInit_v2() != success) return 1;
    const MadeInstance there = make_instance(old_node.gpu(), 0);
    has_made.send();
    try_now.await();
    return library().nvmlComputeInstanceDestroy(there.compute) == in_use ? 0 : 2;
  });
  has_made.await();
  const auto mapped = Node::open(old_node.path()).value();
  const nvml::Device gpu = old_node.gpu();
  mapped->cell(0).state.lock(mapped->presence());
  std::thread caller([&] {
    nvml::Device mig = nullptr;
    EXPECT_EQ(library().nvmlDeviceGetMigDeviceHandleByIndex(gpu, 0, &mig), success);
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(30));  // it waits for the lock
  EXPECT_EQ(library().nvmlShutdown(), success);
  mapped->cell(0).state.unlock();
  caller.join();
  ::setenv(sim_node_variable, other.path().c_str(), 1);
  ASSERT_EQ(library().nvmlInit_v2(), success);
  nvml::Device mig = nullptr;
  EXPECT_EQ(library().nvmlDeviceGetMigDeviceHandleByIndex(gpu, 0, &mig), success);
  try_now.send();
  EXPECT_EQ(maker.wait(), 0);
  Child of_old([&] {
    const auto again = Node::open(old_node.path()).value();
    return again->held_by_others(0, 0) ? 1 : 0;
  });
  EXPECT_EQ(of_old.wait(), 0) << "nothing is held on the node that was closed";
}

}  // namespace
}  // namespace cleave::sim
