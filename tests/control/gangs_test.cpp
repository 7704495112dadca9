// Jobs of several instances or GPUs in the loop: all of their processes begin, none goes on without
// the others, and whatever ends, people see one job.

#include "control/node/managed_gpu.hpp"
#include "loop_stand.hpp"

namespace cleave::trial {
namespace {

/// "CLEAVE_RANK" -> "2"; empty where it is not there.
std::string value_of(const Launch& launch, const std::string& name) {
  for (const std::string& each : launch.environment)
    if (each.starts_with(name + "=")) return each.substr(name.size() + 1);
  return {};
}

class Gangs : public Loop {
 protected:
  explicit Gangs(const std::vector<std::string>& gpus = {"A100-40GB", "A100-40GB"}) : Loop(gpus) {}

  static NewJob four(Together together = Together::anywhere) {
    Request request{ByProfile{"1g.5gb"}, {}};
    request.places = 4;
    request.together = together;
    return job(std::move(request));
  }
  static NewJob gpus(std::uint32_t count) {
    Request request{WholeGpu{}, {}};
    request.places = count;
    return job(std::move(request));
  }
  static NewJob with_retries(NewJob job, std::int64_t retries) {
    job.spec.retries = retries;
    return job;
  }
  void fails(const JobKey& key, int code, Duration after) {
    FakeCourse course;
    course.runs = after;
    course.outcome.code = code;
    jobs.plan(key, course);
  }
  [[nodiscard]] std::size_t events(const std::string& kind, JobNumber number) const {
    const auto all = control->events_since(0);
    return static_cast<std::size_t>(std::ranges::count_if(
        all, [&](const EventRecord& each) { return each.kind == kind && each.job == number; }));
  }
  /// Every job of several runs with all of its processes or with none, after every step.
  void run_whole(JobNumber first, std::int64_t processes, Duration time) {
    for (Duration passed{}; passed < time; passed += 10ms) {
      run(10ms);
      check_whole(first, processes);
    }
  }
  void check_whole(JobNumber first, std::int64_t processes) {
    std::int64_t live = 0, stopping = 0;
    for (JobNumber number = first; number < first + processes; ++number) {
      const AttemptRecord* attempt = control->attempt_of(number);
      live += attempt != nullptr ? 1 : 0;
      stopping += attempt != nullptr && attempt->end ? 1 : 0;
    }
    ASSERT_TRUE(live == 0 || live == processes) << live << " of " << processes << " are there";
    if (stopping > 0) {
      ASSERT_GE(stopping, processes - 1) << "one ended by itself at most";
    }
  }
};

TEST_F(Gangs, BeginTogetherAndEndTogether) {
  const JobNumber number = submit(four(Together::gpu));
  ASSERT_EQ(submit(sized("1g.5gb")), number + 4) << "each process has a number";
  run_whole(number, 4, 5s);
  EXPECT_EQ(control->jobs().size(), 2U) << "people see one job";
  EXPECT_EQ(record(number).state, JobState::running);
  std::set<std::string> devices, gpus;
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    ASSERT_EQ(attempts(number + rank).size(), 1U);
    const AttemptRecord attempt = attempts(number + rank)[0];
    devices.insert(attempt.device);
    gpus.insert(attempt.gpu);
    EXPECT_EQ(attempt.profile, "1g.5gb");
    EXPECT_EQ(record(number + rank).leader, rank == 0 ? 0 : number);
  }
  EXPECT_EQ(devices.size(), 4U);
  EXPECT_EQ(gpus.size(), 1U) << "together on one GPU";
  EXPECT_EQ(jobs.running().size(), 5U);
  run(20s);
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(record(number + rank).state, JobState::finished);
    EXPECT_EQ(record(number + rank).ended, record(number).ended);
  }
  EXPECT_EQ(record(number).exit_code, 0);
  for (const char* once : {"job-submitted", "job-started", "job-finished"})
    EXPECT_EQ(events(once, number), 1U) << once;
}

