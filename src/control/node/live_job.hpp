#pragma once
// A job that has not ended, with its running attempts, as the loop knows it. Plain values;
// verdicts/ reads them, loop/ changes them.

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "control/job_record.hpp"
#include "control/node/busy_count.hpp"
#include "control/node/gpu_conditions.hpp"
#include "control/node/idle_time.hpp"
#include "control/node/measured_applications.hpp"
#include "control/node/reported_progress.hpp"
#include "control/node/verdict.hpp"
#include "model/geometry.hpp"
#include "model/ids.hpp"
#include "model/job.hpp"
#include "runner/reports/report_series.hpp"

namespace cleave {

/// Where a job is: on an instance, or on a whole GPU with MIG off.
struct JobPlace {
  GpuId gpu{};
  std::optional<PlacementId> placement;
  friend auto operator<=>(const JobPlace&, const JobPlace&) = default;
};

/// A run of a job that has not ended.
struct LiveAttempt {
  AttemptRecord record;
  JobPlace place;
  std::optional<MiB> capacity;
  ReportSeries reports;
  ReportedProgress progress;
  std::optional<MiB> last_reported;  // as held
  std::optional<MiB> seen;           // the most that the driver showed in its instance
  BusyCount busy;                    // of its instance or GPU; of several there, at the first
  std::optional<double> activity;    // of the processors there, as last counted: 0 to 1
  IdleTime idle;                     // of a lease
  bool beyond = false;               // its last report asked for more than the instance has
  std::optional<Duration> stop_at;   // TERM follows then, after a checkpoint signal
  std::optional<Duration> grace;     // from TERM to KILL, where it is not the job's own
  std::optional<Duration> time_up;   // on the steady clock: its job has run for as long as it may
  std::optional<Duration> gone_by;   // on the steady clock: it was told to end, and KILL has come
  bool placed = true;                // false: found at startup, and its instance not yet
  bool watched = false;              // by this loop, since it was started
  std::optional<EndedProcess> over;  // of several: it is closed when the others have ended too
  bool shared = false;               // another attempt was in its place, as far as was watched
  std::optional<GpuBlame> blame;     // something happened to its GPU
  /// Why its checkpoint command did not succeed, in words: it is not moved any more.
  std::optional<std::string> unsaved;
};

/// A job that has not ended, or one that has and of which a process is still about to. Each
/// process of a job of several is one; what concerns the job as a whole is that of the first.
struct LiveJob {
  JobRecord record;
  std::optional<JobId> id;  // in the engine, which has it waiting or placed
  /// Where the engine has it, whether its process runs there yet or not; empty: it waits.
  std::optional<JobPlace> place;
  /// An instance that it is given although the engine would cut it up, since somebody holds it;
  /// until it begins there, or may not any more.
  std::optional<JobPlace> given;
  std::map<std::int64_t, LiveAttempt> attempts;  // not ended, by number
  std::optional<std::int64_t> main;     // the attempt that counts; another may be on its way out
  std::optional<std::int64_t> replica;  // the attempt that is to take over from it
  std::optional<int> last_code;         // with which it ran out of memory
  std::optional<std::string> rejected;  // why the current engine will not run it
  /// 1 / seconds of all its work by the pace that its attempts reported, by MODEL:PROFILE.
  SpeedTable reported;
  /// Of its application; null where it says none. Follows what is learnt.
  std::shared_ptr<const MeasuredTimes> measured;
  double done = 0;                // the share of its work that was reported last
  std::int64_t not_started = 0;   // failed starts in a row
  std::int64_t short_starts = 0;  // those in a row for which the host was short of something
  std::int64_t quick_ends = 0;    // in a row, each soon after its start, after which it runs again
  std::vector<JobFault> faults;   // of the last day, oldest first
  int meeting_port = 0;           // of several: the one that they were given; 0: none yet
  std::optional<JobVerdict> run_end;   // of several: why this run of them ends
  std::optional<Duration> not_before;  // it does not enter the queue before that
  std::vector<Dependency> awaits;      // it does not enter the queue before they are met
  bool planned = false;                // a plan moves it: the scheduler does not
  bool on_its_way = false;             // the plan has ended its process, and starts it elsewhere
  std::string last_gpu;                // of its latest attempt that has ended: the UUID
};

}  // namespace cleave
