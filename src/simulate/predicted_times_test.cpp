// Simulations in which schedulers are told predicted times: the world stays as it is, what was
// predicted stands beside what came out, and only schedulers that are there to know the truth do.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/format.hpp"
#include "model/workload_file.hpp"
#include "simulate/simulator.hpp"

namespace cleave {
namespace {

/// Jobs of applications with a floor of 10 s and 90 s of GPU-bound work, one after the other.
std::string jobs(int count, int apart_s = 1000) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text += fmt::format(
        R"({{"id":"j{}","arrival_s":{},"duration_s":100,"application":"app","batch":8,)"
        R"("memory_mib":4000,"speed":{{"1g.5gb":0.2,"2g.10gb":0.4,"3g.20gb":0.6,"7g.40gb":1}}}})"
        "\n",
        i, i * apart_s);
  return text;
}

std::shared_ptr<const ApplicationTimes> measured(const std::map<std::string, double>& seconds) {
  ProfileRepository repository;
  for (const auto& [profile, time] : seconds) {
    ProfileRecord record;
    record.key = {"app", "A100-40GB", 8, profile, false};
    record.time_s = time;
    repository.add(record, MergeRule::replace);
  }
  return std::make_shared<const ApplicationTimes>(std::move(repository), std::nullopt);
}

RunSummary run(const std::string& scheduler, const std::string& text,
               std::shared_ptr<const ApplicationTimes> applications,
               std::vector<JobOutcome>* outcomes = nullptr) {
  const auto fleet = parse_fleet_in_short("1xA100-40GB", ProfileChoice::plain());
  const auto workload = parse_workload(text, "made.jsonl", {});
  EXPECT_TRUE(workload) << workload.error().text();
  SimulationOptions options;
  options.reconfiguration = Duration::zero();
  options.applications = std::move(applications);
  options.outcomes = outcomes;
  const auto summary = simulate(*fleet, *workload, *parse_scheduler(scheduler), options);
  EXPECT_TRUE(summary) << summary.error().text();
  return *summary;
}

TEST(PredictedTimes, StandBesideWhatCameOut) {
  std::vector<JobOutcome> outcomes;
  // True: 500 s on 1g and 100 s on 7g. Measured: a tenth more, and a fifth less.
  const auto wrong = measured({{"1g.5gb", 550}, {"7g.40gb", 80}});
  const RunSummary summary = run("online", jobs(5), wrong, &outcomes);
  EXPECT_EQ(summary.finished, 5U);
  EXPECT_EQ(summary.predictions, 5U);
  ASSERT_TRUE(outcomes.front().predicted);
  for (const JobOutcome& each : outcomes) {
    EXPECT_NEAR(in_seconds(each.predicted->seen), 500, 1e-6) << "the true time on 1g";
    EXPECT_NEAR(in_seconds(each.predicted->predicted), 550, 1e-6);
  }
  EXPECT_NEAR(*summary.prediction_error_median, 0.1, 1e-6);
  EXPECT_NEAR(*summary.prediction_error_p90, 0.1, 1e-6);
  const RunSummary true_times = run("online", jobs(5), nullptr);
  EXPECT_EQ(true_times.predictions, 0U);
  EXPECT_FALSE(true_times.prediction_error_median);
  EXPECT_EQ(true_times.makespan, summary.makespan) << "online does not ask for times";
}

TEST(PredictedTimes, DecideWherePartitionsAreChosenByTimes) {
  std::string text = jobs(1);
  text.replace(text.find("\"memory_mib\""), 0, "\"deadline_s\":300,");
  const auto profile_of = [&](const std::string& scheduler,
                              std::shared_ptr<const ApplicationTimes> times) {
    std::vector<JobOutcome> outcomes;
    const RunSummary summary = run(scheduler, text, std::move(times), &outcomes);
    EXPECT_EQ(summary.finished, 1U);
    return in_seconds(outcomes.front().execution);
  };
  const std::string dyna_p = "dyna-p:base=own;time-error=0";
  // By the truth 1g takes 500 s, too long; by what was measured it is in time.
  const auto optimistic = measured({{"1g.5gb", 200}, {"7g.40gb", 90}});
  const double told_truth = profile_of(dyna_p, nullptr),
               told_wrong = profile_of(dyna_p, optimistic);
  EXPECT_LT(told_truth, 300);
  EXPECT_NEAR(told_wrong, 500, 1) << "late, because it believed the repository";
  EXPECT_LT(profile_of("oracle:base=own", optimistic), 300) << "it knows the truth";
}

TEST(PredictedTimes, OfAnApplicationThatNobodyMeasuredNothingIsKnown) {
  std::string text = jobs(2);
  for (std::size_t at = 0; (at = text.find("\"app\"", at)) != std::string::npos; ++at)
    text.replace(at, 5, "\"new\"");
  const RunSummary summary = run("dyna-p", text, measured({{"1g.5gb", 200}, {"7g.40gb", 90}}));
  EXPECT_EQ(summary.finished, 2U);
  EXPECT_EQ(summary.predictions, 0U);
}

TEST(PredictedTimes, SameInputSameAnswer) {
  const auto times = measured({{"1g.5gb", 550}, {"7g.40gb", 80}});
  for (const std::string scheduler : {"dyna-p", "miso", "online"}) {
    const RunSummary once = run(scheduler, jobs(40, 30), times);
    const RunSummary again = run(scheduler, jobs(40, 30), times);
    EXPECT_EQ(once.makespan, again.makespan);
    EXPECT_EQ(once.prediction_error_p90, again.prediction_error_p90);
    EXPECT_EQ(once.finished, 40U) << scheduler;
  }
}

}  // namespace
}  // namespace cleave
