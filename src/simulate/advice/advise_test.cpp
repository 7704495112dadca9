#include "simulate/advice/advise.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "simulate/advice/candidate_runs.hpp"
#include "simulate/generate/generate.hpp"

namespace cleave {
namespace {

AdviceQuestion question_of(const char* generator, const char* fleet, std::size_t judging) {
  AdviceQuestion question;
  question.fleet = *parse_fleet_in_short(fleet, ProfileChoice::plain());
  for (std::uint64_t seed = 1; seed <= judging + draws_for_layouts; ++seed)
    (seed <= judging ? question.draws : question.for_layouts)
        .push_back({seed, *generate_workload(generator, seed)});
  question.draws_changed = judging;
  question.simulation.know = *parse_knowledge("speeds=learn;times=unknown");
  question.simulation.may = MayInterrupt::never;
  return question;
}

Advice advice_on(const AdviceQuestion& question, std::size_t threads = 2) {
  const auto advice = advise(question, threads, [](const std::string&, std::size_t) {
    return [](std::size_t) { return Progress(); };
  });
  EXPECT_TRUE(advice.has_value());
  return *advice;
}

const CandidateRuns* find(const AdviceLevel& level, std::string_view spec) {
  const auto found = std::ranges::find_if(level.candidates, [&](const CandidateRuns& runs) {
    return runs.candidate.spec.text == spec;
  });
  return found == level.candidates.end() ? nullptr : &*found;
}

TEST(Advising, DoesNotDependOnTheThreads) {
  const AdviceQuestion question = question_of("lab-day", "2xA100-40GB", 6);
  const Advice one = advice_on(question, 1), four = advice_on(question, 4);
  ASSERT_EQ(one.now.candidates.size(), four.now.candidates.size());
  for (std::size_t i = 0; i < one.now.candidates.size(); ++i) {
    const auto times = [&](const Advice& advice) {
      return times_of({advice.now.candidates[i]}).front().turnaround_s;
    };
    EXPECT_EQ(times(one), times(four));
  }
  EXPECT_EQ(one.now.conclusion.scheduler, four.now.conclusion.scheduler);
  EXPECT_EQ(one.now.conclusion.mig_over_whole, four.now.conclusion.mig_over_whole);
}

TEST(Advising, LeavesOutWhoMayNotOrTurnsJobsAway) {
  const Advice advice = advice_on(question_of("lab-day", "2xA100-40GB", 6));
  const CandidateRuns* miso = find(advice.now, "miso:checkpoint=moved");
  ASSERT_NE(miso, nullptr);
  EXPECT_TRUE(miso->by_draw.empty());
  EXPECT_NE(miso->left_out.find("no job may be stopped"), std::string::npos) << miso->left_out;
  for (const CandidateRuns& runs : advice.now.candidates)
    EXPECT_EQ(runs.by_draw.empty(), !runs.left_out.empty()) << runs.candidate.spec.text;
  // Where it may, it runs.
  const auto allowed = std::ranges::find(advice.changed, LevelKind::allowed, &AdviceLevel::kind);
  ASSERT_NE(allowed, advice.changed.end());
  EXPECT_FALSE(find(*allowed, "miso:checkpoint=moved")->by_draw.empty());
}

TEST(Advising, ALayoutThatTurnsJobsAwayIsNotQuick) {
  const AdviceQuestion question = question_of("lab-day", "1xA100-40GB", 2);
  std::vector<FurnishedCandidate> candidates;
  for (const char* spec : {"full-gpu", "static:layout=1g.5gb@0", "static:layout=7g.40gb@0"})
    candidates.push_back({{*parse_scheduler(spec), CandidateRole::fixed_layout}});
  const std::vector<Workload> draws = {question.draws[0].workload, question.draws[1].workload};
  const std::vector<std::uint64_t> seeds = {1, 2};
  const auto runs =
      run_candidates({&question.fleet, candidates, draws, seeds, &question.simulation}, 1,
                     [](std::size_t) { return Progress(); });
  ASSERT_TRUE(runs.has_value());
  EXPECT_EQ((*runs)[0].by_draw.size(), 2U);
  EXPECT_TRUE((*runs)[1].by_draw.empty());
  EXPECT_NE((*runs)[1].left_out.find("no instance of the fixed layout"), std::string::npos);
  EXPECT_EQ((*runs)[2].by_draw.size(), 2U);
}

TEST(Advising, ChangesOneThingAtATime) {
  const Advice advice = advice_on(question_of("lab-day", "2xA100-40GB", 6));
  std::vector<std::string> what;
  for (const AdviceLevel& level : advice.changed) what.push_back(level.what);
  EXPECT_EQ(what, (std::vector<std::string>{"run times known", "speeds known",
                                            "run times and speeds known", "memory not known",
                                            "jobs may be stopped, at the price of a checkpoint"}));
  // No job goes by times where they are not known and no queue is kept for them.
  for (const char* spec : {"full-gpu", "scheme-b"})
    for (const char* level : {"run times known", "speeds known"}) {
      const auto changed = std::ranges::find(advice.changed, level, &AdviceLevel::what);
      EXPECT_EQ(times_of({*find(*changed, spec)}).front().turnaround_s,
                times_of({*find(advice.now, spec)}).front().turnaround_s)
          << spec << ' ' << level;
    }
}

TEST(Advising, VariesSpeedsThatNobodyMeasured) {
  AdviceQuestion question = question_of("lab-day", "2xA100-40GB", 6);
  const auto forget = [](AdviceDraw& draw) {
    for (Job& job : draw.workload.jobs) job.speed = draw.workload.intern(SpeedModel{});
  };
  std::ranges::for_each(question.draws, forget);
  std::ranges::for_each(question.for_layouts, forget);
  const Advice advice = advice_on(question);
  ASSERT_GE(advice.unmeasured.size(), 2U);
  double share = 0;
  std::size_t varied = 0;
  for (const MeasurementWorth& worth : advice.unmeasured) {
    share += worth.application.share;
    varied += worth.moves ? 1 : 0;
  }
  EXPECT_NEAR(share, 1, 1e-9);
  EXPECT_EQ(varied, std::min(advice.unmeasured.size(), most_varied_applications));
  // Slices look better where jobs need no whole GPU.
  const auto at = [&](std::size_t k) {
    std::vector<const AdviceLevel*> ends;
    for (const AdviceLevel& level : advice.changed)
      if (level.kind == LevelKind::assumed && level.application.empty()) ends.push_back(&level);
    return ends.at(k)->conclusion.mig_over_whole->median;
  };
  EXPECT_LT(at(1), at(0));
}

TEST(DrawCounting, FollowsFromTheNumberOfJobsAlone) {
  EXPECT_EQ(draw_counts(0), (DrawCounts{21, 21}));
  EXPECT_EQ(draw_counts(200), (DrawCounts{21, 21}));
  EXPECT_EQ(draw_counts(50'000), (DrawCounts{20, 6}));
  EXPECT_EQ(draw_counts(10'000'000), (DrawCounts{6, 6}));
  for (std::size_t jobs = 1; jobs < 10'000'000; jobs *= 3)
    EXPECT_GE(draw_counts(jobs).as_things_are, draw_counts(3 * jobs).as_things_are);
}

}  // namespace
}  // namespace cleave
