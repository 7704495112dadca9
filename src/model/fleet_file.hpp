#pragma once
// A fleet as people write it: GPUs with their instances, nodes, and work that waits. The format is
// the contract in docs/formats.md. What was read is legal: every profile and start is of the GPU's
// model, instances can exist together, and names are unique.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/geometry.hpp"
#include "model/host_share.hpp"
#include "model/request.hpp"

namespace cleave {

/// Where a workload may and may not be placed; the planner respects this.
struct Constraints {
  std::optional<std::string> pin;    // a GPU or a node
  std::vector<std::string> forbid;   // GPUs or nodes
  std::optional<std::string> group;  // replicas that must sit on different GPUs ...
  bool spread_over_nodes = false;    // ... or different nodes
  std::optional<int> max_moving;     // how many of the group may move at the same time
};

/// A GPU instance and the workload on it.
struct InstanceEntry {
  PlacementId placement = 0;  // in the geometry of the GPU's model and the chosen profiles
  std::optional<std::string> workload;  // empty: idle, may be reused or destroyed
  bool movable = true;
  bool owned = true;  // false: made by someone else, never touched
  Constraints constraints;
  std::optional<MiB> memory;
};

/// A GPU with its instances.
struct GpuEntry {
  std::string name;
  std::size_t geometry;  // index into FleetFile::geometries
  std::vector<InstanceEntry> instances;
};

/// A machine with GPUs.
struct NodeEntry {
  std::string name;
  std::optional<double> cpus;
  std::optional<MiB> host_memory;
};

/// A workload that has no instance yet.
struct WaitingEntry {
  std::string workload;
  Request request;
  Constraints constraints;
};

/// Everything that a fleet file says.
struct FleetFile {
  std::vector<Geometry> geometries;  // one for each model that occurs, in order of first mention
  std::vector<GpuEntry> gpus;
  std::vector<NodeEntry> nodes;
  std::vector<WaitingEntry> waiting;
};

/// The node of a GPU with this name: what is before the last slash. A GPU without one is a node of
/// its own.
[[nodiscard]] std::string_view node_of(std::string_view gpu);

/// By node, in the order of their first GPUs, what its host has and the slices of its GPUs; empty
/// where no node with a GPU says anything of its host.
[[nodiscard]] std::vector<HostNode> host_nodes(const FleetFile& fleet);

/// The most GPUs in one fleet; a larger count in a file is taken for a mistake.
inline constexpr std::int64_t most_gpus = 4'000'000;

/// Reads the JSON format; `place` is the file's name.
[[nodiscard]] Result<FleetFile> parse_fleet(std::string_view text, const std::string& place,
                                            const ProfileChoice& profiles);

/// Reads the short form, a fleet of empty GPUs: "4xA100-40GB" or "4xA100-40GB,2xH100-80GB-SXM5" on
/// one node, named n0/0, n0/1, ...; "4x8xA100-80GB" on four nodes, n0/0 to n3/7.
[[nodiscard]] Result<FleetFile> parse_fleet_in_short(std::string_view text,
                                                     const ProfileChoice& profiles);

/// Whether the text has the short form: a count, an x and a name.
bool is_fleet_in_short(std::string_view text);

}  // namespace cleave
