// Times that no scheduler can beat: the machine of the easier problem against all ways of using it,
// slot by slot, and the bounds against the best of all schedules of a few jobs. That no scheduler
// beats them is held by tests/laws.

#include "simulate/lower_bounds.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>

#include "base/format.hpp"
#include "base/random.hpp"
#include "model/geometry.hpp"
#include "model/workload_file.hpp"
#include "simulate/simulator.hpp"

namespace cleave {
namespace {

/// Whole slots of one second; at each one job that is there, or none, gets the machine.
class EveryWay {
 public:
  /// `cost` of giving the slot that begins at `slot` to the job, of which so much is left.
  using Cost = std::function<double(const FluidJob& job, double slot, int left)>;

  EveryWay(std::vector<FluidJob> jobs, Cost cost)
      : jobs_(std::move(jobs)), cost_(std::move(cost)) {}

  double least() {
    std::vector<int> left;
    for (const FluidJob& job : jobs_) left.push_back(static_cast<int>(job.work));
    return from(0, left);
  }

 private:
  double from(int slot, std::vector<int>& left) {
    if (std::ranges::all_of(left, [](int each) { return each == 0; })) return 0;
    const auto known = known_.find({slot, left});
    if (known != known_.end()) return known->second;
    const std::vector<int> key = left;
    bool any = false;
    double best = 1e18;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (left[i] == 0 || jobs_[i].arrival > slot) continue;
      any = true;
      const double here = cost_(jobs_[i], slot, left[i]);
      --left[i];
      best = std::min(best, here + from(slot + 1, left));
      ++left[i];
    }
    if (!any) best = from(slot + 1, left);
    return known_[{slot, key}] = best;
  }

  std::vector<FluidJob> jobs_;
  Cost cost_;
  std::map<std::pair<int, std::vector<int>>, double> known_;
};

std::vector<FluidJob> few_jobs(Random& random) {
  std::vector<FluidJob> jobs(1 + random.below(5));
  double arrival = 0;
  for (FluidJob& job : jobs) {
    job = {arrival, static_cast<double>(1 + random.below(5)), 0};
    arrival += static_cast<double>(random.below(4));
  }
  return jobs;
}

TEST(LowerBounds, TheMachineHasTheLeastFlowOfAllWays) {
  Random random(1);
  for (int round = 0; round < 300; ++round) {
    const std::vector<FluidJob> jobs = few_jobs(random);
    EveryWay ways(jobs, [](const FluidJob& job, double slot, int left) {
      return left == 1 ? slot + 1 - job.arrival : 0;
    });
    EXPECT_NEAR(least_flow(jobs), ways.least(), 1e-9);
  }
}

TEST(LowerBounds, AndTheLeastMeanTimesOfWork) {
  Random random(2);
  for (int round = 0; round < 300; ++round) {
    const std::vector<FluidJob> jobs = few_jobs(random);
    EveryWay ways(jobs, [](const FluidJob& job, double slot, int) {
      return (slot + 0.5 - job.arrival) / job.work;
    });
    EXPECT_NEAR(least_mean_busy_flow(jobs), ways.least(), 1e-9);
  }
}

FleetFile one_gpu() {
  return *parse_fleet_in_short("1xA30-24GB", ProfileChoice::plain());
}

Workload jobs_of(const std::string& text) {
  return *parse_workload(text, "jobs");
}

LowerBounds bounds_of(const FleetFile& fleet, const Workload& workload) {
  return lower_bounds(fleet, workload, {}, std::vector<bool>(workload.jobs.size(), true));
}

// An A30 has four slices of each kind. All of the work of a job on 1g takes a quarter of the GPU
// for 200 s, which is half of what it takes whole.
TEST(LowerBounds, ByHand) {
  std::string text;
  for (int i = 0; i < 8; ++i)
    text += fmt::format(R"({{"id":"j{}","duration_s":100,"memory_mib":1000,)"
                        R"("speed":{{"1g.6gb":0.5,"2g.12gb":0.8,"4g.24gb":1}}}})"
                        "\n",
                        i);
  const LowerBounds bounds = bounds_of(one_gpu(), jobs_of(text));
  EXPECT_DOUBLE_EQ(bounds.apart.makespan_s, 400) << "8 x 200 s x 1 slice on 4";
  // One after the other in 50 s each, the mean of ends is 225; by half-done work it is
  // 200 + 100 / 2.
  EXPECT_DOUBLE_EQ(bounds.apart.turnaround_mean_s, 250);
  EXPECT_DOUBLE_EQ(bounds.shared.makespan_s, 100);
  EXPECT_DOUBLE_EQ(bounds.shared.turnaround_mean_s, 100);
}

TEST(LowerBounds, CountFromEachArrivalOnAndOfTheJobsThatAreAsked) {
  const Workload workload = jobs_of(
      R"({"id":"a","duration_s":10,"speed":{"4g.24gb":1}}
{"id":"b","arrival_s":1000,"duration_s":30,"speed":{"4g.24gb":1}}
{"id":"c","arrival_s":1010,"duration_s":40,"speed":{"4g.24gb":1}})");
  EXPECT_DOUBLE_EQ(bounds_of(one_gpu(), workload).apart.makespan_s, 1070);
  const LowerBounds without = lower_bounds(one_gpu(), workload, {}, {true, true, false});
  EXPECT_DOUBLE_EQ(without.apart.makespan_s, 1030);
  EXPECT_DOUBLE_EQ(without.apart.turnaround_mean_s, 20);
  EXPECT_EQ(lower_bounds(one_gpu(), workload, {}, {false, false, false}).apart, TimeBounds());
}

/// Every order of the jobs and every profile for each, each begun as early as it can be beside
/// those before it, with nothing that costs time.
class BestSchedule {
 public:
  BestSchedule(const FleetFile& fleet, std::vector<double> arrivals, std::vector<SpeedTable> speeds,
               std::vector<double> durations)
      : geometry_(fleet.geometries.front()),
        arrivals_(std::move(arrivals)),
        speeds_(std::move(speeds)),
        durations_(std::move(durations)) {}

