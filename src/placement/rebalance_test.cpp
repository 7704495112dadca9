// Migration on departure: what the paper's steps say on GPUs made for them, and Rebalancer against
// the definition on random fleets while work comes and goes.

#include "placement/rebalance.hpp"

#include <gtest/gtest.h>

#include <map>

#include "base/format.hpp"
#include "base/random.hpp"
#include "placement/index.hpp"
#include "placement/rebalancer.hpp"

namespace cleave {
namespace {

/// A fleet with numbered jobs: for each GPU which number holds which placement.
struct Scene {
  explicit Scene(const std::string& gpus, const char* profiles = "plain")
      : file(*parse_fleet("{\"gpus\": [" + gpus + "]}", "test", *ProfileChoice::parse(profiles))),
        fleet(file),
        numbers(file.gpus.size()),
        fixed(file.gpus.size()) {
    for (std::size_t i = 0; i < file.gpus.size(); ++i)
      for (const InstanceEntry& instance : file.gpus[i].instances)
        if (instance.workload) numbers[i][instance.placement] = std::stoull(*instance.workload);
  }

  [[nodiscard]] HeldJobs jobs() {
    return {[this](GpuId gpu) { return fixed[index(gpu)]; },
            [this](GpuId gpu, PlacementId placement) { return numbers[index(gpu)].at(placement); }};
  }
  void moved(const JobMove& move) {
    auto& from = numbers[index(move.from)];
    numbers[index(move.to)][move.to_placement] = from.at(move.from_placement);
    from.erase(move.from_placement);
  }
  Rebalance run(std::uint32_t gpu, const RebalanceOptions& options = {}) {
    return rebalance(fleet, static_cast<GpuId>(gpu), options, jobs(),
                     [this](const JobMove& move) { moved(move); });
  }
  [[nodiscard]] int start(GpuId gpu, PlacementId placement) const {
    return fleet.geometry(fleet[gpu])[placement].start;
  }

