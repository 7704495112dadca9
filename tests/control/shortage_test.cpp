// The host is short of something while jobs are to be started: none of them has failed for it.

#include <algorithm>
#include <cerrno>

#include "loop_stand.hpp"

namespace cleave::trial {
namespace {

class ShortHost : public Loop {
 protected:
  /// Jobs of a whole GPU's seventh that end well, however many times they are started.
  std::vector<JobNumber> submit_many(int count) {
    std::vector<JobNumber> numbers;
    for (int i = 0; i < count; ++i) {
      numbers.push_back(submit(sized("1g.5gb"), 1s));
      FakeCourse course;
      course.runs = 1s;
      for (std::int64_t attempt = 9; attempt < 100; ++attempt)
        jobs.plan({numbers.back(), attempt}, course);
    }
    return numbers;
  }
  std::size_t starts(const std::vector<JobNumber>& numbers) {
    std::size_t all = 0;
    for (const JobNumber number : numbers) all += attempts(number).size();
    return all;
  }
  bool all_are(const std::vector<JobNumber>& numbers, JobState state) {
    return std::ranges::all_of(numbers,
                               [&](JobNumber number) { return record(number).state == state; });
  }
};

TEST_F(ShortHost, FailsNoJobTriesLessAndLessAndGoesOnByItself) {
  for (const int code : {EAGAIN, ENOMEM, ENOSPC, EMFILE, ENFILE, EDQUOT, ETIMEDOUT}) {
    run(5s);
    jobs.run_short_of(code);
    const auto numbers = submit_many(20);
    run(10min);
    for (const JobNumber number : numbers) {
      EXPECT_FALSE(is_final(record(number).state)) << code << ": " << record(number).reason;
      EXPECT_EQ(record(number).failures, 0);
    }
    // 1, 2, 4 .. 256 s are nine times, of at most seven jobs each that have a place.
    EXPECT_LE(starts(numbers), 70U) << code;
    const auto troubles = control->troubles();
    ASSERT_EQ(troubles.size(), 1U) << code;
    EXPECT_TRUE(troubles[0].contains(shortage_of(code)->what)) << troubles[0];
    EXPECT_TRUE(troubles[0].contains(shortage_of(code)->remedy)) << troubles[0];
    jobs.run_short_of(0);
    run(11min);
    EXPECT_TRUE(all_are(numbers, JobState::finished)) << code;
    EXPECT_TRUE(control->troubles().empty()) << control->troubles()[0];
  }
}

TEST_F(ShortHost, StopsNothingThatRuns) {
  const JobNumber number = submit(sized("1g.5gb"), 60s);
  run(10s);
  jobs.run_short_of(EMFILE);
  const auto others = submit_many(8);
  run(60s);
  EXPECT_EQ(record(number).state, JobState::finished);
  EXPECT_EQ(attempts(number).size(), 1U);
  EXPECT_TRUE(
      std::ranges::none_of(others, [&](JobNumber each) { return is_final(record(each).state); }));
}

TEST_F(ShortHost, InOneJobsProcessHoldsUpNoOther) {
  const JobNumber number = submit(sized("1g.5gb"), 1s);
  FakeCourse refused;
  refused.runs = {};
  refused.outcome.end = ProcessOutcome::End::not_started;
  refused.outcome.code = EAGAIN;
  refused.outcome.reason = "job: no process can be begun: Resource temporarily unavailable";
  for (std::int64_t attempt = 1; attempt <= 5; ++attempt) jobs.plan({number, attempt}, refused);
  run(3s);
  const auto others = submit_many(10);
  run(15s);
  EXPECT_TRUE(all_are(others, JobState::finished));
  EXPECT_FALSE(is_final(record(number).state));
  EXPECT_EQ(control->troubles().size(), 1U);
  run(60s);
  EXPECT_EQ(record(number).state, JobState::finished);
  EXPECT_EQ(attempts(number).size(), 6U);
  EXPECT_EQ(record(number).failures, 0);
  EXPECT_TRUE(control->troubles().empty());
}

TEST_F(ShortHost, IsNoTroubleWhenTheJobsThatWaitForItAreCancelled) {
  jobs.run_short_of(ENOSPC);
  const auto numbers = submit_many(1);
  run(10s);
  EXPECT_EQ(control->troubles().size(), 1U);
  control->cancel(numbers[0], "ann", moment());
  run(1s);
  EXPECT_EQ(record(numbers[0]).state, JobState::cancelled);
  EXPECT_TRUE(control->troubles().empty());
}

TEST_F(ShortHost, IsNotWhatAMissingProgramIs) {
  const JobNumber number = submit(sized("1g.5gb"), 1s);
  FakeCourse missing;
  missing.runs = {};
  missing.outcome.end = ProcessOutcome::End::not_started;
  missing.outcome.code = ENOENT;
  jobs.plan({number, 1}, missing);
  run(10s);
  EXPECT_EQ(record(number).state, JobState::failed);
  EXPECT_EQ(attempts(number).size(), 1U);
}

TEST_F(ShortHost, StartsAllOfAServiceAndOfAGangLater) {
  jobs.run_short_of(EAGAIN);
  NewJob gang = sized("1g.5gb");
  gang.spec.request.places = 2;
  const JobNumber together = submit(gang, 1s);
  NewJob kept = sized("1g.5gb");
  kept.spec.service.emplace().replicas = 2;
  const auto service = control->submit(kept, moment());
  ASSERT_TRUE(service) << service.error().text();
  for (std::int64_t attempt = 1; attempt < 20; ++attempt)
    for (std::int64_t rank = 0; rank < 2; ++rank) {
      FakeCourse course;
      course.runs = 24h;
      jobs.plan({*service + rank, attempt}, course);
    }
  run(30s);
  EXPECT_FALSE(is_final(record(together).state));
  EXPECT_EQ(control->service(*service).up, 0);
  EXPECT_EQ(control->service(*service).restarts, 0) << "nothing of it has ended";
  EXPECT_EQ(control->troubles().size(), 1U);
  jobs.run_short_of(0);
  run(2min);
  EXPECT_EQ(record(together).state, JobState::finished);
  EXPECT_EQ(control->service(*service).up, 2);
  EXPECT_TRUE(control->troubles().empty());
}

}  // namespace
}  // namespace cleave::trial
