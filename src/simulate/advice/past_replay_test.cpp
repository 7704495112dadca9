// Which jobs of a past are replayed, and how far a replay is from what was seen; by hand.

#include "simulate/advice/past_replay.hpp"

#include <gtest/gtest.h>

namespace cleave {
namespace {

using std::chrono::seconds;

PastJob past_job(std::int64_t number, int submitted, int started, int ended) {
  PastJob job;
  job.number = number;
  job.asks = "1g.5gb";
  job.ran_on = "1g.5gb";
  job.submitted = Instant{} + std::chrono::days(20'000) + seconds(submitted);
  job.started = Instant{} + std::chrono::days(20'000) + seconds(started);
  job.ended = Instant{} + std::chrono::days(20'000) + seconds(ended);
  job.state = "finished";
  return job;
}

PastWorkload past_of(const std::vector<PastJob>& jobs) {
  const auto past = past_workload(jobs, *parse_fleet_in_short("1xA100-40GB", {}));
  EXPECT_TRUE(past) << past.error().text();
  return *past;
}

TEST(PastReplay, FiguresAreThoseSeen) {
  const PastWorkload past = past_of({past_job(1, 0, 10, 110), past_job(2, 100, 130, 150)});
  const SeenFigures seen = seen_figures(past);
  EXPECT_EQ(seen.makespan, seconds(150));
  EXPECT_EQ(seen.wait.mean, seconds(20));
  EXPECT_EQ(seen.turnaround.mean, seconds(80));
}

TEST(PastReplay, ErrorsAreOfTheJobsThatFinish) {
  const PastWorkload past =
      past_of({past_job(1, 0, 10, 100), past_job(2, 0, 0, 200), past_job(3, 0, 5, 50)});
  std::vector<JobOutcome> outcomes(3);
  outcomes[0] = {JobOutcome::End::finished, seconds(20), seconds(110), seconds(90)};
  outcomes[1] = {JobOutcome::End::finished, seconds(0), seconds(160), seconds(160)};
  outcomes[2].end = JobOutcome::End::rejected;
  const ReplayErrors errors = replay_errors(past, seconds(160), outcomes);
  EXPECT_EQ(errors.jobs, 2U);
  EXPECT_FALSE(errors.makespan) << "not all jobs finished";
  EXPECT_DOUBLE_EQ(*errors.wait, 1);
  EXPECT_DOUBLE_EQ(*errors.turnaround, -0.1);
  EXPECT_NEAR(*errors.job_median, 0.15, 1e-12);
  outcomes[2] = {JobOutcome::End::finished, seconds(5), seconds(50), seconds(45)};
  EXPECT_DOUBLE_EQ(*replay_errors(past, seconds(160), outcomes).makespan, -0.2);
}

TEST(PastReplay, SinceIsAMomentOrATimeBeforeTheLast) {
  const std::vector<PastJob> jobs = {past_job(1, 0, 1, 2), past_job(2, 3600, 3601, 7200)};
  const auto count = [&](const char* text) {
    const auto some = since(jobs, text);
    return some ? some->size() : 0;
  };
  EXPECT_EQ(count("2h"), 2U);
  EXPECT_EQ(count("90m"), 1U);
  EXPECT_EQ(count("2024-10-04T00:00:00Z"), 2U);
  EXPECT_EQ(count("2024-10-04T00:30:00Z"), 1U);
  EXPECT_EQ(since(jobs, "2025-01-01T00:00:00").error().message,
            "no job of the history was submitted since then");
  EXPECT_EQ(since(jobs, "last week").error().place, "--since");
}

}  // namespace
}  // namespace cleave
