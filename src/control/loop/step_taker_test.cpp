// How a job comes to its new place: beside its replica, or by its checkpoint. What goes wrong on
// the way under everything else that happens is for tests/control.

#include "control/loop/step_taker.hpp"

#include "control/book/stored_settings.hpp"
#include "control/loop/loop_parts_test.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

class MoveTest : public LoopParts {
 protected:
  MoveTest() { think(); }

  /// A job whose attempts run for an hour.
  LiveJob& running(Keeps keeps, int signal = 0) {
    JobSpec spec;
    spec.progress = keeps;
    spec.checkpoint_signal = signal;
    if (signal != 0) spec.checkpoint_grace = 30s;
    LiveJob& job = submit("2g.10gb", spec);
    FakeCourse course;
    course.runs = 1h;
    course.saves = 2s;
    course.saved_code = 1;
    for (std::int64_t attempt = 1; attempt < 5; ++attempt)
      jobs.plan({job.record.number, attempt}, course);
    act();
    succeed("MIG-old");
    act();
    go_on();
    EXPECT_EQ(job.record.state, JobState::running);
    old_place_ = *job.place->placement;
    new_place_ = free_place();
    return job;
  }
  [[nodiscard]] PlacementId free_place() const {
    for (const int start : {0, 2, 4})
      if (const PlacementId place = node_.placement("2g.10gb", start);
          !node.gpus[0].instances.contains(place))
        return place;
    ADD_FAILURE() << "the GPU is full";
    return 0;
  }
  /// The engine moves it, and the executor is asked for the instance.
  void move(const LiveJob& job) { move(job, new_place_); }
  void move(const LiveJob& job, PlacementId to) {
    commands.carry_out(Command(CreateInstance{gpu0, to}));
    commands.carry_out(Command(MigrateJob{*job.id, gpu0, to}));
    act();
  }
  void go_on(Duration time = 10ms) {
    pass(time);
    lifecycle.take_timers();
    processes.hear();
    act();
  }
  /// "1:moved 2", the last of which runs.
  [[nodiscard]] std::string attempts_of(JobNumber number) {
    std::string words;
    const auto all = store.attempts(number);
    for (const AttemptRecord& each : *all)
      words += fmt::format("{}{}{}", words.empty() ? "" : " ", each.key.attempt,
                           each.end ? fmt::format(":{}", name(*each.end)) : "");
    return words;
  }

  PlacementId old_place_ = 0, new_place_ = 0;
};

TEST_F(MoveTest, AReplicaStartsBeforeTheOldProcessEnds) {
  LiveJob& job = running(Keeps::stateless);
  move(job);
  succeed("MIG-new");
  act();
  EXPECT_EQ(jobs.running().size(), 2U);
  go_on();
  go_on(1s);
  EXPECT_EQ(attempts_of(1), "1:moved 2");
  EXPECT_EQ(job.record.state, JobState::running);
}

TEST_F(MoveTest, WithACheckpointOneProcessFollowsTheOther) {
  LiveJob& job = running(Keeps::checkpoint);
  move(job);
  go_on(5s);
  EXPECT_EQ(job.record.state, JobState::running) << "it goes on while its new place is made";
  EXPECT_EQ(attempts_of(1), "1");
  succeed("MIG-new");
  act();
  EXPECT_EQ(job.record.state, JobState::stopping);
  EXPECT_EQ(job.record.reason,
            fmt::format("it is moved to {}", node.in_words(JobPlace{gpu0, new_place_})));
  EXPECT_EQ(jobs.running(), (std::vector<JobKey>{{1, 1}}));
  go_on(1s);
  EXPECT_EQ(attempts_of(1), "1:moved 2");
  EXPECT_EQ(jobs.running(), (std::vector<JobKey>{{1, 2}}));
  EXPECT_EQ(jobs.launch_of({1, 2}).visible_devices, "MIG-new");
  EXPECT_EQ(job.record.state, JobState::starting);
  go_on();
  EXPECT_EQ(job.record.state, JobState::running);
  EXPECT_FALSE(node.occupied(gpu0, old_place_));
}

