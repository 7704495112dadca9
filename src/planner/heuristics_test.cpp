// The methods that place by rule: the paper's figures, the slow definition of every method that
// they must agree with decision by decision, and the laws that hold for any outcome.

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "planner/fleets_test.hpp"
#include "planner/method.hpp"
#include "planner/metrics.hpp"

namespace cleave {
namespace {

using namespace testing_fleets;

const Heuristic& method_named(std::string_view name) {
  return *std::ranges::find(heuristics(), name, &Heuristic::name);
}

/// "w1 4g.40gb@0, w2 3g.40gb@4 | ..." GPU by GPU.
std::string text(const PlanProblem& problem, const Goal& goal) {
  std::vector<std::map<int, std::string>> gpus(problem.gpus.size());
  for (WorkloadIndex i = 0; i < goal.size(); ++i) {
    if (!goal[i]) continue;
    const Placement& where = problem.placement(*goal[i]);
    gpus[index(goal[i]->gpu)][where.start] =
        fmt::format("{} {}@{}", problem.workloads[i].name, where.profile->name, where.start);
  }
  std::string all;
  for (const auto& gpu : gpus) {
    std::string one;
    for (const auto& [start, instance] : gpu) one += (one.empty() ? "" : ", ") + instance;
    all += (&gpu == &gpus.front() ? "" : " | ") + one;
  }
  return all;
}

// The definitions, from the paper and readings O4 to O12, without remembered state.

void sort_by_name(const PlanProblem& problem, std::vector<WorkloadIndex>& work) {
  std::ranges::stable_sort(work, [&](WorkloadIndex a, WorkloadIndex b) {
    return problem.workloads[a].name < problem.workloads[b].name;
  });
}

void as_it_comes(const PlanProblem&, std::vector<WorkloadIndex>&) {}

struct Slow {
  std::string_view method;
  const PlanProblem& problem;

  [[nodiscard]] Method row() const {
    if (method == "rules") return {{GpuOrder::fullest, StartOrder::preferred}, sort_by_size};
    if (method == "first-fit") return {{GpuOrder::first, StartOrder::lowest}, sort_by_name};
    return {{GpuOrder::emptiest, StartOrder::lowest}, as_it_comes};
  }

  void sort(std::vector<WorkloadIndex>& work) const { row().sort(problem, work); }

  /// `gpus` in line. `first_in_line`: whatever the method, the first that fits.
  [[nodiscard]] std::optional<Seat> choose(const Seating& seating, WorkloadIndex work,
                                           std::vector<GpuId> gpus,
                                           bool first_in_line = false) const {
    const auto share = [&](GpuId gpu) {
      const GpuModel& model = problem.geometry(gpu).model();
      const StateId state = seating.occupied(gpu);
      return Ratio(problem.graph(gpu).compute(state).value + problem.graph(gpu).memory(state).value,
                   model.compute.value + model.memory_slices.value);
    };
    if (method == "rules" && !first_in_line)
      std::ranges::stable_sort(gpus, [&](GpuId a, GpuId b) { return share(a) > share(b); });
    if (method == "load-balanced" && !first_in_line)
      std::ranges::stable_sort(gpus, [&](GpuId a, GpuId b) { return share(a) < share(b); });
    for (const GpuId gpu : gpus) {
      const PlacementSet places = seating.places(work, gpu);
      if (!places.empty()) return Seat{gpu, start(problem.geometry(gpu), places)};
    }
    return std::nullopt;
  }

  [[nodiscard]] PlacementId start(const Geometry& geometry, PlacementSet places) const {
    std::vector<PlacementId> list;
    for (const PlacementId id : places) list.push_back(id);
    std::ranges::sort(list, {}, [&](PlacementId id) {
      const Profile& profile = *geometry[id].profile;
      const auto order = profile.starts.preferred();
      const auto rank = std::ranges::find(order, geometry[id].start) - order.begin();
      return std::tuple(method == "rules" ? rank : geometry[id].start, -profile.compute.value,
                        geometry[id].start);
    });
    return list.front();
  }

  [[nodiscard]] std::vector<GpuId> all_gpus() const {
    std::vector<GpuId> gpus;
    for (std::size_t i = 0; i < problem.gpus.size(); ++i) gpus.push_back(static_cast<GpuId>(i));
    return gpus;
  }

