#include "planner/optimal.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "placement/admission.hpp"
#include "planner/fleets_test.hpp"
#include "planner/heuristic.hpp"
#include "planner/objective.hpp"
#include "planner/planner.hpp"

namespace cleave {
namespace {

using testing_fleets::Draw;
using testing_fleets::fleet;
using testing_fleets::Made;
using testing_fleets::make;

Plan planned(const PlanProblem& problem, const PlanOptions& options = {}) {
  auto plan = make_plan(problem, options);
  if (!plan) throw std::runtime_error(plan.error().text());
  return std::move(*plan);
}

using Values = std::vector<std::int64_t>;

TEST(Optimal, FigureThree) {
  // First-fit puts the 3g where only the 4g could go; the optimum has room for both and wastes
  // nothing.
  const Made made =
      make(fleet("A100-80GB", {"e1 3g.40gb@4", "e2 4g.40gb@0"}, {"w1 3g.40gb", "w2 4g.40gb"}),
           ProblemKind::deploy);
  const Plan plan = planned(made.problem);
  EXPECT_EQ(plan.status, PlanStatus::optimal);
  EXPECT_EQ(plan.values, (Values{0, 2, 0, 0, 0}));
}

TEST(Optimal, FigureFourAndFive) {
  const std::vector<std::string_view> gpus = {
      "w1 4g.40gb@0", "w2 3g.40gb@0, w3 2g.20gb@4",
      "w4 1g.10gb@0, w5 1g.10gb@1, w6 1g.20gb@2, w7 1g.10gb@4"};
  // Compaction to two GPUs as in the figure, but without the waste that its rules leave.
  const Plan compact = planned(make(fleet("A100-80GB", gpus), ProblemKind::compact).problem);
  EXPECT_EQ(compact.then.gpus, 2);
  EXPECT_EQ(compact.values[2], 0);
  std::vector<std::string_view> more = gpus;
  more.insert(more.end(), {"", ""});
  const Plan anew = planned(make(fleet("A100-80GB", more), ProblemKind::reconfigure).problem);
  EXPECT_EQ(anew.status, PlanStatus::optimal);
  EXPECT_EQ(anew.values, (Values{0, 2, 0, 0, 15}));
  EXPECT_EQ(anew.then.sequential_migrations, 0);
}

TEST(Optimal, FigureSix) {
  const Plan plan = planned(make(fleet("A100-80GB", {"", ""},
                                       {"w1 4g.40gb", "w2 2g.20gb", "w3 2g.20gb", "w4 1g.10gb",
                                        "w5 1g.20gb", "w6 1g.20gb"}),
                                 ProblemKind::deploy)
                                .problem);
  EXPECT_EQ(plan.values, (Values{0, 2, 0, 0, 0}));
  EXPECT_EQ(plan.then.availability, 3);
}

TEST(Optimal, FigureSeven) {
  // 1g at 0, 5 and 6: a 4g is always pending, a 2g goes to 2.
  const Plan plan = planned(make(fleet("A100-80GB", {"a 1g.10gb@0!, b 1g.10gb@5!, c 1g.10gb@6!"},
                                       {"w1 4g.40gb", "w2 2g.20gb", "w3 1g.10gb", "w4 1g.10gb"}),
                                 ProblemKind::joint)
                                .problem);
  EXPECT_EQ(plan.values[0], 4);
  ASSERT_EQ(plan.pending.size(), 1U);
  EXPECT_NE(plan.pending[0].reason.find("what must stay"), std::string::npos)
      << plan.pending[0].reason;
}

/// Laws of every plan found by search, for any fleet.
void expect_sound(const PlanProblem& problem, const Plan& plan) {
  EXPECT_EQ(flaw(problem, plan.goal), "");
  EXPECT_EQ(objective_values(problem, plan.goal), plan.values);
  for (const Objective& objective : plan.objective) EXPECT_LE(objective.bound, objective.value);
}

class EveryModel : public testing::TestWithParam<std::string_view> {};

TEST_P(EveryModel, GoalsAreLegalAndNoRuleIsBetter) {
  for (const ProblemKind kind :
       {ProblemKind::deploy, ProblemKind::compact, ProblemKind::reconfigure})
    for (std::uint64_t seed = 0; seed < 12; ++seed) {
      Random random(seed);
      const Draw draw{.models = {GetParam()},
                      .profiles = "all",
                      .gpus = 6 + random.below(20),
                      .waiting = 25,
                      .walls = seed % 2 == 0,
                      .constraints = seed % 3 == 0};
      const Made made = make(fleet(random, draw), kind);
      SCOPED_TRACE(fmt::format("{} seed {}", name(kind), seed));
      const auto plan = make_plan(made.problem, {});
      if (!plan) {
        EXPECT_EQ(plan.error().kind, ErrorKind::infeasible) << plan.error().text();
        continue;
      }
      expect_sound(made.problem, *plan);
      EXPECT_EQ(plan->status, PlanStatus::optimal);
      for (const Heuristic& heuristic : heuristics()) {
        const Goal goal = kind == ProblemKind::deploy    ? heuristic.deploy(made.problem).goal
                          : kind == ProblemKind::compact ? heuristic.compact(made.problem).goal
                                                         : heuristic.reconfigure(made.problem).goal;
        if (!flaw(made.problem, goal).empty()) continue;  // it found no place for running work
        EXPECT_LE(plan->values, objective_values(made.problem, goal)) << heuristic.name;
      }
    }
}

std::vector<std::string_view> all_models() {
  std::vector<std::string_view> keys;
  for (const GpuModel& model : gpu_models()) keys.push_back(model.key);
  return keys;
}

std::string model_name(const testing::TestParamInfo<std::string_view>& model) {
  std::string text(model.param);
  std::ranges::replace(text, '-', '_');
  return text;
}

INSTANTIATE_TEST_SUITE_P(Models, EveryModel, testing::ValuesIn(all_models()), model_name);

/// The waiting work as a batch: by profile, with how many of each.
std::vector<BatchRequest> batch_of(const FleetFile& file) {
  std::map<std::string, std::int64_t> counts;
  for (const WaitingEntry& entry : file.waiting)
    if (const auto* wanted = std::get_if<ByProfile>(&entry.request.wanted))
      ++counts[wanted->profile];
  std::vector<BatchRequest> batch;
  for (const auto& [profile, count] : counts) batch.push_back({profile, count});
  return batch;
}

TEST(Optimal, AgreesWithAdmission) {
  int fits = 0, missing = 0;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    Random random(seed);
    const bool mixed = seed % 3 == 2;
    const Draw draw{
        .models = mixed ? std::vector<std::string_view>{"A100-40GB", "A30-24GB"}
                        : std::vector<std::string_view>{seed % 3 == 0 ? "A100-80GB"
                                                                      : "RTX-PRO-6000-BW-96GB"},
        .profiles = "all",
        .gpus = 3 + random.below(5),
        .waiting = random.below(14),
        .walls = true};
    FleetFile file = fleet(random, draw);
    std::erase_if(file.waiting, [](const WaitingEntry& e) {
      return !std::holds_alternative<ByProfile>(e.request.wanted);
    });
    const auto answer = admit(Fleet(file), batch_of(file), 0);
    if (!answer) continue;
    const std::size_t kind = 0;
    for (std::int64_t added = 0; added <= answer->missing_gpus.value_or(0); ++added) {
      SCOPED_TRACE(fmt::format("seed {} added {}", seed, added));
      const Plan plan = planned(make(file, ProblemKind::deploy).problem);
      EXPECT_EQ(plan.values[0] == 0, answer->missing_gpus && added == *answer->missing_gpus);
      file.gpus.push_back({fmt::format("added/{}", added), kind, {}});
    }
    (answer->fits ? fits : missing) += 1;
  }
  EXPECT_GT(fits, 20);
  EXPECT_GT(missing, 20);
}

TEST(Optimal, ReplicasAreKeptApart) {
  // Five groups of three to eight replicas on eight GPUs that hold seven each: only the surplus of
  // a group waits.
  FleetFile file = fleet("A100-80GB", {"", "", "", "", "", "", "", ""});
  for (int group = 0; group < 6; ++group)
    for (int i = 0; i < 3 + group * 2; ++i) {
      WaitingEntry entry{fmt::format("w{}-{}", group, i), {ByProfile{"1g.10gb"}, {}}, {}};
      entry.constraints.group = fmt::format("g{}", group);
      file.waiting.push_back(entry);
    }
  const Made made = make(std::move(file), ProblemKind::deploy);
  const Plan plan = planned(made.problem);
  expect_sound(made.problem, plan);
  EXPECT_EQ(plan.status, PlanStatus::optimal);
  EXPECT_EQ(plan.values[0], 1 + 3 + 5);  // of 9, 11 and 13
  EXPECT_EQ(plan.values[1], 8);
}

/// Fleets of one model in which replicas of group g are on `replicas`, GPU and workload.
void group(FleetFile& file, std::initializer_list<std::pair<std::size_t, std::size_t>> replicas) {
  for (const auto& [gpu, instance] : replicas)
    file.gpus[gpu].instances[instance].constraints.group = "g";
}

TEST(Optimal, GroupsThatOnlyLookingAtEachGpuSettles) {
  // A fixed replica's profile is one that others of its group do not want: counted together, the
  // GPUs seem to have room for one more than they do.
  FleetFile file = fleet("A30-24GB", {"m1 1g.6gb@0, w1 2g.12gb@2", "m2 1g.6gb@0, w2 2g.12gb@2",
                                      "m3 2g.12gb@0!, - 2g.12gb@2", "w3 2g.12gb@0"});
  group(file, {{0, 0}, {1, 0}, {2, 0}});
  const Made made = make(std::move(file), ProblemKind::compact);
  const Plan plan = planned(made.problem);
  EXPECT_EQ(plan.status, PlanStatus::optimal);
  EXPECT_EQ(plan.values[1], 4);
}

TEST(Optimal, BoundsOfTwoProgrammesAreNotMixed) {
  FleetFile file = fleet("A100-40GB", {"", "", "", "m3 1g.10gb@0!, - 1g.10gb@2, - 3g.20gb@4"},
                         {"a0 4g.20gb", "a1 1g.10gb", "a2 1g.10gb", "a3 4g.20gb", "a4 1g.5gb",
                          "a5 1g.10gb", "a6 1g.5gb"});
  group(file, {{3, 0}});
  file.waiting[4].constraints.group = file.waiting[6].constraints.group = "g";
  const Made made = make(std::move(file), ProblemKind::deploy);
  const Plan best = planned(made.problem);
  EXPECT_EQ(best.status, PlanStatus::optimal);
  EXPECT_EQ(best.values[1], 4);
  EXPECT_EQ(best.values[2], 2);
  PlanOptions first_fit;
  first_fit.method = "first-fit";
  const Plan other = planned(made.problem, first_fit);
  expect_sound(made.problem, other);
  EXPECT_EQ(other.status == PlanStatus::optimal, other.values == best.values);
}

TEST(Optimal, WeightsTurnThePlan) {
  const std::vector<std::string_view> gpus = {"a 4g.40gb@0", "b 1g.10gb@0, c 2g.20gb@2"};
  const Made made = make(fleet("A100-80GB", gpus), ProblemKind::compact);
  PlanOptions options;
  options.weights = PlanWeights{0, 2000, 0, 1000, 0};
  const Plan dear = planned(made.problem, options);
  EXPECT_EQ(dear.status, PlanStatus::optimal);
  EXPECT_EQ(dear.then.gpus, 2);  // moving three slices costs more than a GPU
  EXPECT_EQ(dear.objective[0].value, 4000);
  options.weights->gpus = 4000;
  const Plan cheap = planned(made.problem, options);
  EXPECT_EQ(cheap.then.gpus, 1);
  EXPECT_EQ(cheap.objective[0].value, 4000 + 3000);
}

TEST(Optimal, LimitsAreKept) {
  const std::vector<std::string_view> gpus = {"a 4g.40gb@0", "b 1g.10gb@0, c 1g.10gb@2",
                                              "d 1g.10gb@0"};
  Made made = make(fleet("A100-80GB", gpus), ProblemKind::compact);
  EXPECT_EQ(planned(made.problem).then.gpus, 1);
  made.problem.limits.migrations = 1;
  const Plan one = planned(made.problem);
  EXPECT_EQ(one.status, PlanStatus::optimal);
  EXPECT_EQ(one.then.gpus, 2);
  made.problem.limits.migrations = 0;
  EXPECT_EQ(planned(made.problem).then.gpus, 3);
  made.problem.limits = {std::nullopt, 9 * 1024};  // no instance is that small
  EXPECT_EQ(planned(made.problem).then.gpus, 3);
}

TEST(Optimal, OutOfTimeThereIsStillAPlanWithItsGap) {
  Random random(3);
  const Made made =
      make(fleet(random, {.models = {"A100-80GB", "A30-24GB"}, .gpus = 40, .waiting = 120}),
           ProblemKind::joint);
  PlanOptions options;
  options.time_limit = std::chrono::milliseconds(0);
  const Plan plan = planned(made.problem, options);
  expect_sound(made.problem, plan);
  const Plan best = planned(made.problem);
  EXPECT_EQ(best.status, PlanStatus::optimal);
  EXPECT_LE(best.values, plan.values);
  EXPECT_LE(plan.objective[0].bound, best.values[0]);
}

TEST(Optimal, RunningWorkStopsOnlyWhenAllowed) {
  Made made = make(fleet("A100-80GB", {"a 1g.10gb@0"}, {"w 7g.80gb"}), ProblemKind::joint);
  EXPECT_EQ(planned(made.problem).values[0], 8);
  made.problem.may_evict = true;
  const Plan plan = planned(made.problem);
  EXPECT_EQ(plan.values[0], 1);
  ASSERT_EQ(plan.pending.size(), 1U);
  EXPECT_EQ(made.problem.workloads[plan.pending[0].workload].name, "a");
}

TEST(Optimal, IdleInstancesAreReusedBeforeOthersAreCut) {
  FleetFile file = fleet("A100-80GB", {"", ""}, {"w 2g.20gb"});
  InstanceEntry idle;
  idle.placement = *file.geometries[0].find("1g.10gb", 4);
  file.gpus[0].instances.push_back(idle);
  idle.placement = *file.geometries[0].find("2g.20gb", 0);
  file.gpus[1].instances.push_back(idle);
  const Made made = make(std::move(file), ProblemKind::deploy);
  const Plan plan = planned(made.problem);
  EXPECT_EQ(plan.values, (Values{0, 1, 0, 0, 0}));
}

std::string why_not(FleetFile file, ProblemKind kind, PlanLimits limits = {}) {
  auto problem = PlanProblem::make(file, kind, "fleet.json");
  if (!problem) return problem.error().text();
  problem->limits = limits;
  const auto plan = make_plan(*problem, {});
  return plan ? "" : plan.error().text();
}

TEST(Conflict, IsNamed) {
  const std::vector<std::string_view> full = {"a 7g.80gb@0!", "b 1g.10gb@0"};
  FleetFile pinned = fleet("A100-80GB", full);
  pinned.gpus[1].instances[0].constraints.pin = "n0/0";
  EXPECT_NE(why_not(pinned, ProblemKind::compact)
                .find("'b' runs and must find a place, but what must stay on n0/0"),
            std::string::npos)
      << why_not(pinned, ProblemKind::compact);

  FleetFile apart = fleet("A100-80GB", {"a 1g.10gb@0, b 1g.10gb@1, c 1g.10gb@2", ""});
  for (InstanceEntry& instance : apart.gpus[0].instances) instance.constraints.group = "web";
  EXPECT_NE(
      why_not(apart, ProblemKind::joint).find("group 'web' has 3 running members to keep apart"),
      std::string::npos)
      << why_not(apart, ProblemKind::joint);

  apart.gpus[0].instances.pop_back();
  EXPECT_EQ(why_not(apart, ProblemKind::joint), "");
  EXPECT_NE(why_not(apart, ProblemKind::joint, {0, {}}).find("more than the 0 that may move"),
            std::string::npos)
      << why_not(apart, ProblemKind::joint, {0, {}});

  FleetFile stuck = fleet("A100-80GB", {"a 1g.10gb@0!"});
  stuck.gpus[0].instances[0].constraints.forbid = {"n0"};
  EXPECT_NE(why_not(stuck, ProblemKind::compact).find("gpus[0].instances[0]: 'a' must not move"),
            std::string::npos)
      << why_not(stuck, ProblemKind::compact);

  FleetFile nowhere = fleet("A100-80GB", {""}, {"w 1g.10gb"});
  nowhere.waiting[0].constraints.pin = "n9/9";
  EXPECT_NE(why_not(nowhere, ProblemKind::deploy)
                .find("waiting[0].pin: the fleet has no GPU and no node 'n9/9'"),
            std::string::npos)
      << why_not(nowhere, ProblemKind::deploy);
}

}  // namespace
}  // namespace cleave
