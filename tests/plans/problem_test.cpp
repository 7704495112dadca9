// The planner's own reading of a problem, and its own last check of a goal, compared with the
// second reading here: both find the same faults.

#include <gtest/gtest.h>

#include "base/format.hpp"
#include "base/random.hpp"
#include "exhaustive.hpp"
#include "planner_problem.hpp"
#include "random_fleet.hpp"
#include "rounds.hpp"

namespace cleave::plans {
namespace {

/// Some seats, mostly wanted ones, or arbitrary ones.
Seats random_seats(const Scene& scene, Random& random) {
  Seats seats = seats_of_now(scene);
  for (std::size_t i = 0; i < seats.size(); ++i) {
    const Work& work = scene.works[i];
    if (random.below(4) != 0 && (work.now || random.below(2) != 0)) continue;
    const std::size_t gpu = random.below(scene.gpus.size());
    const auto profiles = scene.gpus[gpu].model->profiles;
    const Profile* profile = &profiles[random.below(profiles.size())];
    if (!work.wanted[gpu].empty() && random.below(10) != 0)
      profile = work.wanted[gpu][random.below(work.wanted[gpu].size())];
    const auto starts = profile->starts.ascending();
    seats[i] = Position{gpu, {profile, starts[random.below(starts.size())]}};
  }
  return seats;
}

class PlanProblemReading : public testing::TestWithParam<Task> {};

TEST_P(PlanProblemReading, AgreesOnWhatIsWrong) {
  std::size_t right = 0, wrong = 0;
  for (int seed = 0; seed < rounds(2000); ++seed) {
    const auto number = static_cast<std::uint64_t>(seed);
    const FleetShape shape = seed % 2 == 0 ? small_fleet : FleetShape{};
    const Question asked = random_question(number, GetParam(), shape);
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, asked.fleet));
    const Scene scene = *read_scene(asked);
    const auto problem = PlannerProblem::make(asked);
    ASSERT_TRUE(problem) << problem.error().text();
    ASSERT_EQ((*problem)->problem.workloads.size(), scene.works.size());
    Random random(number);
    for (int i = 0; i < 10; ++i) {
      const Seats seats = i == 0 ? seats_of_now(scene) : random_seats(scene, random);
      const std::string flaw_of_planner = flaw((*problem)->problem, (*problem)->goal(scene, seats));
      const auto found = faults(scene, seats);
      ASSERT_EQ(flaw_of_planner.empty(), found.empty())
          << "the planner: " << flaw_of_planner
          << "\nhere: " << (found.empty() ? "" : found.front());
      ++(found.empty() ? right : wrong);
    }
  }
  EXPECT_GT(right, wrong / 20);
}

TEST_P(PlanProblemReading, AgreesOnSizes) {
  for (int seed = 0; seed < rounds(500); ++seed) {
    const Question asked = random_question(static_cast<std::uint64_t>(seed), GetParam(), {});
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, asked.fleet));
    const Scene scene = *read_scene(asked);
    const auto made = PlannerProblem::make(asked);
    ASSERT_TRUE(made) << made.error().text();
    const PlanProblem& problem = (*made)->problem;
    for (const Work& work : scene.works) {
      const WorkloadIndex index = (*made)->index_of(work.name);
      EXPECT_EQ(problem.size(index).value, work.least_memory) << work.name;
      EXPECT_EQ(problem.workloads[index].stays, work.stays) << work.name;
      if (work.now) {
        EXPECT_EQ(problem.workloads[index].moved_mib, work.moved_mib) << work.name;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Tasks, PlanProblemReading, testing::ValuesIn(tasks),
                         [](const auto& task) { return std::string(name(task.param)); });

}  // namespace
}  // namespace cleave::plans
