#pragma once
// What the daemon lets schedulers know of jobs: what their users said. For brain.cpp alone.

#include <map>
#include <vector>

#include "engine/job_facts.hpp"
#include "model/job.hpp"
#include "placement/fleet.hpp"

namespace cleave {

/// Facts by the engine's number of a job.
class KnownFacts final : public JobFacts {
 public:
  /// What is known of one job.
  struct Of {
    std::int64_t priority = 0;
    std::optional<Instant> deadline, running_since;
    bool movable = false, restartable = false;
    std::optional<Duration> expected;  // on the whole GPU under MIG
    std::optional<std::string> application;
    std::optional<std::int64_t> batch;
  };
  /// Forgets all; `fleet` must outlive what is asked.
  void begin(const Fleet* fleet) {
    fleet_ = fleet;
    jobs_.clear();
  }
  void set(JobId job, Of facts) {
    if (jobs_.size() <= index(job)) jobs_.resize(index(job) + 1);
    jobs_[index(job)] = std::move(facts);
  }

  [[nodiscard]] std::int64_t priority(JobId job) const override { return of(job).priority; }
  [[nodiscard]] std::optional<Instant> deadline(JobId job) const override {
    return of(job).deadline;
  }
  [[nodiscard]] bool movable(JobId job) const override { return of(job).movable; }
  [[nodiscard]] bool restartable(JobId job) const override { return of(job).restartable; }
  [[nodiscard]] std::optional<Instant> running_since(JobId job) const override {
    return of(job).running_since;
  }
  [[nodiscard]] std::optional<Duration> time_on(JobId job, std::size_t kind,
                                                int profile) const override;
  [[nodiscard]] const std::string* application(JobId job) const override {
    return of(job).application ? &*of(job).application : nullptr;
  }
  [[nodiscard]] std::optional<std::int64_t> batch(JobId job) const override {
    return of(job).batch;
  }

 private:
  [[nodiscard]] const Of& of(JobId job) const {
    static const Of nothing;
    return index(job) < jobs_.size() ? jobs_[index(job)] : nothing;
  }
  [[nodiscard]] const GpuModel& model(std::size_t kind) const {
    return fleet_->graphs()[kind]->geometry().model();
  }

  const Fleet* fleet_ = nullptr;
  std::vector<Of> jobs_;  // by the engine's number
};

}  // namespace cleave
