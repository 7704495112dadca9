#pragma once
// What the simulator tells schedulers about the jobs: the truth, from the workload; less, where
// that is asked for (knowledge.hpp); or times as they are predicted from what was measured of
// applications beforehand.
//
// Where speeds are not told, what a job takes on the profile that it asks for says what it takes on
// others: by the ratio that finished jobs of its application and batch showed, where they may teach
// (there, or by the law of slices), else by the share of the processors, as in the daemon
// (control/node/job_times.hpp). The profile that it asks for is the smallest that it would be given
// on the first GPU model of the fleet that has one.

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/job_facts.hpp"
#include "forecast/time/application_times.hpp"
#include "model/job.hpp"
#include "placement/request_table.hpp"
#include "simulate/knowledge.hpp"
#include "simulate/processes.hpp"
#include "simulate/speeds.hpp"
#include "simulate/stop_terms.hpp"

namespace cleave {

/// How much is told; by default everything.
struct Told {
  Knowledge knowledge = {};
  MayInterrupt may = MayInterrupt::all;
  std::uint64_t seed = 1;                  // of noise
  const RequestTable* requests = nullptr;  // that `request_ids` are of; for less than the truth
  StopTerms stops = {};
  /// The share of its work that is done, of a job that has begun.
  std::function<std::optional<double>(JobId)> progress = {};
  /// Of a job that runs; asked where an engine is made while jobs run.
  std::function<std::optional<Instant>(JobId)> running_since = {};
};

/// The facts of a workload's jobs.
class KnownJobs final : public JobFacts {
 public:
  /// `request_ids` by Workload::requests; without `applications` times are true. Everything must
  /// outlive this.
  KnownJobs(const Workload& workload, const Speeds& speeds, const Fleet& fleet,
            const std::vector<RequestId>& request_ids,
            const ApplicationTimes* applications = nullptr, const Told& told = {});

  [[nodiscard]] std::int64_t priority(JobId job) const override;
  [[nodiscard]] Gang gang(JobId job) const override { return processes_.gang(job); }
  [[nodiscard]] JobKind kind(JobId job) const override {
    return workload_->kind_of(this->job(job));
  }
  [[nodiscard]] std::optional<Instant> deadline(JobId job) const override;
  /// Jobs without a statement may be moved and restarted; those that keep nothing, and those of
  /// several places, restarted only.
  [[nodiscard]] bool movable(JobId job) const override;
  [[nodiscard]] bool restartable(JobId job) const override;
  [[nodiscard]] bool saves(JobId job) const override;
  [[nodiscard]] std::optional<Instant> running_since(JobId job) const override {
    return told_.running_since ? told_.running_since(processes_.job_of(job)) : std::nullopt;
  }
  [[nodiscard]] std::optional<Duration> time_on(JobId job, std::size_t kind,
                                                int profile) const override;
  [[nodiscard]] std::optional<double> speed_on(JobId job, std::size_t kind,
                                               int profile) const override;
  [[nodiscard]] bool tells_times() const override {
    return told_.knowledge.times != KnownTimes::unknown;
  }
  [[nodiscard]] bool predicts() const override {
    return applications_ != nullptr || told_.knowledge.times == KnownTimes::noise ||
           told_.knowledge.speeds != KnownSpeeds::truth;
  }
  /// Told where speeds are.
  [[nodiscard]] const SharedLoad* load_on(JobId job, std::size_t kind, int profile) const override;
  [[nodiscard]] const SharedGpu* shared_by(std::size_t kind) const override {
    return &speeds_->shared(kind, 0);
  }
  [[nodiscard]] const std::string* user(JobId job) const override;
  [[nodiscard]] const std::string* account(JobId job) const override;
  [[nodiscard]] const std::string* application(JobId job) const override;
  [[nodiscard]] std::optional<std::int64_t> batch(JobId job) const override;
  /// Jobs report it where speeds are told or learnt.
  [[nodiscard]] std::optional<double> progress(JobId job) const override;
  /// As far as its memory is told: what it holds at most, over the link both ways.
  [[nodiscard]] std::optional<Duration> checkpoint_time(JobId job, std::size_t kind) const override;
  /// What is predicted of the job's application and batch; nothing without `applications`, or
  /// where they say nothing.
  [[nodiscard]] std::optional<Duration> predicted(JobId job, std::size_t kind, int profile) const;
  /// From the jobs of the workload that name application, batch and latency; or as measured.
  [[nodiscard]] std::vector<BatchRow> batch_rows() const override;
  [[nodiscard]] std::vector<Expected> expected() const override;

  /// All its work takes so long on an instance of this profile, by what a job that ran there has
  /// reported of its progress.
  void learn(JobId job, std::size_t kind, int profile, Duration seen);

 private:
  /// A profile of a GPU model.
  struct Cell {
    std::size_t kind = 0, profile = 0;
  };

  [[nodiscard]] std::optional<Duration> true_time(JobId id, std::size_t kind, int profile) const;
  [[nodiscard]] std::optional<Duration> told_time(JobId id, Cell on) const;
  [[nodiscard]] std::optional<double> told_ns(JobId id, Cell on) const;
  [[nodiscard]] double true_speed(JobId id, Cell on) const;
  [[nodiscard]] std::optional<Cell> asked(JobId id) const;
  [[nodiscard]] bool may_have(JobId id, Cell cell) const;
  [[nodiscard]] double share(Cell cell) const { return shares_[cell.kind][cell.profile]; }
  [[nodiscard]] double guessed_pace(Cell on) const;
  [[nodiscard]] double guessed_speed(JobId id, Cell on) const;
  [[nodiscard]] std::optional<double> learnt_pace(JobId id, Cell on) const;
  [[nodiscard]] std::vector<std::vector<double>> learnt_paces(const std::string& application,
                                                              std::int64_t batch) const;
  /// The column of speeds that counts for the job on this profile.
  [[nodiscard]] std::size_t column_of(JobId id, std::size_t profile) const;
  [[nodiscard]] const Job& job(JobId id) const {
    return workload_->jobs[index(processes_.job_of(id))];
  }

  const Workload* workload_;
  Processes processes_;
  const Speeds* speeds_;
  const Fleet* fleet_;
  const std::vector<RequestId>* request_ids_;
  const ApplicationTimes* applications_;
  /// By application and batch: times by GPU model and profile, below zero where unknown.
  mutable std::map<std::pair<std::string, std::int64_t>, std::vector<std::vector<Duration>>>
      predictions_;
  Told told_;
  bool not_all_plain_ = false;               // there are leases, services or jobs of several places
  bool all_told_ = true;                     // of times and speeds
  std::vector<std::vector<double>> shares_;  // by GPU model and profile, where not all is told
  ProfileRepository learnt_;
  /// By application and batch: work a second by GPU model and profile; empty where nothing is
  /// known.
  mutable std::map<std::pair<std::string, std::int64_t>, std::vector<std::vector<double>>> paces_;
};

}  // namespace cleave
