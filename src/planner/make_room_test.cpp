// Room for one job: plans are legal at every step, and no plan has fewer moves or interrupts less,
// by exhaustive search.

#include "planner/make_room.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <set>

#include "base/random.hpp"

namespace cleave {
namespace {

using namespace std::chrono_literals;

Geometry geometry_of(const char* name) {
  const GpuModel& model = **find_gpu_model(name);
  return {model, ProfileChoice().on(model)};
}

/// A fleet in use, and what is to have a place.
struct Scene {
  std::vector<Geometry> geometries;
  std::vector<RoomGpu> gpus;
  RoomAsk ask;

  [[nodiscard]] std::vector<const Geometry*> rules() const {
    std::vector<const Geometry*> list;
    for (const Geometry& geometry : geometries) list.push_back(&geometry);
    return list;
  }
  [[nodiscard]] PlacementSet occupied(std::size_t gpu) const {
    PlacementSet set = gpus[gpu].walls;
    for (const RoomWork& work : gpus[gpu].works) set.insert(work.placement);
    return set;
  }
};

Scene random_scene(std::uint64_t seed) {
  Random random(seed);
  Scene scene;
  scene.geometries.push_back(geometry_of(seed % 3 == 0 ? "A30-24GB" : "A100-40GB"));
  if (seed % 5 == 0) scene.geometries.push_back(geometry_of("A30-24GB"));
  const std::size_t count = 2 + random.below(2);
  std::size_t left = 4;  // works: the exhaustive search tries every place for each
  for (std::size_t i = 0; i < count; ++i) {
    RoomGpu& gpu = scene.gpus.emplace_back();
    gpu.kind = random.below(scene.geometries.size());
    const Geometry& geometry = scene.geometries[gpu.kind];
    for (std::uint64_t tries = random.below(5); tries > 0 && left > 0; --tries) {
      const PlacementSet free = geometry.free(scene.occupied(i));
      if (free.empty()) break;
      const auto skip = random.below(static_cast<std::uint64_t>(free.size()));
      auto which = free.begin();
      for (std::uint64_t n = 0; n < skip; ++n) ++which;
      if (random.below(8) == 0) {
        gpu.walls.insert(*which);
        continue;
      }
      --left;
      gpu.works.push_back(
          {*which, random.below(6) != 0, std::chrono::seconds(random.below(3) * 10), 1s, 0});
    }
  }
  scene.ask.candidates.resize(scene.geometries.size());
  scene.ask.whole = random.below(6) == 0;
  for (std::size_t kind = 0; kind < scene.geometries.size(); ++kind) {
    const Geometry& geometry = scene.geometries[kind];
    const auto profiles = geometry.profile_list();
    const std::size_t which = scene.ask.whole ? 0 : random.below(3);
    for (const PlacementId placement : geometry.all())
      if (geometry[placement].profile == profiles[which])
        scene.ask.candidates[kind].insert(placement);
  }
  return scene;
}

/// The fewest moves and the least interruption among those, by trying everything.
class Everything {
 public:
  explicit Everything(const Scene& scene) : scene_(scene) {
    for (std::size_t gpu = 0; gpu < scene.gpus.size(); ++gpu) {
      state_.push_back(scene.gpus[gpu].walls);
      for (std::size_t i = 0; i < scene.gpus[gpu].works.size(); ++i) works_.push_back({gpu, i});
    }
  }

  std::optional<std::pair<std::size_t, Duration>> best() {
    seat(0);
    return best_;
  }

 private:
  struct Which {
    std::size_t gpu, index;
  };
  struct Move {
    RoomPlace from, to;
  };

  const RoomWork& work(Which which) const { return scene_.gpus[which.gpu].works[which.index]; }

  /// Where it is first: what has more moves than the best so far is left out.
  void seat(std::size_t next) {
    if (best_ && moves_.size() > best_->first) return;
    if (next == works_.size()) return judge();
    const Which which = works_[next];
    const RoomPlace from{which.gpu, work(which).placement};
    try_at(from, next);
    if (!work(which).movable) return;
    const std::size_t kind = scene_.gpus[which.gpu].kind;
    const Geometry& geometry = scene_.geometries[kind];
    for (std::size_t gpu = 0; gpu < scene_.gpus.size(); ++gpu)
      if (scene_.gpus[gpu].kind == kind)
        for (const PlacementId placement :
             geometry.of_profile(geometry[from.placement].profile_index))
          if (RoomPlace{gpu, placement} != from) {
            moves_.push_back({from, {gpu, placement}});
            interrupted_ += work(which).interrupted;
            try_at({gpu, placement}, next);
            interrupted_ -= work(which).interrupted;
            moves_.pop_back();
          }
  }

