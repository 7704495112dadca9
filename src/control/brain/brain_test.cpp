// The brain over a small node: what it tells the engine, and what it hands out of its answers.

#include "control/brain/brain.hpp"

#include <gtest/gtest.h>

#include "base/format.hpp"
#include "control/brain/fleet_of_node.hpp"
#include "control/node/node_state_test.hpp"
#include "model/default_scheduler.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

class BrainTest : public testing::Test {
 protected:
  BrainTest() {
    brain.choose_scheduler("online");
    brain.set_carry_out([this](const Command& command) {
      carried_out += std::visit([this](const auto& what) { return text(what); }, command);
      if (then) std::exchange(then, nullptr)();
    });
  }
  /// "start 7 " with the job's own number.
  std::string text(const StartJob& what) {
    started_on = node.state.gpu(what.gpu).geometry()[what.placement].profile->name;
    return fmt::format("start {} ", brain.number_of(what.job));
  }
  std::string text(const CreateInstance&) { return "create "; }
  std::string text(const RejectJob& what) {
    return fmt::format("reject {} ", brain.number_of(what.job));
  }
  std::string text(const CheckpointJob& what) {
    return fmt::format("save {} ", brain.number_of(what.job));
  }
  std::string text(const StopJob& what) {
    return fmt::format("stop {} ", brain.number_of(what.job));
  }
  std::string text(const MigrateJob& what) {
    return fmt::format("move {} ", brain.number_of(what.job));
  }
  template <typename Other>
  std::string text(const Other&) {
    return "other ";
  }
  LiveJob& job(JobNumber number, std::string profile) {
    LiveJob& added = node.add_job(number);
    added.record.request.wanted = ByProfile{std::move(profile)};
    return added;
  }
  void make() { ASSERT_TRUE(brain.make(fleet_of(node.state), "laws", {})); }

  Clock clock{{10s, Instant{} + 1000h}};
  NodeForTest node;
  Brain brain{clock};
  std::string carried_out;
  std::string started_on;  // the profile of the last start
  std::function<void()> then;
};

TEST_F(BrainTest, BeforeAnEngineIsMadeNothingReachesIt) {
  EXPECT_FALSE(brain.active());
  EXPECT_TRUE(brain.rebuilding());
  EXPECT_EQ(brain.rebuild_reason(), "the daemon has begun");
  brain.tell(Paused{});
  EXPECT_TRUE(brain.collect(Paused{}).empty());
  brain.settle();
  brain.wake();
  EXPECT_FALSE(brain.begin_rebuild("again")) << "that is so already";
  EXPECT_EQ(brain.rebuild_reason(), "the daemon has begun");
  EXPECT_EQ(brain.jobs_known(), 0U);
}

TEST_F(BrainTest, AnAnswerIsCarriedOutAtOnce) {
  make();
  EXPECT_TRUE(brain.active());
  LiveJob& one = job(7, "3g.20gb");
  brain.tell(brain.submission_of(std::array{&one}));
  brain.settle();
  EXPECT_EQ(carried_out, "create start 7 ");
  EXPECT_EQ(brain.jobs_known(), 1U);
  EXPECT_EQ(brain.number_of(*one.id), 7);
  EXPECT_EQ(cleave::text(brain.request_of(*one.id)), "3g.20gb");
}

TEST_F(BrainTest, WhatIsCarriedOutMayTellMore) {
  make();
  LiveJob &one = job(1, "3g.20gb"), &two = job(2, "3g.20gb");
  then = [&] { brain.tell(brain.submission_of(std::array{&two})); };
  brain.tell(brain.submission_of(std::array{&one}));
  brain.settle();
  EXPECT_EQ(carried_out, "create start 1 create start 2 ") << "one answer after the other";
}

TEST_F(BrainTest, WhatIsCollectedWaits) {
  make();
  LiveJob& one = job(1, "1g.99gb");
  const auto answer = brain.collect(brain.submission_of(std::array{&one}));
  EXPECT_EQ(answer.size(), 1U);
  brain.wake();
  EXPECT_EQ(carried_out, "") << "the engine did not ask to be woken";
  brain.carry_out();
  EXPECT_EQ(carried_out, "reject 1 ");
  brain.carry_out();
  EXPECT_EQ(carried_out, "reject 1 ") << "once";
}

TEST_F(BrainTest, AfterARebuildBeganNothingIsCarriedOutAnyMore) {
  make();
  then = [&] { EXPECT_TRUE(brain.begin_rebuild("something went wrong")); };
  brain.tell(brain.submission_of(std::array{&job(1, "3g.20gb")}));
  brain.settle();
  EXPECT_EQ(carried_out, "create ") << "the start is not";
  EXPECT_FALSE(brain.active());
  EXPECT_EQ(brain.rebuild_reason(), "something went wrong");
  make();
  EXPECT_TRUE(brain.active());
  EXPECT_EQ(brain.jobs_known(), 0U) << "the new engine knows nothing yet";
  brain.carry_out();
  EXPECT_EQ(carried_out, "create ");
}

