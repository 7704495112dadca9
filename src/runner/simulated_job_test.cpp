// A simulated job over doors in memory: what it holds, how long it works, how it ends.

#include "runner/simulated_job.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "base/random.hpp"

namespace cleave {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

/// Doors with a counter for time, memory up to a capacity, and requests at given times.
class PaperDoors : public JobDoors {
 public:
  struct TimedRequest {
    Duration at;
    SimulatedJobRequest what;
  };

  MiB capacity{1 << 20};
  std::vector<TimedRequest> requests;  // by time
  std::optional<std::size_t> lost_at;  // the GPU is lost at this call of hold()

  Duration now{};
  std::vector<MiB> holds;
  std::vector<MemoryReport> reports;
  std::vector<std::int64_t> kept;

  Result<bool> hold(MiB memory) override {
    if (lost_at == holds.size()) return fail(ErrorKind::infeasible, "gpu 0", "the GPU is lost");
    if (memory > capacity) return false;
    holds.push_back(memory);
    return true;
  }
  Worked work(Duration time) override {
    EXPECT_GE(time, Duration::zero());
    if (requests.empty() || requests.front().at > now + time) {
      now += time;
      return {};
    }
    const TimedRequest request = requests.front();
    requests.erase(requests.begin());
    const Duration left = now + time - std::max(now, request.at);
    now = std::max(now, request.at);
    return {request.what, left};
  }
  void report(const MemoryReport& report) override { reports.push_back(report); }
  Result<void> keep(std::int64_t done) override {
    kept.push_back(done);
    return {};
  }
};

SimulatedJobPlan plan(std::int64_t iterations, Duration work, MiB base = MiB{100},
                      MiB each = MiB{10}) {
  return {{base, each, {}, iterations}, work, 1, 1};
}

TEST(SimulatedJob, HoldsReportsAndTakesItsTimeBySpeed) {
  PaperDoors doors;
  const auto outcome = run_simulated_job(plan(4, seconds(8)), 0.5, 0, doors);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->end, SimulatedJobOutcome::End::finished);
  EXPECT_EQ(doors.now, seconds(16));
  EXPECT_EQ(doors.holds, (std::vector<MiB>{{110}, {120}, {130}, {140}}));
  ASSERT_EQ(doors.reports.size(), 4U);
  EXPECT_EQ(doors.reports[2].iteration, 3);
  EXPECT_EQ(doors.reports[2].iterations, 4);
  EXPECT_EQ(doors.reports[2].allocated, MiB{130});
}

TEST(SimulatedJob, HoldsItsContextBesidesAndReportsTheRequests) {
  PaperDoors doors;
  SimulatedJobPlan reusing = plan(2, seconds(2));
  reusing.memory.reuse_ratio = 4;
  reusing.memory.context = MiB{600};
  ASSERT_TRUE(run_simulated_job(reusing, 1, 0, doors));
  EXPECT_EQ(doors.holds, (std::vector<MiB>{{710}, {720}}));
  ASSERT_EQ(doors.reports.size(), 2U);
  EXPECT_EQ(doors.reports[1], (MemoryReport{2, 2, MiB{480}, MiB{120}, MiB{600}, MiB{0}}));
}

TEST(SimulatedJob, RunsOutOfMemoryAtTheFirstIterationThatNeedsTooMuch) {
  PaperDoors doors;
  doors.capacity = MiB{125};
  const auto outcome = run_simulated_job(plan(4, seconds(4)), 1, 0, doors);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->end, SimulatedJobOutcome::End::out_of_memory);
  EXPECT_EQ(outcome->done, 2);
  EXPECT_EQ(outcome->held, MiB{120});
  EXPECT_EQ(outcome->wanted, MiB{130});
  EXPECT_EQ(doors.now, seconds(2));
}

TEST(SimulatedJob, StopsWhenTold) {
  PaperDoors doors;
  doors.requests = {{milliseconds(2500), SimulatedJobRequest::stop}};
  const auto outcome = run_simulated_job(plan(4, seconds(4)), 1, 0, doors);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->end, SimulatedJobOutcome::End::stopped);
  EXPECT_EQ(outcome->done, 2);
  EXPECT_EQ(doors.kept, std::vector<std::int64_t>{2});
  EXPECT_EQ(doors.now, milliseconds(2500));
  EXPECT_EQ(doors.reports.size(), 2U);
}

