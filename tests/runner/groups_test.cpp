// Attempts in control groups: nothing escapes, and limits hold. Where this user may make none,
// these are skipped.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/format.hpp"
#include "stand.hpp"

namespace cleave::supervised {
namespace {

class InGroups : public ::testing::Test {
 protected:
  void SetUp() override {
    places_ = make_group_places();
    if (places_.none()) GTEST_SKIP() << "this user may make no control groups here";
    stand_.emplace(places_);
  }
  Stand& stand() { return *stand_; }
  /// As a user who is not root, where there is a choice.
  Launch launch(const std::string& script) {
    Launch made = stand().launch(script);
    constexpr uid_t nobody = 65534;
    if (::geteuid() == 0) made.uid = made.gid = nobody;
    return made;
  }
  /// Groups of these attempts that are still there.
  [[nodiscard]] std::vector<std::string> groups(const JobKey& key) const {
    std::vector<std::string> found;
    for (const std::string& place : places_.folders())
      for (const auto& entry : std::filesystem::directory_iterator(place))
        if (entry.path().filename().string() == mark_of(key)) found.push_back(entry.path());
    return found;
  }
  [[nodiscard]] std::string mark_of(const JobKey& key) const {
    const auto folder = open_folder(stand_->folder(key));
    const auto mark =
        folder ? job_mark(folder->number(), key) : Result<JobMark>(std::unexpected(folder.error()));
    return mark ? mark->text : "gone";
  }
  [[nodiscard]] std::vector<pid_t> members(const JobKey& key) const {
    return JobGroups(places_, mark_of(key)).members();
  }

  GroupPlaces places_;
  std::optional<Stand> stand_;
};

/// Leaves its session, its parents and its environment.
const std::string escapes =
    "(setsid env -i sh -c '(setsid env -i sleep 77 &); exec sleep 0.01' &) ; sleep 0.1; ";

TEST_F(InGroups, TheyAreThereWhileItRunsAndGoWithIt) {
  const JobKey key = stand().start(launch("exec sleep 30"));
  ASSERT_TRUE(stand().wait_until([&] { return stand().pid(key) > 0; }));
  EXPECT_EQ(groups(key).size(), places_.folders().size());
  EXPECT_EQ(members(key).size(), 1U) << "the job, and not its supervisor";
  ASSERT_TRUE(stand().runner().stop(key));
  ASSERT_NE(stand().wait_for_end(key), nullptr);
  EXPECT_TRUE(groups(key).empty());
}

TEST_F(InGroups, NothingEscapesAKilledSupervisor) {
  std::vector<JobKey> keys;
  for (int i = 0; i < 5; ++i) keys.push_back(stand().start(launch(escapes + "sleep 30")));
  for (const JobKey& key : keys) {
    ASSERT_TRUE(stand().wait_until([&] {
      const auto all = members(key);
      return std::ranges::any_of(all, [](pid_t pid) {
        return read_text(fmt::format("/proc/{}/cmdline", pid)) == std::string(
                                                                      "sleep\0"
                                                                      "77\0",
                                                                      9);
      });
    }));
    const auto all = members(key);
    ::kill(stand().supervisor(key), SIGKILL);
    ASSERT_TRUE(stand().wait_until([&] { return stand().lost(key); }));
    for (const pid_t pid : all) EXPECT_FALSE(is_alive(pid)) << pid;
    EXPECT_TRUE(groups(key).empty());
  }
}

TEST_F(InGroups, NothingEscapesADaemonThatFindsItDead) {
  const JobKey key = stand().start(launch(escapes + "sleep 30"));
  ASSERT_TRUE(stand().wait_until([&] { return members(key).size() >= 2; }));
  const auto all = members(key);
  ::kill(stand().supervisor(key), SIGKILL);
  (void)stand().begin_again();
  (void)stand().wait_until([&] { return groups(key).empty(); });
  for (const pid_t pid : all) EXPECT_FALSE(is_alive(pid)) << pid;
  EXPECT_TRUE(groups(key).empty());
}

/// Processes that fork and end faster than they can be found.
TEST_F(InGroups, WhatForksAllTheTimeIsKilledAsAWhole) {
  const JobKey key = stand().start(launch("f() { ( f & ) ; exit; }; ( f & ); sleep 0.3; exit 4"));
  ASSERT_NE(stand().wait_for_end(key), nullptr);
  EXPECT_EQ(stand().outcome(key)->code, 4);
  EXPECT_TRUE(groups(key).empty());
}

TEST_F(InGroups, AForkBombStaysWithinItsNumberAndDelaysNoOther) {
  if (places_.pids.empty()) GTEST_SKIP() << "the number of processes cannot be limited here";
  Launch bomb = launch(
      "exec python3 -c \"\nimport os, time\nwhile True:\n  try: os.fork()\n  except OSError: "
      "time.sleep(0.05)\n\"");
  bomb.limits.most_processes = 40;
  const JobKey key = stand().start(bomb);
  ASSERT_TRUE(stand().wait_until([&] { return members(key).size() == 40; }));
  const JobKey other = stand().start(launch("exit 3"));
  ASSERT_NE(stand().wait_for_end(other), nullptr);
  EXPECT_EQ(stand().outcome(other)->code, 3);
  EXPECT_LE(members(key).size(), 40U);
  ASSERT_TRUE(stand().runner().stop(key));
  ASSERT_NE(stand().wait_for_end(key), nullptr);
  EXPECT_TRUE(groups(key).empty());
}

TEST_F(InGroups, WhatUsesUpItsMemoryDiesAloneAndItIsSaid) {
  if (places_.memory.empty()) GTEST_SKIP() << "memory cannot be limited here";
  Launch hungry = launch("exec python3 -c 'x = bytearray(400 << 20)'");
  hungry.limits.memory = MiB{64};
  const JobKey other = stand().start(launch("sleep 1; exit 3")), key = [&] {
    hungry.key.job = static_cast<std::int64_t>(stand().started()) + 1;
    return stand().start(hungry);
  }();
  ASSERT_NE(stand().wait_for_end(key), nullptr);
  EXPECT_EQ(stand().outcome(key)->used_up, MiB{64}) << in_words(*stand().outcome(key));
  EXPECT_EQ(in_words(*stand().outcome(key)), "used up its 64 MiB of the host's memory");
  ASSERT_NE(stand().wait_for_end(other), nullptr);
  EXPECT_EQ(stand().outcome(other)->code, 3);
  EXPECT_FALSE(stand().outcome(other)->used_up);
}

TEST_F(InGroups, GroupsThatCannotBeMadeKeepItFromStartingAndLeaveNothing) {
  GroupPlaces gone = places_;
  for (std::string* each : {&gone.unified, &gone.pids, &gone.memory, &gone.freezer})
    if (!each->empty()) *each += "/absent";
  Stand without(gone);
  const JobKey key = without.start(without.launch("exit 0"));
  EXPECT_EQ(without.wait_for_end(key), nullptr);
  EXPECT_TRUE(without.never_started(key));
  EXPECT_TRUE(std::filesystem::is_empty(without.path("jobs")));
}

}  // namespace
}  // namespace cleave::supervised
