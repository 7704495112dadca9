#pragma once
// The one engine: it is told what happens and answers what is to be done. The daemon feeds it real
// events and carries its commands out on real GPUs; the simulator feeds it invented ones. Behind it
// stands one scheduler; the engine itself knows what all schedulers share, what a job's memory has
// taught:
//
//   - a job that ran out of memory waits again for the next larger instance (*Managing Multi
//   Instance GPUs*,
//     4.3; reading M17), and fails where there is none;
//   - a job for which no GPU will ever have room beside walls and the fleet's own work, or for
//   which the scheduler
//     will never have an instance, is turned away at once;
//   - a job whose forecast peak is beyond its instance is stopped early and waits for the smallest
//   instance
//     that holds the peak; where no instance would hold it, it is left to run, and the answer says
//     so once where no GPU has as much.
//
// It also knows why a GPU takes no work: the GPU is lost, drained or paused, has just refused to
// make an instance, or runs a job that the scheduler has no place for. A scheduler hears only that
// a GPU is withdrawn or is back. How long one rests after a refusal is kept in Refusals
// (refusals.hpp), which may outlive the engine.
//
// The processes of a gang (JobFacts::gang) begin and end together. The driver submits the leader,
// and tells of its end once, when all have ended. A scheduler starts all in one answer; each has
// its own number and place. When one of them loses its place, runs out of memory or is stopped, the
// engine stops the others, and the leader waits again; as it does when an engine that is made anew
// hears of a part of them only. A scheduler that does not take them never hears of them.
//
// An engine may be made at any moment, of any scheduler, while work runs: after a crash, or when
// another scheduler is to decide. Its fleet is what is there, with each instance of ours as idle
// even if a job runs on it. First it is told, in any order: GpuLost of those that are gone (which
// the fleet shows as empty), GpuDrained and Paused, and Adopted of each running job; then Submitted
// of each waiting one, by priority and then in the order of their numbers, with the request that
// request_of() had for it: some schedulers start a job as soon as they hear of it. Jobs keep their
// numbers, and their priorities, which JobFacts say. Anything that goes otherwise than commanded,
// and that no event tells, is told in this way too: a job that could not be moved because its new
// instance was not made, an instance that could not be destroyed, one that others made.
//
// Of an array that may run only so many jobs at a time (ArrayFacts) the scheduler hears of no more;
// the others wait in the engine (array_gate.hpp).
//
// A forecaster keeps what it has heard of a job. A new one knows nothing of adopted jobs; their
// reports may be told again, oldest first, after Adopted. An instance is adopted as it is. What a
// scheduler knows besides - which class a GPU serves, which jobs were measured, when one began - is
// lost unless the scheduler's header says otherwise.

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/array_gate.hpp"
#include "engine/gangs.hpp"
#include "engine/host_room.hpp"
#include "engine/refusals.hpp"
#include "engine/scheduler.hpp"
#include "forecast/memory/forecaster.hpp"

namespace cleave {

/// A scheduler and what all schedulers share: memory that ran out, forecasts, GPUs out of service.
class Engine {
 public:
  /// `requests` is the table that `setup` refers to: it grows as jobs turn out to need more.
  /// `forecaster` may be null and must outlive the engine. As must `refusals`, which says what GPUs
  /// rest from the beginning and is told of each CreateFailed; with null the engine has its own.
  /// `arrays` likewise, where jobs may be of arrays.
  [[nodiscard]] static Result<Engine> make(const SchedulerSpec& spec, const SchedulerSetup& setup,
                                           RequestTable& requests, Forecaster* forecaster,
                                           Refusals* refusals = nullptr,
                                           const ArrayFacts* arrays = nullptr);

