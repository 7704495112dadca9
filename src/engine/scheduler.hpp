#pragma once
// A scheduler: events in, commands out, and nothing else - no clock, no file, no thread. The engine
// (engine.hpp) drives it with what the world tells and answers with its commands. One scheduler is
// one file and one row of the table that help, documentation, commands and tests walk.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.hpp"
#include "base/time.hpp"
#include "engine/job_facts.hpp"
#include "model/event.hpp"
#include "model/gpu_reservation.hpp"
#include "model/user_limits.hpp"
#include "placement/fleet.hpp"
#include "placement/request_table.hpp"

namespace cleave {

/// The job runs no more and its instance is free; it waits again, with this request, ahead of all
/// that were submitted after it.
struct Requeued {
  JobId job;
  RequestId request;
};

/// The instance is not there: it was not made, or it vanished. Without a placement, MIG could not
/// be switched off on the GPU. Jobs that the scheduler has on it wait again.
struct InstanceGone {
  GpuId gpu;
  std::optional<PlacementId> placement;
};

/// Until GpuRestored nothing is started on the GPU, and no instance of it is made or destroyed.
/// What runs there may end. Told only of a GPU that is there and not withdrawn; GpuLost may follow,
/// and ends it.
struct GpuWithdrawn {
  GpuId gpu;
};
/// The GPU takes work again; it may hold less than before.
struct GpuRestored {
  GpuId gpu;
};

/// What a scheduler that keeps a queue says of a job that waits, for people.
struct Outlook {
  /// A place that is kept for it.
  struct Kept {
    GpuId gpu{};
    std::optional<PlacementId> placement;  // empty: the whole GPU
    std::optional<Instant> from;           // when it is expected to be free; empty: not known
    std::uint32_t places = 1;              // of a job of several: this is the first of them
  };
  std::optional<Kept> kept;
  bool user_at_limit = false;     // its user has as much running as the queue allows
  std::string user_limit = {};    // then: what that is
  std::string_view order;         // what goes before the order of submission; empty: nothing
  bool waits_for_better = false;  // there is room, but a better place is expected soon
  std::string host = {};  // of what the hosts have too little left for it; empty: of nothing
  std::string_view size;  // why its instance is as large as it is; empty: it asks for that
};

/// All that a scheduler is told.
using SchedulerEvent = std::variant<Submitted, Finished, Requeued, GpuLost, GpuReturned, Woken,
                                    Cancelled, InstanceGone, GpuWithdrawn, GpuRestored>;

/// What every scheduler is to the engine.
class Scheduler {
 public:
  virtual ~Scheduler() = default;

  /// Appends to `commands` what is to be done now. Events come in the order of time; a job is
  /// submitted once. When a GPU is lost, the jobs on it wait again without further notice.
  virtual void on(const SchedulerEvent& event, Instant now, std::vector<Command>& commands) = 0;
  /// A job that runs already (model/event.hpp), from now on as if the scheduler had put it there.
  /// False, with nothing done: the scheduler has no place for such a job in its account. Then the
  /// GPU is withdrawn until the job ends, and the scheduler hears of the job only if it waits
  /// again, by Submitted.
  virtual bool adopt(const Adopted& /*adopted*/, Instant /*now*/,
                     std::vector<Command>& /*commands*/) {
    return false;
  }
  /// All events of this instant have been told; for schedulers that decide over several jobs at
  /// once.
  virtual void settle(Instant /*now*/, std::vector<Command>& /*commands*/) {}

