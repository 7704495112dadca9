// The command that saves a job's work: it runs beside the job, and the job ends once it has
// succeeded and goes on where it has not.

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <fstream>

#include "base/format.hpp"
#include "stand.hpp"

namespace cleave::supervised {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class Checkpoint : public testing::Test {
 protected:
  JobKey start(const std::string& script, const std::string& command) {
    Launch launch = stand.launch(script);
    launch.checkpoint_command = command;
    launch.environment.push_back(fmt::format("PLACE={}", stand.path("")));
    const JobKey key = stand.start(launch);
    EXPECT_TRUE(stand.wait_until(
        [&] { return stand.pid(key) > 0 && stand.text(key, "stdout.log") == "ready\n"; }));
    return key;
  }
  /// Why the command did not succeed, as was told last.
  std::string told(const JobKey& key) {
    std::string why;
    for (const RunnerEvent& each : stand.events())
      if (const auto* failed = std::get_if<NotCheckpointed>(&each.what); failed && each.key == key)
        why = failed->reason;
    return why;
  }
  std::string wait_until_told(const JobKey& key) {
    EXPECT_TRUE(stand.wait_until([&] { return !told(key).empty(); }));
    return told(key);
  }

  Stand stand;
};

constexpr const char* endless = "echo ready; exec sleep 600";

TEST_F(Checkpoint, EndsTheJobOnceItIsMade) {
  const JobKey key = start(endless,
                           "echo saving; echo $CLEAVE_PID $CLEAVE_JOB $(id -u) > $PLACE/saved; "
                           "sleep 0.2; kill -0 $CLEAVE_PID");
  const std::int64_t pid = stand.pid(key);
  ASSERT_TRUE(stand.runner().checkpoint(key, seconds(20)));
  ASSERT_TRUE(stand.runner().checkpoint(key, seconds(20))) << "it is on its way";
  const ProcessOutcome* outcome = stand.wait_for_end(key);
  ASSERT_NE(outcome, nullptr);
  EXPECT_TRUE(outcome->checkpointed);
  EXPECT_TRUE(outcome->stopped);
  EXPECT_EQ(outcome->code, SIGTERM);
  EXPECT_GE(outcome->lasted, milliseconds(200)) << "it runs until it is saved";
  EXPECT_EQ(read_text(stand.path("saved")), fmt::format("{} {} {}\n", pid, key.job, ::getuid()));
  EXPECT_EQ(stand.text(key, "stderr.log"), "saving\n");
  EXPECT_EQ(told(key), "");
  const auto again = stand.begin_again();
  ASSERT_EQ(again.size(), 1U);
  EXPECT_TRUE(again[0].outcome.checkpointed);
}

TEST_F(Checkpoint, MayEndTheJobItself) {
  const JobKey key = start(endless, "kill -9 $CLEAVE_PID; sleep 0.3; echo done > $PLACE/saved");
  ASSERT_TRUE(stand.runner().checkpoint(key, seconds(20)));
  const ProcessOutcome* outcome = stand.wait_for_end(key);
  ASSERT_NE(outcome, nullptr);
  EXPECT_TRUE(outcome->checkpointed);
  EXPECT_EQ(outcome->code, SIGKILL);
  EXPECT_EQ(read_text(stand.path("saved")), "done\n") << "the command is waited for";
}

TEST_F(Checkpoint, LeavesTheJobWhereItFails) {
  const JobKey key = start(endless, "echo no room; [ -e $PLACE/room ]");
  ASSERT_TRUE(stand.runner().checkpoint(key, seconds(20)));
  EXPECT_EQ(wait_until_told(key), "it exited with 1: no room");
  EXPECT_EQ(stand.outcome(key), nullptr);
  EXPECT_TRUE(is_alive(stand.pid(key)));
  (void)stand.begin_again();
  EXPECT_EQ(wait_until_told(key), "it exited with 1: no room") << "the next daemon is told too";
  // What failed once may succeed another time.
  std::ofstream(stand.path("room")) << "much";
  ASSERT_TRUE(stand.runner().checkpoint(key, seconds(20)));
  const ProcessOutcome* outcome = stand.wait_for_end(key);
  ASSERT_NE(outcome, nullptr);
  EXPECT_TRUE(outcome->checkpointed);
}

TEST_F(Checkpoint, HasItsTime) {
  const JobKey key = start(endless, "sleep 600");
  ASSERT_TRUE(stand.runner().checkpoint(key, milliseconds(200)));
  EXPECT_EQ(wait_until_told(key), "it took too long");
  EXPECT_TRUE(is_alive(stand.pid(key)));
  ASSERT_TRUE(stand.runner().stop(key));
  const ProcessOutcome* outcome = stand.wait_for_end(key);
  ASSERT_NE(outcome, nullptr);
  EXPECT_FALSE(outcome->checkpointed);
  EXPECT_TRUE(stand.processes(key).empty());
}

TEST_F(Checkpoint, IsGivenUpWhereTheJobIsStopped) {
  const JobKey key = start(endless, "touch $PLACE/began; sleep 600");
  ASSERT_TRUE(stand.runner().checkpoint(key, seconds(600)));
  ASSERT_TRUE(stand.wait_until([&] { return ::access(stand.path("began").c_str(), F_OK) == 0; }));
  ASSERT_TRUE(stand.runner().stop(key));
  const ProcessOutcome* outcome = stand.wait_for_end(key);
  ASSERT_NE(outcome, nullptr);
  EXPECT_FALSE(outcome->checkpointed);
  EXPECT_EQ(outcome->code, SIGTERM);
  EXPECT_EQ(told(key), "") << "it is over, and nobody need know";
}

TEST_F(Checkpoint, OfAJobThatEndsMeanwhileIsNone) {
  const JobKey key = start("echo ready; sleep 0.3; exit 5", "sleep 0.6; exit 1");
  ASSERT_TRUE(stand.runner().checkpoint(key, seconds(20)));
  const ProcessOutcome* outcome = stand.wait_for_end(key);
  ASSERT_NE(outcome, nullptr);
  EXPECT_EQ(in_words(*outcome), "exited with 5");
  EXPECT_FALSE(outcome->checkpointed);
}

}  // namespace
}  // namespace cleave::supervised
