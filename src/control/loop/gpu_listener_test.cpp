// How the node follows what the executor answers.

#include "control/loop/gpu_listener.hpp"

#include <algorithm>

#include "control/loop/loop_parts_test.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

class GpuListenerTest : public LoopParts {
 protected:
  GpuListenerTest() { think(); }

  [[nodiscard]] ManagedGpu& gpu() { return node.gpus[0]; }
  /// As an answer to a look.
  void observe(GpuObservation observation) {
    gpus.ask(gpu0, LookAtGpu{}, std::nullopt);
    book.commit(node);
    GpuNews news;
    news.number = node.last_operation;
    news.gpu = gpu0;
    news.observation = std::move(observation);
    executor.news.push_back(std::move(news));
    gpus.hear();
  }
  static ObservedInstance seen(PlacementId placement, std::string device,
                               Ownership owner = Ownership::ours) {
    ObservedInstance instance;
    instance.placement = placement;
    instance.device = std::move(device);
    instance.owner = owner;
    return instance;
  }

  const PlacementId large = node_.placement("3g.20gb", 0), small = node_.placement("1g.5gb", 6);
};

TEST_F(GpuListenerTest, AnInstanceThatWasMadeIsReadyAndRecorded) {
  LiveJob& job = submit("3g.20gb");
  EXPECT_EQ(job.record.state, JobState::starting);
  act();
  ASSERT_EQ(asked(), fmt::format("create {}", job.place->placement.value()));
  EXPECT_EQ(gpu().instances.begin()->second.state, ManagedInstance::State::making);
  succeed("MIG-1");
  const ManagedInstance& instance = gpu().instances.begin()->second;
  EXPECT_EQ(instance.state, ManagedInstance::State::ready);
  EXPECT_EQ(instance.device, "MIG-1");
  EXPECT_EQ(instance.idle_since, now);
  EXPECT_TRUE(instance.capacity) << "that of its profile, since nobody has measured it";
  EXPECT_TRUE(node.instances.contains("MIG-1"));
  EXPECT_EQ(happened(), "job-submitted instance-created");
  EXPECT_EQ(node.change_times.count(InstanceChange::create), 1U);
  ASSERT_EQ(store.load()->instances.size(), 1U);
  EXPECT_EQ(store.load()->instances[0].profile, "3g.20gb");
  act();
  EXPECT_EQ(job.attempts.size(), 1U) << "and its job starts there";
  EXPECT_EQ(job.attempts.begin()->second.record.device, "MIG-1");
}

TEST_F(GpuListenerTest, WhereAnInstanceIsRefusedItsJobWaits) {
  LiveJob& job = submit("3g.20gb");
  act();
  refuse("the driver is busy");
  EXPECT_TRUE(gpu().instances.empty());
  EXPECT_TRUE(gpu().steps.empty()) << "its start is gone";
  EXPECT_EQ(job.record.state, JobState::queued);
  EXPECT_FALSE(job.place);
  EXPECT_TRUE(job.id) << "the engine has it waiting";
  EXPECT_EQ(happened(), "job-submitted instance-refused");
}

TEST_F(GpuListenerTest, OneThatWasToBeDestroyedAnywayIsNoNewsToTheEngine) {
  gpu().steps.push_back({GpuStep::Kind::destroy, large, 0});
  gpu().steps.push_back({GpuStep::Kind::destroy, small, 0});
  gpu().instances[large].state = ManagedInstance::State::making;
  gpus.ask(gpu0, CreateOnGpu{large}, large);
  book.commit(node);
  refuse("the driver is busy");
  ASSERT_EQ(gpu().steps.size(), 1U);
  EXPECT_EQ(gpu().steps[0].placement, small);
  EXPECT_TRUE(brain.active());
}

TEST_F(GpuListenerTest, OneThatWasDestroyedAgainAndWantedMeanwhileNeedsAnotherEngine) {
  LiveJob& job = submit("3g.20gb");
  act();
  const PlacementId at = *job.place->placement;
  gpu().steps.push_back({GpuStep::Kind::destroy, at, 0});
  refuse("the driver is busy");
  EXPECT_TRUE(brain.rebuilding());
  EXPECT_EQ(brain.rebuild_reason(), "an instance was not made");
}

