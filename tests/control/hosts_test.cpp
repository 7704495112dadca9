// CPUs and memory of the host in the daemon's loop: what waits for them, what an attempt is given,
// and what is counted after a restart.

#include "loop_stand.hpp"

namespace cleave::trial {
namespace {

class LimitedHost : public Loop {
 protected:
  LimitedHost() {
    settings.host_cpus = 7;
    settings.host_memory = MiB{8000};
    begin();
  }
  static NewJob asking(std::optional<double> cpus, std::optional<MiB> memory = {}) {
    NewJob made = sized("1g.5gb");
    made.spec.cpus = cpus;
    made.spec.host_memory = memory;
    return made;
  }
  GroupLimits limits_of(JobNumber number) { return jobs.launch_of({number, 1}).limits; }
};

TEST_F(LimitedHost, MakesAJobWaitAndSaysForWhat) {
  run(5s);
  const JobNumber first = submit(asking(5), 60s), second = submit(asking(4), 10s),
                  third = submit(asking(1), 10s);
  run(20s);
  EXPECT_EQ(record(first).state, JobState::running);
  EXPECT_EQ(record(second).state, JobState::queued);
  EXPECT_TRUE(control->why_waits(second).contains(
      "the host has too little left: running jobs leave 2 of 7 CPUs, of which it needs 4"))
      << control->why_waits(second);
  EXPECT_NE(record(third).state, JobState::finished) << "none overtakes the head of the queue";
  run(50s);
  EXPECT_EQ(record(first).state, JobState::finished);
  EXPECT_TRUE(is_final(record(second).state) || record(second).state == JobState::running);
  run(60s);
  for (const JobNumber number : {first, second, third})
    EXPECT_EQ(record(number).state, JobState::finished) << record(number).reason;
}

TEST_F(LimitedHost, GivesEachAttemptWhatItAskedForOrItsShare) {
  run(5s);
  const JobNumber asks = submit(asking(2.5, MiB{3000})), silent = submit(asking({}));
  run(5s);
  EXPECT_EQ(limits_of(asks).millicpus, 2500);
  EXPECT_EQ(limits_of(asks).memory, MiB{3000});
  EXPECT_EQ(limits_of(silent).millicpus, 1000);
  EXPECT_EQ(limits_of(silent).memory, MiB{1000});
}

TEST_F(LimitedHost, GivesNoMoreThanTheOperatorLetsAnyJobHave) {
  settings.job_memory = MiB{500};
  begin();
  run(5s);
  const JobNumber number = submit(asking({}, MiB{3000}));
  run(5s);
  EXPECT_EQ(limits_of(number).memory, MiB{500});
}

TEST_F(LimitedHost, RefusesWhatItNeverHas) {
  run(5s);
  const auto cpus = control->submit(asking(7.5), moment());
  ASSERT_FALSE(cpus);
  EXPECT_EQ(cpus.error().place, "cpus");
  EXPECT_TRUE(cpus.error().message.contains("7 CPUs")) << cpus.error().message;
  const auto memory = control->submit(asking(1, MiB{8001}), moment());
  ASSERT_FALSE(memory);
  EXPECT_EQ(memory.error().place, "host_memory_mib");
  EXPECT_TRUE(control->submit(asking(7, MiB{8000}), moment()));
}

TEST_F(LimitedHost, CountsWhatRanBeforeTheDaemonDid) {
  run(5s);
  const JobNumber first = submit(asking(6), 60s);
  run(5s);
  begin();
  run(5s);
  ASSERT_EQ(record(first).state, JobState::running);
  const JobNumber second = submit(asking(2), 5s);
  run(20s);
  EXPECT_EQ(record(second).state, JobState::queued);
  run(60s);
  EXPECT_EQ(record(second).state, JobState::finished);
}

/// A process that is being stopped still has its part.
TEST_F(LimitedHost, StartsNothingBeforeAProcessHasLeft) {
  run(5s);
  const JobNumber first = submit(asking(6), 600s);
  FakeCourse slow;
  slow.runs = 600s;
  slow.stops = 30s;
  jobs.plan({first, 1}, slow);
  run(5s);
  const JobNumber second = submit(asking(6), 5s);
  control->cancel(first, "an operator", moment());
  run(10s);
  EXPECT_EQ(record(second).state, JobState::starting) << "it has its place";
  EXPECT_EQ(jobs.begun(second), 0);
  run(60s);
  EXPECT_EQ(record(second).state, JobState::finished);
}

TEST_F(Loop, LimitsNoHostOfWhichNothingIsSaid) {
  run(5s);
  NewJob made = sized("1g.5gb");
  made.spec.cpus = 1000;
  const JobNumber number = submit(made);
  run(5s);
  EXPECT_EQ(record(number).state, JobState::running);
  EXPECT_EQ(jobs.launch_of({number, 1}).limits.millicpus, 0);
  EXPECT_EQ(jobs.launch_of({number, 1}).limits.memory, MiB{0});
}

}  // namespace
}  // namespace cleave::trial
