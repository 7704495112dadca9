// The state graph against the definitions: every table is compared with the slow obvious version,
// for every model.

#include "graph/state_graph.hpp"

#include <gtest/gtest.h>

#include <set>

#include "model/layout_text.hpp"

namespace cleave {
namespace {

StateGraph graph_of(std::string_view model, std::string_view profiles) {
  const GpuModel& found = **find_gpu_model(model);
  return StateGraph(Geometry(found, ProfileChoice::parse(profiles)->on(found)));
}

StateId state(const StateGraph& graph, std::string_view layout) {
  PlacementSet set;
  const auto written = parse_layout(layout, graph.geometry());
  for (const auto& [profile, start] : *written) set.insert(*graph.geometry().find(*profile, start));
  return graph.find(set);
}

struct Counts {
  const char *model, *profiles;
  int states, maximal;
};

// Published or counted independently; 19 is the number of layouts in NVIDIA's own list for the
// A100.
constexpr Counts counts[] = {
    {"A100-40GB", "five", 298, 19},
    {"A100-40GB", "1g.5gb,2g.10gb,3g.20gb,4g.20gb,7g.40gb", 298, 19},
    {"A100-40GB", "plain", 723, 78},
    {"A100-80GB", "all", 2319, 239},
    {"H100-80GB-SXM5", "all", 2319, 239},
    {"B200-180GB", "all", 2319, 239},
    {"A30-24GB", "plain", 26, 5},
    {"A30-24GB", "all", 76, 17},
    {"RTX-PRO-6000-BW-96GB", "all", 717, 302},
    {"RTX-PRO-6000-BW-96GB", "plain", 26, 5},
};

TEST(StateGraph, CountsStates) {
  for (const Counts& expected : counts) {
    const StateGraph graph = graph_of(expected.model, expected.profiles);
    EXPECT_EQ(graph.size(), expected.states) << expected.model << " " << expected.profiles;
    EXPECT_EQ(graph.maximal_states(), expected.maximal)
        << expected.model << " " << expected.profiles;
  }
  EXPECT_EQ(graph_of("A100-40GB", "five").maximal_multisets(), 14);
}

/// Every table of the graph by its definition.
void check_against_definitions(const StateGraph& graph) {
  const Geometry& geometry = graph.geometry();
  std::vector<StateId> maximal;
  for (int i = 0; i < graph.size(); ++i)
    if (geometry.free(graph.state(static_cast<StateId>(i))).empty())
      maximal.push_back(static_cast<StateId>(i));
  ASSERT_EQ(static_cast<int>(maximal.size()), graph.maximal_states());
  for (int i = 0; i < graph.size(); ++i) {
    const auto id = static_cast<StateId>(i);
    const PlacementSet set = graph.state(id);
    ASSERT_TRUE(geometry.legal(set));
    ASSERT_EQ(graph.find(set), id);
    ASSERT_EQ(graph.free(id), geometry.free(set));
    int reached = 0;
    for (const StateId full : maximal) reached += (set - graph.state(full)).empty() ? 1 : 0;
    ASSERT_EQ(graph.reachability(id), reached);
    ASSERT_EQ(graph.cost(id), fragmentation_cost(geometry, set));
    ASSERT_EQ(graph.compute(id), geometry.compute(set));
    ASSERT_EQ(graph.memory(id), geometry.memory(set));
    for (const PlacementId placement : geometry.all()) {
      const StateId after = graph.add(id, placement);
      ASSERT_EQ(after != no_state,
                !set.contains(placement) && geometry.legal(set | PlacementSet::of(placement)));
      if (after == no_state) continue;
      ASSERT_EQ(graph.state(after), set | PlacementSet::of(placement));
      ASSERT_EQ(graph.remove(after, placement), id);
      ASSERT_GT(after, id);
    }
  }
}

TEST(StateGraph, EveryTableIsWhatItsDefinitionSays) {
  for (const GpuModel& model : gpu_models())
    for (const char* set : {"all", "plain", "five"})
      check_against_definitions(StateGraph(Geometry(model, ProfileChoice::parse(set)->on(model))));
}

// Every subset of placements of a small GPU, and whether it is a state: none is missing.
TEST(StateGraph, MissesNoState) {
  for (const char* model : {"A30-24GB", "RTX-PRO-6000-BW-96GB"}) {
    const StateGraph graph = graph_of(model, "plain");
    int legal = 0;
    for (std::uint32_t bits = 0; bits < 1U << graph.geometry().size(); ++bits) {
      const bool is_legal = graph.geometry().legal(PlacementSet(bits));
      legal += is_legal ? 1 : 0;
      ASSERT_EQ(graph.find(PlacementSet(bits)) != no_state, is_legal);
    }
    EXPECT_EQ(legal, graph.size());
  }
}

// *Managing Multi Instance GPUs*, 4.2: a first 5 GB instance leaves most futures on the last slice.
TEST(Reachability, TheLastSliceWins) {
  const StateGraph graph = graph_of("A100-40GB", "five");
  for (int start = 0; start < 6; ++start)
    EXPECT_EQ(graph.reachability(state(graph, "1g.5gb@" + std::to_string(start))), 6) << start;
  EXPECT_EQ(graph.reachability(state(graph, "1g.5gb@6")), 12);
  EXPECT_EQ(graph.reachability(0), 19);
}

// *An Online Fragmentation-Aware Scheduler*, III-A: on an empty GPU 2g and 3g at 4, 1g at 6 cost
// nothing.
TEST(Fragmentation, IsAnExactFraction) {
  const StateGraph graph = graph_of("A100-40GB", "plain");
  EXPECT_EQ(graph.cost(state(graph, "2g.10gb@0")).ratio().exact(), "1/6");
  EXPECT_EQ(graph.cost(state(graph, "2g.10gb@4")).ratio().exact(), "0/1");
  EXPECT_EQ(graph.cost(state(graph, "3g.20gb@4")).ratio().exact(), "0/1");
  EXPECT_EQ(graph.cost(state(graph, "1g.5gb@6")).ratio().exact(), "0/1");
  EXPECT_EQ(graph.cost(state(graph, "1g.5gb@0,1g.5gb@1,2g.10gb@2,1g.5gb@4")).ratio().exact(),
            "1/6");
}

TEST(Fragmentation, NeverMoreByPositionThanBySize) {
  for (const GpuModel& model : gpu_models()) {
    const StateGraph graph(Geometry(model, ProfileChoice().on(model)));
    for (int i = 0; i < graph.size(); ++i)
      for (const FitCount& count :
           fit_counts(graph.geometry(), graph.state(static_cast<StateId>(i))))
        ASSERT_LE(count.valid, count.ideal)
            << model.key << " "
            << layout_text(graph.geometry(), graph.state(static_cast<StateId>(i)));
  }
}

TEST(StateGraphs, OfAModelThatIsGoneAreNotGivenToAnotherAtItsPlace) {
  const GpuModel& large = **find_gpu_model("A100-40GB");
  const GpuModel& small = **find_gpu_model("A30-24GB");
  GpuModel model = large;
  const ProfileMask all = ProfileChoice().on(large), few = ProfileChoice().on(small);
  const int states = StateGraph::of(large, all)->size();
  EXPECT_EQ(StateGraph::of(model, all)->size(), states);
  const auto kept = StateGraph::of(model, all);
  EXPECT_EQ(StateGraph::of(model, all), kept) << "as long as somebody has it";
  model = small;  // another model where the first one was; nobody else has asked with its profiles
  EXPECT_EQ(StateGraph::of(model, few)->size(), StateGraph::of(small, few)->size());
}

TEST(StateGraphs, AreMadeAnewWhenNobodyHasThem) {
  const GpuModel& large = **find_gpu_model("A100-40GB");
  const GpuModel& other = **find_gpu_model("H100-80GB-SXM5");
  GpuModel model = large;
  const ProfileMask all = ProfileChoice().on(large);
  ASSERT_EQ(all, ProfileChoice().on(other));
  EXPECT_EQ(StateGraph::of(model, all)->geometry()[0].profile->name,
            large.profiles[StateGraph::of(large, all)->geometry()[0].profile_index].name);
  model = other;
  EXPECT_EQ(StateGraph::of(model, all)->geometry()[0].profile->name,
            StateGraph::of(other, all)->geometry()[0].profile->name);
}

}  // namespace
}  // namespace cleave
