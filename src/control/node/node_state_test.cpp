#include "control/node/node_state.hpp"

#include <gtest/gtest.h>

#include "control/node/node_state_test.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

TEST(NodeState, FindsJobsGpusAndInstances) {
  NodeForTest node({"A100-SXM4-40GB", "A30"});
  node.add_job(7);
  EXPECT_NE(node.state.find(7), nullptr);
  EXPECT_EQ(node.state.find(8), nullptr);
  EXPECT_EQ(node.state.all_gpus(), (std::vector{GpuId{0}, GpuId{1}}));
  EXPECT_EQ(node.state.gpu_of("GPU-1"), GpuId{1});
  EXPECT_EQ(node.state.gpu_of("GPU-2"), std::nullopt);
  const PlacementId small = node.placement("1g.5gb", 3), large = node.placement("3g.20gb", 4);
  node.add_instance(small);
  node.add_instance(large, ManagedInstance::State::making);
  EXPECT_EQ(node.state.instance_of(node.state.gpus[0].instances[small].device),
            (std::pair{GpuId{0}, small}));
  EXPECT_EQ(node.state.instance_of(node.state.gpus[0].instances[large].device), std::nullopt)
      << "one that is only being made";
}

TEST(NodeState, AnInstanceIsIdleFromWhenItsLastAttemptLeft) {
  NodeForTest node;
  const PlacementId at = node.placement("2g.10gb", 0);
  ManagedInstance& instance = node.add_instance(at);
  node.state.occupy({GpuId{0}, at}, {1, 1});
  node.state.occupy({GpuId{0}, at}, {2, 1});
  node.state.vacate({GpuId{0}, at}, {1, 1}, 5s);
  EXPECT_TRUE(node.state.occupied(GpuId{0}, at));
  EXPECT_EQ(instance.idle_since, 0s);
  node.state.vacate({GpuId{0}, at}, {2, 1}, 8s);
  EXPECT_FALSE(node.state.occupied(GpuId{0}, at));
  EXPECT_EQ(instance.idle_since, 8s);
  node.state.vacate({GpuId{0}, at}, {2, 1}, 9s);
  EXPECT_EQ(instance.idle_since, 8s) << "it was gone already";
}

TEST(NodeState, AWholeGpuIsAPlaceOfItsOwn) {
  NodeForTest node;
  const JobPlace whole{GpuId{0}, std::nullopt};
  node.state.occupy(whole, {1, 1});
  EXPECT_TRUE(node.state.occupied(GpuId{0}, std::nullopt));
  EXPECT_FALSE(node.state.occupied(GpuId{0}, PlacementId{0}));
  node.state.vacate(whole, {1, 1}, 1s);
  EXPECT_FALSE(node.state.occupied(GpuId{0}, std::nullopt));
}

TEST(NodeState, AJobWithoutAttemptsHasNoProcess) {
  NodeForTest node;
  LiveJob& job = node.add_job(1);
  EXPECT_TRUE(node.state.has_no_process(1));
  EXPECT_TRUE(node.state.has_no_process(2)) << "there is no such job";
  node.add_attempt(job, node.placement("1g.5gb", 0));
  EXPECT_FALSE(node.state.has_no_process(1));
}

TEST(NodeState, TheCapacityOfAnAttemptIsThatOfItsProfileWhereNothingElseIsKnown) {
  NodeForTest node;
  LiveJob& job = node.add_job(1);
  LiveAttempt& attempt = node.add_attempt(job, node.placement("2g.10gb", 0));
  attempt.record.profile = "2g.10gb";
  const auto usable = node.state.gpus[0].geometry()[node.placement("2g.10gb", 0)].profile->usable;
  ASSERT_TRUE(usable);
  EXPECT_EQ(node.state.capacity_of(attempt), usable);
  attempt.capacity = MiB{100};
  EXPECT_EQ(node.state.capacity_of(attempt), usable) << "the larger of the two";
  attempt.capacity = MiB{usable->value + 7};
  EXPECT_EQ(node.state.capacity_of(attempt), MiB{usable->value + 7});
  attempt.record.gpu = "another";
  attempt.capacity.reset();
  EXPECT_EQ(node.state.capacity_of(attempt), std::nullopt);
}

TEST(NodeState, TheArchitectureOfAnAttemptIsThatOfItsGpu) {
  NodeForTest node({"A100-SXM4-40GB", "H100 80GB HBM3"});
  LiveAttempt attempt;
  attempt.record.gpu = node.state.gpus[0].identity->uuid;
  EXPECT_EQ(node.state.architecture_of(attempt), Architecture::ampere);
  attempt.record.gpu = node.state.gpus[1].identity->uuid;
  EXPECT_EQ(node.state.architecture_of(attempt), Architecture::hopper);
  attempt.record.gpu = "another";
  EXPECT_EQ(node.state.architecture_of(attempt), std::nullopt);
}

TEST(NodeState, PlacesInWords) {
  NodeForTest node({"A100-SXM4-40GB", "A100-SXM4-40GB"});
  const PlacementId at = node.placement("3g.20gb", 4);
  EXPECT_EQ(node.state.in_words(GpuId{1}), "GPU 1");
  EXPECT_EQ(node.state.in_words(JobPlace{GpuId{1}, at}), "3g.20gb@4 of GPU 1");
  EXPECT_EQ(node.state.in_words(JobPlace{GpuId{0}, std::nullopt}), "the whole of GPU 0");
  LiveAttempt attempt;
  attempt.place = {GpuId{1}, at};
  EXPECT_EQ(node.state.place_in_words(attempt), "3g.20gb@4 of GPU 1");
  attempt.placed = false;
  attempt.record.gpu = "GPU-0";
  EXPECT_EQ(node.state.place_in_words(attempt), "the whole of GPU 0");
  attempt.record.profile = "2g.10gb";
  attempt.record.start = 2;
  EXPECT_EQ(node.state.place_in_words(attempt), "2g.10gb@2 of GPU 0");
  attempt.record.gpu = "GPU-elsewhere";
  EXPECT_EQ(node.state.place_in_words(attempt), "2g.10gb@2 of GPU-elsewhere");
}

TEST(ManagedGpu, AnAnswerIsDueAfterTheOldestOperationOrTheLastAnswer) {
  ManagedGpu gpu;
  EXPECT_EQ(gpu.answer_due(60s), Duration::max()) << "nothing is asked";
  gpu.asked[1].since = 10s;
  gpu.asked[2].since = 5s;
  gpu.asked[3];  // not sent yet
  EXPECT_EQ(gpu.answer_due(60s), 65s);
  gpu.heard_at = 20s;
  EXPECT_EQ(gpu.answer_due(60s), 80s);
}

TEST(ManagedGpu, InstancesThatAreMadeOrGoAreNotReady) {
  NodeForTest node;
  const PlacementId ready = node.placement("1g.5gb", 0);
  node.add_instance(ready);
  node.add_instance(node.placement("1g.5gb", 1), ManagedInstance::State::making);
  node.add_instance(node.placement("1g.5gb", 2), ManagedInstance::State::going);
  EXPECT_EQ(node.state.gpus[0].ready_instances(), PlacementSet::of(ready));
}

}  // namespace
}  // namespace cleave
