#pragma once
// Workspaces of libraries in the reports of a running job. A job that reports its parts says how
// much its libraries hold beside what its allocator does; where it does not say, the workspace that
// `cleave forecast model` counts for the GPU's architecture is assumed (*MIGM*, 3.2.2: workspaces
// do not grow, and are added to the forecast as a constant).

#include <optional>

#include "model/gpu_model.hpp"
#include "model/memory_report.hpp"

namespace cleave {

/// The report with that workspace, if it leaves it open. An older report, in which the context is
/// not a part of its own, counts everything and stays as it is. `architecture` is that of the job's
/// GPU; empty: as before Hopper.
[[nodiscard]] MemoryReport with_usual_workspace(MemoryReport report,
                                                std::optional<Architecture> architecture);

}  // namespace cleave
