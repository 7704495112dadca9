// The planner's moves against independent checks: every order of moves is replayed step by step,
// and the number of waves compared with the minimum.
//
// Seeded, so that a failure repeats: seed, fleet and goal are printed. CLEAVE_PLAN_ROUNDS is a
// factor in per cent, 1000 for ten times as long.

#include "planner/moves/moves.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <set>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/random.hpp"
#include "base/sanitized_test.hpp"
#include "five_layouts.hpp"
#include "planner/planner.hpp"
#include "planner_problem.hpp"
#include "random_fleet.hpp"
#include "random_pair.hpp"
#include "replay.hpp"
#include "rounds.hpp"
#include "study/wpm/paper_cases.hpp"
#include "wave_search.hpp"

namespace cleave::plans {
namespace {

/// A fleet, read twice.
struct Case {
  explicit Case(const Question& question)
      : scene(*read_scene(question)),
        planner(std::move(*PlannerProblem::make(question))),
        terms(scene, *planner) {
    planner->problem.may_evict = true;  // work may end
  }

  [[nodiscard]] const PlanProblem& problem() const { return planner->problem; }

  Scene scene;
  std::unique_ptr<PlannerProblem> planner;
  Terms terms;
};

bool same(const Target& one, const Target& other) {
  return one.goal == other.goal && one.idle == other.idle;
}

std::vector<std::size_t> interruptible(const Case& on, const Moves& moves, bool allowed) {
  std::vector<std::size_t> works;
  for (const Disruption& each : moves.disruptive)
    if (allowed) works.push_back(on.terms.work(each.workload));
  return works;
}

void expect_disruptions_said(const Case& on, const Moves& moves) {
  std::set<WorkloadIndex> seen;
  for (const Disruption& each : moves.disruptive) {
    ASSERT_LT(each.workload, on.scene.works.size());
    EXPECT_TRUE(seen.insert(each.workload).second) << "said twice";
    EXPECT_FALSE(each.reason.empty());
  }
}

/// That the moves can be carried out and end where they say, and that this is the target unless
/// something is in the way.
void expect_right(const Case& on, const Target& target, const Moves& moves, bool allowed) {
  expect_disruptions_said(on, moves);
  if (testing::Test::HasFatalFailure()) return;
  const auto waves = on.terms.waves(moves);
  SCOPED_TRACE(fmt::format("{} disruptive, {}allowed: {}", moves.disruptive.size(),
                           allowed ? "" : "not ", waves_text(on.scene, waves)));
  const auto found =
      replay(on.scene, waves, on.terms.end(moves.reached), interruptible(on, moves, allowed));
  ASSERT_TRUE(found.empty()) << fmt::format("{}", fmt::join(found, "\n"));
  ASSERT_EQ(fault(on.problem(), moves), "");
  ASSERT_EQ(moves.temporary, temporary_moves(waves, on.terms.end(target).seats));
  if (allowed || moves.disruptive.empty()) {
    ASSERT_EQ(moves.reached.goal, target.goal) << "they end elsewhere";
    ASSERT_EQ(moves.reached.idle, target.idle) << "they end with other idle instances";
  }
  if (same(moves.reached, target)) {
    ASSERT_LE(moves.waves_bound, std::ssize(moves.waves));
  }
}

/// The end state if a goal says nothing about idle instances: the ones that it leaves room for.
void expect_target_of(const Case& on, const Target& target, const Seats& seats) {
  const End end = on.terms.end(target);
  ASSERT_EQ(end.seats, seats);
  const auto idle = idle_now(on.scene);
  for (std::size_t gpu = 0; gpu < idle.size(); ++gpu) {
    std::vector<Instance> together = on.scene.gpus[gpu].walls;
    for (const auto& seat : seats)
      if (seat && seat->gpu == gpu) together.push_back(seat->instance);
    for (const Instance& each : end.idle[gpu]) {
      together.push_back(each);
      ASSERT_NE(std::ranges::find(idle[gpu], each), idle[gpu].end())
          << "an idle instance from nowhere";
    }
    const GpuModel& model = *on.scene.gpus[gpu].model;
    ASSERT_EQ(unlawful(model, together), "");
    for (const Instance& each : idle[gpu]) {
      if (std::ranges::find(end.idle[gpu], each) != end.idle[gpu].end()) continue;
      together.push_back(each);
      ASSERT_NE(unlawful(model, together), "")
          << "there is room for an idle instance that is left out";
      together.pop_back();
    }
  }
}

/// One thing made wrong, or at least different.
Moves spoiled(const PlanProblem& problem, Moves moves, Random& random) {
  const std::size_t at = random.below(moves.waves.size());
  cleave::Wave& wave = moves.waves[at];
  if (wave.empty()) return moves;
  const auto step = wave.begin() + static_cast<std::ptrdiff_t>(random.below(wave.size()));
  switch (random.below(5)) {
    case 0:
      wave.erase(step);
      break;
    case 1:
      wave.insert(step, *step);
      break;
    case 2: {
      const auto ids = problem.geometry(step->seat.gpu).size();
      step->seat.placement =
          static_cast<PlacementId>(random.below(static_cast<std::uint64_t>(ids)));
      break;
    }
    case 3:
      if (step->op != cleave::Op::create && step->op != cleave::Op::destroy)
        step->workload = static_cast<WorkloadIndex>(random.below(problem.workloads.size()));
      break;
    default:
      if (at > 0) std::swap(moves.waves[at - 1], moves.waves[at]);
      break;
  }
  return moves;
}

/// That the planner's own check finds a fault exactly where the replay does.
void expect_same_verdict(const Case& on, const Moves& moves, bool allowed, Random& random,
                         std::map<std::string, int>& counts) {
  if (moves.waves.empty()) return;
  for (int i = 0; i < 3; ++i) {
    const Moves other = spoiled(on.problem(), moves, random);
    const auto waves = on.terms.waves(other);
    const auto found =
        replay(on.scene, waves, on.terms.end(other.reached), interruptible(on, other, allowed));
    const std::string own = fault(on.problem(), other);
    ASSERT_EQ(own.empty(), found.empty())
        << "the planner: " << own << "\nhere: " << (found.empty() ? "nothing" : found.front())
        << "\n"
        << waves_text(on.scene, waves);
    ++counts[found.empty() ? "spoiled and right" : "spoiled and wrong"];
  }
}

/// Works that may be somewhere on the way if the moves stop short of the target.
int left_on_the_way(const Case& on, const Target& target, const Moves& moves) {
  int count = 0;
  for (WorkloadIndex i = 0; i < target.goal.size(); ++i) {
    const auto& there = moves.reached.goal[i];
    count += there != target.goal[i] && there != on.problem().workloads[i].now ? 1 : 0;
  }
  return count;
}

/// Compared with the minimum. Idle instances of the goal may take longer.
void expect_not_fewer(const Case& on, const Target& target, const Moves& moves,
                      std::map<std::string, int>& counts) {
  const FewestWaves best = fewest_waves(on.scene, on.terms.end(target).seats, 30'000);
  const bool no_idle =
      std::ranges::all_of(target.idle, [](PlacementSet set) { return set.empty(); });
  if (best.outcome == Outcome::beyond_limit) return;
  if (best.outcome == Outcome::impossible) {
    ++counts["small: impossible"];
    ASSERT_FALSE(moves.disruptive.empty()) << "it cannot be done";
    return;
  }
  if (no_idle) {
    // Destroying idle instances is a wave too, if there is no other.
    const bool some = std::ranges::any_of(on.problem().gpus,
                                          [](const PlanGpu& gpu) { return !gpu.idle.empty(); });
    ASSERT_LE(moves.waves_bound,
              static_cast<std::int64_t>(std::max<std::size_t>(best.waves, some ? 1 : 0)))
        << "no bound";
  }
  if (!moves.disruptive.empty()) {
    ++counts["small: called disruptive and is not"];
    return;
  }
  ASSERT_GE(moves.waves.size(), best.waves) << "fewer than the fewest";
  ++counts[moves.waves.size() == best.waves ? "small: fewest waves" : "small: more waves"];
}

void check_pair(std::uint64_t seed, std::map<std::string, int>& counts) {
  const Pair pair = random_pair(seed, {.idle = seed % 3 != 0});
  SCOPED_TRACE(fmt::format("seed {}: {}\n{}", seed, pair.now.fleet, pair.goal));
  const Case on(pair.now);
  const End wanted = read_end(on.scene, pair.goal);
  Target target = on.terms.target(wanted);
  ASSERT_EQ(flaw(on.problem(), target.goal), "");
  if (seed % 2 == 0) {
    target = target_of(on.problem(), target.goal);
    expect_target_of(on, target, wanted.seats);
    if (testing::Test::HasFatalFailure()) return;
  }
  Random random(seed);
  const Moves moves = plan_moves(on.problem(), target, {});
  expect_right(on, target, moves, false);
  if (testing::Test::HasFatalFailure()) return;
  if (moves.disruptive.empty()) expect_same_verdict(on, moves, false, random, counts);
  if (on.scene.gpus.size() <= 2) expect_not_fewer(on, target, moves, counts);
  if (testing::Test::HasFatalFailure()) return;
  ++counts[moves.disruptive.empty() ? "undisturbed" : "disruptive"];
  counts["waves"] += static_cast<int>(moves.waves.size());
  counts["temporary"] += static_cast<int>(moves.temporary);
  if (moves.disruptive.empty()) {
    counts["waves at the bound"] += moves.waves_bound == std::ssize(moves.waves) ? 1 : 0;
    return;
  }
  counts["left on the way"] += left_on_the_way(on, target, moves);
  const Moves all = plan_moves(on.problem(), target, {.allow_disruptive = true});
  expect_right(on, target, all, true);
  if (testing::Test::HasFatalFailure()) return;
  ASSERT_FALSE(all.disruptive.empty());
  expect_same_verdict(on, all, true, random, counts);
}

void print(const std::map<std::string, int>& counts) {
  for (const auto& [what, count] : counts) std::printf("%s: %d\n", what.c_str(), count);
}

TEST(Moves, OfRandomPairsCanBeCarriedOut) {
  std::map<std::string, int> counts;
  const int count = rounds(sanitized ? 3'000 : 10'000);
  for (int seed = 0; seed < count; ++seed) {
    check_pair(static_cast<std::uint64_t>(seed), counts);
    if (HasFatalFailure()) return;
  }
  print(counts);
  EXPECT_GT(counts["undisturbed"], count / 4);
  EXPECT_GT(counts["spoiled and wrong"], count);
}

TEST(Moves, BetweenMaximalLayoutsTakeTheFewestWaves) {
  const auto layouts = five_layouts();
  int known = 0;
  // The search for the fewest waves is the test's own; a part of the pairs goes through the whole
  // planner.
  std::size_t number = 0;
  for (const std::size_t spare : {0U, 1U}) {
    std::map<std::string, int> counts;
    for (const FiveLayout& from : layouts)
      for (const FiveLayout& to : layouts) {
        if (sanitized && number++ % 5 != 0) continue;
        SCOPED_TRACE(fmt::format("{} to {}, {} free GPUs", text_of(from), text_of(to), spare));
        const FivePair pair = five_pair(from, to, spare);
        const Case on(pair.now);
        const Target target = on.terms.target(pair.end);
        const Moves moves = plan_moves(on.problem(), target, {});
        expect_right(on, target, moves, false);
        if (HasFatalFailure()) return;
        const FewestWaves best = fewest_waves(on.scene, pair.end.seats, 3'000'000);
        ++counts[best.outcome == Outcome::found ? fmt::format("{} waves", best.waves)
                                                : std::string(name(best.outcome))];
        if (best.outcome == Outcome::beyond_limit) continue;
        ++known;
        EXPECT_EQ(moves.disruptive.empty(), best.outcome == Outcome::found);
        if (best.outcome == Outcome::impossible) continue;
        EXPECT_EQ(moves.waves.size(), best.waves);
        EXPECT_LE(moves.waves_bound, static_cast<std::int64_t>(best.waves)) << "no bound";
        counts["at the bound"] +=
            moves.waves_bound == static_cast<std::int64_t>(best.waves) ? 1 : 0;
        counts["temporary moves"] += static_cast<int>(moves.temporary);
        counts["temporary moves at best"] += static_cast<int>(best.temporary);
      }
    std::printf("%zu free GPUs\n", spare);
    print(counts);
  }
  std::printf("%d of %zu pairs\n", known, 2 * layouts.size() * layouts.size());
  EXPECT_GE(known, sanitized ? 50 : 300);
}

/// The fleets of the paper's cases as JSON text: only profiles, starts and work.
std::string fleet_text(const FleetFile& fleet) {
  Json document = {{"gpus", Json::array()}, {"waiting", Json::array()}};
  for (const GpuEntry& gpu : fleet.gpus) {
    const Geometry& geometry = fleet.geometries[gpu.geometry];
    Json instances = Json::array();
    for (const InstanceEntry& each : gpu.instances) {
      Json entry = {{"profile", std::string(geometry[each.placement].profile->name)},
                    {"start", geometry[each.placement].start}};
      if (each.workload) entry["workload"] = *each.workload;
      instances.push_back(entry);
    }
    document["gpus"].push_back({{"name", gpu.name},
                                {"model", std::string(geometry.model().key)},
                                {"instances", instances}});
  }
  for (const WaitingEntry& each : fleet.waiting)
    document["waiting"].push_back({{"workload", each.workload},
                                   {"profile", std::get<ByProfile>(each.request.wanted).profile}});
  return document.dump();
}

class MovesOfPlans : public testing::TestWithParam<Task> {
 protected:
  /// False: there is no plan.
  bool check(const Question& asked, const char* method) {
    const Case on(asked);
    on.planner->problem.may_evict = asked.may_evict;
    PlanOptions options;
    options.method = method;
    options.time_limit = std::chrono::seconds(2);
    const auto plan = make_plan(on.problem(), options);
    if (!plan) return false;
    const Target target = target_of(on.problem(), plan->goal);
    expect_target_of(on, target, on.terms.end(target).seats);
    EXPECT_EQ(target.goal, plan->goal);
    for (const bool allowed : {false, true}) {
      const auto begun = std::chrono::steady_clock::now();
      const Moves moves = plan_moves(on.problem(), target, {.allow_disruptive = allowed});
      slowest_ = std::max(slowest_, std::chrono::steady_clock::now() - begun);
      expect_right(on, target, moves, allowed);
      if (HasFatalFailure()) return true;
      ++counts_[moves.disruptive.empty() ? "undisturbed" : "disruptive"];
      ++counts_[fmt::format("{} waves", moves.waves.size())];
      counts_["temporary"] += static_cast<int>(moves.temporary);
      if (moves.disruptive.empty()) break;
    }
    return true;
  }

  void TearDown() override {
    print(counts_);
    std::printf("%.1f ms at most\n", std::chrono::duration<double, std::milli>(slowest_).count());
  }

  std::map<std::string, int> counts_;
  std::chrono::steady_clock::duration slowest_{};
};

TEST_P(MovesOfPlans, OfThePapersCasesCanBeCarriedOut) {
  struct Row {
    std::size_t gpus;
    int cases;
  };
  const bool fresh = GetParam() == Task::deploy || GetParam() == Task::joint;
  for (const auto& [gpus, cases] : {Row{8, 40}, Row{24, 8}, Row{80, 3}})
    for (int seed = 1; seed <= std::max(1, rounds(cases)); ++seed) {
      const PaperCase wanted{.gpus = gpus,
                             .seed = static_cast<std::uint64_t>(seed),
                             .new_work = fresh,
                             .media = seed % 4 == 0,
                             .model = nullptr};
      SCOPED_TRACE(fmt::format("{} GPUs, seed {}", gpus, seed));
      const Question asked{fleet_text(paper_fleet(wanted)), GetParam(), {}, {}, false};
      for (const char* method : {"optimal", "rules", "first-fit"}) {
        const bool planned = check(asked, method);
        if (HasFatalFailure()) return;
        if (method == std::string_view("optimal")) {
          EXPECT_TRUE(planned);
        }
        if (GetParam() == Task::joint) break;  // no rules for it
      }
    }
}

TEST_P(MovesOfPlans, OfRandomFleetsCanBeCarriedOut) {
  const FleetShape large{.gpus = 80, .nodes = 12, .running = 400, .waiting = 40};
  int plans = 0, of = 0;
  for (int seed = 0; seed < rounds(60); ++seed) {
    const Question asked = random_question(static_cast<std::uint64_t>(seed) + 5'000'000, GetParam(),
                                           seed % 10 == 0 ? large : FleetShape{});
    SCOPED_TRACE(fmt::format("seed {}: {}", seed, asked.fleet));
    ++of;
    plans += check(asked, "optimal") ? 1 : 0;
    if (HasFatalFailure()) return;
  }
  std::printf("%d plans for %d problems\n", plans, of);
  EXPECT_GT(plans, of / 4);
}

INSTANTIATE_TEST_SUITE_P(Tasks, MovesOfPlans, testing::ValuesIn(tasks),
                         [](const auto& task) { return std::string(name(task.param)); });

}  // namespace
}  // namespace cleave::plans
