#pragma once
// What the simulator tells schedulers about the jobs: the truth, from the workload, or times as
// they are predicted from what was measured of applications beforehand. A scheduler that should
// know less, or something wrong, has an option for that.

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/job_facts.hpp"
#include "forecast/time/application_times.hpp"
#include "model/job.hpp"
#include "simulate/speeds.hpp"

namespace cleave {

/// The facts of a workload's jobs.
class KnownJobs final : public JobFacts {
 public:
  /// `request_ids` by Workload::requests; without `applications` times are true. Everything must
  /// outlive this.
  KnownJobs(const Workload& workload, const Speeds& speeds, const Fleet& fleet,
            const std::vector<RequestId>& request_ids,
            const ApplicationTimes* applications = nullptr)
      : workload_(&workload),
        speeds_(&speeds),
        fleet_(&fleet),
        request_ids_(&request_ids),
        applications_(applications) {}

  [[nodiscard]] std::int64_t priority(JobId job) const override;
  [[nodiscard]] std::optional<Instant> deadline(JobId job) const override;
  /// Jobs without a statement may be moved and restarted; those that keep nothing, restarted only.
  [[nodiscard]] bool movable(JobId job) const override;
  [[nodiscard]] bool restartable(JobId job) const override;
  [[nodiscard]] std::optional<Duration> time_on(JobId job, std::size_t kind,
                                                int profile) const override;
  [[nodiscard]] bool predicts() const override { return applications_ != nullptr; }
  [[nodiscard]] const std::string* user(JobId job) const override;
  [[nodiscard]] const std::string* account(JobId job) const override;
  [[nodiscard]] const std::string* application(JobId job) const override;
  [[nodiscard]] std::optional<std::int64_t> batch(JobId job) const override;
  /// What is predicted of the job's application and batch; nothing without `applications`, or
  /// where they say nothing.
  [[nodiscard]] std::optional<Duration> predicted(JobId job, std::size_t kind, int profile) const;
  /// From the jobs of the workload that name application, batch and latency; or as measured.
  [[nodiscard]] std::vector<BatchRow> batch_rows() const override;
  [[nodiscard]] std::vector<Expected> expected() const override;

 private:
  [[nodiscard]] const Job& job(JobId id) const { return workload_->jobs[index(id)]; }

  const Workload* workload_;
  const Speeds* speeds_;
  const Fleet* fleet_;
  const std::vector<RequestId>* request_ids_;
  const ApplicationTimes* applications_;
  /// By application and batch: times by GPU model and profile, below zero where unknown.
  mutable std::map<std::pair<std::string, std::int64_t>, std::vector<std::vector<Duration>>>
      predictions_;
};

}  // namespace cleave
