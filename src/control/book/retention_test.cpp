// What is forgotten, and when, over a store in memory and jobs that are not there.

#include "control/book/retention.hpp"

#include <gtest/gtest.h>

#include "control/fake_store_test.hpp"
#include "control/node/node_state_test.hpp"
#include "runner/fake_runner_test.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

TEST(JobsToForget, NoneWhileThereIsRoom) {
  EXPECT_TRUE(jobs_to_forget({}, 0).empty());
  EXPECT_TRUE(jobs_to_forget({{1, 1000, 50}, {2, 1000, 50}}, 100).empty());
  EXPECT_EQ(jobs_to_forget({{1, 1000, 50}, {2, 1000, 51}}, 100), std::vector<JobNumber>{1});
}

TEST(JobsToForget, TheOldestOfTheUserWhoseJobsTakeMost) {
  const std::vector<KeptJob> jobs = {
      {1, 2000, 30}, {2, 1001, 40}, {3, 1001, 40}, {4, 2000, 30}, {5, 1001, 40}};
  EXPECT_EQ(jobs_to_forget(jobs, 150), std::vector<JobNumber>{2});
  EXPECT_EQ(jobs_to_forget(jobs, 130), (std::vector<JobNumber>{2, 3}));
  EXPECT_EQ(jobs_to_forget(jobs, 90), (std::vector<JobNumber>{2, 3, 1})) << "2000 keeps more now";
  EXPECT_EQ(jobs_to_forget(jobs, 0), (std::vector<JobNumber>{2, 3, 1, 5, 4}));
}

TEST(JobsToForget, NeverAJobWithoutOutputs) {
  EXPECT_EQ(jobs_to_forget({{1, 1000, 0}, {2, 1000, 10}}, 0), std::vector<JobNumber>{2});
}

class RetentionTest : public testing::Test {
 protected:
  /// A final job with one attempt, of which the runner has a folder of 1000 bytes.
  void add(JobNumber number, Duration ended, std::uint32_t uid = 1000) {
    JobRecord job;
    job.number = number;
    job.owner.uid = uid;
    job.attempts = 1;
    add(job, ended);
  }
  void add(JobRecord job, Duration ended) {
    job.state = JobState::finished;
    job.ended = epoch + ended;
    for (std::int64_t attempt = 1; attempt <= job.attempts; ++attempt) run({job.number, attempt});
    StoreBatch batch;
    if (job.leader == 0) batch.commands.emplace_back(job.number, JobCommand{{"work"}, {}, "/"});
    batch.jobs.push_back(std::move(job));
    EXPECT_TRUE(store.write(batch, Durability::synced));
  }
  void run(const JobKey& key) {
    Launch launch;
    launch.key = key;
    launch.argv = {"work"};
    launch.working_directory = "/";
    FakeCourse course;
    course.runs = 1ms;
    jobs.plan(launch.key, course);
    EXPECT_TRUE(runner.start(launch));
  }
  void at(Duration time) {
    clock.advance({time, epoch + time});
    jobs.advance_to(epoch + time);
    retention.step();
    finish_weighing();
  }
  /// Calls until it is done; how many that took.
  int finish_weighing() {
    int calls = 0;
    for (; book.writes() && retention.next() <= clock.steady() + 20ms; ++calls) {
      clock.advance({retention.next(), epoch + retention.next()});
      retention.step();
    }
    return calls;
  }
  /// Those that the store still has.
  [[nodiscard]] std::vector<JobNumber> kept() {
    std::vector<JobNumber> numbers;
    for (JobNumber number = 1; number < 10; ++number)
      if (*store.job(number)) numbers.push_back(number);
    return numbers;
  }

  const Instant epoch = Instant{} + 1'000'000h;
  Clock clock{{0s, epoch}};
  FakeDisk disk;
  FakeStore store{disk};
  FakeJobs jobs{1};
  FakeRunner runner{jobs};
  Book book{store, clock};
  ControlSettings settings;
  DiskAccounts accounts;
  Retention retention{store, runner, book, clock, settings, accounts};
};

TEST_F(RetentionTest, JobsAreKeptForTheirTime) {
  settings.keep_jobs = 1h;
  add(1, 0min);
  add(2, 30min);
  at(59min);
  EXPECT_EQ(kept(), (std::vector<JobNumber>{1, 2}));
  at(61min);
  EXPECT_EQ(kept(), std::vector<JobNumber>{2});
  EXPECT_EQ(runner.kept_bytes({1, 1}), 0) << "its folder is gone as well";
  EXPECT_EQ(runner.kept_bytes({2, 1}), 1000);
}

TEST_F(RetentionTest, AServiceGoesWithAllItsReplicasAndWeighsAsMuch) {
  for (JobNumber number = 1; number <= 3; ++number) {
    JobRecord replica;
    replica.number = number;
    replica.leader = number == 1 ? 0 : 1;
    replica.spec.service.emplace().replicas = 3;
    replica.attempts = number == 3 ? 5 : 1;
    add(replica, 1min);
  }
  add(4, 2min);
  settings.keep_bytes = 7000;  // and there are seven folders of the service
  at(3min);
  EXPECT_EQ(kept(), std::vector<JobNumber>{4});
  for (JobNumber number = 1; number <= 3; ++number) EXPECT_EQ(runner.kept_bytes({number, 1}), 0);
  EXPECT_EQ(runner.kept_bytes({3, 5}), 0);
  EXPECT_EQ(runner.kept_bytes({4, 1}), 1000);
}

