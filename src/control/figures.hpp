#pragma once
// How the node stands, in numbers, for monitoring: taken in one go from what the loop believes.
// What has happened is in the tallies, which only grow.

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "control/job_record.hpp"
#include "control/node/disk_use.hpp"
#include "control/node/tally.hpp"
#include "model/live_plan.hpp"

namespace cleave {

/// How a GPU stands to new jobs.
enum class GpuStanding : std::uint8_t {
  ready,      // takes jobs
  starting,   // has not been looked at yet
  lost,       // gone, with all that was on it
  hung,       // its driver does not answer
  trouble,    // it cannot be changed now
  unhealthy,  // drained for its health
  drained,    // by an operator
  planned,    // a plan has it for itself
};
inline constexpr std::array<std::string_view, 8> gpu_standing_names = {
    "ready", "starting", "lost", "hung", "trouble", "unhealthy", "drained", "planned"};

/// What an instance is doing.
enum class InstanceStanding : std::uint8_t {
  held,         // a job has it
  idle,         // it is Cleave's, free to be reused or destroyed
  making,       // it is being made
  going,        // it is being destroyed
  stuck,        // it is to go, and a program such as a monitor holds it
  quarantined,  // it is given to nobody, for its health or for processes there
  foreign,      // it is not Cleave's
};
inline constexpr std::array<std::string_view, 7> instance_standing_names = {
    "held", "idle", "making", "going", "stuck", "quarantined", "foreign"};

/// Why a job waits, by class; `cleave show` says it in words.
enum class WaitReason : std::uint8_t {
  store,         // nothing can be written
  scheduler,     // the engine is being made anew, or cannot be made
  dependency,    // other jobs have to end first
  paused,        // the daemon is
  retry,         // it could not be started, or its process is still about to end
  host,          // the host is short of something
  starting,      // it has its place
  impossible,    // no GPU here could run it
  array,         // as many tasks of its array run as may
  user_limit,    // its user has as much as may be
  better_place,  // a better place is expected soon
  turn,          // there is room, but others go first
  room,          // no GPU has room
};
inline constexpr std::array<std::string_view, 13> wait_reason_names = {
    "store",      "scheduler", "dependency", "paused",       "retry", "host", "starting",
    "impossible", "array",     "user-limit", "better-place", "turn",  "room"};

/// What slices of a GPU are for.
enum class SliceUse : std::uint8_t { held, idle, blocked, foreign, free };
inline constexpr std::array<std::string_view, 5> slice_use_names = {"held", "idle", "blocked",
                                                                    "foreign", "free"};

/// An instance that is there, or about to be.
struct InstanceFigures {
  std::string profile;
  InstanceStanding standing{};
  std::optional<std::uint32_t> gpu_instance;  // the driver's number, once it is known
  JobNumber job = 0;                          // that has it, or the first of them; 0: none
};

/// What could be made on a GPU now, idle instances making room.
struct RoomFigures {
  std::string profile;
  std::int64_t by_size = 0;      // instances, if only the amounts of free slices mattered
  std::int64_t by_position = 0;  // starts at which there is room for one
};

/// One GPU.
struct GpuFigures {
  std::uint32_t index = 0;
  std::string uuid, model;
  GpuStanding standing{};
  bool mig = true;
  std::array<std::int64_t, slice_use_names.size()> memory_slices{},
      compute_slices{};  // by SliceUse
  std::vector<InstanceFigures> instances;
  std::vector<RoomFigures> room;  // of each plain profile; nothing where it takes no jobs
  double fragmentation = 0;
  std::optional<double> power_w, energy_j;  // as the driver says; energy since it was loaded
  std::optional<double> utilisation;        // share of the processors, where all jobs were counted
  std::int64_t conditions = 0;              // signs of its health that stand
};

/// All of it.
struct NodeFigures {
  std::vector<GpuFigures> gpus;
  std::array<std::int64_t, job_state_names.size()> jobs{};       // by JobState; not ended
  std::array<std::int64_t, wait_reason_names.size()> waiting{};  // by WaitReason
  std::optional<std::array<std::int64_t, move_phase_names.size()>> plan_moves;  // by MovePhase
  std::vector<DiskRoom> disks;  // of the store, and of jobs' folders
  std::string scheduler;
  bool paused = false, store_writes = true;
  std::int64_t troubles = 0;
  Tally tally;
  TimeCounts decisions{computing_bounds_s}, writes{computing_bounds_s};
  std::int64_t failed_writes = 0;
};

}  // namespace cleave
