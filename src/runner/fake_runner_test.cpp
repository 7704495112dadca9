#include "runner/fake_runner_test.hpp"

#include <gtest/gtest.h>
#include <signal.h>

namespace cleave {
namespace {

Launch launch_of(std::int64_t job) {
  Launch launch;
  launch.key = {job, 1};
  launch.argv = {"true"};
  launch.working_directory = std::string("/");
  return launch;
}

bool tells_the_end(const RunnerEvent& event) {
  return std::holds_alternative<JobEnded>(event.what) ||
         std::holds_alternative<SupervisorLost>(event.what);
}

/// Every attempt that starts ends once, whatever the seed and however many times the runner is
/// replaced.
TEST(FakeRunner, KeepsThePromiseOfTheDoor) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    FakeJobs jobs(seed);
    auto runner = std::make_unique<FakeRunner>(jobs);
    std::map<JobKey, int> ends;
    for (std::int64_t job = 1; job <= 20; ++job)
      if (runner->start(launch_of(job))) ends[{job, 1}] = 0;
    EXPECT_FALSE(ends.empty());
    if (seed % 3 == 0) (void)runner->stop(ends.begin()->first);
    for (int step = 0; const auto next = jobs.next(); ++step) {
      jobs.advance_to(*next);
      if (step == 7) {
        runner = std::make_unique<FakeRunner>(jobs);
        const auto found = runner->found();
        ASSERT_EQ(found->size(), ends.size());
        for (const FoundJob& each : *found)
          ends[each.key] = each.state == FoundJob::State::alive ? 0 : 1;
      }
      for (const RunnerEvent& event : runner->poll()) {
        ends[event.key] += tells_the_end(event) ? 1 : 0;
        if (!std::holds_alternative<AttemptNotStarted>(event.what)) continue;
        EXPECT_EQ(ends.at(event.key), 0);
        ends.erase(event.key);
      }
    }
    for (const auto& [key, count] : ends) {
      EXPECT_EQ(count, 1) << "seed " << seed << ", job " << key.job;
      EXPECT_TRUE(runner->forget(key));
    }
    EXPECT_TRUE(runner->found()->empty());
  }
}

TEST(FakeRunner, DoesNotLookAtWhatIsSettled) {
  FakeJobs jobs(3);
  FakeRunner runner(jobs);
  std::size_t started = 0;
  for (std::int64_t job = 1; job <= 20; ++job) started += runner.start(launch_of(job)) ? 1 : 0;
  ASSERT_GT(started, 2U);
  FakeRunner later(jobs);
  const auto found = later.found([](const JobKey& key) { return key.job > 1; });
  ASSERT_TRUE(found);
  for (const FoundJob& each : *found) EXPECT_EQ(each.key.job, 1);
  EXPECT_EQ(later.found()->size(), started);
}

TEST(FakeRunner, FollowsItsPlan) {
  FakeJobs jobs(1);
  FakeRunner runner(jobs);
  FakeCourse course;
  course.reports = {{1, {1, {}, MiB{1}, MiB{1}}}, {2, {2, {}, MiB{2}, MiB{2}}}};
  jobs.plan({1, 1}, course);
  ASSERT_TRUE(runner.start(launch_of(1)));
  EXPECT_FALSE(runner.start(launch_of(1)));
  jobs.advance_to(Instant(std::chrono::seconds(5)));
  EXPECT_EQ(runner.poll().size(), 2U) << "it began and reported";
  EXPECT_FALSE(runner.forget({1, 1}));
  ASSERT_TRUE(runner.signal({1, 1}, SIGUSR1));
  ASSERT_TRUE(runner.stop({1, 1}));
  jobs.advance_to(Instant(std::chrono::seconds(6)));
  const auto events = runner.poll();
  ASSERT_EQ(events.size(), 1U);
  const auto* ended = std::get_if<JobEnded>(&events[0].what);
  ASSERT_NE(ended, nullptr);
  EXPECT_EQ(ended->outcome.code, SIGTERM);
  EXPECT_TRUE(ended->outcome.stopped);
  EXPECT_FALSE(jobs.next().has_value());
  EXPECT_EQ(ended->outcome.reports.size(), 1U) << "it was ended before its second";
  EXPECT_FALSE(jobs.completed(1));
}

TEST(FakeRunner, ASignalMayHaveItSaveItsWorkAndEnd) {
  FakeJobs jobs(1);
  FakeRunner runner(jobs);
  FakeCourse course;
  course.saves = std::chrono::seconds(2);
  jobs.plan({1, 1}, course);
  jobs.plan({2, 1}, {});
  for (const std::int64_t job : {1, 2}) {
    ASSERT_TRUE(runner.start(launch_of(job)));
    ASSERT_TRUE(runner.signal({job, 1}, SIGUSR1));
  }
  jobs.advance_to(Instant(std::chrono::seconds(3)));
  EXPECT_EQ(jobs.running(), (std::vector<JobKey>{{2, 1}}));
  EXPECT_FALSE(jobs.completed(1)) << "it has more to do, though it ended with 0";
  jobs.advance_to(Instant(std::chrono::seconds(20)));
  EXPECT_TRUE(jobs.completed(2));
}

}  // namespace
}  // namespace cleave