TEST_F(RetentionTest, TheFirstOfAnArrayStaysAsLongAsTheArrayIsNotOver) {
  JobRecord first, last;
  for (JobRecord* each : {&first, &last}) {
    each->number = each == &first ? 2 : 3;
    each->spec.task = ArrayTask{.job = 2, .last = 3, .index = each->number - 1, .tasks = 2};
  }
  add(first, 1s);
  last.state = JobState::running;
  StoreBatch batch;
  batch.commands.emplace_back(3, JobCommand{{"work"}, {}, "/"});
  batch.jobs.push_back(last);
  ASSERT_TRUE(store.write(batch, Durability::synced));
  const JobNumber number = 2;
  const auto none = retention.forget({&number, 1});
  ASSERT_TRUE(none);
  EXPECT_TRUE(none->empty()) << "it is the array's number, too";
  last.state = JobState::finished;
  last.ended = epoch + 2s;
  batch = {};
  batch.jobs.push_back(last);
  ASSERT_TRUE(store.write(batch, Durability::synced));
  const auto gone = retention.forget({&number, 1});
  ASSERT_TRUE(gone);
  EXPECT_EQ(gone->size(), 1U);
}

TEST_F(RetentionTest, TheStoreIsAskedOnceAMinute) {
  settings.keep_jobs = 1h;
  at(90min);
  EXPECT_EQ(retention.next(), 91min);
  add(1, 0min);
  at(91min - 1s);
  EXPECT_EQ(kept(), std::vector<JobNumber>{1});
  at(91min);
  EXPECT_TRUE(kept().empty());
}

TEST_F(RetentionTest, NothingIsForgottenWhileTheClockMayBeWrong) {
  settings.keep_jobs = 1h;
  add(1, 0min);
  retention.keep_all_until(30h);
  at(2h);
  EXPECT_EQ(kept(), std::vector<JobNumber>{1});
  EXPECT_EQ(retention.next(), 30h);
  at(30h);
  EXPECT_TRUE(kept().empty());
}

TEST_F(RetentionTest, AClockThatIsDoubtedMakesNothingOlder) {
  settings.keep_jobs = 1h;
  add(1, 0min);
  add(2, 720h);
  // It shows a month later than the store's latest time.
  retention.doubt_clock(ClockDoubt{epoch + 30min, epoch + 722h});
  at(722h);
  EXPECT_EQ(kept(), (std::vector<JobNumber>{1, 2}));
  at(723h);
  EXPECT_EQ(kept(), std::vector<JobNumber>{2}) << "the first is an hour and a half old";
  at(746h);
  EXPECT_TRUE(kept().empty()) << "a day has passed, and the clock is believed";
}

TEST_F(RetentionTest, NothingIsForgottenWhileTheStoreDoesNotWrite) {
  settings.keep_jobs = 1h;
  add(1, 0min);
  book.store_refused(Error{ErrorKind::infeasible, "the disk", "it is full", {}});
  at(2h);
  EXPECT_EQ(kept(), std::vector<JobNumber>{1});
  EXPECT_EQ(runner.kept_bytes({1, 1}), 1000);
}

TEST_F(RetentionTest, AWriteThatFailsIsTheBooksTrouble) {
  settings.keep_jobs = 1h;
  add(1, 0min);
  disk.fail_writes(1);
  at(2h);
  EXPECT_FALSE(book.writes());
  EXPECT_EQ(kept(), std::vector<JobNumber>{1});
}

TEST_F(RetentionTest, LargeOutputsGoAndThatIsSaid) {
  settings.keep_bytes = 2500;
  for (JobNumber number = 1; number <= 4; ++number)
    add(number, std::chrono::minutes(number), number == 1 ? 2000 : 1000);
  at(5min);
  EXPECT_EQ(kept(), (std::vector<JobNumber>{1, 4})) << "the oldest of the user with the most";
  NodeForTest node;
  book.commit(node.state);
  const auto events = book.events_since(0);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].kind, "jobs-forgotten");
  EXPECT_EQ(events[0].text, "2 old jobs were forgotten, since outputs took more than 0 MiB");
}

/// However many there are, and whatever is in them.
TEST_F(RetentionTest, ACallWeighsOneAttemptAtMost) {
  settings.keep_bytes = 1000 * 10;
  for (JobNumber number = 1; number <= 30; ++number) add(number, 1s * number);
  clock.advance({5min, epoch + 5min});
  jobs.advance_to(epoch + 5min);
  retention.step();
  EXPECT_EQ(kept().size(), 9U) << "nothing is known yet";
  EXPECT_EQ(retention.next(), 5min);
  EXPECT_EQ(finish_weighing(), 31) << "and the last for what goes";
  EXPECT_TRUE(kept().empty()) << "the first 20 are gone";
  for (JobNumber number = 21; number <= 30; ++number) EXPECT_TRUE(*store.job(number));
  EXPECT_GE(retention.next(), 6min) << "as often as before";
}

TEST_F(RetentionTest, OutputsAreWeighedEveryTenMinutes) {
  settings.keep_bytes = 1500;
  at(1min);
  add(1, 1min);
  add(2, 2min);
  at(10min);
  EXPECT_EQ(kept(), (std::vector<JobNumber>{1, 2}));
  at(11min);
  EXPECT_EQ(kept(), std::vector<JobNumber>{2});
}

TEST_F(RetentionTest, OldEventsGo) {
  settings.keep_events = 10;
  NodeForTest node;
  for (int i = 0; i < 30; ++i) book.event("many", "one");
  book.commit(node.state);
  at(1min);
  EXPECT_EQ(store.events(0, {}, 100)->size(), 10U);
}

}  // namespace
}  // namespace cleave
