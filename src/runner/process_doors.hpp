#pragma once
// The doors of a simulated job that runs as a process: its place on a simulated GPU, real time,
// signals, standard output, its reports and its checkpoint.

#include <chrono>
#include <csignal>
#include <string>

#include "nvmlsim/sim_node.hpp"
#include "runner/reports/memory_report_line.hpp"
#include "runner/simulated_job.hpp"

namespace cleave {

/// The signals of a job: SIGTERM and SIGINT ask it to stop, the checkpoint signal asks it to keep
/// its progress. They are blocked while this object exists, also for programs that this one becomes
/// by exec, and received by wait_until().
class JobSignals {
 public:
  /// 0: no checkpoint signal.
  explicit JobSignals(int checkpoint_signal);
  ~JobSignals();
  JobSignals(const JobSignals&) = delete;
  JobSignals& operator=(const JobSignals&) = delete;

  /// Waits for the time or a signal.
  [[nodiscard]] SimulatedJobRequest wait_until(std::chrono::steady_clock::time_point end);
  /// The signal that asked the job to stop.
  [[nodiscard]] int stopped_by() const { return stopped_by_; }

 private:
  int checkpoint_signal_, stopped_by_ = 0;
  sigset_t before_{}, waited_for_{};
};

/// The number of a signal by the name that kill(1) takes, such as USR1; 0 if jobs may not use it.
[[nodiscard]] int checkpoint_signal(std::string_view name);

/// The doors themselves.
class ProcessDoors : public JobDoors {
 public:
  /// Options of the job that concern its doors.
  struct Settings {
    std::int64_t iterations = 1;
    std::string checkpoint;  // file; empty: none
    bool quiet = false;
  };
  /// All arguments must outlive the doors.
  ProcessDoors(SimProcess& process, JobSignals& signals, ReportSender& reports, Settings settings);

  Result<bool> hold(MiB memory) override;
  Worked work(Duration time) override;
  void report(const MemoryReport& report) override;
  Result<void> keep(std::int64_t done) override;

 private:
  SimProcess* process_;
  JobSignals* signals_;
  ReportSender* reports_;
  Settings settings_;
  /// The end of the last period, so that late wake-ups do not add up.
  std::chrono::steady_clock::time_point until_;
};

}  // namespace cleave
