// The best plan for a GPU against all layouts and all ways to give their instances to jobs.

#include "engine/adaptive/gpu_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/random.hpp"

namespace cleave {
namespace {

/// A GPU with instances that stay, jobs that run and jobs that wait.
class OneGpu {
 public:
  OneGpu(Random& random, const Geometry& geometry, const StateGraph& graph)
      : random_(random), geometry_(geometry), rent_(static_cast<std::size_t>(geometry.size())) {
    const auto state =
        static_cast<StateId>(random_.below(static_cast<std::uint64_t>(graph.size())));
    question.held = graph.state(state);
    question.horizon_s = 1 + random_.exponential(300);
    question.disturbance = random_.below(2) == 0 ? 0 : random_.exponential(1);
    for (double& rent : rent_) rent = random_.below(2) == 0 ? 0 : random_.uniform();
    question.rent = rent_;
    speeds_.reserve(20);
    for (const PlacementId place : question.held) {
      if (jobs.size() == 3 || random_.below(3) == 0) {
        question.fixed.insert(place);
      } else {
        add(place);
      }
    }
    for (std::size_t waiting = random_.below(4); waiting-- > 0;) add(std::nullopt);
  }

  PlanQuestion question;
  std::vector<PlanJob> jobs;

 private:
  void add(std::optional<PlacementId> at) {
    std::vector<double>& speed = speeds_.emplace_back(geometry_.model().profiles.size());
    for (double& each : speed) each = static_cast<double>(1 + random_.below(8)) / 8;
    PlanJob job;
    const double rest = 1 + random_.exponential(1000);
    job.worth = {random_.uniform() + 0.01, rest};
    job.speed = speed;
    for (const PlacementId place : geometry_.all())
      if (random_.below(4) > 0) job.allowed.insert(place);  // the others are kept for others
    job.at = at;
    if (at) {
      job.allowed.insert(*at);
      job.may_stop = random_.below(3) > 0;
      job.moves_live = !job.may_stop || random_.below(2) == 0;
      job.may_wait = random_.below(3) > 0;
    }
    job.checkpoint_s = random_.below(3) == 0 ? 0 : 30;
    job.restore_s = !at && random_.below(2) == 0 ? 15 : 0;
    jobs.push_back(job);
  }

