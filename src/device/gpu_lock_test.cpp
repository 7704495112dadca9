#include "device/gpu_lock.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>

#include "base/temporary_folder_test.hpp"
#include "device/state_directory.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

class StateFolder : public testing::Test {
 protected:
  TemporaryFolder scratch;
  const std::filesystem::path& folder = scratch.path();
};
class GpuLocks : public StateFolder {};
class StateDirectories : public StateFolder {};

TEST_F(GpuLocks, OneHolderAtATimeAndTheOthersAreToldWho) {
  {
    const auto mine = GpuLock::take(folder, "GPU-a", "GPU 0", "cleaved");
    ASSERT_TRUE(mine) << mine.error().text();
    const auto second = GpuLock::take(folder, "GPU-a", "GPU 0", "cleave", 10s);
    ASSERT_FALSE(second) << "a daemon is not waited for";
    EXPECT_EQ(second.error().message,
              "GPU 0 is managed by cleaved (pid " + std::to_string(::getpid()) + ")");
    EXPECT_EQ(exit_code(second.error().kind), 1);
    EXPECT_TRUE(GpuLock::take(folder, "GPU-b", "GPU 1", "cleave")) << "each GPU has its own";
    const auto holder = GpuLock::holder(folder, "GPU-a");
    ASSERT_TRUE(holder);
    EXPECT_EQ(holder->program, "cleaved");
  }
  EXPECT_FALSE(GpuLock::holder(folder, "GPU-a"));
  EXPECT_FALSE(GpuLock::holder(folder, "GPU-never-seen"));
  EXPECT_TRUE(GpuLock::take(folder, "GPU-a", "GPU 0", "cleave"));
}

TEST_F(GpuLocks, ACommandIsWaitedFor) {
  auto mine = GpuLock::take(folder, "GPU-a", "GPU 0", "cleave");
  ASSERT_TRUE(mine);
  const auto refused = GpuLock::take(folder, "GPU-a", "GPU 0", "cleave", 50ms);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("being changed by cleave (pid "), std::string::npos);
  std::thread lets_go([&] {
    std::this_thread::sleep_for(50ms);
    const GpuLock gone = std::move(*mine);
  });
  EXPECT_TRUE(GpuLock::take(folder, "GPU-a", "GPU 0", "cleave", 10s));
  lets_go.join();
}

TEST_F(GpuLocks, GoesWithItsHolderHoweverThatEnds) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto held = GpuLock::take(folder, "GPU-a", "GPU 0", "cleaved");
    const char yes = held ? 'y' : 'n';
    if (::write(ready[1], &yes, 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  char answer = 0;
  ASSERT_EQ(::read(ready[0], &answer, 1), 1);
  EXPECT_EQ(answer, 'y');
  EXPECT_FALSE(GpuLock::take(folder, "GPU-a", "GPU 0", "cleave", 0ms));
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(ready[0]);
  ::close(ready[1]);
  EXPECT_TRUE(GpuLock::take(folder, "GPU-a", "GPU 0", "cleave", 0ms));
}

TEST_F(GpuLocks, HoldWhoeverRemovesTheFile) {
  std::atomic<int> inside = 0, together = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const auto lock = GpuLock::take(folder, "GPU-a", "GPU 0", "cleave", 60s);
        if (!lock) continue;
        together += inside++ > 0 ? 1 : 0;
        std::this_thread::yield();
        --inside;
        if (t == 0) {
          // Removed by its holder: a waiter on the old file must not take that for the lock.
          std::error_code ignored;
          std::filesystem::remove(folder / gpu_lock_name("GPU-a"), ignored);
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(together, 0);
}

TEST_F(GpuLocks, StrangeContentIsNoHoldersName) {
  std::ofstream(folder / gpu_lock_name("GPU-a")) << std::string(5000, 'x') << "\x1b[31m 12";
  EXPECT_TRUE(GpuLock::take(folder, "GPU-a", "GPU 0", "cleave", 0ms));
  EXPECT_EQ(gpu_lock_name("GPU-../x"), "gpu-GPU-___x.lock");
}

TEST_F(StateDirectories, AreWhereTheUserSaysOrTheRoomsRuleHasThem) {
  const StateQuery user{
      .given = {}, .sim_node = {}, .root = false, .xdg_state_home = "/x", .home = "/h"};
  EXPECT_EQ(*state_directory(user), "/x/cleave");
  StateQuery query = user;
  query.xdg_state_home = "relative";
  EXPECT_EQ(*state_directory(query), "/h/.local/state/cleave");
  query.xdg_state_home.reset();
  EXPECT_EQ(*state_directory(query), "/h/.local/state/cleave");
  query.home.reset();
  EXPECT_EQ(exit_code(state_directory(query).error().kind), 1);
  query = user;
  query.root = true;
  EXPECT_EQ(*state_directory(query), "/var/lib/cleave");
  query.sim_node = "/tmp/node";
  EXPECT_EQ(*state_directory(query), "/tmp/node/cleave");
  query.given = "here";
  EXPECT_EQ(*state_directory(query), "here");
  query.given = "";
  EXPECT_EQ(exit_code(state_directory(query).error().kind), 2);
}

TEST_F(StateDirectories, AreMadeForTheirOwnerOnly) {
  ASSERT_TRUE(make_state_directory(folder / "a" / "b"));
  struct stat facts = {};
  ASSERT_EQ(::stat((folder / "a" / "b").c_str(), &facts), 0);
  EXPECT_EQ(facts.st_mode & 0777U, 0700U);
  EXPECT_TRUE(make_state_directory(folder / "a" / "b")) << "again";
  EXPECT_TRUE(make_state_directory(folder / "a" / "b" / ".." / "c"));
  std::ofstream(folder / "file") << "x";
  const auto refused = make_state_directory(folder / "file");
  ASSERT_FALSE(refused);
  EXPECT_EQ(exit_code(refused.error().kind), 1);
  EXPECT_FALSE(make_state_directory(folder / "file" / "below"));
}

}  // namespace
}  // namespace cleave