TEST(SimulatedJob, ACheckpointTakesNoTimeAndCountsWholeIterations) {
  PaperDoors doors;
  doors.requests = {{milliseconds(500), SimulatedJobRequest::checkpoint},
                    {milliseconds(2100), SimulatedJobRequest::checkpoint}};
  const auto outcome = run_simulated_job(plan(4, seconds(4)), 1, 0, doors);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->end, SimulatedJobOutcome::End::finished);
  EXPECT_EQ(doors.kept, (std::vector<std::int64_t>{0, 2}));
  EXPECT_EQ(doors.now, seconds(4));
}

TEST(SimulatedJob, GoesOnWhereItStopped) {
  PaperDoors whole, second;
  SimulatedJobPlan noisy = plan(20, seconds(20));
  noisy.memory.noise = MiB{30};
  ASSERT_TRUE(run_simulated_job(noisy, 1, 0, whole));
  ASSERT_TRUE(run_simulated_job(noisy, 1, 12, second));
  EXPECT_EQ(second.now, seconds(8));
  EXPECT_TRUE(std::ranges::equal(second.holds, std::span(whole.holds).subspan(12)));
  PaperDoors nothing;
  const auto outcome = run_simulated_job(noisy, 1, 20, nothing);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->end, SimulatedJobOutcome::End::finished);
  EXPECT_TRUE(nothing.holds.empty());
}

TEST(SimulatedJob, EndsWithTheGpu) {
  PaperDoors doors;
  doors.lost_at = 2;
  const auto outcome = run_simulated_job(plan(4, seconds(4)), 1, 0, doors);
  ASSERT_FALSE(outcome);
  EXPECT_EQ(outcome.error().message, "the GPU is lost");
}

TEST(SimulatedJob, NoiseIsOfTheSeedAndBounded) {
  SimulatedJobPlan noisy = plan(1000, seconds(1), MiB{10000}, MiB{0});
  noisy.memory.noise = MiB{100};
  SimulatedJobPlan other = noisy;
  other.seed = 2;
  double sum = 0, squares = 0;
  int same = 0;
  for (std::int64_t i = 1; i <= 1000; ++i) {
    const MiB memory = memory_during(noisy, i);
    EXPECT_EQ(memory, memory_during(noisy, i));
    same += memory == memory_during(other, i);
    const auto off = static_cast<double>(memory.value - 10000);
    EXPECT_LE(std::abs(off), 400);
    sum += off;
    squares += off * off;
  }
  EXPECT_LT(same, 50);
  EXPECT_NEAR(sum / 1000, 0, 15);
  EXPECT_NEAR(std::sqrt(squares / 1000), 100, 10);
  noisy.memory.base = MiB{0};
  for (std::int64_t i = 1; i <= 100; ++i) EXPECT_GE(memory_during(noisy, i).value, 0);
}

// Whatever is requested and whenever, no time is lost or gained, and what was kept is what was
// done.
TEST(SimulatedJob, RequestsChangeNeitherTimeNorOrder) {
  Random random(7);
  for (int round = 0; round < 500; ++round) {
    PaperDoors doors;
    const auto iterations = static_cast<std::int64_t>(1 + random.below(20));
    const SimulatedJobPlan some = plan(iterations, seconds(iterations));
    std::vector<std::int64_t> times;
    for (std::uint64_t i = random.below(10); i > 0; --i)
      times.push_back(
          static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(iterations) * 1000)));
    std::ranges::sort(times);
    for (const std::int64_t time : times)
      doors.requests.push_back({milliseconds(time), SimulatedJobRequest::checkpoint});
    const auto outcome = run_simulated_job(some, 1, 0, doors);
    ASSERT_TRUE(outcome);
    EXPECT_EQ(doors.now, seconds(iterations));
    ASSERT_EQ(doors.kept.size(), times.size());
    for (std::size_t i = 0; i < times.size(); ++i)
      EXPECT_LE(std::abs(times[i] - doors.kept[i] * 1000), 1000) << "kept within the iteration";
    EXPECT_EQ(doors.reports.size(), static_cast<std::size_t>(iterations));
  }
}

}  // namespace
}  // namespace cleave
