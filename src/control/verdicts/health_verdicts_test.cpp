// Signs of a GPU's health, judged case by case.

#include "control/verdicts/health_verdicts.hpp"

#include <gtest/gtest.h>

#include "control/node/node_state_test.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;
using enum HealthReaction;

constexpr Instant now = Instant{} + 1'000h;

GpuEvent xid(std::uint64_t number, std::optional<std::uint32_t> instance = {}) {
  GpuEvent event{
      .kind = GpuEvent::Kind::xid, .data = number, .gpu_instance = {}, .compute_instance = {}};
  if (instance) event.gpu_instance = GpuInstanceId{*instance};
  return event;
}

/// A GPU with an instance of ours, which the driver numbers 3.
struct Findings : testing::Test {
  Findings() {
    ManagedInstance& instance = node.add_instance(placement);
    instance.numbers = JobDevice::Instance{3, 0};
  }
  ManagedGpu& gpu() { return node.state.gpus[0]; }
  /// The reactions to these events, in order.
  std::vector<HealthReaction> reactions(std::vector<GpuEvent> events) {
    news.events = std::move(events);
    std::vector<HealthReaction> all;
    for (const HealthFinding& each : findings_of(gpu(), news)) all.push_back(each.reaction);
    return all;
  }
  NodeForTest node;
  PlacementId placement = node.placement("3g.20gb", 4);
  GpuNews news;
};

TEST_F(Findings, GoByTheRowAndByWhetherTheInstanceIsKnown) {
  EXPECT_EQ(reactions({xid(94, 3), xid(94), xid(13, 3), xid(95, 3), xid(4242)}),
            (std::vector{drain_instance, requeue_job, ignore, drain_gpu, ignore}));
  EXPECT_EQ(findings_of(gpu(), news)[0].placement, placement);
  EXPECT_FALSE(findings_of(gpu(), news)[1].placement);
  EXPECT_EQ(findings_of(gpu(), news)[4].fact, nullptr);
}

TEST_F(Findings, LeaveToTheRecoveryActionWhatItDecides) {
  EXPECT_EQ(reactions({xid(48)}), std::vector{drain_gpu});
  gpu().health.recovery_action = 0;
  EXPECT_EQ(reactions({xid(48), xid(119)}), (std::vector{requeue_job, drain_gpu}));
  gpu().health.recovery_action.reset();
  news.observation.emplace();
  news.observation->health.recovery_action = 1;
  EXPECT_EQ(reactions({xid(48)}), std::vector{requeue_job}) << "told with the same news";
}

TEST_F(Findings, AreNotAboutInstancesOfOthers) {
  EXPECT_EQ(reactions({xid(94, 7), xid(32, 7), xid(95, 7)}),
            (std::vector{ignore, ignore, drain_gpu}));
}

TEST_F(Findings, CountWhatComesOften) {
  EXPECT_EQ(reactions({xid(13, 3), xid(13, 3), xid(13)}).size(), 2U);
  EXPECT_EQ(findings_of(gpu(), news)[0].times, 2);
}

TEST_F(Findings, OtherEventsAreNone) {
  GpuEvent event = xid(95);
  event.kind = GpuEvent::Kind::unavailable;
  EXPECT_TRUE(reactions({event}).empty());
}

TEST_F(Findings, MemoryErrorsAreWhatTheCountRises) {
  news.observation.emplace();
  ObservedInstance& seen = news.observation->instances.emplace_back();
  seen.placement = placement;
  seen.device = gpu().instances.at(placement).device;
  seen.uncorrected = 5;
  EXPECT_TRUE(reactions({}).empty()) << "those of before it was first counted";
  gpu().instances.at(placement).errors = 4;
  EXPECT_EQ(reactions({}), std::vector{drain_instance});
  gpu().instances.at(placement).errors = 6;
  EXPECT_TRUE(reactions({}).empty()) << "after a reset they begin anew";
  seen.device = "MIG-another";
  gpu().instances.at(placement).errors = 4;
  EXPECT_TRUE(reactions({}).empty());
  gpu().health.uncorrected = 1;
  news.observation->health.uncorrected = 2;
  EXPECT_EQ(reactions({}), std::vector{requeue_job}) << "of the whole GPU, with MIG off";
}

TEST(HealthStates, AreToldOrNot) {
  GpuHealth health;
  for (const HealthSign sign : health_states()) EXPECT_FALSE(state_of(health, sign));
  health = {0, false, false, {}};
  for (const HealthSign sign : health_states()) EXPECT_EQ(state_of(health, sign), nullptr);
  health = {2, true, true, {}};
  for (const HealthSign sign : health_states()) EXPECT_EQ((*state_of(health, sign))->sign, sign);
  EXPECT_EQ((*state_of(health, HealthSign::recovery_action))->number, 2U);
}

TEST(Cause, IsAJobThatMeetsGraveSignsOnTwoGpusWithinADay) {
  const std::vector<JobFault> faults = {{"GPU-0", now - 23h, true}};
  EXPECT_TRUE(is_taken_for_cause(faults, "GPU-1", now));
  EXPECT_FALSE(is_taken_for_cause(faults, "GPU-0", now)) << "the GPU may be at fault";
  EXPECT_FALSE(is_taken_for_cause(faults, "GPU-1", now + 2h));
  const std::vector<JobFault> slight = {{"GPU-0", now - 1h, false}};
  EXPECT_FALSE(is_taken_for_cause(slight, "GPU-1", now));
}

TEST(Cause, AUserHasHadEnoughGpusDrained) {
  NodeForTest node({"A100-SXM4-40GB", "A100-SXM4-40GB", "A100-SXM4-40GB"});
  const HealthFact* fact = find_health_fact("xid-95");
  const auto drain = [&](std::size_t gpu, std::uint32_t uid) {
    node.state.gpus[gpu].conditions.push_back(
        {.fact = fact, .device = {}, .since = now, .uid = uid});
  };
  drain(0, 1000);
  EXPECT_FALSE(has_drained_enough(node.state, GpuId{2}, 1000));
  drain(1, 1000);
  EXPECT_TRUE(has_drained_enough(node.state, GpuId{2}, 1000));
  EXPECT_FALSE(has_drained_enough(node.state, GpuId{2}, 1001));
  EXPECT_FALSE(has_drained_enough(node.state, GpuId{1}, 1000)) << "one of them is this one";
  node.state.gpus[0].conditions[0].fact = find_health_fact("recovery-action-1");
  EXPECT_FALSE(has_drained_enough(node.state, GpuId{2}, 1000)) << "that is the driver's word";
}

TEST(Conditions, SayWhyAndWhatBringsTheGpuBack) {
  GpuCondition condition{.fact = find_health_fact("xid-95"), .device = {}, .since = now - 90s};
  condition.job = 7;
  const std::string text = in_words(condition, 3, now);
  for (const char* part : {"Xid 95 (uncontained memory error)", "while job 7 ran there",
                           "after a reset of the GPU", "cleave undrain 3"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
  condition.device = "MIG-1";
  EXPECT_EQ(in_words(condition, 3, now).find("undrain"), std::string::npos);
}

}  // namespace
}  // namespace cleave