class HeldInstance : public GpuListenerTest {
 protected:
  /// An idle 3g.20gb that was to be destroyed, and somebody holds it.
  void hold() {
    node_.add_instance(large, ManagedInstance::State::going).device = "MIG-1";
    node.instances["MIG-1"] = InstanceRecord{"MIG-1", "GPU-0", "3g.20gb", 0, epoch, {}};
    gpus.ask(gpu0, DestroyOnGpu{"MIG-1"}, large);
    book.commit(node);
    refuse("a monitor has it open");
    executor.asked.clear();
    think();
  }
  [[nodiscard]] ManagedInstance& held() { return gpu().instances.at(large); }
  void try_again() {
    steps.destroy_quarantined_instances();
    book.commit(node);
  }
};

TEST_F(HeldInstance, IsInTheWayAndTheRestOfTheGpuGoesOn) {
  hold();
  EXPECT_EQ(held().state, ManagedInstance::State::ready);
  EXPECT_FALSE(brain.rests(gpu0));
  EXPECT_EQ(happened(), "instance-stays");
  ASSERT_EQ(listing.troubles().size(), 1U);
  EXPECT_NE(
      listing.troubles()[0].find("cannot be destroyed yet, and is tried again: GPU 0: a monitor "
                                 "has it open"),
      std::string::npos)
      << listing.troubles()[0];
  const LiveJob& job = submit("1g.5gb");
  ASSERT_TRUE(job.place);
  EXPECT_FALSE(gpu().geometry()[large].conflicts.contains(*job.place->placement));
}

TEST_F(HeldInstance, IsTriedAgainOnceATimeAndItsRoomUsedAtOnce) {
  hold();
  const LiveJob& waits = submit("7g.40gb");
  EXPECT_FALSE(waits.place);
  EXPECT_EQ(listing.why_waits(waits.record.number, listing.queue()),
            "it cannot run at present: no GPU has room for it beside foreign instances and the "
            "fleet's own work; 3g.20gb@0 of GPU 0 cannot be destroyed yet, and is tried again: GPU "
            "0: a monitor has it open");
  (void)happened();
  for (const Duration delay : {1s, 2s, 4s, 5s, 5s}) {
    try_again();
    EXPECT_EQ(asked(), "") << "too soon";
    pass(delay);
    try_again();
    ASSERT_EQ(asked(), "destroy MIG-1");
    EXPECT_TRUE(std::get<DestroyOnGpu>(executor.asked.back().operation).once);
    refuse("another monitor has it open");
    EXPECT_EQ(happened(), "") << "it was told";
    EXPECT_NE(held().held.find("another monitor"), std::string::npos);
    EXPECT_FALSE(brain.rebuilding()) << "nothing has changed";
    executor.asked.clear();
  }
  pass(5s);
  try_again();
  succeed();
  think();
  EXPECT_TRUE(waits.place);
  EXPECT_EQ(happened(), "instance-destroyed");
  EXPECT_EQ(node.change_times.count(InstanceChange::destroy), 1U);
  EXPECT_TRUE(listing.troubles().empty());
}

TEST_F(HeldInstance, IsTriedWhenAnotherIsLetGo) {
  hold();
  node_.add_instance(small, ManagedInstance::State::going).device = "MIG-2";
  node.instances["MIG-2"] = InstanceRecord{"MIG-2", "GPU-0", "1g.5gb", 6, epoch, {}};
  gpus.ask(gpu0, DestroyOnGpu{"MIG-2"}, small);
  book.commit(node);
  refuse("a monitor has it open");
  pass(1s);
  held().next_try = now + 4s;
  executor.asked.clear();
  try_again();
  ASSERT_EQ(asked(), "destroy MIG-2");
  succeed();
  executor.asked.clear();
  try_again();
  EXPECT_EQ(asked(), "destroy MIG-1");
}

