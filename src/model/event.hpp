#pragma once
// What the engine is told and what it answers. Events come from the world, real or simulated;
// commands are plain values that whoever drives the engine carries out.
//
// Commands of one answer are carried out per GPU in the order in which they stand; those for
// different GPUs may run side by side. A job starts when the commands for its GPU that stand before
// it are done.

#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "base/time.hpp"
#include "model/geometry.hpp"
#include "model/ids.hpp"
#include "model/memory_report.hpp"

namespace cleave {

struct Submitted {
  JobId job;
  RequestId request;
};
/// The job's process has ended, well or badly, and the job with it; its instance is free.
struct Finished {
  JobId job;
};
/// The job's process died because its instance has too little memory; the instance is free.
struct OutOfMemory {
  JobId job;
  std::optional<MiB> had;  // what programs could use there; empty where nobody knows
};
/// A running job says how much memory it holds.
struct MemoryReported {
  JobId job;
  MemoryReport report;
  std::optional<MiB> capacity;  // of its instance
};
/// The GPU is gone, with its instances and everything that ran there.
struct GpuLost {
  GpuId gpu;
};
/// The GPU is back, empty.
struct GpuReturned {
  GpuId gpu;
};
/// The time of a WakeAt has come.
struct Woken {};

// The next ones come from a world that did not begin with this engine, or that does not do as it is
// told.

/// The job runs already, since before this engine was made, on an instance of ours that the fleet
/// shows as idle; or, with no placement, on a whole GPU with MIG off, on which the fleet shows
/// nothing. Jobs that share an instance are told one after the other. Told before the first
/// Submitted and the first settle.
struct Adopted {
  JobId job;
  RequestId request;
  GpuId gpu;
  std::optional<PlacementId> placement;
};
/// The job waits no more and will not run. One that does not wait goes on as if nothing had been
/// said: what runs is stopped by whoever drives the engine, who then tells Finished.
struct Cancelled {
  JobId job;
};
/// The device refused to make this instance, or, with no placement, to switch MIG off. Jobs that
/// were to start there have not, and wait again. Told when the other commands of the answer have
/// been carried out, as far as they can be without it, unless one of them was to destroy it again.
struct CreateFailed {
  GpuId gpu;
  std::optional<PlacementId> placement;
};
/// An instance of ours is there no more, though nobody here destroyed it. Jobs that ran on it wait
/// again.
struct InstanceVanished {
  GpuId gpu;
  PlacementId placement;
};
/// The GPU takes no new work, and its instances are left as they are; what runs there runs on. And
/// the end of that. Neither counts how often it was told.
struct GpuDrained {
  GpuId gpu;
};
struct GpuUndrained {
  GpuId gpu;
};
/// The same for all GPUs.
struct Paused {};
struct Resumed {};

using Event = std::variant<Submitted, Finished, OutOfMemory, MemoryReported, GpuLost, GpuReturned,
                           Woken, Adopted, Cancelled, CreateFailed, InstanceVanished, GpuDrained,
                           GpuUndrained, Paused, Resumed>;

struct DestroyInstance {
  GpuId gpu;
  PlacementId placement;
};
struct CreateInstance {
  GpuId gpu;
  PlacementId placement;
};
/// On an instance that exists by then and that nobody uses.
struct StartJob {
  JobId job;
  GpuId gpu;
  PlacementId placement;
};
/// On an instance that other jobs started this way may use at the same time (MPS).
struct StartShared {
  JobId job;
  GpuId gpu;
  PlacementId placement;
};
/// On a GPU that is not partitioned (MIG off).
struct StartOnWholeGpu {
  JobId job;
  GpuId gpu;
};
/// Its process ends and what it has done is lost; it waits again. Its instance is free.
struct StopJob {
  JobId job;
  enum class Why {
    room,
    forecast
  } why;  // to make room for a new layout, or before it runs out of memory
};
/// As StopJob, but what it has done is kept: its next start goes on from there.
struct CheckpointJob {
  JobId job;
};
/// To an instance that exists by then, while it runs: a replica is started there before the old one
/// ends. The old instance is free when that is done.
struct MigrateJob {
  JobId job;
  GpuId gpu;
  PlacementId placement;
};
/// The job can never run on this fleet. The reason is to be read before the next event.
struct RejectJob {
  JobId job;
  std::string_view reason;
};
/// The job has run out of memory where there is no more.
struct FailJob {
  JobId job;
};
/// Asks for a Woken at that time.
struct WakeAt {
  Instant time;
};

using Command =
    std::variant<DestroyInstance, CreateInstance, StartJob, StartShared, StartOnWholeGpu, StopJob,
                 CheckpointJob, MigrateJob, RejectJob, FailJob, WakeAt>;

}  // namespace cleave