TEST_F(BrainTest, AnAdoptedJobHoldsItsInstance) {
  const PlacementId at = node.placement("7g.40gb", 0);
  node.add_instance(at);
  LiveJob& runs = job(1, "7g.40gb");
  node.add_attempt(runs, at);
  make();
  runs.place = JobPlace{GpuId{0}, at};
  for (const Event& event : brain.adoption_of(std::array{&runs})) brain.collect(event);
  EXPECT_EQ(runs.place, (JobPlace{GpuId{0}, at}));
  brain.collect(brain.submission_of(std::array{&job(2, "7g.40gb")}));
  brain.carry_out();
  brain.settle();
  EXPECT_EQ(carried_out, "") << "the second waits";
  brain.tell(Finished{*runs.id});
  brain.settle();
  EXPECT_EQ(carried_out, "start 2 ");
}

TEST_F(BrainTest, SchedulersKnowHowLongAJobIsExpectedToRun) {
  brain.choose_scheduler("dyna-p:time-error=0;base=own");
  make();
  LiveJob& one = job(1, "");
  one.record.submitted = Instant{} + 1000h;
  one.record.request.wanted = BySize{MiB{1000}, {}};
  one.record.spec.deadline = 100s;
  one.record.spec.expected = 50s;
  brain.tell(brain.submission_of(std::array{&one}));
  brain.settle();
  EXPECT_EQ(started_on, "4g.20gb") << "on smaller instances it would miss its deadline";
}

TEST_F(BrainTest, WhatNoGpuCanRunIsRejected) {
  make();
  brain.tell(brain.submission_of(std::array{&job(5, "1g.99gb")}));
  EXPECT_EQ(carried_out, "reject 5 ");
}

TEST_F(BrainTest, TheEngineIsWokenWhenItWanted) {
  EXPECT_EQ(brain.next_wake(), Duration::max());
  make();
  brain.tell(brain.submission_of(std::array{&job(1, "7g.40gb")}));
  brain.settle();
  // A refusal has the GPU rest, and the engine wants to hear when that is over.
  brain.tell(CreateFailed{GpuId{0}, node.placement("7g.40gb", 0)});
  brain.settle();
  const Duration at = brain.next_wake();
  ASSERT_NE(at, Duration::max());
  EXPECT_GT(at, clock.steady());
  carried_out.clear();
  clock.advance({at - 1ms, Instant{} + 1000h});
  brain.wake();
  brain.settle();
  EXPECT_EQ(carried_out, "") << "it is not time yet";
  EXPECT_EQ(brain.next_wake(), at);
  clock.advance({at, Instant{} + 1000h});
  brain.wake();
  brain.settle();
  EXPECT_EQ(carried_out, "create start 1 ");
  EXPECT_NE(brain.next_wake(), at);
}

TEST_F(BrainTest, ASchedulerThatCannotBeIsATrouble) {
  EXPECT_TRUE(Brain::check_scheduler("online", fleet_of(node.state)));
  EXPECT_FALSE(Brain::check_scheduler("nonsense", fleet_of(node.state)));
  EXPECT_TRUE(Brain::check_forecaster("laws"));
  EXPECT_FALSE(Brain::check_forecaster("nonsense"));
  EXPECT_EQ(Brain::interrupting_name("online").value(), "");
  EXPECT_EQ(Brain::interrupting_name("miso").value(), "miso");
  EXPECT_FALSE(Brain::interrupting_name("nonsense"));
}

TEST_F(BrainTest, WithoutASchedulerThereIsNoEngine) {
  make();
  for (const char* scheduler : {"nonsense", "online:threshold=7"}) {
    brain.begin_rebuild("another scheduler");
    brain.choose_scheduler(scheduler);
    EXPECT_FALSE(brain.make(fleet_of(node.state), "laws", {})) << scheduler;
    EXPECT_FALSE(brain.active());
  }
  EXPECT_EQ(brain.trouble(),
            "no job is started: the scheduler online:threshold=7: scheduler "
            "'online:threshold=7': threshold: '7' is not a number from 0 to 1");
}

TEST_F(BrainTest, WhatTheSchedulerIsLike) {
  EXPECT_FALSE(brain.furnishes());
  EXPECT_FALSE(brain.wants_whole_gpus());
  make();
  EXPECT_FALSE(brain.furnishes());
  brain.begin_rebuild("another scheduler");
  brain.choose_scheduler("full-gpu");
  EXPECT_EQ(brain.scheduler(), "full-gpu");
  make();
  EXPECT_TRUE(brain.wants_whole_gpus());
}

TEST(FleetOfNode, GpusOfOneKindShareAGeometry) {
  const NodeForTest node({"A100-SXM4-40GB", "A30", "A100-SXM4-40GB"});
  const FleetFile fleet = fleet_of(node.state);
  ASSERT_EQ(fleet.gpus.size(), 3U);
  EXPECT_EQ(fleet.geometries.size(), 2U);
  EXPECT_EQ(fleet.gpus[0].geometry, 0U);
  EXPECT_EQ(fleet.gpus[1].geometry, 1U);
  EXPECT_EQ(fleet.gpus[2].geometry, 0U);
  EXPECT_EQ(fleet.gpus[2].name, "gpu/2");
}