TEST_F(HeldInstance, IsGivenToAJobThatWantsOneLikeIt) {
  hold();
  submit("3g.20gb");  // takes the other half
  const LiveJob& job = submit("3g.20gb");
  EXPECT_FALSE(job.place);
  steps.give_held_instances();
  EXPECT_FALSE(brain.rebuilding()) << "not at once, or the two would take turns without end";
  pass(1s);
  steps.give_held_instances();
  ASSERT_TRUE(brain.rebuilding());
  EXPECT_EQ(held().held, "");
  think();
  ASSERT_TRUE(job.place);
  EXPECT_EQ(job.place->placement, large);
}

TEST_F(HeldInstance, IsGivenAlsoWhereTheSchedulerWouldCutItUp) {
  brain.choose_scheduler("adaptive");
  lifecycle.rebuild("of the test");
  hold();
  submit("3g.20gb");  // takes the other half
  const LiveJob &first = submit("2g.10gb"), &second = submit("3g.20gb");
  for (const auto* job : {&first, &second}) EXPECT_FALSE(job->place);
  pass(1s);
  steps.give_held_instances();
  think();
  ASSERT_TRUE(second.place) << "it is the first that asks for one like it";
  EXPECT_EQ(second.place->placement, large);
  EXPECT_EQ(second.record.state, JobState::starting);
  EXPECT_FALSE(first.place);
  lifecycle.rebuild("something else");
  think();
  EXPECT_EQ(second.place, (JobPlace{gpu0, large})) << "it keeps it until it begins";
  EXPECT_TRUE(std::ranges::any_of(gpu().steps, [&](const GpuStep& step) {
    return step.kind == GpuStep::Kind::start && step.job == second.record.number;
  }));
}

TEST_F(HeldInstance, IsGivenToNoOtherUsersJob) {
  hold();
  held().user = 4;
  submit("3g.20gb");
  submit("3g.20gb");
  pass(10s);
  steps.give_held_instances();
  EXPECT_FALSE(brain.rebuilding());
}

TEST_F(HeldInstance, IsGivenToNoneBeforeItsTurn) {
  brain.choose_scheduler("scheme-b");
  lifecycle.rebuild("of the test");
  hold();
  submit("3g.20gb");
  submit("2g.10gb");
  submit("3g.20gb");
  pass(10s);
  steps.give_held_instances();
  EXPECT_FALSE(brain.rebuilding());
}

TEST_F(HeldInstance, IsGivenSoonToAJobThatComesAfterLong) {
  hold();
  for (int i = 0; i < 60; ++i) {
    pass(5s);
    try_again();
    refuse("a monitor has it open");
    executor.asked.clear();
    steps.give_held_instances();
  }
  EXPECT_GT(held().tries, 50);
  submit("3g.20gb");  // takes the other half
  const LiveJob& job = submit("3g.20gb");
  for (int i = 0; i < 2; ++i) {
    pass(1s);
    steps.give_held_instances();
  }
  ASSERT_TRUE(brain.rebuilding());
  think();
  ASSERT_TRUE(job.place);
  EXPECT_EQ(job.place->placement, large);
}

TEST_F(HeldInstance, IsOfferedToNobodyWhereNobodyWantsIt) {
  hold();
  submit("7g.40gb");
  pass(10s);
  steps.give_held_instances();
  EXPECT_FALSE(brain.rebuilding());
  EXPECT_NE(held().held, "");
}

TEST_F(GpuListenerTest, OneThatMakesAnInstanceIsForgiven) {
  brain.refused(gpu0);
  pass(1s);
  brain.refused(gpu0);
  pass(1s);
  EXPECT_TRUE(brain.rests(gpu0)) << "the second rest is longer";
  pass(1s);
  gpus.ask(gpu0, CreateOnGpu{large}, large);
  book.commit(node);
  succeed("MIG-1");
  brain.refused(gpu0);
  pass(1s);
  EXPECT_FALSE(brain.rests(gpu0));
}

TEST_F(GpuListenerTest, AnInstanceThatWasDestroyedIsGone) {
  node_.add_instance(large, ManagedInstance::State::going).device = "MIG-1";
  node.instances["MIG-1"] = InstanceRecord{"MIG-1", "GPU-0", "3g.20gb", 0, epoch, {}};
  gpus.ask(gpu0, DestroyOnGpu{"MIG-1"}, large);
  book.commit(node);
  succeed();
  EXPECT_FALSE(gpu().instances.contains(large));
  EXPECT_TRUE(node.instances.empty());
  EXPECT_EQ(happened(), "instance-destroyed");
  EXPECT_TRUE(store.load()->instances.empty());
}