  [[nodiscard]] HeuristicOutcome deploy() const {
    Seating seating = Seating::of_now(problem);
    std::vector<WorkloadIndex> work;
    for (WorkloadIndex i = 0; i < problem.workloads.size(); ++i)
      if (!problem.workloads[i].now) work.push_back(i);
    sort(work);
    HeuristicOutcome outcome;
    for (const WorkloadIndex i : work) {
      if (const auto seat = choose(seating, i, all_gpus()))
        seating.seat(i, *seat);
      else
        outcome.pending.push_back(i);
    }
    outcome.goal = seating.goal();
    return outcome;
  }

  /// The seating with this GPU emptied onto the others, if possible.
  [[nodiscard]] std::optional<Seating> emptied(Seating seating, GpuId gpu,
                                               std::vector<GpuId> others) const {
    std::erase(others, gpu);
    std::vector<WorkloadIndex> work;
    for (WorkloadIndex i = 0; i < problem.workloads.size(); ++i)
      if (seating.goal()[i] && seating.goal()[i]->gpu == gpu) work.push_back(i);
    if (work.empty() || !problem.gpus[index(gpu)].walls.empty()) return std::nullopt;
    std::ranges::sort(work, {},
                      [&](WorkloadIndex i) { return problem.placement(*seating.goal()[i]).start; });
    sort(work);
    for (const WorkloadIndex i : work) {
      if (problem.workloads[i].stays) return std::nullopt;
      seating.unseat(i);
    }
    for (const WorkloadIndex i : work) {
      const auto seat = choose(seating, i, others);
      if (!seat) return std::nullopt;
      seating.seat(i, *seat);
    }
    std::int64_t moves = 0;
    for (WorkloadIndex i = 0; i < problem.workloads.size(); ++i)
      if (seating.goal()[i] && seating.goal()[i] != problem.workloads[i].now) ++moves;
    if (problem.limits.migrations && moves > *problem.limits.migrations) return std::nullopt;
    return seating;
  }

  void empty_all(Seating& seating, std::vector<GpuId>& used, std::vector<GpuId>& vacated) const {
    for (bool found = true; found;) {
      found = false;
      std::vector<GpuId> order = used;
      std::ranges::stable_sort(order, [&](GpuId a, GpuId b) {
        return fullness(problem.graph(a), seating.occupied(a)) <
               fullness(problem.graph(b), seating.occupied(b));
      });
      for (const GpuId gpu : order) {
        const auto after = emptied(seating, gpu, used);
        if (!after) continue;
        seating = *after;
        std::erase(used, gpu);
        vacated.push_back(gpu);
        found = true;
        break;
      }
    }
  }

  [[nodiscard]] HeuristicOutcome compact() const {
    HeuristicOutcome outcome;
    Seating seating = settle(problem, row(), outcome.pending);
    std::vector<GpuId> used, free;
    for (const GpuId gpu : all_gpus())
      if (seating.occupied(gpu) != 0)
        used.push_back(gpu);
      else if (problem.running_on(gpu).empty())
        free.push_back(gpu);
    empty_all(seating, used, outcome.vacated);
    std::vector<bool> tried(problem.graphs.size());
    for (const GpuId gpu : free) {
      const std::uint16_t kind = problem.gpus[index(gpu)].kind;
      if (tried[kind]) continue;
      tried[kind] = true;
      Seating more = seating;
      std::vector<GpuId> with = used, vacated = outcome.vacated;
      with.insert(std::ranges::upper_bound(with, gpu), gpu);
      empty_all(more, with, vacated);
      if (vacated.size() - outcome.vacated.size() <= 1) continue;
      outcome.vacated = vacated;
      outcome.added = gpu;
      seating = more;
      break;
    }
    outcome.goal = seating.goal();
    return outcome;
  }

  [[nodiscard]] HeuristicOutcome reconfigure_baseline() const {
    HeuristicOutcome outcome;
    Seating seating = Seating::of_what_stays(problem);
    std::vector<GpuId> free, used;
    for (const GpuId gpu : all_gpus())
      (problem.running_on(gpu).empty() && problem.gpus[index(gpu)].walls.empty() ? free : used)
          .push_back(gpu);
    std::vector<WorkloadIndex> work;
    for (WorkloadIndex i = 0; i < problem.workloads.size(); ++i)
      if (!problem.workloads[i].stays) work.push_back(i);
    sort(work);
    for (const WorkloadIndex i : work) {
      auto seat = choose(seating, i, free);
      if (!seat) seat = choose(seating, i, used);
      if (seat)
        seating.seat(i, *seat);
      else
        outcome.pending.push_back(i);
    }
    outcome.goal = seating.goal();
    outcome.gpus_tried = static_cast<std::int64_t>(free.size());
    return outcome;
  }

