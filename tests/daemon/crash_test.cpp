// The daemon is killed again and again while it works, at any moment and at each of its effects; no
// accepted job is lost, none runs twice without permission, and nothing is left over.
//
// CLEAVE_LONG=1 takes the long form: 500 moments, more often at each effect, and 2,000 kills of
// daemons, supervisors and jobs.

#include <signal.h>

#include <algorithm>
#include <future>
#include <thread>

#include "base/format.hpp"
#include "crash_batch.hpp"
#include "daemon/stop_points.hpp"

namespace cleave::whole {
namespace {

using std::chrono::microseconds;
using std::chrono::seconds;

const char* quick_to_tidy =
    "keep_idle_s = 0.3\nlook_every_s = 0.5\nserver.requests_per_s = 100000.0\nserver.burst = "
    "100000.0\n";

bool long_form() {
  const char* options = std::getenv("CLEAVE_LONG");
  return options != nullptr && *options != 0;
}

StandOptions crash_options() {
  StandOptions options;
  options.instant = false;  // so that it also dies while instances are made
  options.config = quick_to_tidy;
  return options;
}

void pause_at_random(Random& random, double mean_ms) {
  std::this_thread::sleep_for(
      microseconds(static_cast<std::int64_t>(random.exponential(mean_ms * 1000))));
}

/// Kills that process after a while, from another thread; the waiting thread notices.
class KillLater {
 public:
  KillLater(pid_t pid, microseconds after)
      : thread_([pid, after] {
          std::this_thread::sleep_for(after);
          ::kill(pid, SIGKILL);
        }) {}
  ~KillLater() { thread_.join(); }
  KillLater(const KillLater&) = delete;
  KillLater& operator=(const KillLater&) = delete;