TEST(FleetOfNode, ShowsOursAndWalls) {
  NodeForTest node;
  const PlacementId ours = node.placement("3g.20gb", 0), wall = node.placement("2g.10gb", 4);
  node.add_instance(ours);
  node.add_instance(node.placement("1g.5gb", 6), ManagedInstance::State::making);
  node.state.gpus[0].walls = PlacementSet::of(wall);
  const std::vector<InstanceEntry> instances = fleet_of(node.state).gpus[0].instances;
  ASSERT_EQ(instances.size(), 2U) << "what is being made is not there";
  EXPECT_EQ(instances[0].placement, wall);
  EXPECT_FALSE(instances[0].owned);
  EXPECT_EQ(instances[1].placement, ours);
  EXPECT_TRUE(instances[1].owned);
  node.state.gpus[0].lost = true;
  EXPECT_TRUE(fleet_of(node.state).gpus[0].instances.empty());
}

TEST(FleetOfNode, AStateThatCannotBeIsShownAsEmpty) {
  NodeForTest node;
  node.add_instance(node.placement("7g.40gb", 0));
  node.state.gpus[0].walls = PlacementSet::of(node.placement("1g.5gb", 0));
  EXPECT_TRUE(fleet_of(node.state).gpus[0].instances.empty());
}

class DefaultSchedulerTest : public BrainTest {
 protected:
  /// What is said when a job of ten hours has the GPU, and nine that are much shorter come.
  std::string short_ones_come(Keeps keeps, bool restartable, Duration short_time = 600s) {
    brain.choose_scheduler(std::string(default_scheduler));
    make();
    const auto submit = [&](JobNumber number, std::string profile, Duration time) {
      LiveJob& added = node.add_job(number);
      added.record.request.wanted = BySize{MiB{4000}, {}};
      added.record.spec.progress = keeps;
      added.record.spec.restartable = restartable;
      added.record.spec.times = {{std::move(profile), time}};
      brain.tell(brain.submission_of(std::array{&added}));
      brain.settle();
    };
    submit(1, "7g.40gb", 10h);
    EXPECT_EQ(carried_out, "create start 1 ");
    EXPECT_EQ(started_on, "7g.40gb");
    carried_out.clear();
    for (JobNumber number = 2; number <= 10; ++number) submit(number, "1g.5gb", short_time);
    return carried_out;
  }
};

TEST_F(DefaultSchedulerTest, JobsThatSaveTheirWorkMakeRoom) {
  const std::string said = short_ones_come(Keeps::checkpoint, false);
  EXPECT_TRUE(said.starts_with("save 1 ")) << said;
}

TEST_F(DefaultSchedulerTest, JobsShorterThanACheckpointDoNotWaitForHours) {
  const std::string said = short_ones_come(Keeps::checkpoint, false, 60s);
  EXPECT_TRUE(said.starts_with("save 1 ")) << said;
}

TEST_F(DefaultSchedulerTest, JobsThatMayNotBeStoppedAreNot) {
  EXPECT_EQ(short_ones_come(Keeps::unsaid, false), "");
}

TEST_F(DefaultSchedulerTest, JobsThatWouldBeginAgainAreNotStopped) {
  EXPECT_EQ(short_ones_come(Keeps::unsaid, true), "");
}

TEST_F(DefaultSchedulerTest, SaysInWhichOrderJobsWait) {
  static_cast<void>(short_ones_come(Keeps::unsaid, false));
  EXPECT_EQ(brain.outlook(*node.state.find(2)).order, "what is left of the jobs, the least first");
  EXPECT_EQ(brain.outlook(*node.state.find(1)).size,
            "where a unit of its work cost least when it started, at the price of a slice then");
}

TEST_F(BrainTest, SchedulersKnowWhoseJobsAre) {
  brain.choose_scheduler("online:user-jobs=1");
  make();
  const auto submit = [&](JobNumber number, std::string user, std::uint32_t uid) {
    LiveJob& added = job(number, "1g.5gb");
    added.record.owner.user = std::move(user);
    added.record.owner.uid = uid;
    carried_out.clear();
    brain.tell(brain.submission_of(std::array{&added}));
    brain.settle();
    return carried_out;
  };
  EXPECT_EQ(submit(1, "ann", 1001), "create start 1 ");
  EXPECT_EQ(submit(2, "ann", 1001), "") << "she has one already";
  EXPECT_EQ(submit(3, "bob", 1002), "create start 3 ");
  EXPECT_EQ(submit(4, "", 1003), "create start 4 ");
  EXPECT_EQ(submit(5, "", 1004), "create start 5 ") << "users without a name differ too";
}

}  // namespace
}  // namespace cleave
