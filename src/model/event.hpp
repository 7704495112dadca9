#pragma once
// What a scheduler is told and what it answers. Events come from the world, real or simulated; commands are
// plain values that whoever drives the scheduler carries out.
//
// Commands of one answer are carried out per GPU in the order in which they stand; those for different GPUs
// may run side by side. A job starts when the commands for its GPU that stand before it are done.

#include <variant>
#include <vector>

#include "model/geometry.hpp"
#include "model/ids.hpp"

namespace cleave {

struct Submitted {
  JobId job;
  RequestId request;
};
/// The job's process has ended, well or badly; its instance is free.
struct Finished {
  JobId job;
};
using Event = std::variant<Submitted, Finished>;

struct DestroyInstance {
  GpuId gpu;
  PlacementId placement;
};
struct CreateInstance {
  GpuId gpu;
  PlacementId placement;
};
/// On an instance that exists by then.
struct StartJob {
  JobId job;
  GpuId gpu;
  PlacementId placement;
};
/// On a GPU that is not partitioned (MIG off).
struct StartOnWholeGpu {
  JobId job;
  GpuId gpu;
};
/// The job can never run on this fleet; RequestTable says why.
struct RejectJob {
  JobId job;
};
using Command = std::variant<DestroyInstance, CreateInstance, StartJob, StartOnWholeGpu, RejectJob>;

}  // namespace cleave