  Random& random_;
  const Geometry& geometry_;
  std::vector<double> rent_;
  std::vector<std::vector<double>> speeds_;
};

/// What giving the place to the job gains over leaving it out.
double gain(const GpuPlanner& planner, const OneGpu& gpu, const PlanJob& job, PlacementId place) {
  const double worth = planner.worth(gpu.question, job, place);
  if (worth < 0) return 0;
  const double gained = worth - gpu.question.rent[place] + GpuPlanner::left_out(gpu.question, job);
  const Geometry& rules = planner.geometry();
  const bool free =
      !gpu.question.held.contains(place) && !rules[place].conflicts.meets(gpu.question.held);
  if (job.at || !free) return gained;
  const double speed = job.speed[static_cast<std::size_t>(rules[place].profile_index)];
  return std::max(gained, job.worth.of(speed, 0.05 * gpu.question.horizon_s));
}

/// The most that jobs from `next` on can gain on the places that are left.
double most(const GpuPlanner& planner, const OneGpu& gpu, PlacementSet left, std::size_t next) {
  if (next == gpu.jobs.size()) return 0;
  double best = most(planner, gpu, left, next + 1);
  for (const PlacementId place : left) {
    const double here = gain(planner, gpu, gpu.jobs[next], place);
    if (here > 0)
      best = std::max(best, here + most(planner, gpu, left - PlacementSet::of(place), next + 1));
  }
  return best;
}

TEST(GpuPlan, IsTheBestOfAll) {
  std::size_t stay = 0, start = 0, move = 0, stop = 0;
  for (const char* name : {"A100-40GB", "A30-24GB", "H100-80GB-SXM5"}) {
    const GpuModel& model = **find_gpu_model(name);
    const auto graph = StateGraph::of(model, ProfileChoice::plain().on(model));
    GpuPlanner planner(graph);
    Random random(11);
    for (int round = 0; round < 300 && !HasFailure(); ++round) {
      const OneGpu gpu(random, graph->geometry(), *graph);
      const GpuPlan plan = planner.best(gpu.question, gpu.jobs);
      double none = 0;
      for (const PlanJob& job : gpu.jobs) none -= GpuPlanner::left_out(gpu.question, job);
      double best = 0;
      for (int i = 0; i < graph->size(); ++i) {
        const PlacementSet state = graph->state(static_cast<StateId>(i));
        if (graph->maximal(static_cast<StateId>(i)) &&
            (state & gpu.question.fixed) == gpu.question.fixed)
          best = std::max(best, most(planner, gpu, state - gpu.question.fixed, 0));
      }
      // Next to what a job that may not be left out counts, little else does.
      const double precision = 1e-12 * std::abs(none) + 1e-9;
      EXPECT_NEAR(plan.worth, none + best, precision) << round;
      ASSERT_EQ(plan.places.size(), gpu.jobs.size());
      PlacementSet taken = gpu.question.fixed;
      double sum = 0;
      for (std::size_t i = 0; i < gpu.jobs.size(); ++i) {
        const PlanJob& job = gpu.jobs[i];
        const auto place = plan.places[i];
        if (!place) {
          stop += job.at ? 1 : 0;
          EXPECT_TRUE(!job.at || (job.may_stop && job.may_wait)) << round;
          continue;
        }
        EXPECT_TRUE(job.allowed.contains(*place));
        EXPECT_FALSE(taken.contains(*place));
        taken.insert(*place);
        sum += gain(planner, gpu, job, *place);
        (!job.at ? start : place == job.at ? stay : move) += 1;
      }
      EXPECT_TRUE(graph->geometry().legal(taken)) << round;
      EXPECT_NEAR(none + sum, plan.worth, precision) << round;
    }
  }
  for (const std::size_t count : {stay, start, move, stop}) EXPECT_GT(count, 50U);
}

TEST(GpuPlan, EachJobThatIsDisturbedHasItsPrice) {
  const GpuModel& model = **find_gpu_model("A100-40GB");
  const auto graph = StateGraph::of(model, ProfileChoice::plain().on(model));
  const Geometry& rules = graph->geometry();
  GpuPlanner planner(graph);
  const auto at = [&](const char* profile, int start) {
    return *rules.find(*model.find(profile), start);
  };
  std::vector<double> speed, rent(static_cast<std::size_t>(rules.size()), 0);
  for (const Profile& profile : model.profiles)
    speed.push_back(static_cast<double>(profile.compute.value) / model.compute.value);
  // The first would be a third faster on 4g.20gb, the second as much slower on 3g.20gb.
  PlanJob first;
  first.worth = {0.1, 10'000};
  first.speed = speed;
  first.allowed = rules.all();
  first.at = at("3g.20gb", 4);
  first.may_stop = first.may_wait = true;
  first.checkpoint_s = 30;
  PlanJob second = first;
  second.worth.weight = 0.05;
  second.at = at("4g.20gb", 0);
  PlanQuestion question;
  question.held = PlacementSet::of(*first.at) | PlacementSet::of(*second.at);
  question.horizon_s = 2000;
  question.rent = rent;
  const std::vector<PlanJob> jobs{first, second};
  const double present = planner.present(question, jobs);
  const GpuPlan free = planner.best(question, jobs);
  EXPECT_NE(free.places[0], first.at);
  const double gain = free.worth - present;
  ASSERT_GT(gain, 0);
  std::size_t disturbed = 0;
  for (std::size_t i = 0; i < jobs.size(); ++i) disturbed += free.places[i] != jobs[i].at ? 1 : 0;
  for (const bool dear : {false, true}) {
    question.disturbance = gain / static_cast<double>(disturbed) * (dear ? 1.01 : 0.99);
    const GpuPlan plan = planner.best(question, jobs);
    EXPECT_EQ(plan.places[0] == first.at && plan.places[1] == second.at, dear);
  }
}

}  // namespace
}  // namespace cleave
