#pragma once
// A cluster of the cases, GPUs of one device with jobs and idle instances, as a Fleet. The fleet
// knows placements only; here each keeps the job's id beside it.

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.hpp"
#include "input.hpp"
#include "placement/fleet.hpp"
#include "placement/policy.hpp"

namespace cleave::cases {

/// GPUs of one model on which work holds `held` of each, and `idle` stand beside them.
struct GpuContent {
  PlacementSet held, idle;
};

/// The sets of each GPU must be legal.
Fleet fleet_of(const Geometry& geometry, const std::vector<GpuContent>& gpus);

struct Cluster {
  std::shared_ptr<const StateGraph> graph;
  Fleet fleet;
  std::vector<std::map<PlacementId, std::string>> jobs;  // for each GPU, ids by where they are
  ChosenPolicy policy;  // with the cluster's threshold and measure of load
};

/// Reads an object {"device", "threshold", "load", "gpus"}; the last two of the policy's options
/// may be absent. Nothing after an error, which is left in the reader.
std::optional<Cluster> read_cluster(JsonReader& in);

/// All GPUs as they are: [{jobs, idle, load, busy, cost}].
Json gpus_of(const Cluster& cluster);

}  // namespace cleave::cases