  FleetFile file;
  Fleet fleet;
  std::vector<std::map<PlacementId, std::uint64_t>> numbers;
  std::vector<PlacementSet> fixed;
};

std::string a100(const std::string& instances) {
  static int number = 0;
  return fmt::format(R"({{"name": "g{}", "model": "A100-40GB", "instances": [{}]}})", number++,
                     instances);
}
std::string job(const char* profile, int start, int number) {
  return fmt::format(R"({{"profile": "{}", "start": {}, "workload": "{}"}})", profile, start,
                     number);
}
std::string idle(const char* profile, int start) {
  return fmt::format(R"({{"profile": "{}", "start": {}}})", profile, start);
}

TEST(Rebalance, ABusyGpuPutsItsOwnJobsInOrder) {
  // 2g at 0 keeps a 4g out; at 4 it would not.
  Scene scene(a100(job("2g.10gb", 0, 1) + "," + job("1g.5gb", 6, 2)));
  const Rebalance result = scene.run(0);
  EXPECT_EQ(result.kind, RebalanceKind::intra);
  ASSERT_EQ(result.moves.size(), 1U);
  const JobMove& move = result.moves[0];
  EXPECT_EQ(scene.start({}, move.to_placement), 4);
  EXPECT_LT(move.cost_after, move.cost_before);
  EXPECT_TRUE(scene.fleet[GpuId{}].idle.contains(move.from_placement))
      << "what it left stays behind";
  EXPECT_TRUE(scene.fleet[GpuId{}].held.contains(move.to_placement));
  EXPECT_TRUE(scene.run(0).moves.empty()) << "no candidate lowers the cost any further";
}

TEST(Rebalance, TheNewPlaceIsMadeBeforeTheOldIsGivenUp) {
  // A 4g has one start and a 3g at 0 could only go to 4, which a wall covers.
  Scene scene(
      a100(job("3g.20gb", 0, 1) + R"(, {"profile": "1g.5gb", "start": 6, "owned": false})"));
  EXPECT_TRUE(scene.run(0).moves.empty());
}

TEST(Rebalance, ALazyGpuPullsFromBusyOnesUntilTheLoadsMeet) {
  const std::string full =
      job("4g.20gb", 0, 1) + "," + job("2g.10gb", 4, 2) + "," + job("1g.5gb", 6, 3);
  Scene scene(a100(full) + "," + a100(idle("1g.5gb", 5)));
  const Rebalance result = scene.run(1);
  EXPECT_EQ(result.kind, RebalanceKind::inter);
  // 4g leaves 3 against 4: not below. 2g and 1g may go; both leave a cost of 0, 2g at 4 starts
  // lower than 1g at 6. The source is then at 5 and the 1g may follow: 3 < 4.
  ASSERT_EQ(result.moves.size(), 2U);
  EXPECT_EQ(scene.numbers[1].size(), 2U);
  EXPECT_TRUE(scene.numbers[0].contains(result.moves[0].from_placement) == false);
  EXPECT_EQ(scene.fleet[GpuId{0}].held_compute, 4);
  EXPECT_EQ(scene.fleet[GpuId{1}].held_compute, 3);

  Scene wider(a100(full) + "," + a100(""));
  wider.run(1, {.threshold = {2, 5},
                .load = LoadMetric::compute,
                .eligibility = Eligibility::lowers_imbalance,
                .intra = true,
                .inter = true,
                .guard = false});
  EXPECT_GT(wider.fleet[GpuId{1}].held_compute, 3) << "the weaker condition accepts more";
}

TEST(Rebalance, WhatMayNotMoveStaysAndOtherModelsGiveNothing) {
  const std::string full = job("2g.10gb", 4, 2) + "," + job("1g.5gb", 6, 3);
  Scene scene(a100(full) + "," + a100(""));
  scene.fixed[0] = scene.fleet[GpuId{0}].held;
  EXPECT_TRUE(scene.run(1).moves.empty());
  scene.fixed[0] = {};
  EXPECT_FALSE(scene.run(1).moves.empty());

  Scene models(a100(full) + R"(, {"name": "h", "model": "H100-80GB-SXM5"})");
  EXPECT_TRUE(models.run(1).moves.empty());
  Scene away(a100(full) + "," + a100(""));
  away.fleet.withdraw(GpuId{0});
  EXPECT_TRUE(away.run(1).moves.empty()) << "an absent GPU gives nothing";
  away.fleet.restore(GpuId{0});
  away.fleet.withdraw(GpuId{1});
  EXPECT_TRUE(away.run(1).moves.empty()) << "nor does it take";
}

TEST(Rebalance, TheLowestJobMovesWhereSeveralAreAsGood) {
  for (const auto& [first, second] : {std::pair(1, 2), std::pair(2, 1)}) {
    Scene scene(a100(job("3g.20gb", 4, 9) + "," + job("1g.5gb", 0, first) + "," +
                     job("1g.5gb", 1, second)) +
                "," + a100(""));
    const Rebalance result = scene.run(1);
    ASSERT_FALSE(result.moves.empty());
    const std::uint64_t moved = scene.numbers[1].at(result.moves[0].to_placement);
    EXPECT_EQ(moved, 1U) << "both 1g jobs would go to the same place at the same cost";
  }
}

// ---- Rebalancer against the definition ----

std::string random_gpu(Random& random, std::size_t i) {
  const char* kinds[] = {
      R"("A100-40GB")",
      R"("A100-40GB")",
      R"("A30-24GB")",
      R"("RTX-PRO-6000-BW-96GB")",
      R"("A100-40GB", "instances": [{"profile": "1g.5gb", "start": 6, "owned": false}])",
      R"("A100-40GB", "instances": [{"profile": "2g.10gb", "start": 2, "owned": false},
                                 {"profile": "1g.5gb", "start": 0}])"};
  return fmt::format("{}{{\"name\": \"g{}\", \"model\": {}}}", i == 0 ? "" : ",", i,
                     kinds[random.below(std::size(kinds))]);
}

std::string random_gpus(Random& random, std::size_t size, const char* model) {
  std::string gpus;
  for (std::size_t i = 0; i < size; ++i)
    gpus += *model == '\0' ? random_gpu(random, i)
                           : fmt::format("{}{{\"name\": \"g{}\", \"model\": \"{}\"}}",
                                         i == 0 ? "" : ",", i, model);
  return gpus;
}

struct Scenery {
  std::size_t size;
  const char* model;  // empty: mixed, with walls and absent GPUs
  const char* profiles;
  RebalanceOptions options;
  bool some_fixed;
};

/// Work comes and goes; after each departure both say what moves, one move at a time.
class TrackedRace {
 public:
  TrackedRace(const Scenery& setting, std::uint64_t seed)
      : setting_(setting),
        random_(seed),
        scene_(random_gpus(random_, setting.size, setting.model), setting.profiles),
        requests_(scene_.file.geometries),
        rebalancer_(scene_.fleet, setting.options, scene_jobs()) {
    policy_.options.threshold = setting.options.threshold;
    policy_.options.load = setting.options.load;
    for (const Geometry& geometry : scene_.file.geometries)
      for (const std::string& name : geometry.profile_names())
        wanted_.push_back(requests_.intern({ByProfile{name}, {}}));
  }

