// How much may still come to a GPU against the most that fits, found by trying everything.

#include "engine/adaptive/room_left.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace cleave {
namespace {

/// The most placements of the profile that can be added, of those from `from` on.
int most_that_fit(const Geometry& geometry, PlacementSet state, PlacementSet of_profile,
                  PlacementId from) {
  int most = 0;
  for (const PlacementId place : of_profile) {
    PlacementSet with = state;
    with.insert(place);
    if (place < from || state.contains(place) || !geometry.legal(with)) continue;
    most = std::max(
        most, 1 + most_that_fit(geometry, with, of_profile, static_cast<PlacementId>(place + 1)));
  }
  return most;
}

double slow_room(const Geometry& geometry, PlacementSet state) {
  const GpuModel& model = geometry.model();
  double room = 0;
  for (std::size_t i = 0; i < model.profiles.size(); ++i) {
    const PlacementSet places = geometry.of_profile(static_cast<int>(i));
    if (places.empty()) continue;
    const Profile& profile = model.profiles[i];
    const double compute =
        static_cast<double>(profile.compute.value) / static_cast<double>(model.compute.value);
    const double memory =
        static_cast<double>(profile.memory.value) / static_cast<double>(model.memory_slices.value);
    const double area = (compute + memory) / 2;
    const double larger_ones_count_more = 1 + area * model.compute.value / 10;
    room += most_that_fit(geometry, state, places, 0) * area * larger_ones_count_more;
  }
  return room;
}

class RoomLeftOf : public testing::TestWithParam<const char*> {};

TEST_P(RoomLeftOf, EveryStateIsThatOfTheMostThatFits) {
  const GpuModel& model = **find_gpu_model(GetParam());
  const auto graph = StateGraph::of(model, ProfileChoice::plain().on(model));
  const Geometry& geometry = graph->geometry();
  RoomLeft room(graph);
  for (int i = 0; i < graph->size(); ++i) {
    const auto state = static_cast<StateId>(i);
    const double before = slow_room(geometry, graph->state(state));
    ASSERT_NEAR(room.in(state), before, 1e-9) << "state " << i;
    ASSERT_NEAR(room.in(state), before, 1e-9) << "asked again";
    for (const PlacementId place : graph->free(state)) {
      PlacementSet with = graph->state(state);
      with.insert(place);
      ASSERT_NEAR(room.lost(state, place), before - slow_room(geometry, with), 1e-9);
      ASSERT_GT(room.lost(state, place), 0) << "at least the place itself is lost";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Model, RoomLeftOf,
                         testing::Values("A30-24GB", "A100-40GB", "H100-80GB-SXM5"),
                         [](const testing::TestParamInfo<const char*>& model) {
                           std::string name(model.param);
                           std::erase(name, '-');
                           return name;
                         });

TEST(RoomLeft, IsLostLeastWhereTheRestStaysInOnePiece) {
  const GpuModel& model = **find_gpu_model("A100-40GB");
  const auto graph = StateGraph::of(model, ProfileChoice::plain().on(model));
  RoomLeft room(graph);
  const auto lost = [&](std::string_view profile, int start) {
    const auto found =
        std::ranges::find(model.profiles, profile, [](const Profile& each) { return each.name; });
    return room.lost(StateId{0}, *graph->geometry().find(*found, start));
  };
  EXPECT_LT(lost("1g.5gb", 6), lost("1g.5gb", 0)) << "at the end four slices stay for a 4g";
  EXPECT_LT(lost("3g.20gb", 4), lost("3g.20gb", 0));
  EXPECT_GT(lost("7g.40gb", 0), lost("4g.20gb", 0));
}

}  // namespace
}  // namespace cleave
