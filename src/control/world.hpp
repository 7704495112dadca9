#pragma once
// The node as the loop knows it: what each GPU has, what is still to be done there, and the jobs
// that are not over. Plain state; what changes it is in inside.hpp.

#include <algorithm>
#include <compare>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "control/gpu_executor.hpp"
#include "control/job_record.hpp"
#include "model/event.hpp"
#include "model/geometry.hpp"
#include "model/ids.hpp"
#include "runner/reports/report_series.hpp"

namespace cleave {

/// Where a job is: on an instance, or on a whole GPU with MIG off.
struct JobPlace {
  GpuId gpu{};
  std::optional<PlacementId> placement;
  friend auto operator<=>(const JobPlace&, const JobPlace&) = default;
};

/// An instance of ours, or the place of one that is being made.
struct ManagedInstance {
  enum class State : std::uint8_t { making, ready, going };
  State state = State::ready;
  std::string device;  // once it is there
  std::optional<MiB> capacity;
  Duration idle_since{};  // on the steady clock; only where no job is
};

/// What the engine wants done on a GPU and is not begun yet; in the order of its commands.
struct GpuStep {
  enum class Kind : std::uint8_t { destroy, create, start, share, start_whole, replica };
  Kind kind{};
  PlacementId placement = 0;
  JobNumber job = 0;
};

/// What the executor was asked for and has not answered.
struct AskedOperation {
  GpuOperation operation;
  std::optional<PlacementId> placement;  // whose slot it is about
  Duration since = Duration::max();      // it was sent; not before the store has what led to it
};

struct ManagedGpu {
  const GpuIdentity* identity = nullptr;
  std::optional<GpuObservation> observation;
  bool drained = false, lost = false;
  bool hung = false;    // the driver has not answered for too long
  std::string trouble;  // why it cannot be used, or what went wrong last
  std::map<PlacementId, ManagedInstance> slots;
  PlacementSet walls;  // instances that are not ours
  std::deque<GpuStep> steps;
  std::map<std::uint64_t, AskedOperation> asked;
  Duration next_look{};
  Duration rests_until{}, rest{};  // after something was refused
  Duration heard_at{};             // when the executor last answered
  std::uint64_t shown = 0;         // the last operation whose answer came with an observation of it

  /// When the driver has kept one operation waiting for too long.
  [[nodiscard]] Duration answer_due(Duration patience) const {
    Duration oldest = Duration::max();
    for (const auto& [number, operation] : asked) oldest = std::min(oldest, operation.since);
    return oldest == Duration::max() ? oldest : std::max(oldest, heard_at) + patience;
  }

  [[nodiscard]] const Geometry& geometry() const { return identity->geometry->geometry(); }
};

/// A run of a job that is not over.
struct LiveAttempt {
  AttemptRecord record;
  JobPlace place;
  std::optional<MiB> capacity;
  ReportSeries reports;
  std::optional<MiB> last_reported;  // as allocated
  std::optional<MiB> seen;           // the most that the driver showed in its instance
  bool beyond = false;               // it asked for more than there is, by its last report
  std::optional<Duration> stop_at;   // TERM follows then, after a checkpoint signal
  bool placed = true;                // false: found at the beginning, and its instance not yet
};

struct LiveJob {
  JobRecord record;
  std::optional<JobId> id;  // with the engine, which has it waiting or placed
  /// Where the engine has it, whether its process runs there yet or not; empty: it waits.
  std::optional<JobPlace> place;
  std::map<std::int64_t, LiveAttempt> attempts;  // not over, by number
  std::optional<std::int64_t> main;     // the attempt that counts; another may be on its way out
  std::optional<std::int64_t> replica;  // the attempt that is to take over from it
  std::optional<int> last_code;         // with which it ran out of memory
  std::string never;                    // why the engine there is will not run it; empty: it may
  std::int64_t not_started = 0;         // in a row
  std::optional<Duration> not_before;   // it is not put into the line before that
};

}  // namespace cleave