  void run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFatalFailure(); ++step) {
      SCOPED_TRACE(fmt::format("step {}", step));
      const double what = random_.uniform();
      if (what < 0.01 && *setting_.model == '\0') {
        change_the_fleet();
      } else if (what < 0.3 || !arrive()) {
        depart();
      }
    }
  }

  std::size_t departures = 0, moves[2] = {0, 0};

 private:
  HeldJobs scene_jobs() {
    HeldJobs jobs = scene_.jobs();
    if (!setting_.some_fixed) jobs.fixed = nullptr;
    return jobs;
  }

  static constexpr PlacementId no_placement = 0xff;

  /// As the scheduler would, or anywhere: states that the policy avoids occur as well. Nothing when
  /// the fleet is full for this request, `no_placement` when only the GPU that was drawn is.
  std::optional<std::pair<GpuId, PlacementId>> place() {
    const ResolvedRequest& request = requests_[wanted_[random_.below(wanted_.size())]];
    if (random_.uniform() < 0.5) {
      const auto decision = decide_by_scan(scene_.fleet, request, policy_);
      if (!decision) return std::nullopt;
      return std::pair(decision->gpu, decision->placement);
    }
    const auto gpu = static_cast<GpuId>(random_.below(scene_.fleet.size()));
    const GpuState& state = scene_.fleet[gpu];
    std::vector<PlacementId> places;
    for (const PlacementId id :
         request.candidates[state.kind] & scene_.fleet.graph(state).free(state.occupied))
      places.push_back(id);
    if (places.empty() || state.absent) return std::pair(GpuId{}, no_placement);
    return std::pair(gpu, places[random_.below(places.size())]);
  }

  bool arrive() {
    const auto where = place();
    if (!where) return false;
    const auto [gpu, placement] = *where;
    if (placement == no_placement) return true;
    scene_.fleet.hold(gpu, placement);
    scene_.numbers[index(gpu)][placement] = random_.bits();
    if (random_.uniform() < 0.3) scene_.fixed[index(gpu)].insert(placement);
    rebalancer_.changed(gpu);
    return true;
  }

  void depart() {
    std::vector<std::pair<GpuId, PlacementId>> running;
    for (std::size_t i = 0; i < scene_.numbers.size(); ++i)
      for (const auto& [placement, number] : scene_.numbers[i])
        running.emplace_back(static_cast<GpuId>(i), placement);
    if (running.empty()) return;
    const auto [gpu, placement] = running[random_.below(running.size())];
    scene_.numbers[index(gpu)].erase(placement);
    scene_.fixed[index(gpu)].erase(placement);
    scene_.fleet.release(gpu, placement);
    rebalancer_.changed(gpu);
    ++departures;

    const RebalanceKind kind = rebalance_kind(scene_.fleet, gpu, setting_.options);
    ASSERT_EQ(rebalancer_.kind(gpu), kind);
    for (int count = 0;; ++count) {
      ASSERT_LT(count, 100);
      const auto expected = next_move(scene_.fleet, gpu, kind, setting_.options, scene_jobs());
      const auto got = rebalancer_.next(gpu, kind);
      ASSERT_EQ(got.has_value(), expected.has_value());
      if (!expected) return;
      ASSERT_EQ(*got, *expected);
      carry_out(scene_.fleet, *got);
      scene_.moved(*got);
      rebalancer_.changed(got->to);
      rebalancer_.changed(got->from);
      ++moves[kind == RebalanceKind::intra ? 0 : 1];
    }
  }

  void change_the_fleet() {
    const auto gpu = static_cast<GpuId>(random_.below(scene_.fleet.size()));
    switch (random_.below(3)) {
      case 0:
        scene_.fleet.withdraw(gpu);
        break;
      case 1:
        scene_.fleet.restore(gpu);
        break;
      default:
        if (scene_.fleet.size() >= 100) return;
        scene_.numbers.emplace_back();
        scene_.fixed.emplace_back();
        return rebalancer_.changed(
            scene_.fleet.append(random_.below(scene_.fleet.graphs().size())));
    }
    rebalancer_.changed(gpu);
  }

  Scenery setting_;
  Random random_;
  Scene scene_;
  RequestTable requests_;
  ChosenPolicy policy_ = *choose_policy("fragmentation", {});
  std::vector<RequestId> wanted_;
  Rebalancer rebalancer_;
};