  void try_at(RoomPlace to, std::size_t next) {
    const Geometry& geometry = scene_.geometries[scene_.gpus[to.gpu].kind];
    if (!geometry.free(state_[to.gpu]).contains(to.placement)) return;
    state_[to.gpu].insert(to.placement);
    seat(next + 1);
    state_[to.gpu].erase(to.placement);
  }

  void judge() {
    const std::pair value{moves_.size(), interrupted_};
    if ((best_ && *best_ <= value) || !in_some_order()) return;
    for (std::size_t gpu = 0; gpu < state_.size(); ++gpu) {
      const PlacementSet wanted = scene_.ask.candidates[scene_.gpus[gpu].kind];
      const bool room =
          scene_.ask.whole
              ? state_[gpu].empty() && !wanted.empty()
              : scene_.geometries[scene_.gpus[gpu].kind].free(state_[gpu]).meets(wanted);
      if (room) best_ = value;
    }
  }

  bool in_some_order() const {
    std::vector<PlacementSet> at;
    for (std::size_t gpu = 0; gpu < scene_.gpus.size(); ++gpu) at.push_back(scene_.occupied(gpu));
    std::vector<Move> left = moves_;
    while (!left.empty()) {
      const auto next = std::ranges::find_if(left, [&](const Move& move) {
        return scene_.geometries[scene_.gpus[move.to.gpu].kind]
            .free(at[move.to.gpu])
            .contains(move.to.placement);
      });
      if (next == left.end()) return false;
      at[next->to.gpu].insert(next->to.placement);
      at[next->from.gpu].erase(next->from.placement);
      left.erase(next);
    }
    return true;
  }