  void run() {
    std::vector<std::size_t> order(arrivals_.size());
    std::iota(order.begin(), order.end(), 0U);
    do {
      place(order, 0);
    } while (std::ranges::next_permutation(order).found);
  }
  double makespan = 1e18, turnaround_mean = 1e18;

 private:
  struct Held {
    PlacementId placement;
    double from, until;
    std::size_t job;
  };

  void place(const std::vector<std::size_t>& order, std::size_t next) {
    if (next == order.size()) return count();
    const std::size_t job = order[next];
    for (const PlacementId at : geometry_.all()) {
      const auto speed = speeds_[job].find(geometry_[at].profile->name);
      if (speed == speeds_[job].end()) continue;
      const double takes = durations_[job] / speed->second;
      const double from = earliest(at, arrivals_[job], takes);
      held_.push_back({at, from, from + takes, job});
      place(order, next + 1);
      held_.pop_back();
    }
  }

  double earliest(PlacementId at, double arrival, double takes) const {
    std::vector<double> times{arrival};
    for (const Held& held : held_)
      if (held.until > arrival) times.push_back(held.until);
    std::ranges::sort(times);
    for (const double from : times)
      if (std::ranges::none_of(held_, [&](const Held& held) {
            return held.from < from + takes && from < held.until && !beside(held.placement, at);
          }))
        return from;
    return times.back();
  }
  bool beside(PlacementId a, PlacementId b) const {
    return geometry_.free(PlacementSet::of(a)).contains(b);
  }

  void count() {
    double end = 0, sum = 0;
    for (const Held& held : held_) {
      end = std::max(end, held.until);
      sum += held.until - arrivals_[held.job];
    }
    makespan = std::min(makespan, end - arrivals_.front());
    turnaround_mean = std::min(turnaround_mean, sum / static_cast<double>(held_.size()));
  }

  const Geometry& geometry_;
  std::vector<double> arrivals_;
  std::vector<SpeedTable> speeds_;
  std::vector<double> durations_;
  std::vector<Held> held_;
};

TEST(LowerBounds, AreNotAboveTheBestOfAllSchedulesAndNear) {
  Random random(3);
  const FleetFile fleet = one_gpu();
  double of_makespans = 0, of_turnarounds = 0;
  constexpr int rounds = 60;
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> arrivals, durations;
    std::vector<SpeedTable> speeds;
    std::string text;
    double arrival = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const double small = 0.15 + 0.8 * random.uniform(), middle = small + (1 - small) / 2;
      arrivals.push_back(arrival);
      durations.push_back(static_cast<double>(10 + random.below(90)));
      speeds.push_back({{"1g.6gb", small}, {"2g.12gb", middle}, {"4g.24gb", 1}});
      text += fmt::format(R"({{"id":"j{}","arrival_s":{},"duration_s":{},)"
                          R"("speed":{{"1g.6gb":{},"2g.12gb":{},"4g.24gb":1}}}})"
                          "\n",
                          i, arrival, durations.back(), small, middle);
      arrival += static_cast<double>(random.below(60));
    }
    const TimeBounds bounds = bounds_of(fleet, jobs_of(text)).apart;
    BestSchedule best(fleet, arrivals, speeds, durations);
    best.run();
    EXPECT_LE(bounds.makespan_s, best.makespan + 1e-6) << text;
    EXPECT_LE(bounds.turnaround_mean_s, best.turnaround_mean + 1e-6) << text;
    of_makespans += bounds.makespan_s / best.makespan / rounds;
    of_turnarounds += bounds.turnaround_mean_s / best.turnaround_mean / rounds;
  }
  EXPECT_GT(of_makespans, 0.8);
  EXPECT_GT(of_turnarounds, 0.7);
}

}  // namespace
}  // namespace cleave
