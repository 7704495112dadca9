#pragma once
// The operations of the reference cases, each computed with the library's own functions: one row a (module,
// operation), one file a module. Inputs are in the words of the cases - device names, sizes in the GB of
// profile names - and are translated here and only here.

#include <span>
#include <string>
#include <string_view>

#include "base/json.hpp"
#include "base/result.hpp"
#include "graph/state_graph.hpp"

namespace cleave::cases {

struct Operation {
  std::string_view module, name;
  /// The answer to a case's input; an error when the input is not what the operation takes.
  Result<Json> (*answer)(const Json& input);
};

std::span<const Operation> geometry_operations();
std::span<const Operation> reachability_operations();
std::span<const Operation> fragmentation_operations();
std::span<const Operation> online_operations();

/// A device by its name in the cases: a model and a set of its profiles.
struct Device {
  std::string name;
  const GpuModel* model;
  std::shared_ptr<const StateGraph> graph;

  [[nodiscard]] const Geometry& geometry() const { return graph->geometry(); }
};
[[nodiscard]] Result<Device> find_device(const std::string& name);

/// A list of {"profile", "start"}; the error names what is not a placement of the device.
[[nodiscard]] Result<PlacementSet> read_state(const Geometry& geometry, const Json& list);
/// The same as a number of the graph; an illegal state is an error.
[[nodiscard]] Result<StateId> read_legal_state(const StateGraph& graph, const Json& list);

Json placement_json(const Geometry& geometry, PlacementId id);
/// Sorted by start, then profile.
Json state_json(const Geometry& geometry, PlacementSet state);
Json ratio_json(Ratio ratio);

/// Every state in the order of the cases: by number of placements, then by their sorted (start, profile)
/// lists.
std::vector<StateId> ordered_states(const StateGraph& graph);

}  // namespace cleave::cases
