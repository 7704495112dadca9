#pragma once
// The GPUs of all nodes as one fleet, for the engine, for policies and for explanations.

#include <cstdint>
#include <string>
#include <vector>

#include "model/fleet_file.hpp"
#include "model/ids.hpp"
#include "slurm/node_view.hpp"

namespace cleave {

/// A GPU of a node: by the node's place among the views, and its place in the node's report.
struct ClusterGpu {
  std::size_t view = 0, gpu = 0;
  friend bool operator==(const ClusterGpu&, const ClusterGpu&) = default;
};

/// The fleet and what its numbers mean.
struct ClusterFleet {
  FleetFile file;
  std::vector<ClusterGpu> gpus;             // by GpuId
  std::vector<std::vector<GpuId>> of_view;  // by view, then by place in the report
  std::vector<bool> serves;                 // by GpuId

  [[nodiscard]] GpuId at(ClusterGpu gpu) const { return of_view[gpu.view][gpu.gpu]; }
};

/// What claims hold is idle in it if `claims_idle`, as an engine wants it of jobs that it adopts,
/// and held by the key otherwise. Claims that are no running job's are walls. Hosts have as many
/// CPUs as jobs without instances leave.
[[nodiscard]] ClusterFleet cluster_fleet(const std::vector<NodeView>& views, bool claims_idle);

}  // namespace cleave