  /// Seats the first workload that can take the GPU's last memory slice without taking all of the
  /// GPU.
  void seat_at_spare_slice(Seating& seating, const std::vector<WorkloadIndex>& work,
                           GpuId gpu) const {
    const Geometry& geometry = problem.geometry(gpu);
    const int memory = geometry.model().memory_slices.value;
    if (memory != geometry.model().compute.value + 1) return;
    for (const WorkloadIndex i : work) {
      if (seating.goal()[i]) continue;
      for (const PlacementId id : seating.places(i, gpu)) {
        if (geometry[id].start == 0 ||
            geometry[id].start + geometry[id].profile->memory.value != memory)
          continue;
        seating.seat(i, {gpu, id});
        return;
      }
    }
  }

  /// One round of the rules' reconfiguration; work without a seat goes to `pending`.
  [[nodiscard]] Seating round(const std::vector<GpuId>& gpus,
                              std::vector<WorkloadIndex>& pending) const {
    Seating seating = Seating::of_what_stays(problem);
    std::vector<WorkloadIndex> work;
    for (WorkloadIndex i = 0; i < problem.workloads.size(); ++i)
      if (!problem.workloads[i].stays) work.push_back(i);
    sort(work);
    for (const GpuId gpu : gpus) {
      seat_at_spare_slice(seating, work, gpu);
    }
    for (const WorkloadIndex i : work) {
      if (seating.goal()[i]) continue;
      if (const auto seat = choose(seating, i, gpus, true))
        seating.seat(i, *seat);
      else
        pending.push_back(i);
    }
    return seating;
  }

  [[nodiscard]] HeuristicOutcome reconfigure_rules() const {
    const Seating now = Seating::of_now(problem), stays = Seating::of_what_stays(problem);
    std::vector<GpuId> line = all_gpus();
    std::ranges::stable_sort(line, {}, [&](GpuId gpu) {
      return std::pair(stays.occupied(gpu) == 0, fullness(problem.graph(gpu), now.occupied(gpu)));
    });
    HeuristicOutcome outcome;
    auto gpus = static_cast<std::size_t>(
        std::ranges::count_if(line, [&](GpuId gpu) { return stays.occupied(gpu) != 0; }));
    gpus = std::min(line.size(), std::max(gpus, static_cast<std::size_t>(least_gpus(problem))));
    for (;; ++gpus) {
      outcome.pending.clear();
      const std::vector<GpuId> chosen(line.begin(),
                                      line.begin() + static_cast<std::ptrdiff_t>(gpus));
      outcome.goal = round(chosen, outcome.pending).goal();
      if (outcome.pending.empty() || gpus == line.size()) break;
    }
    outcome.gpus_tried = static_cast<std::int64_t>(gpus);
    return outcome;
  }

