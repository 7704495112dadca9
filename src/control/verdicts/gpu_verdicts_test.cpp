// What the loop believes about GPUs, judged case by case.

#include "control/verdicts/gpu_verdicts.hpp"

#include <gtest/gtest.h>

#include "control/node/node_state_test.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;
using State = ManagedInstance::State;
using Step = GpuStep::Kind;

constexpr GpuId gpu0{0}, gpu1{1};

TEST(TakesWork, OnlyAGpuThatIsWell) {
  NodeForTest node;
  ManagedGpu& gpu = node.state.gpus[0];
  const auto takes = [&] { return takes_work(gpu, {}); };
  EXPECT_TRUE(takes());
  gpu.hung = true;
  EXPECT_FALSE(takes());
  gpu.hung = false;
  gpu.drained = true;
  EXPECT_FALSE(takes());
  gpu.drained = false;
  gpu.trouble = "another program holds its lock";
  EXPECT_FALSE(takes());
  gpu.trouble.clear();
  gpu.observation.reset();
  EXPECT_FALSE(takes()) << "nobody has looked at it";
}

TEST(TakesWork, MigModeFitsOrMayBeSwitched) {
  NodeForTest node;
  ManagedGpu& gpu = node.state.gpus[0];
  struct Row {
    bool mig, may_switch, wants_whole, fits;
  };
  const Row rows[] = {{true, false, false, true},   {true, false, true, false},
                      {false, false, false, false}, {false, false, true, true},
                      {true, true, true, true},     {false, true, false, true}};
  for (const Row& row : rows) {
    gpu.observation->mig = row.mig;
    const MigRules rules{row.may_switch, row.wants_whole};
    EXPECT_EQ(mig_fits(gpu, rules), row.fits) << row.mig << row.may_switch << row.wants_whole;
    EXPECT_EQ(takes_work(gpu, rules), row.fits) << row.mig << row.may_switch << row.wants_whole;
  }
  gpu.lost = true;
  EXPECT_TRUE(takes_work(gpu, {false, true})) << "what a lost GPU's mode is does not matter";
}

TEST(CanMakeEngine, WhenEveryGpuHasBeenSeenAndNothingIsUnderWay) {
  NodeForTest node({"A30", "A30"});
  auto& gpus = node.state.gpus;
  EXPECT_TRUE(can_make_engine(gpus));
  gpus[1].observation.reset();
  EXPECT_FALSE(can_make_engine(gpus));
  gpus[1].trouble = "another program holds its lock";
  EXPECT_TRUE(can_make_engine(gpus)) << "it goes without this one";
  gpus[0].asked[1].operation = LookAtGpu{};
  EXPECT_TRUE(can_make_engine(gpus)) << "a look changes nothing";
  gpus[0].asked[2].operation = CreateOnGpu{};
  EXPECT_FALSE(can_make_engine(gpus));
  gpus[0].hung = true;
  EXPECT_TRUE(can_make_engine(gpus)) << "nobody waits for a driver that hangs";
}

TEST(MigFor, AStepWaitsForTheModeItNeeds) {
  NodeForTest node;
  ManagedGpu& gpu = node.state.gpus[0];
  EXPECT_EQ(mig_for(gpu, Step::create, true), MigAnswer::right);
  EXPECT_EQ(mig_for(gpu, Step::start_whole, true), MigAnswer::switch_first);
  EXPECT_EQ(mig_for(gpu, Step::start_whole, false), MigAnswer::wait);
  gpu.asked[1].operation = LookAtGpu{};
  EXPECT_EQ(mig_for(gpu, Step::start_whole, true), MigAnswer::switch_first);
  gpu.asked[2].operation = SwitchMig{false};
  EXPECT_EQ(mig_for(gpu, Step::start_whole, true), MigAnswer::wait) << "it is asked already";
  gpu.asked.clear();
  gpu.observation->mig = false;
  EXPECT_EQ(mig_for(gpu, Step::start_whole, true), MigAnswer::right);
  EXPECT_EQ(mig_for(gpu, Step::start, true), MigAnswer::switch_first);
  gpu.lost = true;
  EXPECT_EQ(mig_for(gpu, Step::start_whole, true), MigAnswer::wait);
  gpu.lost = false;
  gpu.observation.reset();
  EXPECT_EQ(mig_for(gpu, Step::start_whole, true), MigAnswer::wait);
}