TEST_F(GpuListenerTest, MigThatDoesNotSwitchTurnsJobsAway) {
  LiveJob& job = written_job(1);
  job.place = JobPlace{gpu0, std::nullopt};
  gpu().steps.push_back({GpuStep::Kind::start_whole, 0, 1});
  gpus.ask(gpu0, SwitchMig{false}, std::nullopt);
  book.commit(node);
  refuse("somebody uses it");
  EXPECT_TRUE(gpu().steps.empty());
  EXPECT_FALSE(job.place);
  EXPECT_EQ(happened(), "instance-refused mig-refused");
  EXPECT_TRUE(brain.rests(gpu0));
}

TEST_F(GpuListenerTest, InstancesOfOursThatAreFoundAreRecorded) {
  observe({.lost = false,
           .mig = true,
           .instances = {seen(large, "MIG-9")},
           .processes = {},
           .power_mw = {}});
  EXPECT_EQ(gpu().instances.at(large).device, "MIG-9");
  EXPECT_TRUE(node.instances.contains("MIG-9"));
  EXPECT_EQ(brain.rebuild_reason(), "an instance of ours was found");
}

TEST_F(GpuListenerTest, WallsThatComeAndGoNeedAnotherEngine) {
  const GpuObservation with{.lost = false,
                            .mig = true,
                            .instances = {seen(large, "MIG-9", Ownership::foreign)},
                            .processes = {},
                            .power_mw = {}};
  observe(with);
  EXPECT_EQ(gpu().walls, PlacementSet::of(large));
  EXPECT_TRUE(brain.rebuilding());
  think();
  observe(with);
  EXPECT_TRUE(brain.active()) << "nothing has changed";
  observe({});
  EXPECT_TRUE(gpu().walls.empty());
  EXPECT_TRUE(brain.rebuilding());
}

TEST_F(GpuListenerTest, AnAttemptOnAVanishedInstanceIsLost) {
  node_.add_instance(large);
  LiveJob& job = node_.add_job(1);
  node_.add_attempt(job, large);
  observe({});
  EXPECT_FALSE(gpu().instances.contains(large));
  EXPECT_EQ(job.attempts.at(1).record.end, AttemptEnd::lost);
  EXPECT_EQ(job.record.state, JobState::stopping);
  EXPECT_EQ(job.record.reason, "its instance 3g.20gb@0 of GPU 0 vanished");
}

TEST_F(GpuListenerTest, ALostGpuTakesAllWithIt) {
  node_.add_instance(large);
  node.instances["MIG"] = InstanceRecord{"MIG", "GPU-0", "3g.20gb", 0, epoch, {}};
  gpu().instances.at(large).device = "MIG";
  gpu().walls = PlacementSet::of(small);
  LiveJob& job = written_job(1);
  node_.add_attempt(job, large);
  GpuObservation lost;
  lost.lost = true;
  observe(lost);
  EXPECT_TRUE(gpu().lost);
  EXPECT_TRUE(gpu().instances.empty());
  EXPECT_TRUE(gpu().walls.empty());
  EXPECT_TRUE(node.instances.empty());
  EXPECT_EQ(job.attempts.at(1).record.why, "GPU 0 was lost");
  observe(lost);
  observe({});
  EXPECT_FALSE(gpu().lost);
  EXPECT_EQ(happened(), "gpu-lost gpu-returned") << "each is said once";
}

TEST_F(GpuListenerTest, InstancesThatWentWhileNobodyLookedAreClosed) {
  node.instances["MIG-1"] = InstanceRecord{"MIG-1", "GPU-0", "3g.20gb", 0, epoch, {}};
  node.instances["MIG-2"] = InstanceRecord{"MIG-2", "GPU-7", "3g.20gb", 0, epoch, {}};
  gpu().observation.reset();
  observe({});
  EXPECT_FALSE(node.instances.contains("MIG-1"));
  EXPECT_TRUE(node.instances.contains("MIG-2")) << "it is on another GPU";
  EXPECT_EQ(happened(), "instances-gone");
}

