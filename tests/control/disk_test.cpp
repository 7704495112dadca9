// What jobs keep on the disk: limits of users, running jobs that fill their folders, and a disk
// with little room; the whole loop over a store and folders that are invented.

#include "loop_stand.hpp"

namespace cleave::trial {
namespace {

constexpr std::int64_t mib = 1 << 20;

class DiskOfLoop : public Loop {
 protected:
  DiskOfLoop() { run(1s); }
  static NewJob large(std::size_t words, std::size_t environment, std::uint32_t uid = 1000) {
    NewJob one = sized("1g.5gb");
    one.owner.uid = uid;
    one.command.argv.emplace_back(words, 'x');
    one.command.environment.push_back("A=" + std::string(environment, 'y'));
    return one;
  }
  void begin_again() {
    begin();
    run(1s);
  }
  [[nodiscard]] std::vector<JobNumber> kept() {
    std::vector<JobNumber> numbers;
    const auto sizes = store->sizes(0, INT64_MAX);
    for (const StoredSize& each : *sizes) numbers.push_back(each.number);
    return numbers;
  }
  [[nodiscard]] std::string troubles() {
    return fmt::format("{}", fmt::join(control->troubles(), "; "));
  }
  [[nodiscard]] std::string events() {
    std::string all;
    for (const EventRecord& each : control->events_since(0))
      all += each.kind + ' ' + each.text + '\n';
    return all;
  }
  void have_room(std::int64_t of_hundred) {
    rooms = {{"/state", 100 * mib, of_hundred * mib, 0, 0}};
  }

