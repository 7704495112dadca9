#include "simulate/gang_runs.hpp"

namespace cleave {

GangRun* GangRuns::look_up(JobId process) {
  const auto found = runs_.find(processes_->job_of(process));
  return found == runs_.end() ? nullptr : &found->second;
}

GangRun& GangRuns::joins(JobId process) {
  const Gang gang = processes_->gang(process);
  GangRun& run = runs_[gang.leader];
  if (run.here == 0) {
    run.gang = gang;
    run.paces.assign(gang.size, 0);
  }
  if (++run.here < gang.size) {
    torn_.insert(gang.leader);
  } else {
    torn_.erase(gang.leader);
  }
  return run;
}

void GangRuns::leaves(GangRun& run) {
  const JobId leader = run.gang.leader;
  if (--run.here > 0) {
    torn_.insert(leader);
    return;
  }
  torn_.erase(leader);
  runs_.erase(leader);
}

}  // namespace cleave
