// What counts against a job's time limit.

#include "control/verdicts/used_time.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

using namespace std::chrono_literals;

constexpr Instant begin = Instant{} + 1000h;

AttemptRecord attempt(AttemptEnd end, std::optional<Duration> lasted = {}) {
  AttemptRecord record;
  record.key = {1, 1};
  record.began = begin;
  record.ended = begin + 10s;
  record.end = end;
  record.lasted = lasted;
  return record;
}

TEST(UsedTime, IsWhatTheJobDidWithItUnlessItsWorkWasLost) {
  JobSpec plain, keeps, serves;
  keeps.progress = Keeps::checkpoint;
  serves.progress = Keeps::stateless;
  for (const AttemptEnd end :
       {AttemptEnd::ended_itself, AttemptEnd::out_of_memory, AttemptEnd::moved,
        AttemptEnd::cancelled, AttemptEnd::idle, AttemptEnd::time_limit})
    for (const JobSpec& spec : {plain, keeps, serves}) EXPECT_TRUE(counts_as_used(spec, end));
  for (const AttemptEnd end :
       {AttemptEnd::early_restart, AttemptEnd::made_room, AttemptEnd::lost, AttemptEnd::gang}) {
    EXPECT_FALSE(counts_as_used(plain, end)) << name(end);
    EXPECT_TRUE(counts_as_used(keeps, end)) << name(end);
    EXPECT_TRUE(counts_as_used(serves, end)) << name(end);
  }
  EXPECT_FALSE(counts_as_used(keeps, AttemptEnd::not_started));
}

TEST(UsedTime, IsAsLongAsTheProcessLasted) {
  const JobSpec spec;
  EXPECT_EQ(used_by(spec, attempt(AttemptEnd::ended_itself, 7s)), 7s);
  EXPECT_EQ(used_by(spec, attempt(AttemptEnd::ended_itself)), 10s) << "by the wall clock";
  EXPECT_EQ(used_by(spec, attempt(AttemptEnd::lost, 7s)), Duration{});
  AttemptRecord record = attempt(AttemptEnd::ended_itself);
  record.ended = begin - 1h;
  EXPECT_EQ(used_by(spec, record), Duration{}) << "the clock was set back";
  record.began.reset();
  EXPECT_EQ(used_by(spec, record), Duration{});
}

TEST(UsedTime, LeavesTheRest) {
  JobRecord job;
  EXPECT_EQ(time_left(job, 1h), std::nullopt) << "no limit";
  job.spec.time_limit = 60s;
  job.used = 20s;
  EXPECT_EQ(time_left(job, {}), 40s);
  EXPECT_EQ(time_left(job, 30s), 10s);
  EXPECT_EQ(time_left(job, 50s), Duration{});
  EXPECT_EQ(time_left(job, -5s), 40s) << "a clock that was set gives nothing";
  job.spec.service.emplace();
  EXPECT_EQ(time_left(job, {}), std::nullopt);
}

TEST(UsedTime, EndsAJobThatWouldRunAgainWithout) {
  using Kind = JobVerdict::Kind;
  JobRecord job;
  job.spec.time_limit = 60s;
  job.used = 59s;
  const JobVerdict retry{.kind = Kind::retry, .reason = "it exited with 3", .exit_code = 3};
  EXPECT_EQ(within_time_limit(job, retry), retry) << "a second is left";
  job.used = 60s;
  for (const Kind kind :
       {Kind::retry, Kind::wait_again, Kind::larger_instance, Kind::carry_on, Kind::start_later}) {
    JobVerdict verdict = retry;
    verdict.kind = kind;
    const JobVerdict ends = within_time_limit(job, verdict);
    EXPECT_EQ(ends.kind, Kind::finish);
    EXPECT_EQ(ends.state, JobState::failed);
    EXPECT_EQ(ends.exit_code, 3);
    EXPECT_EQ(ends.reason, "it has run for 1 min 00 s, its time limit; it exited with 3");
  }
  const JobVerdict finished{.kind = Kind::finish, .state = JobState::finished};
  EXPECT_EQ(within_time_limit(job, finished), finished);
  const JobVerdict nothing;
  EXPECT_EQ(within_time_limit(job, nothing), nothing);
}

}  // namespace
}  // namespace cleave
