// Whether a gang fits, and where, against every choice there is, on small fleets while work comes
// and goes.

#include "placement/gang_room.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/format.hpp"
#include "base/random.hpp"
#include "model/fleet_file.hpp"
#include "placement/request_table.hpp"

namespace cleave {
namespace {

constexpr Together all_together[] = {Together::anywhere, Together::gpu, Together::node,
                                     Together::spread};

/// A fleet of random models on nodes of random sizes, some with instances of others.
FleetFile random_fleet(Random& random) {
  constexpr std::string_view fleets[] = {
      "2xA100-40GB,1xA30-24GB",
      "3xA30-24GB",
      "2xA100-80GB,2xA30-24GB",
      "1xH100-80GB-SXM5,1xA100-40GB,1xA30-24GB",
      "4xA100-40GB",
      "1xA100-40GB",
  };
  const char* profiles = random.below(2) == 0 ? "plain" : "all";
  FleetFile file = *parse_fleet_in_short(fleets[random.below(std::size(fleets))],
                                         *ProfileChoice::parse(profiles));
  std::size_t node = 0;
  for (std::size_t i = 0; i < file.gpus.size(); ++i) {
    if (random.below(2) == 0) ++node;
    file.gpus[i].name = fmt::format("n{}/{}", node, i);
    if (random.below(4) > 0) continue;
    InstanceEntry wall;
    const Geometry& geometry = file.geometries[file.gpus[i].geometry];
    wall.placement =
        static_cast<PlacementId>(random.below(static_cast<std::uint64_t>(geometry.size())));
    wall.owned = false;
    file.gpus[i].instances.push_back(wall);
  }
  return file;
}

/// The spots of one kind of place that are free on each GPU.
std::vector<PlacementSet> free_spots(const Fleet& fleet, const ResolvedRequest& asked) {
  std::vector<PlacementSet> free;
  for (const GpuState& gpu : fleet.gpus())
    free.push_back(asked.candidates[gpu.kind] & fleet.geometry(gpu).free(gpu.held | gpu.walls));
  return free;
}

/// How many of the spots the GPU can have: every subset is tried.
std::set<int> possible_on(const Geometry& geometry, PlacementSet occupied, PlacementSet spots) {
  std::set<int> possible;
  for (std::uint32_t subset = spots.bits();; subset = (subset - 1) & spots.bits()) {
    if (geometry.legal(occupied | PlacementSet(subset)))
      possible.insert(PlacementSet(subset).size());
    if (subset == 0) return possible;
  }
}

/// Every way to share out the places over the GPUs.
class EveryWay {
 public:
  EveryWay(const Fleet& fleet, std::vector<std::set<int>> possible, int places, Together together)
      : fleet_(fleet), possible_(std::move(possible)), places_(places), together_(together) {
    go_on(0, 0);
  }
  bool any = false;
  std::size_t fewest_nodes = SIZE_MAX;

 private:
  void go_on(std::size_t gpu, int taken) {
    if (taken == places_) return judge();
    if (gpu == possible_.size()) return;
    for (const int here : possible_[gpu]) {
      if (taken + here > places_ || (together_ == Together::spread && here > 1)) continue;
      if (here > 0) used_.push_back(gpu);
      go_on(gpu + 1, taken + here);
      if (here > 0) used_.pop_back();
    }
  }
  void judge() {
    std::set<std::uint32_t> nodes;
    for (const std::size_t gpu : used_) nodes.insert(fleet_.node(static_cast<GpuId>(gpu)));
    if (together_ == Together::gpu && used_.size() > 1) return;
    if (together_ == Together::node && nodes.size() > 1) return;
    any = true;
    fewest_nodes = std::min(fewest_nodes, nodes.size());
  }

  const Fleet& fleet_;
  std::vector<std::set<int>> possible_;
  int places_;
  Together together_;
  std::vector<std::size_t> used_;
};

/// Work that comes to random GPUs and leaves them.
class Churn {
 public:
  Churn(Fleet& fleet, Random& random) : fleet_(fleet), random_(random) {}

  GpuId step() {
    const auto gpu = static_cast<GpuId>(random_.below(fleet_.size()));
    const GpuState& state = fleet_[gpu];
    PlacementSet movable;
    for (const auto& [on, placement] : held_)
      if (on == gpu) movable.insert(placement);
    const PlacementSet free = fleet_.geometry(state).free(state.held | state.walls);
    if (!movable.empty() && (free.empty() || random_.below(2) == 0)) {
      const PlacementId leaves = pick(movable);
      fleet_.release(gpu, leaves);
      held_.erase({gpu, leaves});
    } else if (!free.empty()) {
      const PlacementId comes = pick(free);
      fleet_.hold(gpu, comes);
      held_.insert({gpu, comes});
    }
    return gpu;
  }

 private:
  PlacementId pick(PlacementSet set) {
    for (std::uint64_t skip = random_.below(static_cast<std::uint64_t>(set.size())); skip > 0;
         --skip)
      set.erase(set.first());
    return set.first();
  }

  Fleet& fleet_;
  Random& random_;
  std::set<std::pair<GpuId, PlacementId>> held_;
};

/// One kind of place on a fleet as it changes.
class Beside {
 public:
  Beside(const Fleet& fleet, const ResolvedRequest& asked)
      : fleet_(fleet), asked_(asked), nodes_(fleet), beside_(fleet), room_(nodes_) {
    for (std::size_t i = 0; i < fleet.size(); ++i) changed(static_cast<GpuId>(i));
  }

  void changed(GpuId gpu) {
    const GpuState& state = fleet_[gpu];
    room_.set(gpu, beside_.most(state.kind, free_spots(fleet_, asked_)[index(gpu)],
                                state.held | state.walls));
  }

