// Dyna-P's Reconfiguration Last Placement: the costs of stopping and of waiting, and what follows.

#include "engine/schedulers/reconfigure_last.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace cleave {
namespace {

using std::chrono::seconds;

Instant at_second(int second) {
  return Instant(seconds(second));
}

/// Figure 7 at 30: B runs since 0 for 120, due at 200; C waits, takes 50, due at 85.
const std::vector<ActiveJob> job_b = {{at_second(0), seconds(120), at_second(200)}};
const WaitingJob job_c = {seconds(50), at_second(85)};

ReconfigureOptions costs(int alpha, int beta) {
  ReconfigureOptions options;
  options.alpha = seconds(alpha);
  options.beta = seconds(beta);
  return options;
}

TEST(ReconfigureLast, JobCOfFigureSevenIsWorthIt) {
  const auto decision = weigh_reconfiguration(at_second(30), job_b, job_c, costs(5, 0));
  EXPECT_EQ(decision.reconfigure_cost, seconds(35));
  EXPECT_EQ(decision.waiting_cost, seconds(90));
  EXPECT_TRUE(decision.deadlines_met);
  EXPECT_TRUE(decision.reconfigure);
}

TEST(ReconfigureLast, TheListingSaysTheOpposite) {
  ReconfigureOptions options = costs(5, 0);
  options.condition = CostCondition::listing;
  EXPECT_FALSE(weigh_reconfiguration(at_second(30), job_b, job_c, options).reconfigure);
  options.beta = seconds(-56);
  EXPECT_TRUE(weigh_reconfiguration(at_second(30), job_b, job_c, options).reconfigure);
}

TEST(ReconfigureLast, TheThresholdItselfIsAccepted) {
  EXPECT_TRUE(weigh_reconfiguration(at_second(30), job_b, job_c, costs(5, -55)).reconfigure);
  EXPECT_FALSE(weigh_reconfiguration(at_second(30), job_b, job_c, costs(5, -56)).reconfigure);
}

TEST(ReconfigureLast, AWaitingJobThatWaitingMakesLateAddsItsPenalty) {
  const auto waiting_cost = [](WaitingJob waiting) {
    waiting.penalty = seconds(7);
    return weigh_reconfiguration(at_second(30), job_b, waiting, costs(5, 0)).waiting_cost;
  };
  EXPECT_EQ(waiting_cost({seconds(50), at_second(170)}), seconds(90));  // 30 + 90 + 50 is on time
  EXPECT_EQ(waiting_cost({seconds(50), at_second(169)}), seconds(97));
  EXPECT_EQ(waiting_cost({seconds(50), std::nullopt}), seconds(90));
}

TEST(ReconfigureLast, CostsAreThoseOfTheExtremeJobs) {
  // The second has spent most time and is past its estimate: nothing remains of it.
  const std::vector<ActiveJob> active = {{at_second(80), seconds(50), std::nullopt, seconds(60)},
                                         {at_second(10), seconds(60), std::nullopt, seconds(5)}};
  const auto decision = weigh_reconfiguration(at_second(100), active, job_c, costs(1, 0));
  EXPECT_EQ(decision.reconfigure_cost, seconds(91));
  EXPECT_EQ(decision.waiting_cost, seconds(30));
  ReconfigureOptions literal = costs(1, 0);
  literal.waiting_cost = WaitingCost::literal;
  EXPECT_EQ(weigh_reconfiguration(at_second(100), active, job_c, literal).waiting_cost,
            seconds(60 - 95));
  const auto ended = weigh_reconfiguration(at_second(200), active, job_c, costs(1, 0));
  EXPECT_EQ(ended.waiting_cost, Duration::zero());
}

TEST(ReconfigureLast, EveryActiveJobMustMeetItsDeadlineWhenStartedAgain) {
  const auto decide = [](int deadline, bool overhead) {
    const std::vector<ActiveJob> active = {{at_second(0), seconds(120), at_second(500)},
                                           {at_second(0), seconds(120), at_second(deadline)}};
    ReconfigureOptions options = costs(5, 0);
    options.overhead_before_deadline = overhead;
    return weigh_reconfiguration(at_second(30), active, job_c, options);
  };
  EXPECT_TRUE(decide(155, true).reconfigure);
  EXPECT_TRUE(decide(154, false).reconfigure);
  EXPECT_FALSE(decide(154, false).deadlines_met_with_overhead);
  EXPECT_FALSE(decide(154, true).reconfigure);
  EXPECT_FALSE(decide(149, false).reconfigure);
  EXPECT_FALSE(decide(149, false).deadlines_met);
}

TEST(ReconfigureLast, WithoutActiveJobsTheOverheadIsAllThatCounts) {
  for (const WaitingCost reading : {WaitingCost::remaining, WaitingCost::literal}) {
    ReconfigureOptions options = costs(5, 5);
    options.waiting_cost = reading;
    const auto decision =
        weigh_reconfiguration(at_second(30), {}, {seconds(50), at_second(31), seconds(9)}, options);
    EXPECT_EQ(decision.reconfigure_cost, seconds(5));
    EXPECT_EQ(decision.waiting_cost, Duration::zero());
    EXPECT_TRUE(decision.deadlines_met && decision.deadlines_met_with_overhead &&
                decision.reconfigure);
    options.beta = seconds(4);
    EXPECT_FALSE(weigh_reconfiguration(at_second(30), {}, {seconds(50), at_second(31)}, options)
                     .reconfigure);
  }
}

TEST(ReconfigureLast, EveryLossIsAddedUp) {
  const std::vector<ActiveJob> active = {{at_second(80), seconds(50), std::nullopt},
                                         {at_second(10), seconds(60), std::nullopt}};
  std::vector<WaitingJob> waiting = {{.jct = seconds(50),
                                      .deadline = at_second(190),
                                      .penalty = seconds(7),
                                      .otherwise = seconds(40)},
                                     {.jct = seconds(5),
                                      .deadline = at_second(190),
                                      .penalty = seconds(9),
                                      .otherwise = seconds(60)}};
  const auto decision = weigh_every_loss(at_second(100), active, waiting, costs(3, 0));
  EXPECT_EQ(decision.reconfigure_cost, seconds(20 + 90 + 4 * 3));
  EXPECT_EQ(decision.waiting_cost, seconds(40 + 60)) << "the first ends at its deadline";
  EXPECT_FALSE(decision.reconfigure);
  EXPECT_TRUE(weigh_every_loss(at_second(100), active, waiting, costs(3, 22)).reconfigure);
  waiting[0].deadline = at_second(189);
  EXPECT_EQ(weigh_every_loss(at_second(100), active, waiting, costs(3, 0)).waiting_cost,
            seconds(107));
}

TEST(ReconfigureLast, DeadlinesOfStoppedJobsCountWithEveryLossToo) {
  const std::vector<ActiveJob> active = {{at_second(0), seconds(120), at_second(149)}};
  const std::vector<WaitingJob> waiting = {{seconds(5), {}, {}, seconds(1000)}};
  const auto decision = weigh_every_loss(at_second(30), active, waiting, costs(5, 0));
  EXPECT_FALSE(decision.deadlines_met);
  EXPECT_FALSE(decision.reconfigure);
}

}  // namespace
}  // namespace cleave