TEST_F(GpuListenerTest, ADriverThatDoesNotAnswerHangsAndMayComeBack) {
  settings.gpu_patience = 60s;
  gpus.ask(gpu0, LookAtGpu{}, std::nullopt);
  book.commit(node);
  pass(59s);
  gpus.hear();
  EXPECT_FALSE(gpu().hung);
  pass(1s);
  gpus.hear();
  EXPECT_TRUE(gpu().hung);
  EXPECT_EQ(gpu().trouble, "its driver does not answer");
  EXPECT_FALSE(gpus.takes_work(gpu0));
  succeed();
  EXPECT_FALSE(gpu().hung);
  EXPECT_EQ(gpu().trouble, "");
  EXPECT_EQ(happened(), "gpu-hangs gpu-answers");
}

TEST_F(GpuListenerTest, GpusAreLookedAtWhenItIsTimeAndNothingElseIsAsked) {
  settings.look_every = 5s;
  gpu().next_look = now;
  gpus.hear();
  book.commit(node);
  EXPECT_EQ(asked(), "look");
  pass(10s);
  gpus.hear();
  book.commit(node);
  EXPECT_EQ(asked(), "look") << "the first is not answered yet";
  succeed();
  book.commit(node);
  EXPECT_EQ(asked(), "look look");
  EXPECT_EQ(gpu().next_look, now + 5s);
}

TEST_F(GpuListenerTest, AnOperationIsSentOnlyOnceItIsWritten) {
  disk.fail_writes(1);
  book.event("something", "to be written");
  gpus.ask(gpu0, CreateOnGpu{large}, large);
  book.commit(node);
  EXPECT_EQ(asked(), "");
  EXPECT_EQ(gpu().asked.begin()->second.since, Duration::max());
  pass(1s);
  book.commit(node);
  EXPECT_EQ(asked(), fmt::format("create {}", large));
  EXPECT_EQ(gpu().asked.begin()->second.since, now);
}

TEST_F(GpuListenerTest, TroubleIsSaidOnceAndEnds) {
  gpus.ask(gpu0, LookAtGpu{}, std::nullopt);
  book.commit(node);
  refuse("another program holds its lock");
  EXPECT_FALSE(gpu().trouble.empty());
  gpus.ask(gpu0, LookAtGpu{}, std::nullopt);
  book.commit(node);
  refuse("another program holds its lock");
  gpus.ask(gpu0, LookAtGpu{}, std::nullopt);
  book.commit(node);
  succeed();
  EXPECT_EQ(gpu().trouble, "");
  EXPECT_EQ(happened(), "gpu-trouble gpu-well");
}

TEST_F(GpuListenerTest, WhatTheDriverCountsIsTheMostThatAJobHeld) {
  node_.add_instance(large).device = "MIG-1";
  LiveJob& job = node_.add_job(1);
  LiveAttempt& attempt = node_.add_attempt(job, large);
  GpuObservation observation;
  observation.instances = {seen(large, "MIG-1")};
  observation.instances[0].memory =
      MemoryUse{std::uint64_t{20} << 30, (std::uint64_t{3} << 20) + 1};
  observe(observation);
  EXPECT_EQ(attempt.seen, MiB{4});
  EXPECT_EQ(gpu().instances.at(large).capacity, MiB{20 << 10});
  observation.instances[0].memory->used_bytes = 1 << 20;
  observe(observation);
  EXPECT_EQ(attempt.seen, MiB{4});
  node.occupy({gpu0, large}, {2, 1});
  observation.instances[0].memory->used_bytes = std::uint64_t{9} << 20;
  observe(observation);
  EXPECT_EQ(attempt.seen, MiB{4}) << "of two nobody knows whose it is";
}