  [[nodiscard]] HeuristicOutcome reconfigure() const {
    return method == "rules" ? reconfigure_rules() : reconfigure_baseline();
  }
};

const Draw draws[] = {
    {{"A100-80GB"}, "plain", 8, 12},
    {{"A100-80GB"}, "all", 12, 20},
    {{"A30-24GB"}, "all", 8, 12},
    {{"RTX-PRO-6000-BW-96GB"}, "all", 8, 12},
    {{"A100-40GB", "A30-24GB", "RTX-PRO-6000-BW-96GB"}, "all", 12, 15},
    {{"A100-40GB", "A100-80GB", "H100-94GB-NVL"}, "plain", 16, 20},
    {{"A100-80GB"}, "all", 10, 12, true, false},
    {{"A100-80GB", "A30-24GB"}, "all", 20, 20, true, true},
    {{"A100-40GB"}, "plain", 24, 20, false, true},
};
constexpr std::uint64_t rounds = 60;

/// Calls `check` with many fleets as problems of one kind.
template <class Check>
void for_many(ProblemKind kind, const Check& check) {
  std::uint64_t seed = 0, made = 0;
  for (const Draw& draw : draws)
    for (std::uint64_t round = 0; round < rounds; ++round) {
      Random random(++seed);
      const FleetFile file = fleet(random, draw);
      auto problem = PlanProblem::make(file, kind, "");
      ASSERT_TRUE(problem) << problem.error().text();
      if (kind == ProblemKind::compact && random.below(4) == 0)
        problem->limits.migrations = random.below(8);
      for (const Heuristic& method : heuristics()) {
        SCOPED_TRACE(fmt::format("seed {} {}", seed, method.name));
        check(*problem, method);
        if (testing::Test::HasFailure()) return;
      }
      ++made;
    }
  EXPECT_EQ(made, std::size(draws) * rounds);
}

void expect_same(const PlanProblem& problem, const HeuristicOutcome& quick,
                 const HeuristicOutcome& slow) {
  EXPECT_EQ(text(problem, quick.goal), text(problem, slow.goal));
  EXPECT_EQ(quick.pending, slow.pending);
  EXPECT_EQ(quick.vacated, slow.vacated);
  EXPECT_EQ(quick.added, slow.added);
  EXPECT_EQ(quick.gpus_tried, slow.gpus_tried);
}

TEST(Definition, Deploy) {
  for_many(ProblemKind::deploy, [](const PlanProblem& problem, const Heuristic& method) {
    expect_same(problem, method.deploy(problem), Slow{method.name, problem}.deploy());
  });
}

TEST(Definition, Compact) {
  for_many(ProblemKind::compact, [](const PlanProblem& problem, const Heuristic& method) {
    expect_same(problem, method.compact(problem), Slow{method.name, problem}.compact());
  });
}

TEST(Definition, Reconfigure) {
  for_many(ProblemKind::reconfigure, [](const PlanProblem& problem, const Heuristic& method) {
    expect_same(problem, method.reconfigure(problem), Slow{method.name, problem}.reconfigure());
  });
}

void expect_sound(const PlanProblem& problem, const HeuristicOutcome& outcome) {
  // Work that a rule finds no place for is pending; the caller checks whether it is running work.
  PlanProblem lenient = problem;
  lenient.may_evict = true;
  if (evicted(problem, outcome.goal)) lenient.limits = {};
  EXPECT_EQ(flaw(lenient, outcome.goal), "");
  std::vector<WorkloadIndex> pending = outcome.pending, without_seat;
  for (WorkloadIndex i = 0; i < outcome.goal.size(); ++i) {
    if (!outcome.goal[i]) without_seat.push_back(i);
    if (problem.workloads[i].stays) {
      EXPECT_EQ(outcome.goal[i], problem.workloads[i].now);
    }
  }
  std::ranges::sort(pending);
  EXPECT_EQ(pending, without_seat);
}

TEST(Laws, DeployMovesNothingAndLeavesOnlyWorkThatFitsNowhere) {
  for_many(ProblemKind::deploy, [](const PlanProblem& problem, const Heuristic& method) {
    const HeuristicOutcome outcome = method.deploy(problem);
    expect_sound(problem, outcome);
    EXPECT_EQ(metrics(problem, outcome.goal).migration_size, 0);
    Seating seating = Seating::of_now(problem);
    for (WorkloadIndex i = 0; i < outcome.goal.size(); ++i)
      if (outcome.goal[i] && !problem.workloads[i].now) seating.seat(i, *outcome.goal[i]);
    for (const WorkloadIndex i : outcome.pending)
      for (std::size_t gpu = 0; gpu < problem.gpus.size(); ++gpu)
        EXPECT_TRUE(seating.places(i, static_cast<GpuId>(gpu)).empty());
  });
}

TEST(Laws, CompactionNeverNeedsMoreGpusAndEmptiedOnesStayEmpty) {
  std::size_t emptied = 0, added = 0;
  for_many(ProblemKind::compact, [&](const PlanProblem& problem, const Heuristic& method) {
    const HeuristicOutcome outcome = method.compact(problem);
    expect_sound(problem, outcome);
    const PlanMetrics then = metrics(problem, outcome.goal);
    // Work that may not stay where it is may have to go to a free GPU first.
    std::vector<WorkloadIndex> ignored;
    const Seating settled =
        settle(problem, {{GpuOrder::first, StartOrder::lowest}, sort_by_size}, ignored);
    const bool all_at_home = settled.goal() == goal_of_now(problem);
    const std::int64_t before = metrics(problem, goal_of_now(problem)).gpus;
    const auto change = static_cast<std::int64_t>(outcome.vacated.size()) - (outcome.added ? 1 : 0);
    if (all_at_home) {
      EXPECT_EQ(then.gpus, before - change);
      EXPECT_EQ(then.pending_size, 0);
      EXPECT_EQ(then.sequential_migrations, 0);
      EXPECT_EQ(then.moved_inside_gpu, 0);
    }
    EXPECT_GE(change, 0);
    for (const auto& seat : outcome.goal)
      EXPECT_TRUE(!seat || std::ranges::count(outcome.vacated, seat->gpu) == 0);
    emptied += outcome.vacated.size();
    added += outcome.added ? 1 : 0;
  });
  EXPECT_GT(emptied, 500U);
  EXPECT_GT(added, 5U);
}

TEST(Laws, ReconfigurationNeedsAtLeastTheMinimum) {
  for_many(ProblemKind::reconfigure, [](const PlanProblem& problem, const Heuristic& method) {
    const HeuristicOutcome outcome = method.reconfigure(problem);
    expect_sound(problem, outcome);
    EXPECT_TRUE(!outcome.pending.empty() ||
                metrics(problem, outcome.goal).gpus >= *outcome.minimum);
  });
}

TEST(Laws, ReplicasBesideRunningWorkTakeNothingThatIsInUse) {
  std::size_t replicas = 0;
  for_many(ProblemKind::reconfigure, [&](const PlanProblem& problem, const Heuristic& method) {
    if (method.name == "rules" || problem.limits.migrations || problem.limits.moved_mib) return;
    PlanProblem beside = problem;
    beside.beside_running = true;
    const HeuristicOutcome outcome = method.reconfigure(beside);
    expect_sound(beside, outcome);
    for (WorkloadIndex i = 0; i < outcome.goal.size(); ++i) {
      const auto& seat = outcome.goal[i];
      if (!seat || problem.workloads[i].stays) continue;
      ++replicas;
      for (const WorkloadIndex other : problem.running_on(seat->gpu)) {
        const PlacementId standing = problem.workloads[other].now->placement;
        EXPECT_FALSE(problem.geometry(seat->gpu)
                         .blocked(PlacementSet::of(standing))
                         .contains(seat->placement));
      }
    }
  });
  EXPECT_GT(replicas, 100U);
}

TEST(Laws, BeyondTheLimitsNothingIsReconfigured) {
  const Draw draw{{"A100-80GB"}, "plain", 10, 0};
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    Random random(seed);
    Made made = make(fleet(random, draw), ProblemKind::reconfigure);
    made.problem.limits.moved_mib = 1;
    for (const Heuristic& method : heuristics())
      EXPECT_EQ(method.reconfigure(made.problem).goal, goal_of_now(made.problem));
  }
}

TEST(Rules, Figure3) {
  const Made made =
      make(fleet("A100-80GB", {"e1 3g.40gb@4", "e2 4g.40gb@0"}, {"w1 3g.40gb", "w2 4g.40gb"}),
           ProblemKind::deploy);
  EXPECT_EQ(text(made.problem, method_named("rules").deploy(made.problem).goal),
            "w2 4g.40gb@0, e1 3g.40gb@4 | e2 4g.40gb@0, w1 3g.40gb@4");
  const HeuristicOutcome naive = method_named("first-fit").deploy(made.problem);
  EXPECT_EQ(text(made.problem, naive.goal), "w1 3g.40gb@0, e1 3g.40gb@4 | e2 4g.40gb@0");
  EXPECT_EQ(naive.pending.size(), 1U);
}

TEST(Rules, Figure4EmptiesTheThirdGpu) {
  const Made made =
      make(fleet("A100-80GB", {"w1 4g.40gb@0", "w2 3g.40gb@0, w3 2g.20gb@4",
                               "w4 1g.10gb@0, w5 1g.10gb@1, w6 1g.20gb@2, w7 1g.10gb@4"}),
           ProblemKind::compact);
  const HeuristicOutcome outcome = method_named("rules").compact(made.problem);
  const PlanMetrics m = metrics(made.problem, outcome.goal);
  EXPECT_EQ(m.gpus, 2);
  EXPECT_EQ(m.sequential_migrations, 0);
  EXPECT_EQ(outcome.pending.size(), 0U);
}

TEST(Rules, Figure5ReconfiguresOnTwoGpusWithoutWaste) {
  const Made made =
      make(fleet("A100-80GB", {"w1 4g.40gb@0", "w2 3g.40gb@0, w3 2g.20gb@4",
                               "w4 1g.10gb@0, w5 1g.10gb@1, w6 1g.20gb@2, w7 1g.10gb@4", "", ""}),
           ProblemKind::reconfigure);
  const HeuristicOutcome outcome = method_named("rules").reconfigure(made.problem);
  EXPECT_EQ(text(made.problem, outcome.goal),
            " |  |  | w1 4g.40gb@0, w2 3g.40gb@4 | w4 1g.10gb@0, w5 1g.10gb@1, w7 1g.10gb@2, w3 "
            "2g.20gb@4, "
            "w6 1g.20gb@6");
  EXPECT_EQ(outcome.minimum, 2);
  EXPECT_EQ(outcome.gpus_tried, 2);
}

TEST(Rules, Figure6Placement2) {
  const Made made = make(
      fleet("A100-80GB", {"", ""},
            {"w1 4g.40gb", "w2 2g.20gb", "w3 2g.20gb", "w4 1g.10gb", "w5 1g.20gb", "w6 1g.20gb"}),
      ProblemKind::deploy);
  const PlanMetrics m = metrics(made.problem, method_named("rules").deploy(made.problem).goal);
  EXPECT_EQ(m.gpus, 2);
  EXPECT_EQ(m.compute_wastage + m.memory_wastage, 0);
  EXPECT_EQ(m.availability, 3);
}

/// Figure 8 in the spirit of its text: no GPU can be emptied onto the others, but two can with one
/// more.
TEST(Rules, Figure8AFreeGpuSavesOne) {
  const Made made =
      make(fleet("A100-80GB", {"w1 3g.40gb@0, a 1g.10gb@4", "w2 3g.40gb@0, b 1g.10gb@4",
                               "c 4g.40gb@0, d 1g.10gb@4", ""}),
           ProblemKind::compact);
  const HeuristicOutcome outcome = method_named("rules").compact(made.problem);
  EXPECT_EQ(outcome.added, GpuId{3});
  EXPECT_EQ(outcome.vacated, (std::vector<GpuId>{GpuId{0}, GpuId{1}}));
  const PlanMetrics m = metrics(made.problem, outcome.goal);
  EXPECT_EQ(m.gpus, 2);
  EXPECT_EQ(m.sequential_migrations, 0);
}

TEST(Rules, OfSeveralPossibleProfilesTheEarlierStartThenMoreComputeIsTaken) {
  FleetFile file = fleet("A100-40GB", {""});
  file.waiting.push_back({"a", {BySize{MiB{20000}, {0}}, {}}, {}});
  file.waiting.push_back({"b", {BySize{MiB{20000}, {0}}, {}}, {}});
  const Made made = make(std::move(file), ProblemKind::deploy);
  EXPECT_EQ(text(made.problem, method_named("rules").deploy(made.problem).goal),
            "a 4g.20gb@0, b 3g.20gb@4");
}

TEST(Rules, WorkThatStaysKeepsItsGpuFromBeingEmptied) {
  const Made made = make(fleet("A100-80GB", {"a 1g.10gb@0!", "b 2g.20gb@0", "- 1g.10gb@3"}),
                         ProblemKind::compact);
  const HeuristicOutcome outcome = method_named("rules").compact(made.problem);
  EXPECT_EQ(text(made.problem, outcome.goal), "a 1g.10gb@0, b 2g.20gb@4 |  | ");
}

TEST(Rules, MoreComputeOrMemoryDoesNotComeAfterLess) {
  // On every model the order of sizes is that of the table, the paper's profile ids.
  for (const GpuModel& model : gpu_models())
    for (std::size_t i = 1; i < model.profiles.size(); ++i) {
      const Profile &larger = model.profiles[i - 1], &smaller = model.profiles[i];
      EXPECT_GE(larger.compute.value + larger.memory.value,
                smaller.compute.value + smaller.memory.value)
          << model.key << " " << smaller.name;
    }
}

}  // namespace
}  // namespace cleave