  /// The job ends soon: has the memory fetch what that needs. A simulation knows, and saves time;
  /// no decision depends on it.
  virtual void ends_soon(JobId /*job*/) const {}
  /// The same, a little later, of the GPU that it leaves.
  virtual void frees_soon(GpuId /*gpu*/) const {}
  /// Whether a job with this request could ever start, where some GPU has room for it; asked when a
  /// job comes and before one is stopped for want of memory.
  virtual bool serves(RequestId /*request*/) { return true; }
  /// Whether as many places as the request asks for, where it is for several, can ever be had at a
  /// time; asked where it serves the request.
  virtual bool seats_all(RequestId /*request*/) { return true; }
  /// Whether it needs more than any user may have at a time; asked likewise.
  virtual bool exceeds_limits(RequestId /*request*/) { return false; }
  /// Why it does not serve it, to be read before the next event; empty where there is nothing to
  /// say.
  virtual std::string_view why_not(RequestId /*request*/) { return {}; }
  /// A lease runs that would do with this request, or needs it again: it goes where an instance for
  /// that is free, or stays.
  virtual void resize(JobId /*lease*/, RequestId /*to*/, Instant /*now*/,
                      std::vector<Command>& /*commands*/) {}
  /// Of a job that waits, as of the last time that it looked at its queue.
  [[nodiscard]] virtual Outlook outlook(JobId /*job*/) const { return {}; }
};

class HostRoom;

/// What a scheduler is made from. Everything referred to must outlive it.
struct SchedulerSetup {
  const Fleet& fleet;            // as it is at the beginning
  const RequestTable& requests;  // may grow
  bool use_index = true;  // false: every decision by looking at every GPU; the answers are the same
  const JobFacts* facts = nullptr;  // null: nothing is known
  std::uint64_t seed = 1;           // of errors that an option asks for
  Duration checkpoint =
      std::chrono::seconds{30};  // to write one and to restore it, as far as is known
  bool live = false;             // real jobs run: what only the simulator can do is refused
  bool kinds = false;            // there may be services and leases (model/job_kind.hpp)
  /// GPUs that are set aside beforehand; those of one GPU do not overlap. Only for schedulers that
  /// keep a queue: the others refuse them.
  std::span<const GpuReservation> reservations = {};
  /// What each user may have at a time, beside what options of the queue say. Likewise.
  UserLimits user_limits = {};
  /// Jobs of several places, or of whole GPUs, may come; `facts` know their gangs. Where none does,
  /// decisions are quicker.
  bool gangs = false;
  /// What the hosts of nodes have room for, which the engine sets; null: they are not limited.
  /// What it does not take is not started there, nor moved.
  HostRoom* host = nullptr;
};

/// A scheduler in the table: what help says of it, what it does that others need to know, and how
/// it is made.
struct SchedulerRow {
  std::string_view name;
  std::string_view summary;
  std::string_view source;
  /// How it honours the priority of jobs (JobFacts::priority), in words; empty: it does not.
  std::string_view priority;
  /// No job begins for the first time after one of the same priority that was submitted later, nor
  /// after one of lower priority that waited with it, unless options of its queue say otherwise.
  bool fcfs = false;
  /// It stops jobs and starts them elsewhere (StopJob for room, CheckpointJob), whether they say
  /// that they may be restarted or not. Where that matters, it is only used with jobs that do.
  bool interrupts = false;
  /// It makes instances before any job asks for them; one that is taken from it is made again.
  bool furnishes = false;
  /// It puts jobs on whole GPUs, with MIG off.
  bool whole_gpus = false;
  /// It gives a job the profile that the job names, and chooses none itself: where a submission
  /// leaves the size to the daemon, measurements may name one.
  bool by_profile = false;
  /// It takes services and leases too, not only batches.
  bool kinds = false;
  /// It takes jobs of several places (Request::places) and of whole GPUs. The engine turns them
  /// away from the others.
  bool several = false;
  /// It is there to show what true times would be worth: simulations tell it no predicted ones.
  bool truth = false;
  std::span<const OptionRow> options;
  /// `options` are complete and their values checked as far as the rows can.
  Result<std::unique_ptr<Scheduler>> (*make)(const SchedulerSetup& setup,
                                             const OptionTexts& options);
};

std::span<const SchedulerRow> schedulers();

/// A scheduler as the user wrote it: NAME[:key=value[;key=value]...].
struct SchedulerSpec {
  const SchedulerRow* row;
  OptionTexts options;  // complete
  std::string text;     // as written
};

/// Whether it keeps a queue with the options of queue/queue_rules.hpp.
[[nodiscard]] bool has_queue_options(const SchedulerRow& row);

/// Whether the row's promise of `fcfs` holds with these options.
[[nodiscard]] bool keeps_order(const SchedulerSpec& spec);

[[nodiscard]] Result<SchedulerSpec> parse_scheduler(std::string_view spec);
/// Several, separated by commas; names the same spec only once.
[[nodiscard]] Result<std::vector<SchedulerSpec>> parse_schedulers(std::string_view specs);

[[nodiscard]] Result<std::unique_ptr<Scheduler>> make_scheduler(const SchedulerSpec& spec,
                                                                const SchedulerSetup& setup);

}  // namespace cleave