/// Steps of GPU 0, on three places of an A100.
class Ready : public testing::Test {
 protected:
  void step(Step kind, PlacementId placement, JobNumber job = 0) {
    node.state.gpus[0].steps.push_back({kind, placement, job});
  }
  /// Which of the steps can be taken, as "0 2".
  [[nodiscard]] std::string ready() const {
    std::string which;
    for (std::size_t i = 0; i < node.state.gpus[0].steps.size(); ++i)
      if (is_ready(node.state, gpu0, i)) which += (which.empty() ? "" : " ") + std::to_string(i);
    return which;
  }

  NodeForTest node;
  const PlacementId a = node.placement("3g.20gb", 0), b = node.placement("2g.10gb", 4),
                    c = node.placement("1g.5gb", 6);
};

TEST_F(Ready, EveryWayToStartThereMayCrossUsersButNotBesideAnother) {
  for (const Step kind : {Step::start, Step::share, Step::replica, Step::hand_over}) {
    node.state.gpus[0].steps.clear();
    node.add_instance(a);
    step(kind, a, 7);
    LiveJob& job = node.add_job(7);
    EXPECT_FALSE(crosses_users(node.state, gpu0, 0)) << "its own user had it";
    job.record.owner.uid = 1001;
    EXPECT_TRUE(crosses_users(node.state, gpu0, 0));
  }
  node.state.occupy({gpu0, a}, {1, 1});
  EXPECT_FALSE(crosses_users(node.state, gpu0, 0));
}

TEST_F(Ready, AnInstanceIsDestroyedOnceNothingUsesIt) {
  step(Step::destroy, a);
  EXPECT_EQ(ready(), "") << "there is none";
  node.add_instance(a, State::making);
  EXPECT_EQ(ready(), "");
  node.add_instance(a);
  EXPECT_EQ(ready(), "0");
  node.state.occupy({gpu0, a}, {1, 1});
  EXPECT_EQ(ready(), "");
}

TEST_F(Ready, ADestroyWaitsForEarlierStepsOnItsPlace) {
  node.add_instance(a);
  node.add_instance(b);
  step(Step::start, a, 1);
  step(Step::destroy, a);
  step(Step::destroy, b);
  EXPECT_EQ(ready(), "0 2");
}

TEST_F(Ready, ACreateWaitsForDestroysInFrontOfIt) {
  step(Step::create, a);
  EXPECT_EQ(ready(), "0");
  node.add_instance(b);
  EXPECT_EQ(ready(), "0") << "one that stays is no hindrance";
  node.add_instance(b, State::going);
  EXPECT_EQ(ready(), "") << "one that goes is";
  node.add_instance(b);
  node.state.gpus[0].steps.clear();
  step(Step::destroy, b);
  step(Step::create, a);
  step(Step::create, c);
  EXPECT_EQ(ready(), "0");
}

TEST_F(Ready, ACreateWaitsForItsPlaceAndForTheWholeGpu) {
  step(Step::create, a);
  node.add_instance(a, State::making);
  EXPECT_EQ(ready(), "");
  node.state.gpus[0].instances.clear();
  node.state.occupy({gpu0, std::nullopt}, {1, 1});
  EXPECT_EQ(ready(), "");
  node.state.occupants.clear();
  EXPECT_EQ(ready(), "0");
  node.state.gpus[0].steps.push_front({Step::start_whole, 0, 1});
  EXPECT_EQ(ready(), "0") << "the create is behind a job that wants the whole GPU";
}

