// No scheduler beats the lower bounds of its run, whatever it knows, whatever its options, under
// random work, faults and terms of the world.

#include <gtest/gtest.h>

#include "base/format.hpp"
#include "base/random.hpp"
#include "scenario.hpp"
#include "simulate/lower_bounds.hpp"

namespace cleave::laws {
namespace {

struct Seen {
  TimeBounds bounds, times;
};

/// Of the jobs that finish; nullopt where none does.
std::optional<Seen> run(const Scenario& scenario, const SchedulerSpec& spec) {
  std::vector<JobOutcome> outcomes;
  SimulationOptions options = scenario.options;
  options.outcomes = &outcomes;
  const auto summary = simulate(scenario.fleet, scenario.workload, spec, options);
  if (!summary) {
    EXPECT_EQ(summary.error().kind, ErrorKind::bad_usage) << summary.error().text();
    return std::nullopt;
  }
  std::vector<bool> finished;
  Instant end = scenario.workload.jobs.front().arrival;
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    finished.push_back(outcomes[i].end == JobOutcome::End::finished);
    if (!finished.back()) continue;
    end = std::max(end, scenario.workload.jobs[i].arrival + outcomes[i].turnaround);
    sum += in_seconds(outcomes[i].turnaround);
    ++count;
  }
  if (count == 0) return std::nullopt;
  const LowerBounds bounds =
      lower_bounds(scenario.fleet, scenario.workload, options.world, finished);
  return Seen{summary->shared_starts > 0 ? bounds.shared : bounds.apart,
              {in_seconds(end - scenario.workload.jobs.front().arrival), sum / count}};
}

class Bounds : public testing::TestWithParam<const SchedulerRow*> {};

TEST_P(Bounds, AreNeverBeaten) {
  std::size_t near = 0;
  for (std::uint64_t seed = 1; seed <= 500 && !HasFailure(); ++seed) {
    Scenario scenario = random_scenario(seed, 60);
    if (seed % 3 == 0) scenario = with_gangs(std::move(scenario));
    Random random(seed);
    if (random.uniform() < 0.3) scenario.options.world.link = LinkSharing::together;
    if (random.uniform() < 0.2) scenario.options.world.has_power = false;
    const std::string text = random_spec(*GetParam(), seed);
    SCOPED_TRACE(fmt::format("seed {} {}", seed, text));
    const auto spec = parse_scheduler(text);
    ASSERT_TRUE(spec) << spec.error().text();
    const auto seen = run(scenario, *spec);
    if (!seen) continue;
    // Times are whole nanoseconds.
    const auto at_least = [](double bound) { return bound * (1 - 1e-9) - 1e-6; };
    EXPECT_GE(seen->times.makespan_s, at_least(seen->bounds.makespan_s));
    EXPECT_GE(seen->times.turnaround_mean_s, at_least(seen->bounds.turnaround_mean_s));
    near += seen->times.turnaround_mean_s < 1.2 * seen->bounds.turnaround_mean_s ? 1 : 0;
  }
  EXPECT_GT(near, 5U) << "bounds that nothing comes near say nothing";
}

std::vector<const SchedulerRow*> rows() {
  std::vector<const SchedulerRow*> all;
  for (const SchedulerRow& row : schedulers()) all.push_back(&row);
  return all;
}

INSTANTIATE_TEST_SUITE_P(AllSchedulers, Bounds, testing::ValuesIn(rows()),
                         [](const testing::TestParamInfo<const SchedulerRow*>& row) {
                           std::string name(row.param->name);
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace cleave::laws