TEST_F(MoveTest, ItsSignalComesFirstAndItMayEndBeforeItsGraceIsOver) {
  LiveJob& job = running(Keeps::checkpoint, 10);
  move(job);
  succeed("MIG-new");
  act();
  EXPECT_EQ(job.attempts.at(1).stop_at, now + 30s);
  go_on(3s);  // it has saved its work and failed, which says nothing
  EXPECT_EQ(attempts_of(1), "1:moved 2");
  EXPECT_EQ(job.record.failures, 0);
}

TEST_F(MoveTest, ItsProgramKnowsTheSignalUnlessItsUserSaysOtherwise) {
  settings.job_environment = {"A=b"};
  running(Keeps::checkpoint, 10);
  EXPECT_EQ(jobs.launch_of({1, 1}).environment,
            (std::vector<std::string>{"A=b", "CLEAVE_CHECKPOINT_SIGNAL=10"}));
  settings.job_environment = {"CLEAVE_CHECKPOINT_SIGNAL=USR2"};
  running(Keeps::checkpoint, 10);
  EXPECT_EQ(jobs.launch_of({2, 1}).environment, settings.job_environment);
}

TEST_F(MoveTest, AProgramWithoutASignalHearsOfNone) {
  running(Keeps::checkpoint);
  EXPECT_TRUE(jobs.launch_of({1, 1}).environment.empty());
}

TEST_F(MoveTest, WhatItsSupervisorDiedOfMakesNoDifference) {
  LiveJob& job = running(Keeps::checkpoint, 10);
  move(job);
  succeed("MIG-new");
  act();
  processes.supervisor_lost(job, 1, {0, "", true});
  go_on();
  EXPECT_EQ(attempts_of(1), "1:moved 2");
  EXPECT_FALSE(is_final(job.record.state));
}

TEST_F(MoveTest, OneThatEndsMeanwhileIsFinished) {
  LiveJob& job = running(Keeps::checkpoint);
  move(job);
  processes.ended(job, 1, ProcessOutcome{});
  EXPECT_EQ(job.record.state, JobState::finished);
  succeed("MIG-new");
  go_on();
  EXPECT_EQ(attempts_of(1), "1:ended-itself") << "it does not begin again";
}

TEST_F(MoveTest, OneWhosePlaceIsRefusedStaysWhereItIs) {
  for (const Keeps keeps : {Keeps::checkpoint, Keeps::stateless}) {
    SCOPED_TRACE(name(keeps));
    LiveJob& job = keeps == Keeps::checkpoint ? running(keeps) : *node.find(1);
    job.record.spec.progress = keeps;
    move(job);
    refuse("no");
    think();
    act();
    EXPECT_EQ(job.record.state, JobState::running);
    EXPECT_EQ(attempts_of(1), "1");
    ASSERT_TRUE(job.place) << "the engine has adopted it";
    EXPECT_EQ(*job.place, job.attempts.at(1).place);
  }
}

TEST_F(MoveTest, OneWhosePlaceIsLostBeginsElsewhere) {
  LiveJob& job = running(Keeps::checkpoint, 10);
  move(job);
  succeed("MIG-new");
  act();
  lifecycle.rebuild("its new place is gone");
  node.gpus[0].instances.erase(new_place_);
  think();
  EXPECT_TRUE(job.place) << "it waited, and has another place";
  EXPECT_EQ(job.record.state, JobState::stopping);
  go_on(3s);
  EXPECT_EQ(attempts_of(1), "1:moved 2");
}

TEST_F(MoveTest, OneThatIsCancelledMeanwhileBeginsNoMore) {
  LiveJob& job = running(Keeps::checkpoint, 10);
  move(job);
  succeed("MIG-new");
  act();
  lifecycle.cancel(job, "someone");
  act();
  go_on(1s);
  EXPECT_EQ(attempts_of(1), "1:cancelled");
  EXPECT_EQ(job.record.state, JobState::cancelled);
}

TEST_F(MoveTest, ALaterDaemonTellsItAgainAndLetsItSaveItsWork) {
  LiveJob& job = running(Keeps::checkpoint, 10);
  move(job);
  succeed("MIG-new");
  act();
  job.attempts.at(1).stop_at.reset();  // which no store keeps
  lifecycle.tell_to_end(job, 1);
  act();
  EXPECT_EQ(job.attempts.at(1).stop_at, now + 30s);
}

