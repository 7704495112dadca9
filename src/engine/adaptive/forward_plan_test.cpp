// Plans for the next jobs: nothing is taken twice, nothing is worse than serving the list as it is,
// and of few jobs little is lost against all orders and sizes.

#include "engine/adaptive/forward_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "base/random.hpp"
#include "model/gpu_model.hpp"
#include "model/profile_set.hpp"

namespace cleave {
namespace {

Geometry geometry_of(std::string_view model) {
  const GpuModel& found = **find_gpu_model(model);
  return {found, ProfileChoice::plain().on(found)};
}

/// GPUs where jobs run, and jobs that wait.
class Question {
 public:
  Question(Random& random, const Geometry& geometry, std::size_t gpu_count, std::size_t job_count) {
    for (std::size_t i = 0; i < gpu_count; ++i) {
      ForwardGpu gpu;
      gpu.geometry = &geometry;
      PlacementSet held;
      for (int tries = 0; tries < 4; ++tries) {
        const auto place =
            static_cast<PlacementId>(random.below(static_cast<std::uint64_t>(geometry.size())));
        if (held.contains(place) || geometry[place].conflicts.meets(held)) continue;
        held.insert(place);
        if (random.below(4) == 0) {
          gpu.never.insert(place);
        } else {
          gpu.busy.push_back({place, random.exponential(50)});
        }
      }
      gpus.push_back(gpu);
    }
    for (std::size_t i = 0; i < job_count; ++i) {
      ForwardJob& job = jobs.emplace_back();
      const double time = 1 + random.exponential(100);
      std::vector<double>& times = job.time_s.emplace_back();
      for (const Profile& profile : geometry.model().profiles)
        times.push_back(random.below(5) == 0
                            ? 0
                            : time * geometry.model().compute.value / profile.compute.value);
      job.allowed.assign(gpu_count, geometry.all());
    }
    setting.behind = static_cast<double>(random.below(5));
    setting.fleet_slices = 7.5 * static_cast<double>(gpu_count);
    setting.start_s = 0.3;
  }

