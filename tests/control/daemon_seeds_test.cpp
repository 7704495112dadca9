// The daemon's loop under everything that can go wrong, by seeds (seeded_daemon.hpp has the laws).
// A seed that fails prints the command that repeats it, with the story of what happened.
//
//   CLEAVE_DAEMON_SEEDS   how many seeds; the long form is 100000
//   CLEAVE_WATCHED_SEEDS  the same of those under monitors
//   CLEAVE_DAEMON_SEED    the first; with CLEAVE_DAEMON_STORY=1 its story is printed
//
// After each thousand it says where to go on, so that the long form can be run in parts.

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <vector>

#include "base/format.hpp"
#include "base/number_asked_test.hpp"
#include "base/sanitized_test.hpp"
#include "seeded_daemon.hpp"

namespace cleave::trial {
namespace {

void print(std::uint64_t count, const SeededDaemon::Counts& all) {
  fmt::print(
      "{} seeds: {} rounds, {} jobs submitted ({} finished, {} failed, {} cancelled), {} attempts, "
      "{} "
      "deaths, {} power "
      "losses, {} early restarts, {} attempts lost, {} moved, {} moved by "
      "their checkpoint, {} jobs retried, {} writes refused, "
      "{} GPUs "
      "lost, {} "
      "instances of others, {} changes of scheduler, {} services, {} leases given back, {} "
      "submissions sent again of which {} had been taken, {} "
      "jobs out of time, {} signs of health, {} strangers, {} monitors, {} plans, {} looks at jobs "
      "beside room\n",
      count, all.steps, all.submitted, all.finished, all.failed, all.cancelled, all.attempts,
      all.deaths, all.power_losses, all.early, all.lost, all.moved, all.handed_over, all.retried,
      all.refused_writes, all.gpu_losses, all.foreign, all.schedulers, all.services, all.given_back,
      all.sent_again, all.taken_before, all.out_of_time, all.signs, all.strangers, all.monitors,
      all.plans, all.waits);
}

void say_where_to_go_on(std::uint64_t first, std::uint64_t next,
                        const std::vector<std::uint64_t>& failed) {
  fmt::print("seeds {} to {} ran, {} failed [{}]: go on with CLEAVE_DAEMON_SEED={}\n", first,
             next - 1, failed.size(), fmt::join(failed, " "), next);
  std::fflush(stdout);
}

/// Laws hold easily where nothing happens.
void expect_all_happened(const SeededDaemon::Counts& all) {
  for (const std::size_t each : {all.finished,
                                 all.failed,
                                 all.cancelled,
                                 all.deaths,
                                 all.power_losses,
                                 all.early,
                                 all.lost,
                                 all.moved,
                                 all.handed_over,
                                 all.retried,
                                 all.refused_writes,
                                 all.gpu_losses,
                                 all.foreign,
                                 all.schedulers,
                                 all.services,
                                 all.given_back,
                                 all.sent_again - all.taken_before,
                                 all.taken_before,
                                 all.out_of_time,
                                 all.signs,
                                 all.strangers,
                                 all.monitors,
                                 all.plans,
                                 all.waits})
    EXPECT_GT(each, 0U);
}

TEST(DaemonSeeds, NothingIsLost) {
  const std::uint64_t first = number_asked("CLEAVE_DAEMON_SEED", 1);
  const std::uint64_t count =
      number_asked("CLEAVE_DAEMON_SEEDS", std::getenv("CLEAVE_DAEMON_SEED") != nullptr ? 1
                                          : sanitized                                  ? 90
                                                                                       : 300);
  SeededDaemon::Counts all;
  std::vector<std::uint64_t> failed;
  for (std::uint64_t seed = first; seed < first + count && failed.size() < 20; ++seed) {
    SeededDaemon daemon(seed);
    if (std::getenv("CLEAVE_DAEMON_STORY") != nullptr) daemon.story = &std::cout;
    const auto violations = daemon.run();
    for (const std::string& each : violations) ADD_FAILURE() << each;
    if (!violations.empty()) {
      failed.push_back(seed);
      ADD_FAILURE() << fmt::format(
          "repeat it: CLEAVE_DAEMON_STORY=1 CLEAVE_DAEMON_SEED={} "
          "build/release/bin/daemon_loop_test "
          "--gtest_filter=DaemonSeeds.NothingIsLost",
          seed);
    }
    if ((seed - first + 1) % 1000 == 0) say_where_to_go_on(first, seed + 1, failed);
    const SeededDaemon::Counts& one = daemon.counts();
    all.steps += one.steps;
    all.submitted += one.submitted;
    all.finished += one.finished;
    all.failed += one.failed;
    all.cancelled += one.cancelled;
    all.deaths += one.deaths;
    all.attempts += one.attempts;
    all.early += one.early;
    all.lost += one.lost;
    all.power_losses += one.power_losses;
    all.refused_writes += one.refused_writes;
    all.gpu_losses += one.gpu_losses;
    all.foreign += one.foreign;
    all.moved += one.moved;
    all.handed_over += one.handed_over;
    all.retried += one.retried;
    all.schedulers += one.schedulers;
    all.services += one.services;
    all.given_back += one.given_back;
    all.sent_again += one.sent_again;
    all.taken_before += one.taken_before;
    all.out_of_time += one.out_of_time;
    all.signs += one.signs;
    all.strangers += one.strangers;
    all.monitors += one.monitors;
    all.plans += one.plans;
    all.waits += one.waits;
  }
  print(count, all);
  if (count >= 100) expect_all_happened(all);
}

// Nothing fails here, and monitors hold instances for minutes: what waits, waits for what they
// hold.
TEST(DaemonSeeds, UnderMonitorsNothingWaitsWithoutNeed) {
  const std::uint64_t first = number_asked("CLEAVE_DAEMON_SEED", 1);
  const std::uint64_t count = std::getenv("CLEAVE_DAEMON_SEED") != nullptr
                                  ? 1
                                  : number_asked("CLEAVE_WATCHED_SEEDS", sanitized ? 10 : 20);
  SeededDaemon::Counts all;
  for (std::uint64_t seed = first; seed < first + count && !HasFailure(); ++seed) {
    SeededDaemon daemon(seed, Life::watched);
    if (std::getenv("CLEAVE_DAEMON_STORY") != nullptr) daemon.story = &std::cout;
    for (const std::string& each : daemon.run()) ADD_FAILURE() << "seed " << seed << " " << each;
    all.monitors += daemon.counts().monitors;
    all.waits += daemon.counts().waits;
    all.named += daemon.counts().named;
    all.finished += daemon.counts().finished;
  }
  fmt::print("{} monitors, {} looks at jobs beside room, {} at jobs that name a monitor, {} done\n",
             all.monitors, all.waits, all.named, all.finished);
  if (count < 10) return;
  EXPECT_GT(all.monitors, count);
  EXPECT_GT(all.named, count);
  EXPECT_GT(all.finished, count);
}

}  // namespace
}  // namespace cleave::trial