  std::vector<DiskRoom> rooms;
};

TEST_F(DiskOfLoop, ASubmissionPastTheLimitIsRefusedAtOnce) {
  settings.keep_per_user = mib;
  begin_again();
  control->pause(true, moment());
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(control->submit(large(0, 300'000), moment())) << "nothing is written yet";
  const auto refused = control->submit(large(0, 300'000), moment());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().remedy.find("cleave purge"), std::string::npos);
  EXPECT_TRUE(control->submit(large(0, 300'000, 2000), moment())) << "another user";
  run(1s);
  EXPECT_FALSE(control->submit(large(0, 300'000), moment()));
  control->cancel(kept().front(), "its user", moment());
  run(1s);
  EXPECT_TRUE(control->submit(large(0, 300'000), moment())) << "an environment goes with its job";
}

TEST_F(DiskOfLoop, WhatIsNotWrittenCountsNoLonger) {
  settings.keep_per_user = mib;
  begin_again();
  for (int i = 0; i < 5; ++i) {
    disk.fail_writes(1);
    EXPECT_TRUE(control->submit(large(0, 600'000), moment()));
    control->step(moment());
    run(2s);
  }
  EXPECT_TRUE(kept().empty());
}

TEST_F(DiskOfLoop, OperatorsMayKeepWhatTheyLike) {
  settings.keep_per_user = mib;
  exempt = [](std::uint32_t uid) { return uid == 1000; };
  begin_again();
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(control->submit(large(300'000, 0), moment()));
  run(60s);
  EXPECT_EQ(kept().size(), 5U);
}

TEST_F(DiskOfLoop, SubmittedAndCancelledWithoutEndTheyStayBounded) {
  settings.keep_per_user = mib;
  begin_again();
  control->pause(true, moment());
  int accepted = 0;
  for (int i = 0; i < 200; ++i) {
    if (const auto number = control->submit(large(100'000, 0), moment())) {
      ++accepted;
      control->step(moment());
      control->cancel(*number, "its user", moment());
    }
    run(20ms);
    std::int64_t bytes = 0;
    const auto sizes = store->sizes(0, INT64_MAX);
    for (const StoredSize& each : *sizes) bytes += each.bytes;
    EXPECT_LE(bytes, mib);
  }
  EXPECT_EQ(accepted, 200) << "the oldest make room";
  EXPECT_LT(kept().size(), 11U);
  EXPECT_NE(events().find("jobs-forgotten"), std::string::npos);
}

TEST_F(DiskOfLoop, ANewDaemonCountsWhatIsThere) {
  for (int i = 0; i < 5; ++i) (void)submit(large(300'000, 0), 1s);
  run(10s);
  EXPECT_EQ(kept().size(), 5U);
  settings.keep_per_user = 2 * mib;
  begin_again();
  EXPECT_EQ(kept().size(), 5U);
  EXPECT_FALSE(control->submit(large(700'000, 0), moment()));
  settings.keep_per_user = mib;
  begin_again();
  run(1s);
  EXPECT_EQ(kept(), (std::vector<JobNumber>{4, 5})) << "the oldest are gone";
}

TEST_F(DiskOfLoop, FoldersOfEndedJobsCount) {
  settings.keep_per_user = 4 * mib;
  begin_again();
  const JobNumber first = submit(large(0, 0), 1s), second = submit(large(0, 0), 1s);
  jobs.weighs({first, 1}, 2 * mib);
  run(3s);
  EXPECT_EQ(kept(), (std::vector<JobNumber>{first, second}));
  jobs.weighs({second, 1}, 1000);
  const JobNumber third = submit(large(0, 0), 1s);
  jobs.weighs({third, 1}, 2 * mib);
  run(3s);
  EXPECT_EQ(kept(), (std::vector<JobNumber>{second, third}));
}

TEST_F(DiskOfLoop, AJobThatFillsItsFolderIsStopped) {
  settings.job_files = 100 * mib;
  settings.log_limit = 10 * mib;
  begin_again();
  const JobNumber fills = submit(sized("1g.5gb"), 1h), other = submit(sized("1g.5gb"), 1h);
  run(1s);
  jobs.weighs({fills, 1}, 100 * mib);
  run(31s);
  EXPECT_EQ(record(fills).state, JobState::running);
  EXPECT_NE(troubles().find("takes 100 MiB, and the job is stopped when it takes more than 120"),
            std::string::npos)
      << troubles();
  jobs.weighs({fills, 1}, 121 * mib);
  run(31s);
  EXPECT_EQ(record(fills).state, JobState::cancelled);
  EXPECT_NE(record(fills).reason.find("its folder takes 121 MiB, more than the 120 that "
                                      "job_files_mib allows"),
            std::string::npos)
      << record(fills).reason;
  EXPECT_EQ(record(other).state, JobState::running);
  EXPECT_EQ(troubles(), "");
}

TEST_F(DiskOfLoop, FoldersAreWeighedWhenTheDiskLosesRoom) {
  look_at_disk = [this] { return rooms; };
  have_room(90);
  begin_again();
  const JobNumber fills = submit(sized("1g.5gb"), 1h);
  run(10s);
  jobs.weighs({fills, 1}, 26 * mib);
  have_room(60);
  run(2s);
  EXPECT_EQ(record(fills).state, JobState::cancelled) << "more than a quarter of the disk";
}

TEST_F(DiskOfLoop, WithLittleRoomTheOldestOfWhoKeepsMostGo) {
  look_at_disk = [this] { return rooms; };
  have_room(90);
  begin_again();
  std::vector<JobNumber> numbers;
  for (const std::uint32_t uid : {1000U, 2000U, 1000U, 1000U}) {
    numbers.push_back(submit(large(0, 0, uid), 1s));
    jobs.weighs({numbers.back(), 1}, 3 * mib);
    run(5s);
  }
  EXPECT_EQ(kept(), numbers);
  have_room(6);  // four are missing
  run(1100ms);
  EXPECT_EQ(kept(), (std::vector<JobNumber>{numbers[1], numbers[3]}));
  EXPECT_NE(troubles().find("6 of 100 MiB free: ended jobs are forgotten"), std::string::npos);
  (void)submit(large(0, 0), 1h);
  have_room(4);
  run(7s);
  EXPECT_EQ(kept().size(), 1U) << "the one that waits or runs";
  const auto refused = control->submit(large(0, 0), moment());
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("4 of 100 MiB"), std::string::npos);
  EXPECT_NE(troubles().find("no jobs are accepted"), std::string::npos);
  have_room(50);
  run(2s);
  EXPECT_EQ(troubles(), "");
  EXPECT_TRUE(control->submit(large(0, 0), moment()));
}

TEST_F(DiskOfLoop, HowAJobEndedIsSeenBeforeItIsForgotten) {
  look_at_disk = [this] { return rooms; };
  have_room(90);
  begin_again();
  const JobNumber ends = submit(large(0, 0), 1s);
  run(3s);
  EXPECT_EQ(record(ends).state, JobState::finished);
  have_room(3);
  run(1100ms);
  EXPECT_EQ(kept(), std::vector<JobNumber>{ends});
  run(6s);
  EXPECT_TRUE(kept().empty());
}

TEST_F(DiskOfLoop, CancellingIsWrittenWhereASubmissionDoesNotFit) {
  const JobNumber runs = submit(sized("1g.5gb"), 1h);
  run(1s);
  (void)control->answered();
  disk.fail_writes(1);
  const auto submitted = control->submit(large(0, 100'000), moment());
  ASSERT_TRUE(submitted);
  const std::uint64_t one = control->last_request();
  control->cancel(runs, "its user", moment());
  const std::uint64_t two = control->last_request();
  control->step(moment());
  const auto answers = control->answered();
  ASSERT_EQ(answers.size(), 2U);
  EXPECT_EQ(answers[0].number, one);
  EXPECT_FALSE(answers[0].done);
  EXPECT_EQ(answers[1].number, two);
  EXPECT_TRUE(answers[1].done);
  EXPECT_TRUE(record(runs).cancelled) << "it is in the store";
  EXPECT_EQ(control->job(*submitted), nullptr);
}

TEST_F(DiskOfLoop, PurgeForgetsEndedJobsAndSaysWhatTheyKept) {
  const JobNumber ended = submit(large(0, 0), 1s), runs = submit(large(0, 0), 1h);
  jobs.weighs({ended, 1}, 5 * mib);
  run(5s);
  const std::vector<JobNumber> both = {ended, runs};
  const auto would = control->purge(both, true, moment());
  ASSERT_TRUE(would);
  EXPECT_EQ(would->jobs, std::vector<JobNumber>{ended});
  EXPECT_GE(would->bytes, 5 * mib);
  EXPECT_LT(would->bytes, 6 * mib);
  EXPECT_EQ(kept(), both);
  const auto purged = control->purge(both, false, moment());
  ASSERT_TRUE(purged);
  EXPECT_EQ(purged->jobs, would->jobs);
  EXPECT_EQ(purged->bytes, would->bytes);
  EXPECT_EQ(kept(), std::vector<JobNumber>{runs});
  EXPECT_EQ(jobs.folders(ended), 0U);
  EXPECT_EQ(control->purge(both, false, moment())->jobs.size(), 0U);
  disk.fail_writes(1);
  control->cancel(runs, "its user", moment());
  run(5s);
}

}  // namespace
}  // namespace cleave::trial