  /// All lists in which each job has one size.
  [[nodiscard]] double least_of_all() const {
    ForwardSetting once = setting;
    once.tries = 0;
    double least = std::numeric_limits<double>::infinity();
    std::vector<std::size_t> order(jobs.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    do {
      std::vector<ForwardJob> list;
      for (const std::size_t job : order) list.push_back(jobs[job]);
      with_sizes(list, 0, once, least);
    } while (std::ranges::next_permutation(order).found);
    return least;
  }

  std::vector<ForwardGpu> gpus;
  std::vector<ForwardJob> jobs;
  ForwardSetting setting;

 private:
  void with_sizes(std::vector<ForwardJob>& list, std::size_t from, const ForwardSetting& once,
                  double& least) const {
    if (from == list.size()) {
      least = std::min(least, cost_of(plan_forward(gpus, list, once), gpus, once));
      return;
    }
    const std::vector<double> times = list[from].time_s.front();
    for (std::size_t p = 0; p < times.size(); ++p) {
      if (!(times[p] > 0)) continue;
      list[from].time_s.front().assign(times.size(), 0);
      list[from].time_s.front()[p] = times[p];
      with_sizes(list, from + 1, once, least);
    }
    list[from].time_s.front() = times;
  }
};

void expect_possible(const Question& asked, const ForwardPlan& plan) {
  struct Taken {
    PlacementId place;
    double from_s, until_s;
  };
  for (std::size_t gpu = 0; gpu < asked.gpus.size(); ++gpu) {
    const ForwardGpu& at_first = asked.gpus[gpu];
    std::vector<Taken> taken;
    for (const auto& [place, until] : at_first.busy) taken.push_back({place, 0, until});
    for (const auto& it : plan) {
      if (!it || it->gpu != gpu) continue;
      const Placement& here = (*at_first.geometry)[it->place];
      EXPECT_FALSE(at_first.never.contains(it->place) || here.conflicts.meets(at_first.never));
      for (const Taken& other : taken)
        EXPECT_TRUE((other.place != it->place && !here.conflicts.contains(other.place)) ||
                    it->end_s <= other.from_s || other.until_s <= it->at_s);
      taken.push_back({it->place, it->at_s, it->end_s});
    }
  }
}

TEST(ForwardPlan, TakesNothingTwiceAndIsNeverWorseThanTheList) {
  Random random(5);
  double listed = 0, planned = 0;
  for (const char* model : {"A100-40GB", "A30-24GB", "H100-80GB-SXM5"}) {
    const Geometry geometry = geometry_of(model);
    for (int round = 0; round < 100; ++round) {
      Question asked(random, geometry, 1 + random.below(3), random.below(13));
      const ForwardPlan plan = plan_forward(asked.gpus, asked.jobs, asked.setting);
      ASSERT_EQ(plan.size(), asked.jobs.size());
      expect_possible(asked, plan);
      ForwardSetting once = asked.setting;
      once.tries = 0;
      const ForwardPlan list = plan_forward(asked.gpus, asked.jobs, once);
      expect_possible(asked, list);
      const double cost = cost_of(plan, asked.gpus, asked.setting);
      const double before = cost_of(list, asked.gpus, asked.setting);
      EXPECT_LE(cost, before * (1 + 1e-9));
      planned += cost;
      listed += before;
      ASSERT_FALSE(testing::Test::HasFailure()) << model << ", round " << round;
    }
  }
  EXPECT_LT(planned, 0.98 * listed) << "it looks for something better";
}

/// The slow way: every order, and every size for each.
TEST(ForwardPlan, OfFewJobsIsNearTheBestOfAllLists) {
  Random random(9);
  const Geometry geometry = geometry_of("A30-24GB");
  double best = 0, found = 0;
  for (int round = 0; round < 60; ++round) {
    Question asked(random, geometry, 1 + random.below(2), 1 + random.below(4));
    const double least = asked.least_of_all();
    const double cost =
        cost_of(plan_forward(asked.gpus, asked.jobs, asked.setting), asked.gpus, asked.setting);
    EXPECT_LE(cost, 1.25 * least) << "round " << round;
    best += least;
    found += cost;
  }
  EXPECT_LT(found, 1.02 * best);
}

TEST(ForwardPlan, WaitsForALargeInstanceThatIsSoonFree) {
  const Geometry geometry = geometry_of("A100-40GB");
  ForwardGpu gpu;
  gpu.geometry = &geometry;
  const auto half = *geometry.find("3g.20gb", 4);
  gpu.busy = {{half, 1}};
  ForwardJob job;
  job.allowed = {geometry.all()};
  job.time_s.emplace_back(geometry.model().profiles.size(), 0);
  const auto on = [&](PlacementId place) -> double& {
    return job.time_s.front()[static_cast<std::size_t>(geometry[place].profile_index)];
  };
  const auto small = *geometry.find("1g.5gb", 0), whole = *geometry.find("7g.40gb", 0);
  on(small) = 70;
  on(whole) = 10;
  ForwardSetting setting;
  setting.fleet_slices = 7.5;
  const std::array jobs = {job};
  const auto plan = plan_forward({&gpu, 1}, jobs, setting);
  ASSERT_TRUE(plan[0]);
  EXPECT_EQ(plan[0]->place, whole);
  EXPECT_EQ(plan[0]->at_s, 1);
  EXPECT_EQ(plan[0]->end_s, 11);
}

TEST(ForwardPlan, OfAJobThatFitsNowhereHasNoStart) {
  const Geometry geometry = geometry_of("A30-24GB");
  ForwardGpu gpu;
  gpu.geometry = &geometry;
  gpu.never = geometry.all();
  ForwardJob job;
  job.allowed = {geometry.all()};
  job.time_s.emplace_back(geometry.model().profiles.size(), 10);
  const std::array jobs = {job};
  EXPECT_FALSE(plan_forward({&gpu, 1}, jobs, {})[0]);
}

}  // namespace
}  // namespace cleave