TEST_F(MoveTest, OneThatIsMovedAgainGoesToTheLastPlace) {
  LiveJob& job = running(Keeps::checkpoint);
  move(job);
  succeed("MIG-new");
  act();
  move(job, free_place());
  go_on(1s);
  EXPECT_TRUE(jobs.running().empty()) << "its first process has ended";
  succeed("MIG-last");
  act();
  EXPECT_EQ(jobs.launch_of({1, 2}).visible_devices, "MIG-last");
}

/// Processes on an instance that no job has.
class StrangersTest : public LoopParts {
 protected:
  StrangersTest() { think(); }

  /// A job that has run on the instance and is over.
  void used(const std::string& device) {
    submit("2g.10gb");
    act();
    succeed(device);
    act();
    go_on(1h);
    ASSERT_TRUE(node.occupants.empty());
    pass(10s);
  }
  void go_on(Duration time) {
    pass(time);
    lifecycle.take_timers();
    processes.hear();
    act();
  }
  [[nodiscard]] const Vacancy& vacancy() const {
    return node.gpus[0].instances.begin()->second.vacancy;
  }
};

TEST_F(StrangersTest, AnInstanceIsLookedAtBeforeItIsGivenOut) {
  used("MIG-1");
  executor.asked.clear();
  const LiveJob& next = submit("2g.10gb");
  steps.take();
  book.commit(node);
  EXPECT_EQ(asked(), "look");
  EXPECT_TRUE(next.attempts.empty()) << "first it is seen";
  steps.take();
  book.commit(node);
  EXPECT_EQ(asked(), "look") << "once";
  show(executor.asked.back());
  act();
  EXPECT_EQ(next.attempts.size(), 1U);
}

TEST_F(StrangersTest, KeepTheirInstanceAloneFromTheNextJob) {
  used("MIG-1");
  strangers_on = "MIG-1";
  strangers = {{4711, {}, {}, {}}};
  (void)happened();
  const LiveJob& next = submit("2g.10gb");
  act();
  EXPECT_TRUE(next.attempts.empty());
  EXPECT_FALSE(vacancy().set_aside) << "it may be about to end";
  executor.asked.clear();
  act();
  EXPECT_EQ(asked(), "") << "it looks again when there is something to see";
  go_on(stranger_stays);
  EXPECT_TRUE(vacancy().set_aside);
  EXPECT_EQ(happened(), "job-submitted instance-quarantined");
  const std::vector<std::string> troubles = listing.troubles();
  ASSERT_EQ(troubles.size(), 1U);
  EXPECT_NE(troubles[0].find("is quarantined: process 4711 is there, and no job"),
            std::string::npos)
      << troubles[0];
  think();
  executor.asked.clear();
  act();
  EXPECT_EQ(asked().substr(0, 6), "create") << "the rest of the GPU goes on";
  succeed("MIG-2");
  act();
  ASSERT_EQ(next.attempts.size(), 1U);
  EXPECT_EQ(next.attempts.begin()->second.record.device, "MIG-2");
}

TEST_F(StrangersTest, LeaveAnInstanceThatIsMadeAnew) {
  used("MIG-1");
  strangers_on = "MIG-1";
  strangers = {{4711, {}, {}, {}}};
  gpus.ask(gpu0, LookAtGpu{}, std::nullopt);
  book.commit(node);
  show(executor.asked.back());
  pass(stranger_stays);
  gpus.ask(gpu0, LookAtGpu{}, std::nullopt);
  book.commit(node);
  show(executor.asked.back());
  ASSERT_TRUE(vacancy().set_aside);
  executor.asked.clear();
  steps.destroy_quarantined_instances();
  book.commit(node);
  EXPECT_EQ(asked(), "destroy MIG-1");
  refuse("still in use");
  EXPECT_TRUE(vacancy().set_aside) << "the driver does not destroy what is used";
  strangers.clear();
  gpus.ask(gpu0, LookAtGpu{}, std::nullopt);
  book.commit(node);
  show(executor.asked.back());
  EXPECT_FALSE(vacancy().set_aside);
  EXPECT_FALSE(node.gpus[0].instances.begin()->second.user) << "whose memory it has is unknown";
  EXPECT_TRUE(listing.troubles().empty());
}