 private:
  std::thread thread_;
};

void report(const CrashBatch& batch, const char* what) {
  const auto& counts = batch.counts();
  fmt::print(
      "{}: {} jobs accepted, {} without answer at first, of which {} had been taken; {} finished, "
      "{} failed, {} cancelled; {} attempts lost\n",
      what, counts.accepted, counts.unanswered, counts.taken_before, counts.finished, counts.failed,
      counts.cancelled, counts.lost);
}

void end_and_check(DaemonStand& stand, CrashBatch& batch, const std::vector<std::string>& foreign) {
  batch.mend_gpus();
  if (!stand.runs()) stand.start();
  ASSERT_TRUE(stand.wait_until_ready()) << stand.log();
  batch.submit_again();
  EXPECT_TRUE(batch.wait_until_over(seconds(60)))
      << stand.get("/v1/jobs?user=all").dump(1) << stand.get("/v1/gpus").dump(1);
  batch.check_nothing_is_left(foreign);
  EXPECT_EQ(stand.stop(), 0);
  batch.check();
}

TEST(DaemonCrash, AtAnyMomentLosesNothing) {
  DaemonStand stand(crash_options());
  const std::vector<std::string> foreign = {stand.foreign("1g.5gb", 6, 1)};
  const std::uint64_t seed = 9;
  CrashBatch batch(stand, seed);
  Random random(seed + 1);
  const int times = long_form() ? 500 : sanitized ? 12 : 40;
  for (int i = 0; i < times; ++i) {
    // Sometimes it dies while it starts.
    const double mean_ms = random.below(4) == 0 ? 15 : 220;
    const KillLater killer(
        stand.pid(), microseconds(static_cast<std::int64_t>(random.exponential(mean_ms * 1000))));
    if (random.below(3) == 0) batch.break_a_gpu();
    const bool ready = stand.wait_until_ready();
    for (std::uint64_t left = ready ? random.below(6) : 0; left > 0 && stand.runs(); --left)
      batch.submit();
    if (ready && stand.runs() && random.below(2) == 0) batch.cancel(1);
    EXPECT_EQ(stand.wait_for_end(), 128 + SIGKILL) << stand.log();
    stand.start();
  }
  end_and_check(stand, batch, foreign);
  report(batch, "killed at any moment");
  // On a busy machine it often dies before it is ready.
  EXPECT_GT(batch.counts().accepted, 0);
}

/// No job waits any more that the next job would wait for.
void make_way(DaemonStand& stand, CrashBatch& batch) {
  stand.kill();  // it may still be about to end itself
  stand.start();
  ASSERT_TRUE(stand.wait_until_ready()) << stand.log();
  EXPECT_TRUE(batch.wait_until_over(seconds(60)));
}

/// What makes the daemon reach this point this often.
void come_to(CrashBatch& batch, const std::string& point, int count) {
  batch.submit("good");
  batch.submit("fails");
  if (point == "signal") {
    for (int i = 0; i < count; ++i) batch.submit("grows");
  } else if (point == "checkpoint") {
    for (int i = 0; i < count; ++i) batch.submit("saved");
  } else if (point == "stop") {
    for (int i = 0; i < count; ++i) batch.submit("long");
    (void)batch.wait_until_long_ones_run();
    batch.cancel(count);
  } else {
    for (int i = 0; i < count; ++i) batch.submit("good");
    batch.submit("grows");
  }
}

TEST(DaemonCrash, AtEachEffectLosesNothing) {
  DaemonStand stand(crash_options());
  const std::vector<std::string> foreign = {stand.foreign("1g.5gb", 6, 1)};
  CrashBatch batch(stand, 20);
  for (const std::string& each : stop_points()) {
    if (each == "forget") continue;  // below
    for (const std::string when : {"before", "after"}) {
      bool reached = false;
      const std::vector<int> counts = long_form()
                                          ? std::vector{1, 2, 3, 5, 8, 13}
                                          : std::vector{when == "before" || sanitized ? 1 : 2};
      for (const int count : counts) {
        if (long_form()) make_way(stand, batch);
        stand.kill();
        stand.start({fmt::format("{}={}-{}:{}", stop_variable, when, each, count)});
        if (stand.wait_until_ready()) come_to(batch, each, count);
        if (stand.wait_for_end(seconds(4)) == 128 + SIGKILL) reached = true;
      }
      EXPECT_TRUE(reached) << when << " " << each << " was not come to";
    }
  }
  stand.kill();
  end_and_check(stand, batch, foreign);
  report(batch, "killed at each effect");
}

/// `cleave submit` itself, which sends what had no answer again.
TEST(DaemonCrash, OfTheClientsDaemonRunsItsJobOnce) {
  DaemonStand stand(crash_options());
  int died = 0;
  for (const std::string point : {"before-write", "after-write", "before-start", "after-start"})
    for (const int count : {1, 2, 3}) {
      const std::string file = stand.path(fmt::format("{}-{}", point, count));
      stand.kill();
      stand.start({fmt::format("{}={}:{}", stop_variable, point, count)});
      if (!stand.wait_until_ready()) stand.start();
      const auto revive = [&] {
        if (stand.wait_for_end(std::chrono::milliseconds(0)) != 128 + SIGKILL) return;
        ++died;
        stand.start();
      };
      const auto submitted = [&] {
        auto client = std::async(std::launch::async, [&] {
          return stand.run(fmt::format("submit --patience 20 -- sh -c 'echo ran >>{}'", file));
        });
        while (client.wait_for(std::chrono::milliseconds(10)) != std::future_status::ready)
          revive();
        return client.get();
      };
      Outcome outcome = submitted();
      // It was killed at a write of its own, before anything was sent.
      for (int i = 0; i < 5 && outcome.exit_code == 1; ++i) {
        EXPECT_TRUE(stand.wait_until_ready());
        outcome = submitted();
      }
      ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
      ASSERT_TRUE(outcome.out.starts_with("job ")) << outcome.out;
      const std::string job = fmt::format("/v1/jobs/{}", std::stol(outcome.out.substr(4)));
      EXPECT_TRUE(stand.wait_until([&] {
        revive();
        const auto answer = stand.ask("GET", job);
        return answer && (*answer)["state"] == "finished";
      })) << point
          << count;
      EXPECT_EQ(text_of(file), "ran\n") << point << count;
    }
  EXPECT_GT(died, 3);
  stand.kill();
  stand.start();
  ASSERT_TRUE(stand.wait_until_ready());
  EXPECT_EQ(stand.get("/v1/jobs?all=1")["jobs"].size(), 12U);
  // A script names its key.
  const Outcome first = stand.run("submit --key nightly --clean-env -- true"),
                again = stand.run("submit --key nightly --clean-env -- true"),
                other = stand.run("submit --key nightly --clean-env -- false");
  EXPECT_EQ(first.out, again.out);
  EXPECT_EQ(again.err, "cleave: the job was submitted before with this key\n");
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_NE(other.err.find("--key: job 13 was submitted with this key"), std::string::npos)
      << other.err;
}

TEST(DaemonCrash, WhileItForgetsLosesNoRoom) {
  StandOptions options = crash_options();
  options.config += "keep_jobs_s = 0\n";
  options.instant = true;
  DaemonStand stand(options);
  std::vector<std::int64_t> jobs;
  for (int i = 0; i < 4; ++i) jobs.push_back(stand.submit("-- true"));
  stand.all_over(jobs);
  EXPECT_EQ(stand.stop(), 0);
  for (const std::string at : {"before-forget:1", "after-forget:1", "before-forget:3",
                               "after-forget:4", "before-write:2"}) {
    stand.start({fmt::format("{}={}", stop_variable, at)});
    (void)stand.wait_for_end(seconds(1));
    stand.kill();
  }
  stand.start();
  ASSERT_TRUE(stand.wait_until_ready());
  EXPECT_TRUE(stand.wait_until([&] { return stand.get("/v1/jobs?all=1")["jobs"].empty(); }));
  EXPECT_TRUE(std::filesystem::is_empty(stand.state() + "/jobs"));
  EXPECT_GT(stand.submit("-- true"), jobs.back()) << "a number is never used again";
}

TEST(DaemonCrash, OfSupervisorsIsHandledAsTheJobAllowsAndSaid) {
  DaemonStand stand(crash_options());
  CrashBatch batch(stand, 30, true);
  Random random(31);
  int killed = 0;
  const int times = long_form() ? 300 : sanitized ? 6 : 20;
  for (int i = 0; i < times; ++i) {
    for (int j = 0; j < 3; ++j) batch.submit(j == 2 ? "grows" : "good");
    if (random.below(3) == 0) batch.submit("fails");
    if (i % 10 == 9) {
      EXPECT_TRUE(batch.wait_until_over(seconds(60)));  // no more than the GPUs can take
    }
    pause_at_random(random, 60);
    const auto there = stand.supervisors();
    if (!there.empty() && ::kill(there[random.below(there.size())], SIGKILL) == 0) ++killed;
    if (random.below(8) != 0) continue;
    stand.kill();
    if (const auto left = stand.supervisors(); !left.empty()) ::kill(left.front(), SIGKILL);
    stand.start();
    ASSERT_TRUE(stand.wait_until_ready());
  }
  end_and_check(stand, batch, {});
  report(batch, "supervisors killed");
  EXPECT_GT(killed, times / 4);
  EXPECT_GT(batch.counts().lost, 0);
}

/// One process of a job, which is none of supervisors.
bool kill_a_job(const DaemonStand& stand, Random& random) {
  std::vector<pid_t> of_jobs = stand.processes_of_jobs();
  const auto supervisors = stand.supervisors();
  std::erase_if(
      of_jobs, [&](pid_t pid) { return std::ranges::find(supervisors, pid) != supervisors.end(); });
  return !of_jobs.empty() && ::kill(of_jobs[random.below(of_jobs.size())], SIGKILL) == 0;
}

TEST(DaemonCrash, OfDaemonsSupervisorsAndJobsInAnyOrderLosesNothing) {
  DaemonStand stand(crash_options());
  CrashBatch batch(stand, 40, true);
  Random random(41);
  int killed[3] = {};
  const int times = long_form() ? 2000 : sanitized ? 9 : 24;
  for (int sum = 0; sum < times; sum = killed[0] + killed[1] + killed[2]) {
    for (std::uint64_t left = 1 + random.below(2); left > 0; --left)
      batch.submit(random.below(3) == 0 ? "grows" : "good");
    if (random.below(10) == 0) {
      EXPECT_TRUE(batch.wait_until_over(seconds(60)));  // no more than the GPUs can take
      batch.submit("good");
    }
    pause_at_random(random, 60);
    const std::uint64_t what = random.below(3);
    if (what == 0) {
      stand.kill();
      ++killed[0];
      stand.start();
      ASSERT_TRUE(stand.wait_until_ready()) << stand.log();
    } else if (what == 1) {
      const auto there = stand.supervisors();
      if (!there.empty() && ::kill(there[random.below(there.size())], SIGKILL) == 0) ++killed[1];
    } else if (kill_a_job(stand, random)) {
      ++killed[2];
    }
    if (HasFailure()) return;
  }
  end_and_check(stand, batch, {});
  report(batch, "daemons, supervisors and jobs killed");
  fmt::print("{} kills of daemons, {} of supervisors, {} of jobs\n", killed[0], killed[1],
             killed[2]);
  EXPECT_GT(std::min({killed[0], killed[1], killed[2]}), times / 10);
}

}  // namespace
}  // namespace cleave::whole
