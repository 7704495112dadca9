#pragma once
// A cluster of the cases, GPUs of one device with jobs and idle instances, as a Fleet. The fleet
// has placements only; the jobs' ids are kept here.

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

/// GPUs of one model: work holds the placements `held` on each, and `idle` ones are free.
struct GpuContent {
  PlacementSet held, idle;
};

/// The sets of each GPU must be legal.
Fleet fleet_of(const Geometry& geometry, const std::vector<GpuContent>& gpus);

/// The GPUs of a case, with the ids of their jobs.
struct Cluster {
  std::shared_ptr<const StateGraph> graph;
  Fleet fleet;
  std::vector<std::map<PlacementId, std::string>> jobs;  // for each GPU, ids by where they are
  ChosenPolicy policy;  // with the cluster's threshold and measure of load
};

/// Reads an object {"device", "threshold", "load", "gpus"}; `threshold` and `load` are optional.
/// Empty after an error, which is left in the reader.
std::optional<Cluster> read_cluster(JsonReader& in);

/// The state of all GPUs: [{jobs, idle, load, busy, cost}].
Json gpus_of(const Cluster& cluster);

}  // namespace cleave::cases