TEST_F(Ready, AStartNeedsItsInstanceForItself) {
  node.add_job(1);
  step(Step::start, a, 1);
  EXPECT_EQ(ready(), "");
  node.add_instance(a, State::making);
  EXPECT_EQ(ready(), "");
  node.add_instance(a);
  EXPECT_EQ(ready(), "0");
  node.state.occupy({gpu0, a}, {2, 1});
  EXPECT_EQ(ready(), "") << "another job is still leaving it";
}

TEST_F(Ready, AStartWaitsUntilNoProcessOfItsJobIsLeft) {
  node.add_instance(a);
  node.add_instance(b);
  LiveJob& job = node.add_job(1);
  node.add_attempt(job, b);
  step(Step::start, a, 1);
  EXPECT_EQ(ready(), "");
  job.attempts.clear();
  EXPECT_EQ(ready(), "0");
}

TEST_F(Ready, StartsOnOnePlaceFollowOneAnother) {
  node.add_instance(a);
  node.add_instance(b);
  step(Step::start, a, 1);
  step(Step::start, a, 2);
  step(Step::start, b, 3);
  EXPECT_EQ(ready(), "0 2");
}

TEST_F(Ready, SharedStartsGoSideBySide) {
  node.add_instance(a);
  LiveJob& other = node.add_job(9);
  node.add_attempt(other, a);
  step(Step::share, a, 1);
  step(Step::share, a, 2);
  EXPECT_EQ(ready(), "0 1");
  step(Step::destroy, a);
  step(Step::share, a, 3);
  EXPECT_EQ(ready(), "0 1") << "what follows a destroy waits for it";
  LiveJob& job = node.add_job(2);
  node.add_instance(b);
  node.add_attempt(job, b);
  EXPECT_EQ(ready(), "0") << "the second job is still somewhere else";
}

TEST_F(Ready, AReplicaStartsBesideOneAttempt) {
  node.add_instance(a);
  node.add_instance(b);
  LiveJob& job = node.add_job(1);
  node.add_attempt(job, b);
  step(Step::replica, a, 1);
  EXPECT_EQ(ready(), "0");
  node.add_attempt(job, c);
  EXPECT_EQ(ready(), "") << "an earlier replica is still on its way out";
  job.attempts.clear();
  node.state.occupy({gpu0, a}, {2, 1});
  EXPECT_EQ(ready(), "") << "its instance is in use";
}

TEST_F(Ready, AProcessIsHandedOverOnceItsNewPlaceIsThereAndFree) {
  node.add_instance(b);
  LiveJob& job = node.add_job(1);
  node.add_attempt(job, b);
  step(Step::create, a);
  step(Step::hand_over, a, 1);
  EXPECT_EQ(ready(), "0");
  node.state.gpus[0].steps.pop_front();
  node.add_instance(a, State::making);
  EXPECT_EQ(ready(), "");
  node.add_instance(a);
  EXPECT_EQ(ready(), "0") << "its process still runs, and is told to end";
  node.state.occupy({gpu0, a}, {2, 1});
  EXPECT_EQ(ready(), "");
}

TEST_F(Ready, AWholeGpuMustBeEmptyAndFirst) {
  node.add_job(1);
  step(Step::start_whole, 0, 1);
  EXPECT_EQ(ready(), "0");
  node.add_instance(a);
  EXPECT_EQ(ready(), "");
  node.state.gpus[0].instances.clear();
  node.state.occupy({gpu0, std::nullopt}, {2, 1});
  EXPECT_EQ(ready(), "");
  node.state.occupants.clear();
  node.add_attempt(node.state.jobs.at(1), b);
  EXPECT_EQ(ready(), "") << "its job has a process elsewhere";
  node.state.jobs.at(1).attempts.clear();
  node.state.occupants.clear();
  node.state.gpus[0].steps.push_front({Step::destroy, a, 0});
  EXPECT_EQ(ready(), "");
}