  /// Appends to `commands`, as Scheduler::on.
  void on(const Event& event, Instant now, std::vector<Command>& commands);
  /// The job ends soon, on this GPU: see Scheduler.
  void ends_soon(JobId job) const { scheduler_->ends_soon(job); }
  void frees_soon(GpuId gpu) const { scheduler_->frees_soon(gpu); }
  void settle(Instant now, std::vector<Command>& commands) {
    const std::size_t before = commands.size();
    if (host_) host_->follow(commands);
    if (!begun_) begin(now, commands);
    if (gangs_ && !settled_) stop_incomplete(now, commands);
    scheduler_->settle(now, commands);
    if (gangs_) note_starts(std::span(commands).subspan(before));
    if (forecaster_ != nullptr) forget_restarted(std::span(commands).subspan(before));
    if (host_) host_->unfollow();
  }

  /// What the job asks for now: what it was submitted with, or more, when it has turned out to need
  /// more. Of a job that was submitted or adopted.
  [[nodiscard]] RequestId request_of(JobId job) const { return request_of_[index(job)]; }
  /// Whether the job, which waits, is kept back because as many of its array run, or go before it,
  /// as may run at a time.
  [[nodiscard]] bool array_is_full(JobId job) const {
    return !arrays_.idle() && arrays_.holds(job);
  }
  [[nodiscard]] Outlook outlook(JobId job) const {
    if (array_is_full(job)) return {};
    Outlook outlook = scheduler_->outlook(job);
    if (host_) outlook.host = host_->why_waits(request_of(job), whole_gpus_);
    return outlook;
  }

 private:
  Engine(const SchedulerSpec& spec, std::unique_ptr<Scheduler> scheduler,
         const SchedulerSetup& setup, std::unique_ptr<HostRoom> host, RequestTable& requests,
         Forecaster* forecaster, Refusals* refusals, const ArrayFacts* arrays);

  /// Whether a GPU takes work, and what the scheduler was told.
  struct Service {
    /// What the scheduler was told last.
    enum class Told : std::uint8_t { serves, withdrawn, lost } told = Told::serves;
    bool lost = false, drained = false, rests = false;
    std::uint32_t guests = 0;
  };

  // Gangs (engine_gangs.cpp).

  /// Whether the job is a process of a gang.
  [[nodiscard]] bool of_gang(JobId job) const {
    return gangs_ && (*requests_)[request_of(job)].request.places > 1;
  }
  /// Processes that begin with these commands.
  void note_starts(std::span<const Command> commands);
  /// The gang runs no more: what is left of it is stopped. `gone` says which processes have ended
  /// already, as the scheduler knows; `ended` has too, and the scheduler does not.
  using IsGone = std::function<bool(const RunningGangs::Process&)>;
  void stop_gang(JobId leader, const IsGone& gone, std::optional<JobId> ended, Instant now,
                 std::vector<Command>& commands);
  /// These have lost some of their processes, and wait again.
  void disband(const std::vector<JobId>& leaders, const IsGone& gone, Instant now,
               std::vector<Command>& commands);
  void on_gang_out_of_memory(const OutOfMemory& died, Instant now, std::vector<Command>& commands);
  /// The process has ended; all wait again, with this request.
  void restart_gang(JobId process, RequestId request, Instant now, std::vector<Command>& commands);
  /// Those of which only a part was adopted.
  void stop_incomplete(Instant now, std::vector<Command>& commands);