  const Scene& scene_;
  std::vector<Which> works_;
  std::vector<PlacementSet> state_;
  std::vector<Move> moves_;
  Duration interrupted_{};
  std::optional<std::pair<std::size_t, Duration>> best_;
};

/// Makes the moves, wave by wave.
void expect_legal(const Scene& scene, const RoomPlan& plan) {
  std::vector<PlacementSet> at;
  for (std::size_t gpu = 0; gpu < scene.gpus.size(); ++gpu) at.push_back(scene.occupied(gpu));
  std::int64_t wave = 1;
  std::vector<RoomPlace> left;
  std::set<std::pair<std::size_t, std::size_t>> moved;
  const auto leave = [&] {
    for (const RoomPlace& place : std::exchange(left, {})) at[place.gpu].erase(place.placement);
  };
  for (const RoomMove& move : plan.moves) {
    ASSERT_GE(move.wave, wave);
    if (std::exchange(wave, move.wave) != move.wave) leave();
    const RoomGpu &from = scene.gpus[move.from.gpu], &to = scene.gpus[move.to.gpu];
    ASSERT_EQ(from.kind, to.kind);
    const Geometry& geometry = scene.geometries[from.kind];
    const RoomWork& work = from.works[move.work];
    ASSERT_TRUE(work.movable);
    ASSERT_EQ(work.placement, move.from.placement);
    ASSERT_EQ(geometry[move.from.placement].profile, geometry[move.to.placement].profile);
    ASSERT_TRUE(moved.emplace(move.from.gpu, move.work).second);
    ASSERT_TRUE(geometry.free(at[move.to.gpu]).contains(move.to.placement));
    at[move.to.gpu].insert(move.to.placement);
    left.push_back(move.from);
  }
  leave();
  const RoomGpu& gpu = scene.gpus[plan.place.gpu];
  ASSERT_TRUE(scene.ask.candidates[gpu.kind].contains(plan.place.placement));
  if (scene.ask.whole) {
    EXPECT_TRUE(at[plan.place.gpu].empty());
  } else {
    EXPECT_TRUE(scene.geometries[gpu.kind].free(at[plan.place.gpu]).contains(plan.place.placement));
  }
}

TEST(MakeRoom, EqualsExhaustiveSearch) {
  std::size_t plans = 0, moves = 0, impossible = 0;
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    const Scene scene = random_scene(seed);
    const auto rules = scene.rules();
    const auto best = Everything(scene).best();
    ASSERT_EQ(has_room(rules, scene.gpus, scene.ask), best && best->first == 0) << seed;
    if (best && best->first == 0) continue;
    const RoomFound found = make_room(rules, scene.gpus, scene.ask);
    ASSERT_TRUE(found.all_seen) << seed;
    ASSERT_EQ(found.plan.has_value(), best.has_value()) << seed;
    impossible += best ? 0 : 1;
    if (!best) continue;
    expect_legal(scene, *found.plan);
    EXPECT_EQ(found.plan->moves.size(), best->first) << seed;
    EXPECT_EQ(found.fewest, best->first) << seed;
    EXPECT_EQ(found.plan->interrupted, best->second) << seed;
    ++plans;
    moves += best->first;
  }
  EXPECT_GT(plans, 30U);
  EXPECT_GT(impossible, 30U);
  EXPECT_GT(moves, plans);
}

/// The 3g job must leave the first GPU, and has a place when the 1g job has left the second.
TEST(MakeRoom, OneMoveMayWaitForAnother) {
  Scene scene;
  scene.geometries.push_back(geometry_of("A100-40GB"));
  const Geometry& geometry = scene.geometries.front();
  const auto work = [&](const char* profile, int start, bool movable) {
    return RoomWork{*geometry.find(profile, start), movable, 10s, 20s, 0};
  };
  scene.gpus.resize(3);
  scene.gpus[0].works = {work("3g.20gb", 0, true)};
  scene.gpus[1].works = {work("1g.5gb", 5, true), work("3g.20gb", 0, false)};
  scene.gpus[2].works = {work("4g.20gb", 0, false), work("1g.5gb", 6, false)};
  scene.ask.candidates = {PlacementSet::of(*geometry.find("7g.40gb", 0))};
  const RoomFound found = make_room(scene.rules(), scene.gpus, scene.ask);
  ASSERT_TRUE(found.plan);
  expect_legal(scene, *found.plan);
  EXPECT_EQ(found.fewest, 2U);
  ASSERT_EQ(found.plan->moves.size(), 2U);
  EXPECT_EQ(found.plan->moves[0].from.gpu, 1U);
  EXPECT_EQ(found.plan->moves[1].wave, 2);
  EXPECT_EQ(found.plan->interrupted, 20s);
  EXPECT_EQ(found.plan->takes, 40s);
}

/// A large fleet on which every GPU has a job in the way: the effort ends the search, at the same
/// point each time, and soon.
TEST(MakeRoom, EffortIsBoundedAndRepeatable) {
  Scene scene;
  scene.geometries.push_back(geometry_of("A100-40GB"));
  const Geometry& geometry = scene.geometries.front();
  Random random(7);
  for (std::size_t i = 0; i < 400; ++i) {
    RoomGpu& gpu = scene.gpus.emplace_back();
    for (PlacementSet free = geometry.all(); !free.empty();
         free = geometry.free(scene.occupied(i))) {
      const auto skip = random.below(static_cast<std::uint64_t>(free.size()));
      auto which = free.begin();
      for (std::uint64_t n = 0; n < skip; ++n) ++which;
      gpu.works.push_back({*which, true, std::chrono::seconds(random.below(1000)), 1s, 0});
    }
  }
  scene.ask.candidates.push_back(geometry.of_profile(geometry[0].profile_index));
  const auto rules = scene.rules();
  const auto begin = std::chrono::steady_clock::now();
  const RoomFound found = make_room(rules, scene.gpus, scene.ask);
  const Duration took = std::chrono::steady_clock::now() - begin;
  const RoomFound again = make_room(rules, scene.gpus, scene.ask);
  EXPECT_EQ(found.plan.has_value(), again.plan.has_value());
  EXPECT_EQ(found.fewest, again.fewest);
  EXPECT_FALSE(found.all_seen);
  RecordProperty("milliseconds", static_cast<int>(took / 1ms));
  EXPECT_LT(took, 2s);  // of a sanitized build; 10 ms or so otherwise
}

}  // namespace
}  // namespace cleave
