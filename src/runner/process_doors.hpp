#pragma once
// The doors of a simulated job that is a process: its place on a simulated GPU, real time, signals,
// standard output, its reports and its checkpoint.

#include <chrono>
#include <csignal>
#include <optional>
#include <string>

#include "nvmlsim/client.hpp"
#include "runner/reports/memory_report_line.hpp"
#include "runner/simulated_job.hpp"

namespace cleave {

/// SIGTERM and SIGINT tell a job to stop, the signal of checkpoints to keep its progress. From here
/// on they are held back for wait(), also for programs that this one becomes by exec, unless
/// released.
class JobSignals {
 public:
  /// 0: no signal of checkpoints.
  explicit JobSignals(int checkpoint_signal);
  ~JobSignals();
  JobSignals(const JobSignals&) = delete;
  JobSignals& operator=(const JobSignals&) = delete;

  /// Until the time or a signal has come.
  [[nodiscard]] SimulatedJobWish wait_until(std::chrono::steady_clock::time_point end);
  /// That told the job to stop.
  [[nodiscard]] int stopped_by() const { return stopped_by_; }

 private:
  int checkpoint_signal_, stopped_by_ = 0;
  sigset_t before_{}, waited_for_{};
};

/// By the name that kill(1) takes, such as USR1; 0 where it is none of those that a job may take.
[[nodiscard]] int checkpoint_signal(std::string_view name);

class ProcessDoors : public JobDoors {
 public:
  struct Wishes {
    std::int64_t iterations = 1;
    std::string checkpoint;  // file; empty: none
    bool quiet = false;
  };
  /// All must outlive the doors.
  ProcessDoors(SimProcess& process, JobSignals& signals, ReportSender& reports, Wishes wishes);

  Result<bool> hold(MiB memory) override;
  Worked work(Duration time) override;
  void report(const MemoryReport& report) override;
  Result<void> keep(std::int64_t done) override;

 private:
  SimProcess* process_;
  JobSignals* signals_;
  ReportSender* reports_;
  Wishes wishes_;
  std::chrono::steady_clock::time_point
      until_;  // where the last time ended, so that no wake-up adds up
};

}  // namespace cleave