  /// Whether it has a place as soon as any GPU has: it asks for one, and nothing of its host.
  [[nodiscard]] bool seats_alone(const Request& request) const {
    return request.places == 1 && (!host_ || request.host.empty());
  }
  /// Whether the host of a node with a GPU for it could ever hold it.
  [[nodiscard]] bool hosted(RequestId request) const;
  /// Whether some GPU has, or may get, a place for the request, and the scheduler would use it.
  [[nodiscard]] bool servable(RequestId request) const;
  [[nodiscard]] std::string_view why_not_servable(RequestId request);
  void tell(const Event& event, Instant now, std::vector<Command>& commands);
  void on_submitted(const Submitted& submitted, Instant now, std::vector<Command>& commands);
  void on_out_of_memory(const OutOfMemory& died, Instant now, std::vector<Command>& commands);
  void on_report(const MemoryReported& reported, Instant now, std::vector<Command>& commands);
  void on_adopted(const Adopted& adopted, Instant now, std::vector<Command>& commands);
  /// The job, or a process of a gang, has left its place.
  void release(JobId job, Instant now, std::vector<Command>& commands);
  void on_finished(JobId job, Instant now, std::vector<Command>& commands);
  void on_cancelled(JobId job, Instant now, std::vector<Command>& commands);
  /// The job, of several the leader, is over: the next of its array may go.
  void leave_array(JobId job, Instant now, std::vector<Command>& commands);
  void on_lost(GpuId gpu, Instant now, std::vector<Command>& commands);
  void on_returned(GpuId gpu, Instant now, std::vector<Command>& commands);
  void on_woken(Instant now, std::vector<Command>& commands);
  /// The lease runs; without `to` it needs what it asked for.
  void resize(JobId lease, std::optional<RequestId> to, Instant now,
              std::vector<Command>& commands);
  void on_gone(const InstanceGone& gone, Instant now, std::vector<Command>& commands);
  /// GPUs that rest already are withdrawn.
  void begin(Instant now, std::vector<Command>& commands);
  /// After a refusal the GPU takes no work until then.
  void rest(GpuId gpu, Instant until, Instant now, std::vector<Command>& commands);
  /// Tells the scheduler whether the GPU takes work, if that is news.
  void see_to(GpuId gpu, Instant now, std::vector<Command>& commands);
  void see_to_all(Instant now, std::vector<Command>& commands);
  void set_request(JobId job, RequestId request);
  /// The job, which ran, waits again.
  void requeue(JobId job, RequestId request, Instant now, std::vector<Command>& commands);
  /// The guests of a GPU, all or those on one instance, wait again.
  void requeue_guests(GpuId gpu, std::optional<PlacementId> placement, Instant now,
                      std::vector<Command>& commands);
  /// Begins to wait, unless it can never run.
  void enqueue(JobId job, RequestId request, Instant now, std::vector<Command>& commands);
  /// The job's request when its instance must hold so much; nullopt when there will never be one.
  std::optional<RequestId> raised(JobId job, MiB at_least);
  /// Says once of each run that no GPU has so much.
  void warn(JobId job, MiB peak, std::vector<Command>& commands);
  void forget(JobId job);
  /// Jobs that start over have not reported yet.
  void forget_restarted(std::span<const Command> commands);

  std::unique_ptr<Scheduler> scheduler_;
  RequestTable* requests_;
  const JobFacts* facts_;
  Forecaster* forecaster_;
  std::vector<PlacementSet>
      room_;  // by GPU model: what fits beside walls and the fleet's own work somewhere
  std::vector<PlacementSet> room_of_gpu_;   // the same by GPU, where hosts are limited
  std::vector<PlacementSet> whole_;         // by GPU model: every placement
  std::vector<std::uint16_t> kinds_;        // by GPU
  std::vector<RequestId> request_of_;       // by job
  std::vector<Service> service_;            // by GPU
  std::unique_ptr<Refusals> own_refusals_;  // where none were given
  Refusals* refusals_;
  std::string kinds_refused_;                  // why no service or lease is taken; empty: they are
  bool whole_gpus_ = false;                    // the scheduler gives nothing else
  bool gangs_ = false;                         // jobs of several places may come
  std::string several_refused_;                // why they are not taken; empty: they are
  std::map<RequestId, std::string> too_many_;  // why: the fleet, or a host, never has as many
  std::unique_ptr<HostRoom> host_;             // empty: hosts are not limited
  ArrayGate arrays_;
  RunningGangs running_gangs_;
  bool settled_ = false;
  bool begun_ = false;  // anything was told
  bool paused_ = false;
  std::map<JobId, Adopted> guests_;  // jobs that run without the scheduler's knowing, and where
  std::set<std::pair<Instant, GpuId>> resting_;  // until when
  std::set<JobId> saved_;                        // checkpointed, and not started since
  std::optional<MiB> most_memory_;               // of one instance of any GPU; empty: unknown
  std::set<JobId> warned_;                       // of their memory, in this run
};

}  // namespace cleave