TEST(Rebalancer, MovesWhatTheDefinitionMoves) {
  struct Models {
    const char* model;
    const char* profiles;
  };
  const Models models[] = {{"A30-24GB", "all"},
                           {"A30-24GB", "plain"},
                           {"A100-40GB", "five"},
                           {"A100-40GB", "plain"},
                           {"A100-40GB", "all"},
                           {"", "plain"},
                           {"", "all"}};
  std::size_t departures = 0, moves[2] = {0, 0};
  std::uint64_t seed = 1;
  for (const Models& model : models)
    for (const LoadMetric load : {LoadMetric::compute, LoadMetric::memory, LoadMetric::joint})
      for (const Eligibility eligibility : {Eligibility::both_after, Eligibility::lowers_imbalance})
        for (const int fifths : {1, 2, 3, 4})
          for (const std::size_t size : {1, 2, 9, 40}) {
            RebalanceOptions options;
            options.threshold = {fifths, 5};
            options.load = load;
            options.eligibility = eligibility;
            options.guard = seed % 5 == 0;
            options.intra = seed % 17 != 0;
            options.inter = seed % 19 != 0;
            SCOPED_TRACE(fmt::format("{} {} load {} eligibility {} threshold {}/5 size {}",
                                     model.model, model.profiles, static_cast<int>(load),
                                     static_cast<int>(eligibility), fifths, size));
            TrackedRace race({size, model.model, model.profiles, options, seed % 2 == 0}, seed);
            ++seed;
            race.run(1000);
            if (HasFatalFailure()) return;
            departures += race.departures;
            moves[0] += race.moves[0];
            moves[1] += race.moves[1];
          }
  fmt::print("{} departures, {} moves on one GPU, {} between GPUs\n", departures, moves[0],
             moves[1]);
  EXPECT_GT(departures, 50000U);
  EXPECT_GT(moves[0], 5000U);
  EXPECT_GT(moves[1], 5000U);
}

TEST(Rebalancer, StaysRightOverLongRunsAndSeveralWords) {
  for (const std::size_t size : {40, 300}) {
    TrackedRace race({size, size == 40 ? "" : "A100-40GB", "all", {}, true}, 7);
    race.run(size == 40 ? 20000 : 4000);
    if (HasFatalFailure()) return;
    EXPECT_GT(race.moves[0], 20U);
    EXPECT_GT(race.moves[1], 20U);
  }
}

TEST(GpuSet, GivesItsLowest) {
  Random random(3);
  for (const std::size_t size : {1, 64, 65, 5000, 300000}) {
    GpuSet set(size);
    std::map<std::uint32_t, bool> reference;
    for (int step = 0; step < 3000; ++step) {
      const auto gpu = static_cast<std::uint32_t>(random.below(size));
      if (random.uniform() < 0.5) {
        set.insert(gpu);
        reference[gpu] = true;
      } else {
        set.erase(gpu);
        reference.erase(gpu);
      }
      ASSERT_EQ(set.empty(), reference.empty());
      if (!reference.empty()) {
        ASSERT_EQ(set.first(), reference.begin()->first);
      }
    }
  }
}

}  // namespace
}  // namespace cleave