TEST_F(StrangersTest, AreLookedForWhereThoseToShareWithHaveLeft) {
  used("MIG-1");
  const LiveJob& next = submit("2g.10gb");
  node.gpus[0].steps.front().kind = GpuStep::Kind::share;
  strangers_on = "MIG-1";
  strangers = {{4711, {}, {}, {}}};
  act();
  EXPECT_TRUE(next.attempts.empty()) << "nobody whose processes they could be is there";
  go_on(stranger_stays);
  EXPECT_TRUE(vacancy().set_aside);
}

TEST_F(StrangersTest, AreLookedForAgainWhereTheStoreHeldAStartUp) {
  used("MIG-1");
  LiveJob& next = submit("2g.10gb");
  disk.fail_writes(1);
  act();
  ASSERT_EQ(next.attempts.size(), 1U) << "its place was free, and its start is not written";
  strangers_on = "MIG-1";
  strangers = {{4711, {}, {}, {}}};
  (void)happened();
  pass(vacancy_holds + 1s);
  book.commit(node);
  EXPECT_TRUE(jobs.running().empty()) << "somebody may have come meanwhile";
  EXPECT_TRUE(next.attempts.empty());
  EXPECT_EQ(next.not_started, 0) << "the job has no part in it";
  EXPECT_EQ(next.record.state, JobState::queued);
  think();
  act();
  go_on(stranger_stays);
  EXPECT_TRUE(vacancy().set_aside);
  EXPECT_TRUE(jobs.running().empty());
}

TEST_F(StrangersTest, AStartThatWasHeldUpIsTakenAgainWhereNobodyCame) {
  used("MIG-1");
  const LiveJob& next = submit("2g.10gb");
  disk.fail_writes(1);
  act();
  pass(vacancy_holds + 1s);
  book.commit(node);
  think();
  act();
  ASSERT_EQ(jobs.running(), (std::vector<JobKey>{{next.record.number, 2}}));
  EXPECT_EQ(jobs.launch_of({next.record.number, 2}).visible_devices, "MIG-1");
}

class SharedByUsersTest : public StrangersTest {
 protected:
  [[nodiscard]] ManagedInstance& instance() { return node.gpus[0].instances.begin()->second; }
  /// A job of another user that is to share the first instance.
  LiveJob& another_shares() {
    const PlacementId placement = node.gpus[0].instances.begin()->first;
    NewJob wanted;
    wanted.owner.uid = 1001;
    wanted.command = {{"work"}, {}, "/"};
    wanted.spec.request.wanted = ByProfile{"2g.10gb"};
    const auto numbers = users.submit({&wanted, 1});
    EXPECT_TRUE(numbers) << numbers.error().text();
    users.write();
    brain.settle();
    node.gpus[0].steps = {{GpuStep::Kind::share, placement, numbers->front()}};
    return *node.find(numbers->front());
  }
};

TEST_F(SharedByUsersTest, AnIdleInstanceThatAnotherHadIsMadeAnewForThoseWhoShareIt) {
  used("MIG-1");
  executor.asked.clear();
  const LiveJob& job = another_shares();
  act();
  EXPECT_EQ(asked(), "destroy MIG-1");
  EXPECT_TRUE(job.attempts.empty());
  succeed();
  act();
  succeed("MIG-2");
  act();
  ASSERT_EQ(job.attempts.size(), 1U);
  EXPECT_EQ(job.attempts.begin()->second.record.device, "MIG-2");
  EXPECT_EQ(instance().user, 1001U);
}

TEST_F(SharedByUsersTest, WhatSeveralHadAtATimeIsNobodysAfterwards) {
  const LiveJob& first = submit("2g.10gb");
  act();
  succeed("MIG-1");
  act();
  ASSERT_EQ(first.attempts.size(), 1U);
  EXPECT_EQ(instance().user, 1000U);
  const LiveJob& second = another_shares();
  act();
  ASSERT_EQ(second.attempts.size(), 1U) << "beside the other it begins at once";
  EXPECT_FALSE(instance().user) << "either may leave something there";
  EXPECT_FALSE(instance().fresh);
  EXPECT_TRUE(store.load()->settings[user_key("MIG-1")].empty());
}

}  // namespace
}  // namespace cleave
