#pragma once
// The one engine: it is told what happens and answers what is to be done. The daemon feeds it real events and
// carries its commands out on real GPUs; the simulator feeds it invented ones. Behind it stands one
// scheduler; the engine itself knows what all schedulers share, what a job's memory has taught:
//
//   - a job that ran out of memory waits again for the next larger instance (*Managing Multi Instance GPUs*,
//     4.3; reading M17), and fails where there is none;
//   - a job for which no GPU will ever have room beside walls and the fleet's own work, or for which the
//   scheduler
//     will never have an instance, is turned away at once;
//   - a job whose forecast peak is beyond its instance is stopped early and waits for the smallest instance
//     that holds the peak; where no instance would hold it, it is left to run.

#include <memory>
#include <set>
#include <span>
#include <vector>

#include "engine/scheduler.hpp"
#include "forecast/forecaster.hpp"

namespace cleave {

class Engine {
 public:
  /// `requests` is the table that `setup` refers to: it grows as jobs turn out to need more. `forecaster` may
  /// be null and must outlive the engine.
  [[nodiscard]] static Result<Engine> make(const SchedulerSpec& spec, const SchedulerSetup& setup,
                                           RequestTable& requests, Forecaster* forecaster);

  /// Appends to `commands`, as Scheduler::on.
  void on(const Event& event, Instant now, std::vector<Command>& commands);
  void settle(Instant now, std::vector<Command>& commands) {
    const std::size_t before = commands.size();
    scheduler_->settle(now, commands);
    if (forecaster_ != nullptr) forget_restarted(std::span(commands).subspan(before));
  }

  /// As Scheduler::expect.
  void expect(JobId job) const { scheduler_->expect(job); }

 private:
  Engine(std::unique_ptr<Scheduler> scheduler, const SchedulerSetup& setup, RequestTable& requests,
         Forecaster* forecaster);

  /// Whether some GPU has, or may get, a place for the request, and the scheduler would use it.
  [[nodiscard]] bool servable(RequestId request) const;
  void tell(const Event& event, Instant now, std::vector<Command>& commands);
  void on_submitted(const Submitted& submitted, Instant now, std::vector<Command>& commands);
  void on_out_of_memory(const OutOfMemory& died, Instant now, std::vector<Command>& commands);
  void on_report(const MemoryReported& reported, Instant now, std::vector<Command>& commands);
  /// The job's request when its instance must hold so much; nullopt when there will never be one.
  std::optional<RequestId> raised(JobId job, MiB at_least);
  void forget(JobId job);
  /// Jobs that begin anew have not reported yet.
  void forget_restarted(std::span<const Command> commands);

  std::unique_ptr<Scheduler> scheduler_;
  RequestTable* requests_;
  const JobFacts* facts_;
  Forecaster* forecaster_;
  std::vector<PlacementSet> room_;  // by GPU model: what fits beside walls and the fleet's own work somewhere
  std::vector<PlacementSet> whole_;    // by GPU model: every placement
  std::vector<std::uint16_t> kinds_;   // by GPU
  std::vector<RequestId> request_of_;  // by job
  std::set<JobId> saved_;              // checkpointed, and not started since
};

}  // namespace cleave
