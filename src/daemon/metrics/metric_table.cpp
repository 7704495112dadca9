#include "daemon/metrics/metric_table.hpp"

#include <algorithm>
#include <cassert>

#include "base/format.hpp"

namespace cleave {

namespace {

using enum MetricKind;

constexpr MetricRow rows[] = {
    // The GPUs.
    {"cleave_gpus", gauge, "state", "GPUs that the daemon manages, by what keeps jobs off them."},
    {"cleave_gpu_info", gauge, "gpu UUID model", "Each managed GPU; always 1."},
    {"cleave_gpu_ready", gauge, "gpu", "Whether the GPU takes new jobs."},
    {"cleave_gpu_conditions", gauge, "gpu",
     "Signs of the GPU's health that stand, such as an Xid or rows to be remapped."},
    {"cleave_memory_slices", gauge, "gpu use", "Memory slices of the GPU, by what they are for."},
    {"cleave_compute_slices", gauge, "gpu use", "Compute slices of the GPU, by what they are for."},
    {"cleave_free_placements", gauge, "gpu profile by",
     "Instances that could be made now with idle ones making room: by position, the starts where "
     "there is room for one; by size, the instances if only free amounts mattered."},
    {"cleave_fragmentation_ratio", gauge, "gpu",
     "Mean over profiles of the share of instances that would fit by size but not by position."},
    {"cleave_gpu_power_watts", gauge, "gpu", "Power that the GPU draws."},
    {"cleave_gpu_energy_joules_total", counter, "gpu",
     "Energy that the GPU has used since its driver was loaded."},
    {"cleave_energy_joules_total", counter, "gpu use",
     "Energy by whose it was: jobs, foreign work, or idle, which is what nobody used."},
    {"cleave_gpu_utilization_ratio", gauge, "gpu",
     "Share of the GPU's processors that was at work, where the driver counts it for every job."},
    // Instances.
    {"cleave_instances", gauge, "profile state", "GPU instances, by what they are doing."},
    {"cleave_instance_info", gauge, "UUID GPU_I_ID gpu profile job_number",
     "Each GPU instance that exists, with the GPU's UUID as dcgm-exporter has it; job_number is "
     "empty where no job has it; always 1."},
    {"cleave_instance_changes_total", counter, "change result",
     "Instances that the driver was asked to create or destroy, and whether it did."},
    {"cleave_instance_change_duration_seconds", histogram, "change",
     "Time that the driver took to create or destroy an instance."},
    // Jobs.
    {"cleave_jobs", gauge, "state", "Unfinished jobs, by state."},
    {"cleave_queue_jobs", gauge, "reason", "Jobs that wait, by why."},
    {"cleave_jobs_submitted_total", counter, "", "Jobs that were accepted."},
    {"cleave_jobs_ended_total", counter, "state", "Jobs that have ended, by how."},
    {"cleave_job_wait_seconds", histogram, "",
     "Time from the submission of a job until its first attempt began."},
    {"cleave_job_turnaround_seconds", histogram, "",
     "Time from the submission to the end of jobs that have finished."},
    {"cleave_attempts_begun_total", counter, "", "Processes of jobs that have begun."},
    {"cleave_attempts_ended_total", counter, "end", "Runs of jobs that have ended, by why."},
    {"cleave_job_restarts_total", counter, "cause",
     "Runs of jobs that ended to begin again on a larger instance: memory, after it had run out; "
     "early, before it would have."},
    {"cleave_job_moves_total", counter, "", "Runs of jobs that ended to go on elsewhere."},
    // What the daemon does.
    {"cleave_decision_duration_seconds", histogram, "",
     "Time that the scheduler took for each event and to settle what it was told."},
    {"cleave_plan_moves", gauge, "state",
     "Moves of the plan that is being carried out, by what has become of them; none: no plan."},
    {"cleave_plans_ended_total", counter, "state",
     "Plans that were carried out, by how they ended."},
    {"cleave_store_write_duration_seconds", histogram, "",
     "Time that the store took to write what belongs together."},
    {"cleave_store_write_failures_total", counter, "", "Writes that the store did not take."},
    {"cleave_store_writable", gauge, "", "Whether the store could be written last."},
    {"cleave_store_size_bytes", gauge, "", "Size of the store's files."},
    {"cleave_disk_free_bytes", gauge, "disk",
     "Free room on the disk of the store and of jobs' folders."},
    {"cleave_paused", gauge, "", "Whether the daemon is paused: it starts no jobs."},
    {"cleave_troubles", gauge, "", "What is wrong at the moment: the lines of GET /healthz."},
    {"cleave_scheduler_info", gauge, "scheduler", "The scheduler in use; always 1."},
    {"cleave_build_info", gauge, "version simulated",
     "The daemon's version, and whether its GPUs are simulated; always 1."},
    {"cleave_metrics_requests_total", counter, "from", "Times that this page was asked for."},
    {"cleave_metrics_page_duration_seconds", histogram, "",
     "Time to make this page, which is made anew a few times a second at most."},
    {"process_start_time_seconds", gauge, "", "When the daemon began, in seconds since 1970."},
    {"process_resident_memory_bytes", gauge, "", "Memory of the daemon."},
};

}  // namespace

std::string_view name(MetricKind kind) {
  switch (kind) {
    case gauge:
      return "gauge";
    case counter:
      return "counter";
    case histogram:
      return "histogram";
  }
  return "";
}

std::span<const MetricRow> metric_rows() {
  return rows;
}

const MetricRow& metric_row(std::string_view name) {
  const auto* found = std::ranges::find(rows, name, &MetricRow::name);
  assert(found != std::end(rows));
  return *found;
}

std::string metric_rows_text() {
  std::string text = "| family | type | labels | what it says |\n|---|---|---|---|\n";
  for (const MetricRow& row : rows) {
    std::string labels;
    std::string_view rest = row.labels;
    while (!rest.empty()) {
      const std::string_view label = rest.substr(0, rest.find(' '));
      labels += fmt::format("{}`{}`", labels.empty() ? "" : ", ", label);
      rest.remove_prefix(std::min(rest.size(), label.size() + 1));
    }
    text += fmt::format("| `{}` | {} | {} | {} |\n", row.name, name(row.kind), labels, row.help);
  }
  return text;
}

}  // namespace cleave
