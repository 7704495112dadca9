#pragma once
// A cluster of the planning cases, GPUs of one device with work on them, as a fleet file and as a
// planning problem.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "input.hpp"
#include "planner/problem.hpp"

namespace cleave::cases {

/// GPUs named n0/0, n0/1, ...; every workload may move.
struct FleetCluster {
  std::string device;
  std::shared_ptr<const StateGraph> graph;
  FleetFile file;
};

/// Work of a list [{"id", "profile"}].
struct WrittenWork {
  std::string id;
  const Profile* profile;
};

/// Reads an object {"device", "gpus": [[{"id", "profile", "start"}]]} under `key`; empty after an
/// error.
std::optional<FleetCluster> read_fleet_cluster(JsonReader& in, std::string_view key);

/// The instances of a list [{"id", "profile", "start"}], which must be able to coexist.
std::optional<std::vector<InstanceEntry>> read_entries(std::vector<JsonReader> list,
                                                       const Geometry& geometry);

/// Reads the list under `key`, which is optional.
std::optional<std::vector<WrittenWork>> read_work(JsonReader& in, std::string_view key,
                                                  const Geometry& geometry);

/// Adds waiting work to the cluster.
void add_waiting(FleetCluster& cluster, const std::vector<WrittenWork>& work);

/// Empty after an error, which is left in the reader. The cluster must outlive the problem.
std::optional<PlanProblem> problem_of(const FleetCluster& cluster, ProblemKind kind,
                                      JsonReader& in);

/// {"device", "gpus"} with everything placed as in the goal, by start.
Json cluster_of(const FleetCluster& cluster, const PlanProblem& problem, const Goal& goal);

}  // namespace cleave::cases