  void compare(int places, Together together) {
    const std::vector<PlacementSet> free = free_spots(fleet_, asked_);
    std::vector<std::set<int>> possible;
    for (std::size_t i = 0; i < fleet_.size(); ++i) {
      const GpuState& state = fleet_[static_cast<GpuId>(i)];
      possible.push_back(possible_on(fleet_.geometry(state), state.held | state.walls, free[i]));
    }
    const EveryWay every(fleet_, possible, places, together);
    const auto wanted = static_cast<std::uint32_t>(places);
    ASSERT_EQ(room_.fits(wanted, together), every.any)
        << places << " places, " << static_cast<int>(together);
    if (!every.any) return;
    ++fitted;
    int sum = 0;
    std::set<std::uint32_t> nodes;
    for (const GangRoom::Share& share : room_.choose(wanted, together)) {
      EXPECT_TRUE(possible[index(share.gpu)].contains(static_cast<int>(share.places)));
      EXPECT_TRUE(together != Together::spread || share.places == 1);
      EXPECT_TRUE(together != Together::gpu || share.places == wanted);
      nodes.insert(fleet_.node(share.gpu));
      sum += static_cast<int>(share.places);
    }
    EXPECT_EQ(sum, places);
    EXPECT_EQ(nodes.size(), every.fewest_nodes);
  }
  std::size_t fitted = 0;

 private:
  const Fleet& fleet_;
  const ResolvedRequest& asked_;
  FleetNodes nodes_;
  SideBySide beside_;
  GangRoom room_;
};

TEST(GangRoom, FitsIfAnyChoiceDoes) {
  std::size_t cases = 0, fitted = 0;
  for (std::uint64_t seed = 1; seed <= 400 && !HasFailure(); ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const FleetFile file = random_fleet(random);
    Fleet fleet(file);
    constexpr std::string_view wanted[] = {"1g.5gb",  "1g.6gb",  "2g.10gb",
                                           "2g.12gb", "3g.20gb", "1g.10gb"};
    const ByProfile profile{std::string(wanted[random.below(std::size(wanted))])};
    const Request request =
        random.below(3) == 0 ? Request{BySize{MiB{4000}, {}}, {}} : Request{profile, {}};
    const ResolvedRequest asked = resolve(request, file.geometries);
    Beside beside(fleet, asked);
    Churn churn(fleet, random);
    for (int step = 0; step < 20; ++step) {
      beside.changed(churn.step());
      const int places = 1 + static_cast<int>(random.below(step % 4 == 0 ? 14 : 5));
      for (const Together together : all_together) beside.compare(places, together);
      ++cases;
    }
    fitted += beside.fitted;
  }
  EXPECT_GT(cases, 5000U);
  EXPECT_GT(fitted, cases / 2);
  EXPECT_LT(fitted, 3 * cases);
}

TEST(GangRoom, LeavesRoomForTheRest) {
  const FleetFile file = *parse_fleet_in_short("1xA100-40GB", *ProfileChoice::parse("plain"));
  const Fleet fleet(file);
  const Geometry& geometry = file.geometries.front();
  SideBySide beside(fleet);
  const PlacementSet threes =
      geometry.of_profile(geometry[*geometry.find("3g.20gb", 0)].profile_index);
  const PlacementSet twos =
      geometry.of_profile(geometry[*geometry.find("2g.10gb", 0)].profile_index);
  EXPECT_EQ(beside.most(0, twos, {}), 3);
  EXPECT_EQ(beside.most(0, twos | threes, {}), 3);
  EXPECT_EQ(beside.leaving(0, threes, {}, 1), threes);
  EXPECT_EQ(beside.leaving(0, threes, {}, 2), PlacementSet{});
  EXPECT_EQ(beside.leaving(0, twos, {}, 2), twos);
}

TEST(GangRoom, TakesTheTightestNodeAndGpu) {
  FleetFile file = *parse_fleet_in_short("5xA30-24GB", *ProfileChoice::parse("plain"));
  constexpr std::string_view names[] = {"a/0", "a/1", "b/0", "b/1", "c/0"};
  for (std::size_t i = 0; i < 5; ++i) file.gpus[i].name = names[i];
  const Fleet fleet(file);
  const FleetNodes nodes(fleet);
  GangRoom room(nodes);
  constexpr int rooms[] = {4, 1, 3, 1, 2};
  for (std::size_t i = 0; i < 5; ++i) room.set(static_cast<GpuId>(i), rooms[i]);
  using Shares = std::vector<GangRoom::Share>;
  const auto on = [](unsigned gpu, std::uint32_t places) {
    return GangRoom::Share{static_cast<GpuId>(gpu), places};
  };
  EXPECT_EQ(room.choose(2, Together::anywhere), Shares({on(4, 2)}));
  EXPECT_EQ(room.choose(4, Together::anywhere), Shares({on(2, 3), on(3, 1)}));
  EXPECT_EQ(room.choose(3, Together::gpu), Shares({on(2, 3)}));
  EXPECT_EQ(room.choose(6, Together::anywhere), Shares({on(0, 4), on(1, 1), on(4, 1)}));
  EXPECT_EQ(room.choose(2, Together::spread), Shares({on(0, 1), on(1, 1)}));
  EXPECT_EQ(room.choose(3, Together::spread), Shares({on(0, 1), on(1, 1), on(4, 1)}));
  EXPECT_FALSE(room.fits(6, Together::node));
  EXPECT_FALSE(room.fits(5, Together::gpu));
  EXPECT_FALSE(room.fits(6, Together::spread));
  EXPECT_FALSE(room.fits(12, Together::anywhere));
  EXPECT_TRUE(room.fits(11, Together::anywhere));
}

}  // namespace
}  // namespace cleave
