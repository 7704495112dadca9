#include "simulate/advice/resampled.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "base/format.hpp"
#include "base/random.hpp"

namespace cleave {
namespace {

Workload arriving(const std::vector<Duration>& arrivals) {
  Workload workload;
  const std::uint32_t request = workload.intern(Request{Unknown{}, {}});
  const std::uint32_t speed = workload.intern(SpeedModel{});
  for (const Duration arrival : arrivals) {
    Job job;
    job.id = fmt::format("job-{}", workload.jobs.size());
    job.arrival = Instant{arrival};
    job.duration = std::chrono::seconds{60};
    job.request = request;
    job.speed = speed;
    workload.jobs.push_back(job);
  }
  workload.sort();
  return workload;
}

Workload random_arrivals(std::size_t jobs, Duration within, std::uint64_t seed) {
  Random random(seed);
  std::vector<Duration> arrivals;
  for (std::size_t i = 0; i < jobs; ++i)
    arrivals.emplace_back(random.below(static_cast<std::uint64_t>(within.count())));
  return arriving(arrivals);
}

TEST(Resampled, IsAWorkloadOfTheSameJobs) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Workload recorded = random_arrivals(1 + seed * 3, std::chrono::hours{20}, seed);
    const ResampledWorkload draw = resampled(recorded, seed);
    ASSERT_EQ(draw.source.size(), draw.workload.jobs.size());
    ASSERT_FALSE(draw.workload.jobs.empty());
    std::set<std::string> names;
    for (std::size_t i = 0; i < draw.source.size(); ++i) {
      const Job& job = draw.workload.jobs[i];
      const Job& source = recorded.jobs[draw.source[i]];
      EXPECT_EQ(job.duration, source.duration);
      EXPECT_EQ(job.id.substr(0, job.id.find('~')), source.id);
      EXPECT_TRUE(names.insert(job.id).second) << job.id << " twice";
      if (i > 0) {
        EXPECT_LE(draw.workload.jobs[i - 1].arrival, job.arrival);
      }
    }
  }
}

// A job and the task after it, that arrive together: they are drawn together, and each copy of the
// second waits for the first of its own window.
TEST(Resampled, JobsWaitForThoseOfTheirWindow) {
  std::vector<Duration> arrivals;
  for (int hour = 0; hour < 40; ++hour)
    arrivals.insert(arrivals.end(), 2, std::chrono::hours{hour});
  Workload recorded = arriving(arrivals);
  for (std::size_t job = 1; job < recorded.jobs.size(); job += 2) {
    JobDetails details;
    details.start = {{"ok:" + recorded.jobs[job - 1].id}, "pairs", 3};
    recorded.jobs[job].details = static_cast<std::uint32_t>(recorded.details.size());
    recorded.details.push_back(details);
  }
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Workload draw = resampled(recorded, seed).workload;
    std::map<std::string, const Job*> jobs;
    for (const Job& job : draw.jobs) jobs[job.id] = &job;
    std::set<std::string> awaited, arrays;
    for (const Job& job : draw.jobs) {
      const JobDetails* details = draw.details_of(job);
      if (details == nullptr) continue;
      ASSERT_EQ(details->start.after.size(), 1U) << job.id;
      const std::string other = details->start.after[0].substr(3);
      ASSERT_TRUE(jobs.contains(other)) << other;
      EXPECT_EQ(jobs[other]->arrival, job.arrival);
      EXPECT_TRUE(awaited.insert(other).second) << "each copy for its own";
      arrays.insert(details->start.task_of);
    }
    EXPECT_GT(arrays.size(), 1U) << "windows take turns by themselves";
  }
}

TEST(Resampled, TheSameSeedIsTheSameDraw) {
  const Workload recorded = random_arrivals(100, std::chrono::hours{30}, 1);
  EXPECT_EQ(resampled(recorded, 5).source, resampled(recorded, 5).source);
  EXPECT_NE(resampled(recorded, 5).source, resampled(recorded, 6).source);
}

TEST(Resampled, EveryJobComesAsOftenAsItShouldInTheMean) {
  const Workload recorded = random_arrivals(60, std::chrono::hours{10}, 3);
  std::map<std::uint32_t, double> times;
  constexpr int draws = 4000;
  for (std::uint64_t seed = 0; seed < draws; ++seed)
    for (const std::uint32_t job : resampled(recorded, seed).source) times[job] += 1.0 / draws;
  ASSERT_EQ(times.size(), recorded.jobs.size());
  for (const auto& [job, mean] : times) EXPECT_NEAR(mean, 1, 0.08) << job;
}

TEST(Resampled, AWeekKeepsTheTimeOfDay) {
  std::vector<Duration> arrivals;
  for (int day = 0; day < 9; ++day)
    for (int minute = 0; minute < 30; ++minute)
      arrivals.push_back(std::chrono::days{day} + std::chrono::minutes{minute});
  const Workload recorded = arriving(arrivals);
  EXPECT_EQ(windows_of(recorded).count, 9U);
  const ResampledWorkload draw = resampled(recorded, 2);
  EXPECT_EQ(draw.workload.jobs.size(), recorded.jobs.size());
  for (const Job& job : draw.workload.jobs)
    EXPECT_LT(job.arrival.time_since_epoch() % std::chrono::days{1}, std::chrono::minutes{30});
}

TEST(Resampled, JobsOfOneMomentStayThere) {
  const Workload recorded = arriving(std::vector<Duration>(40, std::chrono::seconds{7}));
  const ResampledWorkload draw = resampled(recorded, 9);
  EXPECT_EQ(draw.workload.jobs.size(), 40U);
  EXPECT_LT(std::set(draw.source.begin(), draw.source.end()).size(), 40U);
  for (const Job& job : draw.workload.jobs)
    EXPECT_EQ(job.arrival, Instant{std::chrono::seconds{7}});
}

TEST(Resampled, ServicesAndLeasesStay) {
  Workload recorded = random_arrivals(50, std::chrono::hours{10}, 4);
  recorded.details.emplace_back().lease.emplace();
  recorded.jobs[10].details = 0;
  recorded.jobs[20].details = 0;
  const std::string one = recorded.jobs[10].id, other = recorded.jobs[20].id;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::map<std::string, Instant> leases;
    const ResampledWorkload draw = resampled(recorded, seed);
    for (const Job& job : draw.workload.jobs)
      if (draw.workload.kind_of(job) == JobKind::lease) leases[job.id] = job.arrival;
    EXPECT_EQ(leases, (std::map<std::string, Instant>{{one, recorded.jobs[10].arrival},
                                                      {other, recorded.jobs[20].arrival}}));
  }
}

}  // namespace
}  // namespace cleave
