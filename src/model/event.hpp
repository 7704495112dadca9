#pragma once
// What the engine is told and what it answers. Events come from the world, real or simulated;
// commands are plain values that the engine's driver (the simulator or the daemon) carries out.
//
// The commands of one answer are carried out in their order on each GPU; those for different GPUs
// may run side by side. A job starts when the earlier commands for its GPU are done.

#include <optional>
#include <string_view>
#include <variant>

#include "base/time.hpp"
#include "model/geometry.hpp"
#include "model/ids.hpp"
#include "model/memory_report.hpp"
#include "model/sharing.hpp"

namespace cleave {

/// A job has arrived.
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
  std::optional<MiB> had;  // what programs could use there; empty where unknown
};
/// A running job reports how much memory it holds.
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

// The following events come from a world that is older than this engine, or in which commands can
// fail.

/// The job has been running since before this engine was made: on an instance of ours that the
/// fleet shows as idle or, without a placement, on a whole GPU with MIG off, on which the fleet
/// shows nothing. Jobs that share an instance come one after the other. Sent before the first
/// Submitted and the first settle.
struct Adopted {
  JobId job;
  RequestId request;
  GpuId gpu;
  std::optional<PlacementId> placement;
};
/// The job leaves the queue and will not run. Ignored for a job that is not waiting: the engine's
/// driver stops a running job itself, and then sends Finished.
struct Cancelled {
  JobId job;
};
/// The device refused to make this instance or, without a placement, to switch MIG off. Jobs that
/// were to start there wait again. Sent when the other commands of the answer have been carried out
/// as far as they can be without it, unless one of them was to destroy it again.
struct CreateFailed {
  GpuId gpu;
  std::optional<PlacementId> placement;
};
/// An instance of ours is gone, and no command of the engine destroyed it. Jobs that ran on it wait
/// again.
struct InstanceVanished {
  GpuId gpu;
  PlacementId placement;
};
/// The GPU takes no new work and its instances stay; running jobs continue. Draining a GPU twice is
/// the same as once.
struct GpuDrained {
  GpuId gpu;
};
/// The GPU takes work again.
struct GpuUndrained {
  GpuId gpu;
};
/// A running lease has done no GPU work for so long that it would do with `enough`.
struct LeaseIdle {
  JobId job;
  RequestId enough;
};
/// It does again.
struct LeaseBusy {
  JobId job;
};
/// All GPUs are drained.
struct Paused {};
/// The end of Paused; GPUs that were drained on their own stay drained.
struct Resumed {};

/// Whatever the engine can be told.
using Event = std::variant<Submitted, Finished, OutOfMemory, MemoryReported, GpuLost, GpuReturned,
                           Woken, Adopted, Cancelled, CreateFailed, InstanceVanished, GpuDrained,
                           GpuUndrained, LeaseIdle, LeaseBusy, Paused, Resumed>;

/// Removes an instance that is idle by then.
struct DestroyInstance {
  GpuId gpu;
  PlacementId placement;
};
/// Makes an instance where nothing is by then.
struct CreateInstance {
  GpuId gpu;
  PlacementId placement;
};
/// Starts a job on an instance that exists and is idle by then.
struct StartJob {
  JobId job;
  GpuId gpu;
  PlacementId placement;
};
/// Starts a job on an instance that it may share with other jobs started this way.
struct StartShared {
  JobId job;
  GpuId gpu;
  PlacementId placement;
  InstanceShare share = {};
};
/// Starts a job on a GPU that is not partitioned (MIG off).
struct StartOnWholeGpu {
  JobId job;
  GpuId gpu;
};
/// Ends the job's process; its work is lost, it waits again, and its instance is free.
struct StopJob {
  JobId job;
  enum class Why {
    room,      // to make room for a new layout
    forecast,  // before it runs out of memory
    gang       // another process of the same job has ended or lost its place
  } why;
};
/// As StopJob, but its work is kept: the next start continues from there.
struct CheckpointJob {
  JobId job;
};
/// Moves a running job to an instance that exists by then: a replica starts there before the old
/// one ends, or, where the job moves by its checkpoint, the old one ends first. The old instance is
/// free when that is done.
struct MigrateJob {
  JobId job;
  GpuId gpu;
  PlacementId placement;
};
/// The job can never run on this fleet. The reason is valid until the next event.
struct RejectJob {
  JobId job;
  std::string_view reason;
};
/// The job has run out of memory, and no larger instance exists.
struct FailJob {
  JobId job;
};
/// The running job is forecast to need more memory than any GPU of the fleet has. It is left to
/// run; said once of each run.
struct WarnOfMemory {
  JobId job;
  MiB peak;  // at least
};
/// Asks for a Woken event at that time.
struct WakeAt {
  Instant time;
};

/// Whatever the engine can answer.
using Command =
    std::variant<DestroyInstance, CreateInstance, StartJob, StartShared, StartOnWholeGpu, StopJob,
                 CheckpointJob, MigrateJob, RejectJob, FailJob, WarnOfMemory, WakeAt>;

}  // namespace cleave