TEST(IdleInstances, AreOursReadyUnusedAndOldEnough) {
  NodeForTest node;
  const PlacementId a = node.placement("1g.5gb", 0), b = node.placement("1g.5gb", 1),
                    c = node.placement("1g.5gb", 2), d = node.placement("1g.5gb", 3);
  node.add_instance(a).idle_since = 5s;
  node.add_instance(b).idle_since = 6s;
  node.add_instance(c, State::going).idle_since = 0s;
  node.add_instance(d).idle_since = 0s;
  node.state.occupy({gpu0, d}, {1, 1});
  EXPECT_EQ(idle_instances(node.state, gpu0, 25s, 20s), std::vector{a});
  EXPECT_EQ(idle_instances(node.state, gpu0, 26s, 20s), (std::vector{a, b}));
}

ObservedInstance seen(PlacementId placement, std::string device, Ownership owner) {
  ObservedInstance instance;
  instance.placement = placement;
  instance.device = std::move(device);
  instance.owner = owner;
  return instance;
}

TEST(ChangesOf, NothingWhereAllIsAsBelieved) {
  NodeForTest node;
  const PlacementId a = node.placement("3g.20gb", 0);
  node.add_instance(a).device = "MIG-a";
  GpuObservation observation;
  observation.instances = {seen(a, "MIG-a", Ownership::ours)};
  const InstanceChanges changes = changes_of(node.state.gpus[0], observation);
  EXPECT_TRUE(changes.walls.empty());
  EXPECT_TRUE(changes.found.empty());
  EXPECT_TRUE(changes.vanished.empty());
}

TEST(ChangesOf, OursThatWereNotKnownAreFoundAndOthersAreWalls) {
  NodeForTest node;
  const PlacementId a = node.placement("3g.20gb", 0), b = node.placement("2g.10gb", 4),
                    c = node.placement("1g.5gb", 6);
  GpuObservation observation;
  observation.instances = {seen(a, "MIG-a", Ownership::ours), seen(b, "MIG-b", Ownership::foreign),
                           seen(c, "", Ownership::ours)};
  const InstanceChanges changes = changes_of(node.state.gpus[0], observation);
  EXPECT_EQ(changes.found, std::vector{a});
  EXPECT_EQ(changes.walls, PlacementSet::of(b) | PlacementSet::of(c))
      << "one of ours without a device is of no use";
  EXPECT_TRUE(changes.vanished.empty());
}

TEST(ChangesOf, OursThatAreNotShownHaveVanished) {
  NodeForTest node;
  const PlacementId a = node.placement("3g.20gb", 0), b = node.placement("2g.10gb", 4),
                    c = node.placement("1g.5gb", 6);
  node.add_instance(a);
  node.add_instance(b, State::going);
  node.add_instance(c, State::making);
  EXPECT_EQ(changes_of(node.state.gpus[0], {}).vanished, std::vector{a})
      << "what is being changed is told by its operation";
}

TEST(ChangesOf, AnInstanceOfOthersInThePlaceOfOurs) {
  NodeForTest node;
  const PlacementId a = node.placement("3g.20gb", 0), b = node.placement("2g.10gb", 4);
  node.add_instance(a).device = "MIG-a";
  node.add_instance(b, State::making).device = "MIG-b";
  GpuObservation observation;
  observation.instances = {seen(a, "MIG-x", Ownership::foreign),
                           seen(b, "MIG-y", Ownership::half_made)};
  const InstanceChanges changes = changes_of(node.state.gpus[0], observation);
  EXPECT_EQ(changes.vanished, std::vector{a});
  EXPECT_EQ(changes.walls, PlacementSet::of(a)) << "b is being made, so the operation will tell";
}