TEST_F(Gangs, EachProcessKnowsTheOthers) {
  NewJob wanted = four();
  wanted.command.environment.emplace_back("MASTER_ADDR=elsewhere");
  const JobNumber number = submit(wanted);
  run(3s);
  std::string all;
  for (std::int64_t rank = 0; rank < 4; ++rank)
    all += fmt::format("{}{}", rank == 0 ? "" : ",", attempts(number + rank).at(0).device);
  for (std::int64_t rank = 0; rank < 4; ++rank) {
    const Launch& launch = jobs.launch_of({number + rank, 1});
    EXPECT_EQ(launch.known_as, number);
    EXPECT_EQ(launch.visible_devices, attempts(number + rank)[0].device);
    const std::string own = fmt::format("{}", rank);
    const std::vector<std::pair<std::string, std::string>> expected = {
        {"CLEAVE_RANK", own},
        {"CLEAVE_PROCESSES", "4"},
        {"CLEAVE_GANG", all},
        {"RANK", own},
        {"WORLD_SIZE", "4"},
        {"LOCAL_RANK", own},
        {"LOCAL_WORLD_SIZE", "4"},
        {"MASTER_ADDR", "elsewhere"},
        {"MASTER_PORT", fmt::format("{}", 20'000 + number)}};
    for (const auto& [name, value] : expected) EXPECT_EQ(value_of(launch, name), value) << name;
  }
}

TEST_F(Gangs, WholeGpusAreSeenByOneProcess) {
  const JobNumber number = submit(gpus(2), 10s);
  run(5s);
  EXPECT_EQ(record(number).state, JobState::running);
  EXPECT_EQ(jobs.running(), (std::vector{JobKey{number, 1}})) << "the other GPU is held for it";
  const Launch& launch = jobs.launch_of({number, 1});
  const std::string devices =
      fmt::format("{},{}", attempts(number).at(0).gpu, attempts(number + 1).at(0).gpu);
  EXPECT_EQ(launch.visible_devices, devices);
  EXPECT_EQ(value_of(launch, "CLEAVE_PROCESSES"), "1");
  EXPECT_EQ(value_of(launch, "CLEAVE_GANG"), devices);
  EXPECT_EQ(value_of(launch, "RANK"), "");
  for (const GpuStatus& gpu : control->gpus()) {
    EXPECT_FALSE(gpu.observation->mig);
    ASSERT_EQ(gpu.jobs.size(), 1U);
    EXPECT_EQ(gpu.jobs[0].attempt.job, number);
  }
  const JobNumber behind = submit(sized("1g.5gb"), 1s);
  run(15s);
  EXPECT_EQ(record(number).state, JobState::finished);
  EXPECT_TRUE(attempts(number + 1)[0].ended);
  EXPECT_EQ(record(behind).state, JobState::finished) << "with MIG on again";
  EXPECT_GE(*attempts(behind).at(0).began, *record(number).ended);
}

TEST_F(Gangs, WhereOneFailsTheOthersAreStoppedAndItsCodeIsTheJobs) {
  const JobNumber number = submit(four(), 1000s);
  fails({number + 2, 1}, 7, 5s);
  run_whole(number, 4, 20s);
  EXPECT_EQ(record(number).state, JobState::failed);
  EXPECT_EQ(record(number).exit_code, 7);
  EXPECT_TRUE(jobs.running().empty());
  for (const std::int64_t rank : {0, 1, 3})
    EXPECT_EQ(attempts(number + rank).at(0).end, AttemptEnd::gang);
  EXPECT_EQ(attempts(number + 2).at(0).end, AttemptEnd::ended_itself);
  EXPECT_EQ(record(number + 1).state, JobState::failed);
  EXPECT_EQ(events("job-failed", number), 1U);
}

TEST_F(Gangs, ARetryIsOfAllOfThem) {
  const JobNumber number = submit(with_retries(four(), 1), 5s);
  fails({number + 1, 1}, 7, 2s);
  run_whole(number, 4, 30s);
  EXPECT_EQ(record(number).state, JobState::finished);
  EXPECT_EQ(record(number).failures, 1);
  for (std::int64_t rank = 0; rank < 4; ++rank) EXPECT_EQ(attempts(number + rank).size(), 2U);
  EXPECT_EQ(attempts(number)[1].end, AttemptEnd::ended_itself);
}

TEST_F(Gangs, OneThatEndsEarlyKeepsItsPlaceForTheOthers) {
  const JobNumber number = submit(four(), 30s);
  FakeCourse quick;
  quick.runs = 2s;
  jobs.plan({number, 1}, quick);
  run(10s);
  EXPECT_EQ(record(number).state, JobState::running);
  ASSERT_NE(control->end_of_process(number), nullptr);
  EXPECT_EQ(control->end_of_process(number)->verdict.exit_code, 0);
  EXPECT_EQ(control->end_of_process(number + 1), nullptr);
  begin();  // and a daemon that begins knows as much
  run(5s);
  EXPECT_EQ(record(number).state, JobState::running);
  ASSERT_NE(control->end_of_process(number), nullptr);
  run(30s);
  EXPECT_EQ(record(number).state, JobState::finished);
  EXPECT_EQ(attempts(number).size(), 1U);
  EXPECT_EQ(attempts(number)[0].lasted, 2s);
}

TEST_F(Gangs, ADaemonThatBeginsNamesTheProcessAndNotItsNumber) {
  const JobNumber number = submit(four(), 30s);
  run(5s);
  ASSERT_EQ(record(number).state, JobState::running);
  control.reset();
  now += 40s;
  jobs.advance_to(Instant{} + now);
  begin();
  run(5s);
  EXPECT_EQ(record(number).state, JobState::finished);
  const auto all = control->events_since(0);
  EXPECT_TRUE(std::ranges::any_of(all, [&](const EventRecord& each) {
    return each.text == fmt::format(
                            "process 2 of job {} exited with 0 while the daemon was not "
                            "running",
                            number);
  }));
  for (const EventRecord& each : all)
    EXPECT_EQ(each.text.find(fmt::format("job {} ", number + 2)), std::string::npos) << each.text;
}

TEST_F(Gangs, AreLostTogetherWithAGpu) {
  NewJob wanted = four(Together::spread);
  wanted.spec.request.places = 2;
  wanted.spec.restartable = true;
  const JobNumber number = submit(wanted, 20s);
  run(5s);
  ASSERT_EQ(record(number).state, JobState::running);
  const std::string lost = attempts(number + 1).at(0).gpu;
  const std::size_t which = lost == machine.managed()[0].uuid ? 0 : 1;
  machine.lose(which);
  run_whole(number, 2, 20s);
  EXPECT_EQ(attempts(number + 1).at(0).end, AttemptEnd::lost);
  EXPECT_EQ(attempts(number).at(0).end, AttemptEnd::gang);
  EXPECT_EQ(record(number).state, JobState::queued) << "there are not two GPUs now";
  machine.give_back(which);
  run(60s);
  EXPECT_EQ(record(number).state, JobState::finished);
  EXPECT_EQ(record(number).failures, 0);
}

TEST_F(Gangs, TheExitCodeOfACancelledOneIsThatOfItsProcess) {
  const JobNumber number = submit(gpus(2), 1000s);
  run(5s);
  ASSERT_EQ(record(number).state, JobState::running);
  control->cancel(number, "someone", moment());
  run(60s);
  EXPECT_EQ(record(number).state, JobState::cancelled);
  ASSERT_TRUE(attempts(number).at(0).exit_code);
  EXPECT_EQ(record(number).exit_code, attempts(number).at(0).exit_code);
}

TEST_F(Gangs, AHeldGpuThatIsLostEndsTheJob) {
  const JobNumber number = submit(gpus(2), 1000s);
  run(5s);
  ASSERT_EQ(record(number).state, JobState::running);
  machine.lose(attempts(number + 1).at(0).gpu == machine.managed()[0].uuid ? 0 : 1);
  run(20s);
  EXPECT_EQ(record(number).state, JobState::failed);
  EXPECT_NE(record(number).reason.find("was lost"), std::string::npos) << record(number).reason;
  EXPECT_TRUE(jobs.running().empty());
}

TEST_F(Gangs, OutOfMemoryOfOneHasAllWaitForLargerInstances) {
  NewJob wanted = four();
  wanted.spec.request.places = 2;
  wanted.spec.restartable = true;
  const JobNumber number = submit(wanted, 10s);
  FakeCourse starves;
  starves.runs = 2s;
  starves.outcome.code = 1;
  starves.outcome.out_of_memory = OutOfMemorySeen{"pytorch", MiB{512}};
  jobs.plan({number + 1, 1}, starves);
  run_whole(number, 2, 40s);
  EXPECT_EQ(record(number).state, JobState::finished);
  EXPECT_EQ(attempts(number).at(0).end, AttemptEnd::gang);
  EXPECT_EQ(attempts(number + 1).at(0).end, AttemptEnd::out_of_memory);
  for (std::int64_t rank = 0; rank < 2; ++rank)
    EXPECT_TRUE(attempts(number + rank).at(1).profile.ends_with(".10gb"));
}

struct SmallGangs : Gangs {
  SmallGangs() : Gangs({"A100-40GB"}) {}
};

TEST_F(SmallGangs, AnInstanceThatIsRefusedKeepsAllFromBeginning) {
  run(1s);
  Request request{ByProfile{"3g.20gb"}, {}};
  request.places = 2;
  const JobNumber number = submit(job(std::move(request)), 5s);
  control->step(moment());
  const auto foreign = machine.make_foreign(0, "3g.20gb");
  ASSERT_TRUE(foreign);
  run_whole(number, 2, 20s);
  EXPECT_TRUE(jobs.running().empty()) << "one instance was made, the other was not";
  EXPECT_EQ(attempts(number).size() + attempts(number + 1).size(), 0U);
  EXPECT_EQ(record(number).state, JobState::queued);
  machine.destroy_foreign(*foreign);
  run(200s);
  EXPECT_EQ(record(number).state, JobState::finished);
}

TEST_F(SmallGangs, WhereOneCannotBeStartedTheOthersAreStopped) {
  FakeCourse never;
  never.starts = false;
  const JobNumber once = submit(four(), 5s);
  jobs.plan({once + 2, 1}, never);
  run(20s);
  EXPECT_EQ(record(once).state, JobState::failed) << "some of it ran, and it may not run twice";
  EXPECT_NE(record(once).reason.find("--restartable"), std::string::npos) << record(once).reason;
  NewJob again = four();
  again.spec.restartable = true;
  const JobNumber number = submit(again, 5s);
  jobs.plan({number + 2, 1}, never);
  run(20s);
  EXPECT_EQ(attempts(number + 2).at(0).end, AttemptEnd::not_started);
  EXPECT_EQ(attempts(number).at(0).end, AttemptEnd::gang);
  EXPECT_EQ(record(number).state, JobState::finished) << "the second time they could";
  for (std::int64_t rank = 0; rank < 4; ++rank) EXPECT_EQ(attempts(number + rank).size(), 2U);
}

TEST_F(SmallGangs, AreCancelledWhileTheyWaitStartAndRun) {
  for (const Duration after : {0ms, 100ms, 400ms, 5000ms}) {
    const JobNumber number = submit(four(), 100s);
    run(after);
    control->cancel(number, "someone", moment());
    run(5s);
    for (std::int64_t rank = 0; rank < 4; ++rank) {
      EXPECT_EQ(record(number + rank).state, JobState::cancelled) << after;
      for (const AttemptRecord& attempt : attempts(number + rank)) EXPECT_TRUE(attempt.ended);
    }
    EXPECT_TRUE(jobs.running().empty());
  }
  const JobNumber next = submit(sized("7g.40gb"), 1s);
  run(10s);
  EXPECT_EQ(record(next).state, JobState::finished) << "nothing of them is left";
}

TEST_F(SmallGangs, WhatCanNeverBeIsRefusedAtOnce) {
  Request request{ByProfile{"1g.5gb"}, {}};
  request.places = 8;
  const auto eight = control->submit(job(request), moment());
  ASSERT_FALSE(eight);
  EXPECT_EQ(eight.error().kind, ErrorKind::infeasible);
  EXPECT_NE(eight.error().text().find("never have 8 x 1g.5gb"), std::string::npos)
      << eight.error().text();
  EXPECT_FALSE(control->submit(gpus(2), moment()));
  request.places = 2;
  request.together = Together::spread;
  EXPECT_FALSE(control->submit(job(request), moment()));
  request.places = 7;
  request.together = Together::gpu;
  const JobNumber seven = submit(job(request));
  EXPECT_EQ(seven, 1) << "what is refused takes no numbers";
  run(20s);
  EXPECT_EQ(record(seven).state, JobState::finished);
}

TEST_F(SmallGangs, AnotherSchedulerAndARestartTakeThemOverOrTurnThemAway) {
  const JobNumber number = submit(four(), 60s);
  run(5s);
  ASSERT_TRUE(control->set_scheduler("scheme-b", moment()));
  run(5s);
  EXPECT_EQ(record(number).state, JobState::running);
  begin();
  run(5s);
  EXPECT_EQ(record(number).state, JobState::running);
  const JobNumber waits = submit(four(Together::gpu), 5s);
  run(5s);
  EXPECT_EQ(record(waits).state, JobState::queued);
  EXPECT_EQ(control->why_waits(waits).find("it waits until 4 x 1g.5gb on one GPU are free"), 0U)
      << control->why_waits(waits);
  run(80s);
  EXPECT_EQ(record(number).state, JobState::finished);
  EXPECT_EQ(attempts(number).size(), 1U);
  EXPECT_EQ(record(waits).state, JobState::finished);
}

TEST_F(SmallGangs, LimitsAndRetentionCountAJobOnce) {
  settings.most_waiting = 2;
  settings.keep_jobs = 10s;
  begin();
  const JobNumber first = submit(four(), 5s);
  run(1s);
  const JobNumber second = submit(sized("1g.5gb"), 5s);
  run(1s);
  EXPECT_FALSE(control->submit(sized("1g.5gb"), moment())) << "there are two";
  run(200s);
  for (std::int64_t rank = 0; rank < 4; ++rank)
    EXPECT_FALSE(*store->job(first + rank)) << "it is forgotten with all its processes";
  EXPECT_FALSE(*store->job(second));
}

}  // namespace
}  // namespace cleave::trial
