// Supervisors and daemons that are killed at any moment.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/format.hpp"
#include "base/random.hpp"
#include "stand.hpp"

namespace cleave::supervised {
namespace {

// Leaves processes everywhere and ends within moments.
const std::string restless =
    "(setsid sh -c 'sleep 50' &); sh -c 'sleep 51 & sleep 52' & sleep 0.$(( $$ % 4 )); exit 9";

void wait_a_little(Random& random, double mean_ms) {
  std::this_thread::sleep_for(
      std::chrono::microseconds(static_cast<int>(random.exponential(mean_ms * 1000))));
}

TEST(KilledSupervisor, LeavesNoProcessAndEveryAttemptHasOneEnd) {
  Stand stand;
  Random random(20);
  constexpr int times = 200, at_once = 20;
  int lost = 0, never = 0;
  for (int i = 0; i < times / at_once; ++i) {
    std::vector<JobKey> keys;
    for (int j = 0; j < at_once; ++j) keys.push_back(stand.start_script(restless));
    const auto supervisors = stand.supervisors(keys);
    for (const pid_t supervisor : supervisors) {
      wait_a_little(random, 2);
      if (supervisor > 0) ::kill(supervisor, SIGKILL);
    }
    for (const JobKey& key : keys) {
      const ProcessOutcome* outcome = stand.wait_for_end(key);
      EXPECT_EQ(stand.ends(key), 1);
      lost += stand.lost(key) ? 1 : 0;
      never += stand.never_started(key) ? 1 : 0;
      EXPECT_TRUE(outcome == nullptr || outcome->code == 9);
    }
    EXPECT_TRUE(stand.processes(keys).empty()) << "round " << i;
  }
  EXPECT_GT(lost, 0) << "the test did not kill while they lived";
  EXPECT_LT(lost, times) << "no attempt came to its own end";
  // A later runner reports the same.
  const auto found = stand.begin_again();
  EXPECT_EQ(found.size(), static_cast<std::size_t>(times - never));
  EXPECT_EQ(std::ranges::count(found, FoundJob::State::dead, &FoundJob::state), lost);
  EXPECT_EQ(std::ranges::count(found, FoundJob::State::alive, &FoundJob::state), 0);
}

TEST(KilledSupervisor, TakesItsJobWithItAtOnce) {
  Stand stand;
  const JobKey key = stand.start_script("exec sleep 30");
  ASSERT_TRUE(stand.wait_until([&] { return stand.pid(key) > 0; }));
  const std::int64_t job = stand.pid(key);
  ::kill(stand.supervisor(key), SIGKILL);
  ASSERT_TRUE(stand.wait_until([&] { return stand.lost(key); }));
  EXPECT_FALSE(is_alive(job));
}

TEST(KilledSupervisor, UnseenIsFoundDeadAndItsProcessesAreEnded) {
  Stand stand;
  const JobKey key = stand.start_script("(setsid sleep 53 &); sleep 54");
  ASSERT_TRUE(stand.wait_until([&] { return stand.processes(key).size() >= 3; }));
  ::kill(stand.supervisor(key), SIGKILL);
  const auto found = stand.begin_again();
  ASSERT_EQ(found.size(), 1U);
  if (found[0].state == FoundJob::State::alive) {  // its lock was still there at that moment
    EXPECT_TRUE(stand.wait_until([&] { return stand.lost(key); }));
  } else {
    EXPECT_EQ(found[0].state, FoundJob::State::dead);
    EXPECT_TRUE(found[0].began);
  }
  EXPECT_TRUE(stand.processes(key).empty());
  EXPECT_NE(::access((stand.folder(key) + "/launch.json").c_str(), F_OK), 0)
      << "environments are not kept";
}

TEST(KilledSupervisor, WhileItWroteTheOutcomeLeavesNone) {
  Stand stand;
  const JobKey key = stand.start_script("exit 3");
  ASSERT_NE(stand.wait_for_end(key), nullptr);
  const std::string path = fmt::format("{}/{}", stand.folder(key), outcome_file);
  const auto size = static_cast<off_t>(read_text(path).size());
  ASSERT_GT(size, 100);
  for (const off_t torn : {size - 1, size / 2, off_t{1}, off_t{0}}) {
    ASSERT_EQ(::truncate(path.c_str(), torn), 0);
    const auto found = stand.begin_again();
    ASSERT_EQ(found.size(), 1U);
    EXPECT_EQ(found[0].state, FoundJob::State::dead);
    EXPECT_TRUE(found[0].began);
    EXPECT_EQ(found[0].trouble, "");
  }
  // The state after a crash of the machine: the length, but not the bytes.
  ASSERT_EQ(::truncate(path.c_str(), size), 0);
  EXPECT_EQ(stand.begin_again()[0].state, FoundJob::State::dead);
}

/// Processes of the same name that belong to no job stay.
TEST(KilledSupervisor, OthersProcessesStay) {
  Stand stand;
  const JobKey one = stand.start_script("exec sleep 30"),
               other = stand.start_script("exec sleep 30");
  ASSERT_TRUE(stand.wait_until([&] { return stand.pid(one) > 0 && stand.pid(other) > 0; }));
  ::kill(stand.supervisor(one), SIGKILL);
  ASSERT_TRUE(stand.wait_until([&] { return stand.lost(one); }));
  EXPECT_TRUE(is_alive(stand.pid(other)));
  ASSERT_TRUE(stand.runner().stop(other));
  ASSERT_NE(stand.wait_for_end(other), nullptr);
}

TEST(KilledDaemon, JobsGoOnAndTheNextOneAdoptsThem) {
  Stand stand;
  const JobKey goes_on = stand.start_script("sleep 0.3; exit 4"),
               ends = stand.start_script("exit 5");
  ASSERT_TRUE(stand.wait_until([&] { return stand.pid(goes_on) > 0 && stand.pid(ends) > 0; }));
  const std::int64_t pid = stand.pid(goes_on);
  ASSERT_NE(stand.wait_for_end(ends), nullptr);
  const auto found = stand.begin_again();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].state, FoundJob::State::alive);
  EXPECT_EQ(found[1].state, FoundJob::State::ended);
  EXPECT_EQ(found[1].outcome.code, 5);
  ASSERT_NE(stand.wait_for_end(goes_on), nullptr);
  EXPECT_EQ(stand.outcome(goes_on)->code, 4);
  EXPECT_EQ(stand.pid(goes_on), pid) << "the next one is told of the beginning too";
}

