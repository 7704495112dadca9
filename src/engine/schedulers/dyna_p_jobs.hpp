#pragma once
// The jobs of `dyna-p`: those that wait, for each GPU model and priority in a window, each with the
// partition that it is to have; and what is predicted of those that run.

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "engine/queue/job_queue.hpp"
#include "engine/schedulers/dyna_p_options.hpp"
#include "engine/schedulers/job_window.hpp"

namespace cleave {

/// What `dyna-p` knows of its jobs.
class DynaPJobs {
 public:
  /// What is kept of a job.
  struct Job {
    RequestId request{};
    std::vector<PartitionPlan> plans;  // by kind; of jobs that were in a window
    QueueRank rank;
    std::int64_t priority = 0;
    bool waits = false;
    Instant since{};              // it runs since
    std::optional<Duration> jct;  // its whole time where it runs, as predicted
  };

  DynaPJobs(const SchedulerSetup& setup, const DynaPOptions& options);
  DynaPJobs(const DynaPJobs&) = delete;  // windows call back
  DynaPJobs& operator=(const DynaPJobs&) = delete;

  [[nodiscard]] const Job& operator[](JobId job) const { return jobs_[index(job)]; }
  [[nodiscard]] bool known(JobId job) const { return index(job) < jobs_.size(); }
  [[nodiscard]] const PartitionPlan& plan(JobId job, std::size_t kind) const {
    return jobs_[index(job)].plans[kind];
  }
  /// When a running job ends, by its reports or as predicted when it began; nullopt where that is
  /// unknown.
  [[nodiscard]] std::optional<Instant> end(JobId job) const;
  [[nodiscard]] const PartitionChooser& chooser() const { return chooser_; }
  /// As it was when plans were last made again.
  [[nodiscard]] const SliceDemand& demand() const { return demand_; }

  /// The job has come.
  void arrive(Waiting job, Instant now);
  /// The job waits from now on.
  void wait(Waiting job, Instant now);
  /// It waits no more, if it did.
  void take(JobId job, Instant now);
  /// It runs on this profile, and has since then; it must not wait.
  void run(JobId job, RequestId request, std::size_t kind, int profile, Instant since);
  /// It starts now on this profile, from the queue or once more.
  void start(JobId job, std::size_t kind, int profile, Instant now);

  /// The placements for which some GPU of this model has room beside what never leaves.
  void has_room_for(std::size_t kind, PlacementSet placements) {
    chooser_.has_room_for(kind, placements);
  }
  /// Plans are made again: of jobs that would be late by now on the partition that they were given
  /// (Algorithm 2, lines 3 to 7), and of all if the demand has changed by a fourth. So a demand
  /// that moves a little makes no work, and jobs that are planned together are planned alike.
  void plan_again(Instant now);
  /// The same with what slices cost: `empty` of `gpus` hold no work.
  void plan_again(Instant now, std::size_t empty, std::size_t gpus);

  // Those that wait, by priority. Jobs of one priority are served when all of the next higher one
  // have been considered.

  [[nodiscard]] bool waits(std::int64_t priority) const { return waiting_.contains(priority); }
  [[nodiscard]] std::vector<std::int64_t> priorities() const;
  [[nodiscard]] bool all_considered(std::int64_t priority) const;
  /// The job that waits longest of the highest priority of which enough later ones have started
  /// before it.
  [[nodiscard]] std::optional<JobId> due() const;
  /// Null where none of this priority runs on the GPU model.
  [[nodiscard]] const JobWindow* window(std::size_t kind, std::int64_t priority) const;

 private:
  struct Kind {
    int profiles = 0, widest = 0;
    std::size_t window = 0;
    std::map<std::int64_t, JobWindow> windows;  // by priority
  };
  /// Those of one priority that wait.
  struct Line {
    std::set<JobId> jobs;
    std::size_t overtaken = 0;  // starts since the first of them has been the first
  };
  void overtake(std::int64_t priority);
  void first_changed(std::int64_t priority);
  Job& keep(JobId job, RequestId request);
  JobWindow& window_for(std::size_t kind, std::int64_t priority);
  QueuedJob planned(std::size_t kind, JobId job);
  template <class Do>
  void for_each_window(JobId job, Do&& act);

  const JobFacts* facts_;
  bool by_deadline_;
  PartitionChooser chooser_;
  std::vector<Kind> kinds_;
  std::vector<Job> jobs_;
  std::map<std::int64_t, Line, std::greater<>> waiting_;  // by priority
  std::size_t all_waiting_ = 0;
  std::size_t overtakes_ = 0;                   // that the first of a line bears
  std::set<std::int64_t, std::greater<>> due_;  // priorities whose first has borne them
  std::set<std::pair<Instant, JobId>>
      expiries_;  // of plans; those of jobs that have another by now make work and no difference
  Instant now_{};
  std::deque<Instant> arrivals_;  // the last ones
  SliceDemand demand_;
};

}  // namespace cleave
