#pragma once
// Common parts of the inputs: a device, a profile of it, and instances on one GPU. On error each
// function returns nothing and leaves the reason in the reader. Unknown keys are ignored, since
// cases may have more than an operation needs.

#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "graph/state_graph.hpp"

namespace cleave::cases {

/// One GPU as a case describes it. The instances can all coexist.
struct OneGpu {
  std::shared_ptr<const StateGraph> graph;
  PlacementSet state;  // occupied
  PlacementSet idle;

  [[nodiscard]] const Geometry& geometry() const { return graph->geometry(); }
  [[nodiscard]] StateId id() const { return graph->find(state); }
};

/// An instance in a list of the input, with the reader at its place.
struct WrittenInstance {
  JsonReader reader;
  const Profile* profile;
  int start;  // any number
};

/// Refuses an input with a null anywhere. Cases omit absent values, and a reader would take null
/// for absent.
void refuse_null(const Json& input, JsonReader& in);

/// `device`; null after an error.
std::shared_ptr<const StateGraph> read_device(JsonReader& in);

/// `profile`, which must be one of the device's; null after an error.
const Profile* read_profile(JsonReader& in, const Geometry& geometry);

/// The required list `key` of {"profile", "start"}; starts are not checked.
std::optional<std::vector<WrittenInstance>> read_instances(JsonReader& in, std::string_view key,
                                                           const Geometry& geometry);

/// The same instances as placements; they must be able to coexist.
std::optional<std::vector<PlacementId>> placements(std::vector<WrittenInstance>& written,
                                                   const Geometry& geometry);

/// `device`, `state` and, if given, `idle`.
std::optional<OneGpu> read_gpu(JsonReader& in);

}  // namespace cleave::cases