TEST(ChangesOf, PlacesThatTheGeometryDoesNotKnowAreLeftOut) {
  NodeForTest node;
  GpuObservation observation;
  observation.instances = {seen(0, "MIG-a", Ownership::foreign)};
  observation.instances[0].placement.reset();
  EXPECT_TRUE(changes_of(node.state.gpus[0], observation).walls.empty());
}

TEST(IsSettled, OnceTheGpuWasObservedOrWillNotBe) {
  ManagedGpu gpu;
  gpu.shown = 4;
  const PendingVerdict pending{{1, 1}, {}, gpu0, 4, 10s};
  EXPECT_FALSE(is_settled(pending, gpu, 9s));
  EXPECT_TRUE(is_settled(pending, gpu, 10s));
  gpu.shown = 5;
  EXPECT_TRUE(is_settled(pending, gpu, 9s));
  gpu.shown = 0;
  gpu.lost = true;
  EXPECT_TRUE(is_settled(pending, gpu, 9s));
  gpu.lost = false;
  gpu.hung = true;
  EXPECT_TRUE(is_settled(pending, gpu, 9s));
}

TEST(NextWake, IsTheEarliestOfWhatIsDue) {
  NodeForTest node({"A30", "A30"});
  NodeState& state = node.state;
  state.gpus[0].next_look = 70s;
  state.gpus[1].next_look = 80s;
  const WakeRules rules{60s, std::nullopt, true};
  EXPECT_EQ(next_wake(state, 0s, rules), 70s);
  EXPECT_EQ(next_wake(state, 0s, {60s, std::nullopt, false}), Duration::max())
      << "nobody looks while the store does not write";
  state.gpus[0].asked[1].since = 5s;
  EXPECT_EQ(next_wake(state, 0s, rules), 65s) << "its answer is due";
  state.gpus[0].hung = true;
  EXPECT_EQ(next_wake(state, 0s, rules), 80s);
  state.pending.push_back({{1, 1}, {}, gpu1, 0, 50s});
  EXPECT_EQ(next_wake(state, 0s, rules), 50s);
  state.timers.emplace(40s, JobKey{1, 1});
  state.timers.emplace(45s, JobKey{1, 2});
  EXPECT_EQ(next_wake(state, 0s, rules), 40s);
}

TEST(NextWake, IdleInstancesAreDueOnce) {
  NodeForTest node;
  node.state.gpus[0].next_look = 100s;
  node.add_instance(0).idle_since = 5s;
  node.add_instance(5, State::going).idle_since = 1s;
  EXPECT_EQ(next_wake(node.state, 0s, {60s, 20s, true}), 25s);
  EXPECT_EQ(next_wake(node.state, 25s, {60s, 20s, true}), 100s);
  EXPECT_EQ(next_wake(node.state, 0s, {60s, std::nullopt, true}), 100s);
}

TEST(QueueOf, IsByPriorityThenByNumber) {
  NodeForTest node;
  for (const JobNumber number : {4, 2, 9, 7}) node.add_job(number);
  node.state.jobs.at(7).record.spec.priority = 5;
  node.state.jobs.at(4).record.spec.priority = -1;
  EXPECT_EQ(queue_of(node.state), (std::vector<JobNumber>{7, 2, 9, 4}));
  node.add_attempt(node.state.jobs.at(2), 0);
  EXPECT_EQ(queue_of(node.state), (std::vector<JobNumber>{7, 9, 4})) << "one runs";
}

TEST(QueueOf, AJobThatWaitsAgainStandsWhereTheEngineHasIt) {
  NodeForTest node;
  for (const JobNumber number : {1, 2, 3, 4}) node.add_job(number);
  node.state.jobs.at(2).id = JobId{1};
  node.state.jobs.at(3).id = JobId{2};
  node.state.jobs.at(1).id = JobId{3};
  EXPECT_EQ(queue_of(node.state), (std::vector<JobNumber>{2, 3, 1, 4}));
}

}  // namespace
}  // namespace cleave
