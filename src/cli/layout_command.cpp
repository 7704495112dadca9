// `cleave layout MODEL LAYOUT`: whether a layout is legal, and what it leaves room for.

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/command.hpp"
#include "cli/table.hpp"
#include "graph/state_graph.hpp"
#include "model/layout_text.hpp"

namespace cleave::cli {

namespace {

struct LayoutCommandOptions {
  std::string model, layout, profiles = "all";
  bool json = false;
};

Json placement_json(const Geometry& geometry, PlacementId id) {
  return {{"profile", geometry[id].profile->name}, {"start", geometry[id].start}};
}

void print_illegal(const LayoutCommandOptions& options, const Geometry& geometry,
                   const std::vector<Geometry::Written>& written, const Verdict& verdict) {
  if (options.json) {
    print(Json{{"model", geometry.model().key},
               {"profiles", geometry.profile_names()},
               {"layout", options.layout},
               {"legal", false},
               {"reason", name(*verdict.illegal)},
               {"maximal", nullptr},
               {"reachability", nullptr},
               {"fragmentation", nullptr},
               {"counts", nullptr},
               {"free", nullptr}});
    return;
  }
  const auto& [profile, start] = written[verdict.culprit];
  fmt::print("{} is not legal on {}: {} ({}@{})\n", options.layout, geometry.model().key,
             name(*verdict.illegal), profile->name, start);
  if (verdict.illegal == Illegality::start) fmt::print("{}\n", wrong_start(*profile, start));
}

void print_json(const StateGraph& graph, StateId state) {
  const Geometry& geometry = graph.geometry();
  Json counts = Json::array();
  for (const FitCount& count : fit_counts(geometry, graph.state(state)))
    counts.push_back(
        {{"profile", count.profile->name}, {"ideal", count.ideal}, {"valid", count.valid}});
  Json free = Json::array();
  for (const PlacementId id : graph.free(state)) free.push_back(placement_json(geometry, id));
  const Ratio cost = graph.cost(state).ratio();
  print(Json{{"model", geometry.model().key},
             {"profiles", geometry.profile_names()},
             {"layout", layout_text(geometry, graph.state(state))},
             {"legal", true},
             {"reason", nullptr},
             {"maximal", graph.maximal(state)},
             {"reachability", graph.reachability(state)},
             {"fragmentation", {{"value", cost.value()}, {"exact", cost.exact()}}},
             {"counts", counts},
             {"free", free}});
}

void print_text(const StateGraph& graph, StateId state) {
  const Geometry& geometry = graph.geometry();
  const PlacementSet placements = graph.state(state);
  fmt::print("[{}]  {}\n\n", draw(geometry, placements),
             placements.empty() ? "empty" : legend(geometry, placements));
  fmt::print("compute {} of {} slices, memory {} of {}\n", graph.compute(state).value,
             geometry.model().compute.value, graph.memory(state).value,
             geometry.model().memory_slices.value);
  if (graph.maximal(state)) {
    fmt::print("maximal: no further instance fits\n");
  } else {
    fmt::print("{} of {} maximal states can still be reached\n", graph.reachability(state),
               graph.maximal_states());
  }
  const Ratio cost = graph.cost(state).ratio();
  fmt::print("fragmentation {:.4f} ({})\n\n", cost.value(), cost.exact());
  Table table({"profile", "by size", "by position", "free starts"});
  for (const FitCount& count : fit_counts(geometry, placements)) {
    std::vector<int> starts;
    for (const PlacementId id : graph.free(state))
      if (geometry[id].profile == count.profile) starts.push_back(geometry[id].start);
    table.add({std::string(count.profile->name), fmt::format("{}", count.ideal),
               fmt::format("{}", count.valid), fmt::format("{}", fmt::join(starts, " "))});
  }
  fmt::print("{}", table.text());
  if (geometry.model().placements_inferred)
    fmt::print("\nWhere instances of the {} may start is inferred from the rest of its family.\n",
               geometry.model().key);
}

Result<int> layout(const LayoutCommandOptions& options) {
  const auto chosen = choose_profiles(options.model, options.profiles);
  if (!chosen) return std::unexpected(chosen.error());
  const auto graph = StateGraph::of(*chosen->model, chosen->profiles);
  const Geometry& geometry = graph->geometry();
  const auto written = parse_layout(options.layout, geometry);
  if (!written) return std::unexpected(written.error());
  const Verdict verdict = geometry.judge(*written);
  if (verdict.illegal) {
    print_illegal(options, geometry, *written, verdict);
    return 0;
  }
  PlacementSet placements;
  for (const auto& [profile, start] : *written) placements.insert(*geometry.find(*profile, start));
  const StateId state = graph->find(placements);
  if (options.json) {
    print_json(*graph, state);
  } else {
    print_text(*graph, state);
  }
  return 0;
}

}  // namespace

void add_layout(CommandLine& program, Run& run) {
  const auto [command, options] = add_command(
      program, run, "layout", "Check whether a layout is legal, and show what still fits",
      "cleave layout A100-40GB 4g.20gb@0,2g.10gb@4", layout);
  command->add_option("MODEL", options.model, "Model key or the driver's name for it")->required();
  command
      ->add_option("LAYOUT", options.layout,
                   "profile@start, separated by commas; '' is the empty GPU")
      ->required();
  add_profiles(*command, options.profiles);
  add_json(*command, options.json);
}

}  // namespace cleave::cli
