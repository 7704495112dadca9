#pragma once
// A run as JSON lines, one for each thing that happened, in the order in which it was decided. The
// keys are in docs/formats.md. Lines go to the stream as they come; nothing is kept.

#include <ostream>
#include <vector>

#include "model/fleet_file.hpp"
#include "model/job.hpp"
#include "simulate/run_observer.hpp"

namespace cleave {

/// Writes each event of a run as a line.
class EventLog final : public RunObserver {
 public:
  /// All three must outlive the log.
  EventLog(const FleetFile& fleet, const Workload& workload, std::ostream& out);
  void on(const RunEvent& event) override;

 private:
  const FleetFile* fleet_;
  std::vector<std::string> job_names_, gpu_names_;  // as JSON
  std::ostream* out_;
};

}  // namespace cleave