class CountingTest : public GpuListenerTest {
 protected:
  CountingTest() {
    node_.add_instance(large).device = "MIG-1";
    attempt.record.device = "MIG-1";
    attempt.watched = true;
    job.record.spec.application = "resnet";
  }
  /// What the next look counts: "MIG-1 anew".
  std::string look() {
    pass(5s);
    gpu().next_look = now;
    gpus.hear();
    book.commit(node);
    std::string words;
    for (const auto& [device, counting] : last_look().counts)
      words += fmt::format("{} {}", device, counting == Counting::anew ? "anew" : "on");
    return words;
  }
  [[nodiscard]] const LookAtGpu& last_look() const {
    return std::get<LookAtGpu>(executor.asked.back().operation);
  }
  void counted(std::vector<CountedDevice> counted) {
    GpuNews news;
    news.number = node.last_operation;
    news.gpu = gpu0;
    news.counted = std::move(counted);
    executor.news.push_back(std::move(news));
    gpus.hear();
  }
  /// The SM activity over these seconds; -1 where it is unknown.
  [[nodiscard]] double activity(Duration lasted) const {
    const auto means = attempt.busy.counters(lasted);
    return means.contains("sm_activity") ? means.at("sm_activity") : -1;
  }

  LiveJob& job = node_.add_job(1);
  LiveAttempt& attempt = node_.add_attempt(job, large);
};

TEST_F(CountingTest, AnAttemptIsCountedFromOneLookToTheNext) {
  EXPECT_EQ(look(), "MIG-1 anew");
  counted({{"MIG-1", {}}});
  EXPECT_EQ(look(), "MIG-1 on");
  counted({{"MIG-1", BusyShares{0.5, {}, {}, {}}}});
  EXPECT_EQ(look(), "MIG-1 on");
  counted({{"MIG-1", BusyShares{1, {}, {}, {}}}});
  EXPECT_EQ(activity(20s), 0.75);
  EXPECT_EQ(look(), "MIG-1 on");
  counted({});
  EXPECT_EQ(look(), "MIG-1 anew") << "there is a gap";
}

/// Energy goes by it, whatever the job may teach.
TEST_F(CountingTest, EachPlaceWithAJobIsCountedOnce) {
  job.record.spec.application.reset();
  attempt.watched = false;
  attempt.record.began.reset();
  EXPECT_EQ(look(), "") << "its instance is idle yet";
  counted({});
  attempt.record.began = Instant{} + 1s;
  EXPECT_EQ(look(), "MIG-1 anew");
  counted({{"MIG-1", {}}});
  EXPECT_FALSE(attempt.activity) << "nothing is known of it yet";
  EXPECT_EQ(look(), "MIG-1 on");
  counted({{"MIG-1", BusyShares{0.5, {}, {}, {}}}});
  EXPECT_EQ(attempt.activity, 0.5);
  LiveAttempt& beside = node_.add_attempt(node_.add_job(2), large);
  EXPECT_EQ(look(), "MIG-1 on");
  counted({{"MIG-1", BusyShares{0.25, {}, {}, {}}}});
  EXPECT_EQ(attempt.activity, 0.25);
  EXPECT_EQ(beside.activity, 0.25);
  EXPECT_EQ(look(), "MIG-1 on");
  counted({});
  EXPECT_FALSE(attempt.activity) << "it is not counted any more";
  EXPECT_FALSE(beside.activity);
}

TEST_F(CountingTest, WhatWasAskedForAnotherIsNotItsOwn) {
  EXPECT_EQ(look(), "MIG-1 anew");
  counted({{"MIG-1", {}}});
  EXPECT_EQ(look(), "MIG-1 on");
  LiveJob& next = node_.add_job(2);
  node.vacate({gpu0, large}, {1, 1}, now);
  LiveAttempt& follower = node_.add_attempt(next, large);
  follower.record.device = "MIG-1";
  follower.watched = true;
  next.record.spec.application = "bert";
  counted({{"MIG-1", BusyShares{1, {}, {}, {}}}});
  EXPECT_EQ(look(), "MIG-1 anew");
}

TEST_F(CountingTest, AWholeGpuIsCountedWithoutADevice) {
  node.vacate({gpu0, large}, {1, 1}, now);
  attempt.place = {gpu0, std::nullopt};
  attempt.record.device = "GPU-0";
  node.occupy(attempt.place, attempt.record.key);
  EXPECT_EQ(look(), " anew");
  counted({{"", {}}});
  EXPECT_EQ(look(), " on");
  counted({{"", BusyShares{0.25, {}, {}, {}}}});
  EXPECT_EQ(activity(10s), 0.25);
}

}  // namespace
}  // namespace cleave
