#pragma once
// What runs on each GPU of a simulation, and how fast each job is there: by itself, and beside the
// others, with which it shares the link, the power and perhaps its instance. A change on one GPU is
// worked out from the jobs on that GPU alone. A job of several places is here once with each of its
// processes, by their numbers.

#include <cstdint>
#include <span>
#include <vector>

#include "simulate/job_run.hpp"
#include "simulate/processes.hpp"
#include "simulate/short_list.hpp"
#include "simulate/speeds.hpp"
#include "simulate/world.hpp"

namespace cleave {

/// The rates of all jobs of one run.
class Rates {
 public:
  /// All must outlive it.
  Rates(const Workload& workload, const Processes& processes, const Fleet& fleet,
        const WorldTerms& terms, const World& world);

  /// What each job would reach on each profile.
  [[nodiscard]] const Speeds& table() const { return speeds_; }
  [[nodiscard]] bool has_power() const { return !bounds_.empty(); }
  /// Of the GPU when nothing runs; zero where power is left out.
  [[nodiscard]] Milliwatts idle_power(GpuId gpu) const {
    return has_power() ? bounds_[(*world_)[gpu].kind].idle : Milliwatts{};
  }

  /// The speed while it has the GPU to itself, and all of the instance if it shares one.
  [[nodiscard]] Speed alone(JobId job, const JobRun& run) const {
    return speeds_.on(job_of(job), (*world_)[run.gpu].kind, column_of(run));
  }
  /// What it draws then.
  [[nodiscard]] Milliwatts asked(JobId job, const JobRun& run) const {
    if (!has_power()) return {};
    return speeds_.power_on(job_of(job), (*world_)[run.gpu].kind, column_of(run));
  }

  /// The job runs on the run's GPU now, or will; each joins once and leaves once. What it asks for
  /// is returned.
  Milliwatts join(JobId job, const JobRun& run) {
    Shared& gpu = gpus_[index(run.gpu)];
    gpu.jobs.push_back(job);
    if (speeds_.transfers(job_of(job))) {
      ++gpu.transferring;
      gpu.link += link_alone(job, run);
    }
    const Milliwatts asks = asked(job, run);
    gpu.asked += asks;
    return asks;
  }
  void leave(JobId job, const JobRun& run) {
    Shared& gpu = gpus_[index(run.gpu)];
    gpu.jobs.erase(job);
    if (speeds_.transfers(job_of(job))) {
      --gpu.transferring;
      gpu.link -= link_alone(job, run);
    }
    gpu.asked -= asked(job, run);
  }
  /// The GPU is lost; all have left it.
  void forget(GpuId gpu) { gpus_[index(gpu)] = {}; }
  [[nodiscard]] std::span<const JobId> jobs_on(GpuId gpu) const {
    return gpus_[index(gpu)].jobs.all();
  }

  /// The mean share of the link that the job uses while nothing slows it.
  [[nodiscard]] double link_share_alone(JobId job, const JobRun& run) const {
    return speeds_.transfers(job_of(job))
               ? static_cast<double>(link_alone(job, run)) / Speeds::whole_link
               : 0;
  }

  /// Whether jobs there may slow each other down, or did when it was last looked at.
  [[nodiscard]] bool are_coupled(GpuId gpu) const {
    return gpus_[index(gpu)].was_coupled || may_slow(gpu);
  }

  /// A job's speed, power and mean share of the link from now on.
  struct Rate {
    JobId job;
    double speed;
    double link;
    Milliwatts power;
    bool begins_later;  // it makes no progress yet; all is as it would be by itself
  };
  /// Of all jobs on the GPU, beside each other. Good until the next call.
  std::span<const Rate> rates_on(GpuId gpu, Instant now, const JobRuns& runs);

  /// The GPU changes soon: has the memory fetch what that needs.
  void expect(GpuId gpu) const { __builtin_prefetch(&gpus_[index(gpu)], 1); }

 private:
  /// The jobs on one GPU, running or about to, and what they share there; one cache line.
  struct alignas(64) Shared {
    ShortList<JobId, 3> jobs;
    std::uint32_t transferring = 0;  // jobs that use the link
    std::uint32_t link = 0;          // what they use of it while nothing slows them
    bool was_coupled = false;        // jobs might slow each other when it was last looked at
    Milliwatts asked;                // by all of them, while nothing slows them
  };
  static_assert(sizeof(Shared) == 64);

  [[nodiscard]] const Job& job_of(JobId process) const {
    return workload_->jobs[index(processes_->job_of(process))];
  }
  /// Its column in the table of speeds.
  [[nodiscard]] std::size_t column_of(const JobRun& run) const {
    if (run.mode == RunMode::whole) return Speeds::whole_gpu;
    return static_cast<std::size_t>(
        world_->graph((*world_)[run.gpu]).geometry()[run.placement].profile_index);
  }
  /// The rate of a job that nothing slows.
  [[nodiscard]] Rate rate_apart(JobId job, const JobRun& run, bool begins_later) const;
  std::span<const Rate> rates_apart(GpuId gpu, Instant now, const JobRuns& runs);
  /// Its load, which shares an instance.
  void share(const JobRun& run, SharedLoad& load) const;
  /// Whether jobs there may slow each other: by the link, by the cap or in one instance.
  [[nodiscard]] bool may_slow(GpuId gpu) const {
    const Shared& use = gpus_[index(gpu)];
    if ((*world_)[gpu].sharers > 0) return true;
    // Where transfers never coincide, the link slows nobody while it has room for all.
    if (use.transferring > 1 && (coincide_ || use.link > Speeds::whole_link)) return true;
    return has_power() && use.asked > room(gpu);
  }
  [[nodiscard]] std::uint32_t link_alone(JobId job, const JobRun& run) const {
    return speeds_.link_on(job_of(job), (*world_)[run.gpu].kind, column_of(run));
  }
  /// What jobs may draw there.
  [[nodiscard]] Milliwatts room(GpuId gpu) const {
    const PowerBounds& bounds = bounds_[(*world_)[gpu].kind];
    return bounds.cap - bounds.idle;
  }

  const Workload* workload_;
  const Processes* processes_;
  const World* world_;
  Speeds speeds_;
  bool coincide_;                    // transfers of different jobs do
  std::vector<PowerBounds> bounds_;  // by GPU model; empty: power is left out
  std::vector<Shared> gpus_;
  // Of the GPU at hand.
  std::vector<SharedLoad> loads_;
  std::vector<Pace> paces_;
  std::vector<Rate> rates_;
};

}  // namespace cleave
