#pragma once
// What `adaptive` knows of each job: where it may run and how fast, how much it has done and has
// still to do, what may be done to it. What is known of its times is used; where nothing is, what
// it reports of its progress, and else the tail of the jobs that were seen.

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "engine/adaptive/gpu_plan.hpp"
#include "engine/adaptive/seen_work.hpp"
#include "engine/adaptive/work_ranks.hpp"
#include "engine/queue/job_queue.hpp"
#include "engine/scheduler.hpp"

namespace cleave {

/// The speed of a job by GPU model and profile, of the fastest that it may have; 0: it does not run
/// there.
using RelativeSpeeds = std::vector<std::vector<double>>;

/// A job that was submitted.
struct LedgerJob {
  RequestId request{};
  std::int64_t priority = 0;
  std::vector<PlacementSet> allowed;  // by GPU model
  RelativeSpeeds speed;
  double work_s = 0;                 // all of it at full speed; 0: not known
  bool live = false, stops = false;  // a replica may take over; it can be saved
  std::uint64_t learnt = 0;          // the state of knowledge that speed and work are of

  double done_s = 0;  // at full speed, until `since`
  Instant since{};    // when it goes on, where it runs
  double pace = 0;    // and how fast; 0: it does not run
  bool saved = false;
  bool here = false;                    // it has not ended
  std::size_t among = 0;                // its place among those that are here
  bool sized = true;                    // it may have more than it asks for
  std::uint64_t waits_from = 0;         // how many had started then, less for what it waited before
  std::optional<std::uint64_t> waited;  // how many started while it waited, of one that runs
  bool due = false;                     // it has waited for long: it does not make room again
  bool counted = false;                 // among those that may be stopped or moved
  bool guessed = false;                 // nothing is known of its speeds
  bool cut = false;                     // less is allowed than its request says
  std::vector<Instant> disruptions;     // the last of them
};

/// What is known of all jobs.
class JobLedger {
 public:
  explicit JobLedger(const SchedulerSetup& setup);

  /// It waits, or is adopted, with this request. `sized`: it may have more than it asks for.
  void enter(Waiting job, bool sized = true);
  /// It has waited for so long that it gets what it asks for, and does not make room again.
  void waited_long(JobId job);
  [[nodiscard]] bool knows(JobId job) const { return index(job) < jobs_.size(); }
  [[nodiscard]] LedgerJob& operator[](JobId job) { return jobs_[index(job)]; }
  [[nodiscard]] const LedgerJob& operator[](JobId job) const { return jobs_[index(job)]; }

  /// It runs on this profile, and makes progress from then on.
  void runs(JobId job, std::size_t kind, int profile, Instant from);
  /// It runs no more, and has kept its work or not.
  void stopped(JobId job, bool keeps, Instant now);
  /// It has done all, which says something of others.
  void ended(JobId job, Instant now);
  /// It ran out of memory, and asks for more: others of its application will need as much.
  void outgrew(JobId job, RequestId now_asks);

  /// Seconds at full speed that it has done, and has still to do as far as is known.
  [[nodiscard]] double done(JobId job, Instant now) const;
  [[nodiscard]] double rest(JobId job, Instant now) const;
  /// By what all had to do when look_around was last called.
  [[nodiscard]] WorkWorth worth(JobId job, Instant now) const;
  /// Before a decision. Nothing where few jobs have come or gone since the last time.
  void look_around(Instant now);
  /// Refreshed where more has become known since.
  [[nodiscard]] const RelativeSpeeds& speeds(JobId job);
  [[nodiscard]] double checkpoint_s(JobId job, std::size_t kind) const;
  [[nodiscard]] const SeenWork& seen() const { return seen_; }
  /// The mean work of the jobs of which it is told; 0: of none.
  [[nodiscard]] double mean_told() const { return told_ == 0 ? 0 : told_s_ / told_; }
  /// What it costs to save and to restore a job, on average of those that came.
  [[nodiscard]] double mean_checkpoint_s() const {
    return entered_ == 0 ? in_seconds(setup_.checkpoint) : checkpoints_s_ / entered_;
  }
  /// Whether speeds may be learnt while jobs run.
  [[nodiscard]] bool learns() const { return learns_; }

 private:
  void know(JobId job);
  void learn(JobId job);
  void cut(LedgerJob& job, MiB needed) const;
  [[nodiscard]] double share(std::size_t kind, int profile) const;

  const SchedulerSetup setup_;
  bool learns_;
  std::uint64_t lessons_ = 1;
  std::vector<LedgerJob> jobs_;
  std::vector<JobId> here_;            // those that have not ended
  WorkRanks ranks_;                    // of these
  std::size_t came_or_went_ = 0;       // since they were ranked
  std::map<std::string, MiB> needed_;  // by application
  SeenWork seen_;
  double checkpoints_s_ = 0, entered_ = 0;
  double told_s_ = 0, told_ = 0;  // work of which it was told, and of how many jobs
};

}  // namespace cleave
