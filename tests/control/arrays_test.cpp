// Arrays of jobs and jobs that wait for others, in the loop: together or not at all, so many at a
// time, and what becomes of dependents when jobs end, also while no daemon runs.

#include <gtest/gtest.h>

#include <algorithm>

#include "loop_stand.hpp"

namespace cleave::trial {
namespace {

class Arrays : public Loop {
 protected:
  /// Jobs that run for so long, one for each index.
  std::vector<JobNumber> submit_array(const std::string& array, Duration runs, NewJob task) {
    task.array = *parse_array(array);
    const auto numbers = control->submit({&task, 1}, moment());
    EXPECT_TRUE(numbers) << numbers.error().text();
    FakeCourse course;
    course.runs = runs;
    for (const JobNumber each : *numbers) jobs.plan({each, 1}, course);
    return *numbers;
  }
  std::vector<JobNumber> submit_array(const std::string& array, Duration runs) {
    return submit_array(array, runs, sized("1g.5gb"));
  }
  [[nodiscard]] std::size_t in_state(const std::vector<JobNumber>& numbers, JobState state) {
    return static_cast<std::size_t>(std::ranges::count_if(
        numbers, [&](JobNumber each) { return record(each).state == state; }));
  }
};

TEST_F(Arrays, EachIndexIsAJobOfItsOwn) {
  NewJob task = sized("1g.5gb");
  task.command.argv = {"./train", "--seed={index}"};
  const auto numbers = submit_array("1-5:2", 5s, task);
  ASSERT_EQ(numbers, (std::vector<JobNumber>{1, 2, 3}));
  run(1s);
  EXPECT_EQ(record(2).spec.task,
            (ArrayTask{.job = 1, .last = 3, .index = 3, .tasks = 3, .at_once = 0}));
  EXPECT_EQ((*store->command(2))->argv, (std::vector<std::string>{"./train", "--seed=3"}));
  EXPECT_EQ(record(3).state, JobState::running) << "nothing keeps them from running together";
  run(20s);
  EXPECT_EQ(in_state(numbers, JobState::finished), 3U);
}

TEST_F(Arrays, NoMoreRunAtATimeThanMay) {
  const auto numbers = submit_array("1-6%2", 5s);
  const JobNumber other = submit(sized("1g.5gb"), 5s);
  run(1s);
  EXPECT_EQ(in_state(numbers, JobState::running), 2U);
  EXPECT_EQ(record(other).state, JobState::running) << "what waits is in nobody's way";
  EXPECT_EQ(control->why_waits(numbers[2]), "2 of array 1 run already, as many as may at a time");
  for (int second = 0; second < 40; ++second) {
    run(1s);
    EXPECT_LE(in_state(numbers, JobState::running), 2U);
  }
  EXPECT_EQ(in_state(numbers, JobState::finished), 6U);
}

TEST_F(Arrays, ANewEngineCountsWhatRuns) {
  const auto numbers = submit_array("1-5%2", 60s);
  run(2s);
  begin();
  run(2s);
  EXPECT_EQ(in_state(numbers, JobState::running), 2U);
  ASSERT_TRUE(control->set_scheduler("static", moment()));
  run(2s);
  EXPECT_LE(in_state(numbers, JobState::running), 2U);
  // One that waits is cancelled, and one that runs: the next takes its place.
  control->cancel(numbers[2], "user", moment());
  control->cancel(numbers[0], "user", moment());
  run(5s);
  EXPECT_EQ(record(numbers[2]).state, JobState::cancelled);
  EXPECT_EQ(record(numbers[3]).state, JobState::running);
  EXPECT_EQ(record(numbers[4]).state, JobState::queued);
}

TEST_F(Arrays, AreTakenWholeOrNotAtAll) {
  settings.most_waiting = 10;
  begin();
  std::vector<NewJob> several = {sized("1g.5gb"), sized("1g.5gb"), sized("7g.80gb")};
  const auto refused = control->submit(several, moment());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().place, "submission 3: the request");
  NewJob task = sized("1g.5gb");
  task.array = *parse_array("1-11");
  EXPECT_FALSE(control->submit({&task, 1}, moment())) << "more than may wait";
  run(1s);
  EXPECT_FALSE(*store->job(1)) << "nothing was taken";
  several.pop_back();
  several[1].array = *parse_array("0-2");
  const auto numbers = control->submit(several, moment());
  ASSERT_TRUE(numbers);
  EXPECT_EQ(*numbers, (std::vector<JobNumber>{1, 2, 3, 4}));
  EXPECT_EQ(*numbers, numbers_from(1, several));
  EXPECT_EQ(number_after(1, several), 5);
}

TEST_F(Arrays, OfJobsOfSeveralEachTakesSoManyNumbers) {
  NewJob task = job({ByProfile{"1g.5gb"}, {}});
  task.spec.request.places = 2;
  const auto numbers = submit_array("1-3", 5s, task);
  EXPECT_EQ(numbers, (std::vector<JobNumber>{1, 3, 5}));
  run(1s);
  EXPECT_EQ(record(3).spec.task->last, 5);
  EXPECT_EQ(record(4).leader, 3);
}

/// Tasks that name no size and report what they hold, two at a time.
class UnsizedArrays : public Arrays {
 protected:
  std::vector<JobNumber> submit_reporting(NewJob task, const std::string& array, MiB held) {
    const auto numbers = submit_array(array, 5s, std::move(task));
    FakeCourse course;
    course.runs = 5s;
    course.reports.push_back({1, {1, 2, held, held}});
    for (const JobNumber each : numbers) jobs.plan({each, 1}, course);
    return numbers;
  }
  [[nodiscard]] std::ptrdiff_t count_events(const std::string& kind) {
    const auto events = control->events_since(0);
    return std::ranges::count(events, kind, &EventRecord::kind);
  }
};

TEST_F(UnsizedArrays, LearnFromTheFirstThatEnd) {
  const auto numbers = submit_reporting(job(), "1-6%2", MiB{6000});
  const auto another = submit_array("1-4%1", 100s, job());
  run(2s);
  EXPECT_EQ(text(record(numbers[5]).request), "nothing");
  EXPECT_EQ(control->why_size(numbers[5]), "");
  run(6s);
  EXPECT_EQ(record(numbers[0]).state, JobState::finished);
  EXPECT_EQ(record(numbers[5]).spec.asked, "nothing") << "what the user said stays";
  EXPECT_EQ(text(record(numbers[5]).request), "6300 MiB");
  EXPECT_EQ(control->why_size(numbers[5]),
            "6300 MiB, as jobs of array 1 that have ended held, and a twentieth more");
  EXPECT_EQ(text(record(another[3]).request), "nothing") << "it is another array";
  EXPECT_EQ(count_events("jobs-sized"), 1) << "the second says the same";
  begin();
  run(1s);
  EXPECT_EQ(text(record(numbers[5]).request), "6300 MiB") << "it is remembered";
  run(60s);
  EXPECT_EQ(in_state(numbers, JobState::finished), 6U);
  EXPECT_EQ(attempts(numbers[5])[0].profile, "2g.10gb");
}

TEST_F(UnsizedArrays, TheLargestCountsAndASizeThatWasNamedStays) {
  const auto numbers = submit_array("1-4%1", 5s, job());
  for (std::size_t i = 0; i < 2; ++i) {
    FakeCourse course;
    course.runs = 5s;
    const MiB held{i == 0 ? 3000 : 4000};
    course.reports.push_back({1, {1, 2, held, held}});
    jobs.plan({numbers[i], 1}, course);
  }
  const auto named = submit_reporting(sized("1g.5gb"), "1-3%1", MiB{4000});
  run(9s);
  EXPECT_EQ(text(record(numbers[3]).request), "3150 MiB");
  run(7s);
  EXPECT_EQ(text(record(numbers[3]).request), "4200 MiB");
  EXPECT_EQ(text(record(named[2]).request), "1g.5gb");
}

class Dependents : public Arrays {
 protected:
  JobNumber submit_after(const std::vector<std::string>& after, Duration runs = 2s) {
    NewJob dependent = sized("1g.5gb");
    dependent.spec.after = after;
    return submit(dependent, runs);
  }
  JobNumber failing(Duration runs) {
    next_course.outcome.code = 3;
    const JobNumber number = submit(sized("1g.5gb"), runs);
    next_course = {};
    return number;
  }
  std::string refusal(const std::vector<std::string>& after, std::uint32_t uid = 1000) {
    NewJob dependent = sized("1g.5gb");
    dependent.owner.uid = uid;
    dependent.spec.after = after;
    const auto refused = control->submit(dependent, moment());
    return refused ? "" : refused.error().text();
  }
};

TEST_F(Dependents, StartWhenWhatTheyWaitForHasEnded) {
  const JobNumber first = submit(sized("1g.5gb"), 5s);
  const JobNumber second = submit(sized("1g.5gb"), 10s);
  run(100ms);
  const JobNumber waits =
      submit_after({fmt::format("ok:{}", first), fmt::format("any:{}", second)});
  run(1s);
  EXPECT_EQ(record(waits).state, JobState::queued);
  EXPECT_EQ(control->why_waits(waits), "it waits until job 1 has finished, and job 2 has ended");
  run(6s);
  EXPECT_EQ(control->why_waits(waits), "it waits until job 2 has ended");
  run(5s);
  EXPECT_EQ(record(waits).state, JobState::running);
  run(5s);
  EXPECT_EQ(record(waits).state, JobState::finished);
}

TEST_F(Dependents, AreCancelledWithTheirOwnWhenThatCannotBe) {
  const JobNumber fails = failing(2s);
  run(100ms);
  const JobNumber ok = submit_after({fmt::format("ok:{}", fails)});
  run(100ms);
  const JobNumber further = submit_after({fmt::format("ok:{}", ok)});
  const JobNumber otherwise = submit_after({fmt::format("failed:{}", fails)});
  const JobNumber cleans_up = submit_after({fmt::format("any:{}", ok)});
  run(10s);
  EXPECT_EQ(record(ok).state, JobState::cancelled);
  EXPECT_EQ(record(ok).reason,
            "job 1 has failed, and this one was to start only when that has finished");
  EXPECT_EQ(record(ok).attempts, 0);
  EXPECT_EQ(record(further).state, JobState::cancelled) << "and so on";
  EXPECT_EQ(record(otherwise).state, JobState::finished);
  EXPECT_EQ(record(cleans_up).state, JobState::finished);
}

TEST_F(Dependents, ARangeIsAllItsJobs) {
  const auto numbers = submit_array("1-4%2", 4s);
  run(100ms);
  const JobNumber all = submit_after({fmt::format("ok:1-{}", numbers.back())});
  run(5s);
  EXPECT_EQ(record(all).state, JobState::queued);
  EXPECT_EQ(control->why_waits(all), "it waits until jobs 1 to 4 have finished (2 have not ended)");
  run(10s);
  EXPECT_EQ(record(all).state, JobState::finished);
}

TEST_F(Dependents, MayWaitForOthersOfTheSameRequest) {
  std::vector<NewJob> several(3, sized("1g.5gb"));
  several[0].siblings = {{"ok", 1}, {"any", 2}};  // it comes before what it waits for
  several[1].array = *parse_array("1-2");
  FakeCourse course;
  course.runs = 4s;
  for (JobNumber number = 1; number <= 4; ++number) jobs.plan({number, 1}, course);
  const auto numbers = control->submit(several, moment());
  ASSERT_TRUE(numbers) << numbers.error().text();
  run(1s);
  EXPECT_EQ(record(1).spec.after, (std::vector<std::string>{"ok:2-3", "any:4"}));
  EXPECT_EQ(record(1).state, JobState::queued);
  EXPECT_EQ(control->why_waits(1),
            "it waits until jobs 2 to 3 have finished (2 have not ended), and job 4 has ended");
  run(20s);
  EXPECT_EQ(record(1).state, JobState::finished);
}

TEST_F(Arrays, OfARequestNoMoreRunAtATimeThanMay) {
  std::vector<NewJob> several(4, sized("1g.5gb"));
  several[0].array = *parse_array("1-3%1");  // a share of its own
  FakeCourse course;
  course.runs = 4s;
  for (JobNumber number = 1; number <= 6; ++number) jobs.plan({number, 1}, course);
  const auto numbers = control->submit(several, moment(), 2);
  ASSERT_TRUE(numbers) << numbers.error().text();
  const JobNumber other = submit(sized("1g.5gb"), 4s);
  const std::vector<JobNumber> array{1, 2, 3}, rest{4, 5, 6};
  run(1s);
  EXPECT_EQ(in_state(array, JobState::running), 1U);
  EXPECT_EQ(in_state(rest, JobState::running), 2U);
  EXPECT_EQ(record(other).state, JobState::running) << "what waits is in nobody's way";
  EXPECT_EQ(control->why_waits(6), "2 of jobs 1 to 6 run already, as many as may at a time");
  begin();
  for (int second = 0; second < 40; ++second) {
    run(1s);
    EXPECT_LE(in_state(rest, JobState::running), 2U);
  }
  EXPECT_EQ(in_state(*numbers, JobState::finished), 6U);
}

TEST_F(Dependents, AreRefusedWhereItIsKnownAtOnce) {
  const JobNumber fails = failing(1s);
  run(5s);
  EXPECT_NE(refusal({fmt::format("ok:{}", fails)}).find("job 1 has failed"), std::string::npos);
  EXPECT_EQ(refusal({fmt::format("failed:{}", fails)}), "");
  EXPECT_NE(refusal({"any:99"}).find("you have no job 99"), std::string::npos);
  EXPECT_NE(refusal({"any:1"}, 1001).find("you have no job 1"), std::string::npos)
      << "it is somebody else's";
}

TEST_F(Dependents, SurviveTheDaemonAndWhatEndedMeanwhile) {
  const JobNumber ends = submit(sized("1g.5gb"), 5s);
  const JobNumber fails = failing(5s);
  run(1s);
  const JobNumber after_end = submit_after({fmt::format("ok:{}", ends)});
  const JobNumber after_failure = submit_after({fmt::format("ok:{}", fails)});
  run(100ms);
  const JobNumber long_after = submit_after({fmt::format("any:{}", after_end)}, 1s);
  run(1s);
  begin();
  run(1s);
  EXPECT_EQ(record(after_end).state, JobState::queued);
  EXPECT_EQ(control->why_waits(after_end), "it waits until job 1 has finished");
  control.reset();
  now += 10s;
  jobs.advance_to(Instant{} + now);
  begin();
  run(20s);
  EXPECT_EQ(record(after_end).state, JobState::finished);
  EXPECT_EQ(record(after_failure).state, JobState::cancelled);
  EXPECT_EQ(record(long_after).state, JobState::finished);
}

TEST_F(Dependents, DoNotNeedJobsThatWereForgotten) {
  const JobNumber quick = submit(sized("1g.5gb"), 1s);
  const JobNumber slow = submit(sized("1g.5gb"), 30s);
  run(100ms);
  const JobNumber waits = submit_after({fmt::format("ok:{}", quick), fmt::format("ok:{}", slow)});
  run(5s);
  const std::vector<JobNumber> ended = {quick};
  ASSERT_TRUE(control->purge(ended, false, moment()));
  run(1s);
  ASSERT_FALSE(*store->job(quick));
  begin();
  run(10s);
  EXPECT_EQ(control->why_waits(waits), "it waits until job 2 has finished");
  run(30s);
  EXPECT_EQ(record(waits).state, JobState::finished);
}

TEST_F(Dependents, ServicesAndTasksWaitToo) {
  const JobNumber first = submit(sized("1g.5gb"), 5s);
  run(100ms);
  NewJob service = sized("1g.5gb");
  service.spec.service.emplace().replicas = 2;
  service.spec.after = {fmt::format("ok:{}", first)};
  const JobNumber replicas = submit(service, 100s);
  NewJob task = sized("1g.5gb");
  task.spec.after = service.spec.after;
  const auto tasks = submit_array("1-3", 2s, task);
  run(1s);
  EXPECT_EQ(record(replicas).state, JobState::queued);
  EXPECT_EQ(in_state(tasks, JobState::queued), 3U);
  run(10s);
  EXPECT_EQ(in_state(tasks, JobState::finished), 3U);
  EXPECT_EQ(control->service(replicas).up, 2);
}

}  // namespace
}  // namespace cleave::trial
