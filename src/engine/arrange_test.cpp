// Merge and split for a batch, held against every way to place it.

#include "engine/arrange.hpp"

#include <gtest/gtest.h>

#include <set>

#include <functional>

#include "base/random.hpp"
#include "engine/schedulers/scheme_a.hpp"
#include "model/layout_text.hpp"

namespace cleave {
namespace {

std::shared_ptr<const StateGraph> graph_of(std::string_view key, std::string_view profiles) {
  const GpuModel& model = **find_gpu_model(key);
  return StateGraph::of(model, ProfileChoice::parse(profiles)->on(model));
}

/// The least number of instances destroyed and created, over all ways; -1 where there is none.
int least_changes(const StateGraph& graph, StateId occupied, PlacementSet idle,
                  const std::vector<int>& profiles) {
  int least = -1;
  const std::function<void(std::size_t, StateId, PlacementSet)> place =
      [&](std::size_t next, StateId state, PlacementSet made) {
        if (next == profiles.size()) {
          int changes = 0;
          for (const PlacementId p : made) changes += idle.contains(p) ? 0 : 1;
          for (const PlacementId i : idle)
            changes += !made.contains(i) && graph.geometry()[i].conflicts.meets(made) ? 1 : 0;
          if (least < 0 || changes < least) least = changes;
          return;
        }
        for (const PlacementId p : graph.geometry().of_profile(profiles[next]))
          if (graph.add(state, p) != no_state)
            place(next + 1, graph.add(state, p), made | PlacementSet::of(p));
      };
  place(0, occupied, {});
  return least;
}

int changes_of(const StateGraph& graph, PlacementSet idle, const std::vector<PlacementId>& places) {
  PlacementSet made;
  for (const PlacementId p : places) made.insert(p);
  int changes = 0;
  for (const PlacementId p : made) changes += idle.contains(p) ? 0 : 1;
  for (const PlacementId i : idle)
    changes += !made.contains(i) && graph.geometry()[i].conflicts.meets(made) ? 1 : 0;
  return changes;
}

TEST(Arrange, ChangesAsLittleAsAnyWayCan) {
  for (const auto& [key, profiles] : {std::pair("A30-24GB", "plain"), {"A100-40GB", "plain"}}) {
    const auto graph = graph_of(key, profiles);
    Random random(7);
    int possible = 0;
    for (int round = 0; round < 3000; ++round) {
      // Some of a random layout is held, some is idle, the rest is free.
      StateId all = 0;
      PlacementSet held, idle;
      for (int i = 0; i < 5; ++i) {
        const PlacementSet free = graph->free(all);
        if (free.empty()) break;
        auto skip = random.below(static_cast<std::uint64_t>(free.size()));
        for (const PlacementId p : free) {
          if (skip-- != 0) continue;
          all = graph->add(all, p);
          (random.below(2) == 0 ? held : idle).insert(p);
        }
      }
      std::vector<int> wanted;
      for (std::uint64_t i = 0, n = 1 + random.below(4); i < n; ++i) {
        const auto list = graph->geometry().profile_list();
        wanted.push_back(static_cast<int>(list[random.below(list.size())] -
                                          graph->geometry().model().profiles.data()));
      }
      const StateId occupied = graph->find(held);
      const auto places = arrange(*graph, occupied, idle, wanted);
      const int least = least_changes(*graph, occupied, idle, wanted);
      ASSERT_EQ(places.has_value(), least >= 0);
      if (!places) continue;
      ++possible;
      PlacementSet all_of_it = held;
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        EXPECT_EQ(graph->geometry()[(*places)[i]].profile_index, wanted[i]);
        EXPECT_FALSE(all_of_it.contains((*places)[i]));
        all_of_it.insert((*places)[i]);
      }
      EXPECT_TRUE(graph->geometry().legal(all_of_it));
      EXPECT_EQ(changes_of(*graph, idle, *places), least);
    }
    EXPECT_GT(possible, 300) << key;
  }
}

/// The least of slices times the last end in the way, summed over placements, that any way of
/// placing the jobs on distinct free placements has with this many changes.
double least_blocked(const StateGraph& graph, PlacementSet held, PlacementSet idle,
                     const std::vector<int>& profiles, const InstanceEnds& ends, int changes,
                     std::vector<PlacementId>& places) {
  const Geometry& geometry = graph.geometry();
  if (places.size() == profiles.size()) {
    if (changes_of(graph, idle, places) != changes) return 1e300;
    double sum = 0;
    for (const PlacementId p : geometry.all()) {
      double last = 0;
      for (const PlacementId h : held)
        if (h == p || geometry[p].conflicts.contains(h)) last = std::max(last, ends.held[h]);
      for (std::size_t i = 0; i < places.size(); ++i)
        if (places[i] == p || geometry[p].conflicts.contains(places[i]))
          last = std::max(last, ends.wanted[i]);
      sum += last * geometry[p].profile->compute.value;
    }
    return sum;
  }
  PlacementSet taken = held;
  for (const PlacementId p : places) taken.insert(p);
  double least = 1e300;
  for (const PlacementId p : geometry.of_profile(profiles[places.size()]) & geometry.free(taken)) {
    places.push_back(p);
    least = std::min(least, least_blocked(graph, held, idle, profiles, ends, changes, places));
    places.pop_back();
  }
  return least;
}

TEST(Arrange, ByEndsIsTheBestOfTheCheapest) {
  int possible = 0, different = 0;
  for (const auto& [key, profiles] : {std::pair("A30-24GB", "plain"), {"A100-40GB", "plain"}}) {
    const auto graph = graph_of(key, profiles);
    const Geometry& geometry = graph->geometry();
    Random random(5);
    for (int round = 0; round < 500; ++round) {
      PlacementSet held, idle;
      for (int i = 0; i < 4; ++i) {
        const PlacementSet free = geometry.free(held | idle);
        if (free.empty()) break;
        auto skip = random.below(static_cast<std::uint64_t>(free.size()));
        for (const PlacementId p : free)
          if (skip-- == 0) (random.below(3) == 0 ? idle : held).insert(p);
      }
      InstanceEnds ends;
      for (int i = 0; i < PlacementSet::most; ++i)
        ends.held.push_back(static_cast<double>(random.below(100)));
      // Jobs of one profile are only tried in the order of their ends, so all differ here.
      std::set<int> drawn;
      for (std::uint64_t i = 0, n = 1 + random.below(3); i < n; ++i)
        drawn.insert(geometry[static_cast<PlacementId>(
                                  random.below(static_cast<std::uint64_t>(geometry.all().size())))]
                         .profile_index);
      const std::vector<int> wanted(drawn.begin(), drawn.end());
      for (std::size_t i = 0; i < wanted.size(); ++i)
        ends.wanted.push_back(static_cast<double>(random.below(100)));
      const auto plain = arrange(*graph, graph->find(held), idle, wanted);
      const auto places = arrange(*graph, graph->find(held), idle, wanted, &ends);
      ASSERT_EQ(places.has_value(), plain.has_value());
      if (!places) continue;
      ++possible;
      different += *places != *plain ? 1 : 0;
      const int changes = changes_of(*graph, idle, *places);
      EXPECT_EQ(changes, changes_of(*graph, idle, *plain));
      std::vector<PlacementId> none, given = *places;
      EXPECT_EQ(least_blocked(*graph, held, idle, wanted, ends, changes, given),
                least_blocked(*graph, held, idle, wanted, ends, changes, none));
    }
  }
  EXPECT_GT(possible, 300);
  EXPECT_GT(different, 30);
}

// *Managing Multi Instance GPUs*, 4.3 and 5.2.1: seven of 5 GB, the two halves of 4/7 and 3/7, the
// whole.
TEST(FillWithOneSize, CutsAnA100AsThePaperSays) {
  const auto graph = graph_of("A100-40GB", "five");
  const Geometry& geometry = graph->geometry();
  const auto filled = [&](int memory_slices) {
    PlacementSet allowed;
    for (const PlacementId p : geometry.all())
      if (geometry[p].profile->memory.value == memory_slices) allowed.insert(p);
    return layout_text(geometry, fill_with_one_size(*graph, 0, allowed, allowed));
  };
  EXPECT_EQ(filled(1), "1g.5gb@0,1g.5gb@1,1g.5gb@2,1g.5gb@3,1g.5gb@4,1g.5gb@5,1g.5gb@6");
  EXPECT_EQ(filled(2), "2g.10gb@0,2g.10gb@2,2g.10gb@4");
  EXPECT_EQ(filled(4), "4g.20gb@0,3g.20gb@4");
  EXPECT_EQ(filled(8), "7g.40gb@0");
}

}  // namespace
}  // namespace cleave