TEST(KilledDaemon, AtAnyMomentLosesNothing) {
  Random random(21);
  for (int round = 0; round < 30; ++round) {
    Stand stand;
    constexpr int jobs = 8;
    std::vector<Launch> launches;
    for (int i = 0; i < jobs; ++i) {
      launches.push_back(stand.launch("(setsid sleep 55 &) ; sleep 0.02; exit 6"));
      launches.back().key.job = i + 1;
    }
    const pid_t daemon = ::fork();
    if (daemon == 0) {
      ::alarm(20);
      for (const Launch& launch : launches) (void)stand.runner().start(launch);
      ::pause();
      ::_exit(0);
    }
    wait_a_little(random, 20);
    ::kill(daemon, SIGKILL);
    ::waitpid(daemon, nullptr, 0);
    for (const FoundJob& found : stand.begin_again()) {
      if (found.state == FoundJob::State::ended) {
        EXPECT_EQ(found.outcome.code, 6);
      } else if (found.state == FoundJob::State::dead) {
        EXPECT_FALSE(found.began) << "its supervisor never came to life";
      } else {
        const ProcessOutcome* outcome = stand.wait_for_end(found.key);
        if (outcome == nullptr) {
          // The daemon died before it could adopt the new supervisor: nothing of it ran.
          EXPECT_TRUE(stand.lost(found.key));
          EXPECT_FALSE(stand.may_have_begun(found.key));
        } else {
          EXPECT_EQ(outcome->code, 6);
        }
      }
      EXPECT_TRUE(stand.processes(found.key).empty());
    }
  }
}

}  // namespace
}  // namespace cleave::supervised
