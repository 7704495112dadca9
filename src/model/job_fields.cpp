#include "model/job_fields.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "model/job_spec.hpp"

namespace cleave {

namespace {

constexpr std::string_view every_trace = "all";

constexpr JobField rows[] = {
    {"id", "name", "text", "", every_trace,
     "Name of the job: in a workload unique and needed, for the daemon a word for commands",
     R"("b")"},
    {"arrival_s", "", "seconds", "0", every_trace,
     "When the job is submitted, from the beginning of the workload; for the daemon, the "
     "time of submission",
     "5"},
    {"profile", "profile", "text", "", "sacct", "", R"("1g.5gb")"},
    {"memory_mib", "memory_mib", "MiB", "", "sacct", "", "9000"},
    {"gpu_memory", "", "MiB", "", "",
     "The most GPU memory that the job was seen to use: memory_mib", R"("9000")"},
    {"compute_slices", "compute_slices", "whole number", "0", "", "", "2", R"("memory_mib": 9000)"},
    {"kernel", "kernel", "object", "", "",
     "The job's largest kernel, which raises the compute that a size asks for",
     R"({"grid": [63, 63], "threads": [16, 16]})", R"("memory_mib": 9000)"},
    {"shape", "model", "text", "", "",
     "The model that the job runs, in place of a memory size; `submit` works out its size, and "
     "sends both",
     R"("m")"},
    {"context", "", "tokens", "", "", "With a model: tokens of a sequence", "512",
     R"("shape": "m")"},
    {"precision", "", "text", "that of the model", "", "With a model: precision of the weights",
     R"("fp16")", R"("shape": "m")"},
    {"train", "", "true or false", "false", "", "With a model: it is trained", "true",
     R"("shape": "m")"},
    {"gpu_share", "", "0.001 to 1", "", "alibaba2023, philly, sacct, swf",
     "A share of a GPU's compute, in place of a profile or size, as traces record it", "0.46"},
    {"share_rule", "", "round-up or nearest", "round-up", "alibaba2023, philly, sacct, swf",
     "With a share: how it becomes a profile", R"("nearest")", R"("gpu_share": 0.46)"},
    {"gpus", "gpus", "whole number", "", "alibaba2023, philly, sacct, swf",
     "Number of whole GPUs with MIG off, in place of a profile or size, all at a time or none",
     "4"},
    {"instances", "instances", "whole number; in workloads also COUNTxPROFILE", "1",
     "alibaba2023, sacct",
     "Number of instances of that profile or size, all at a time or none; the job has a process on "
     "each",
     R"("4x1g.5gb")"},
    {"together", "together", "anywhere, gpu, node or spread", "anywhere", "alibaba2023, sacct", "",
     R"("node")", R"("gpus": 4)"},
    {"duration_s", "expected_s", "seconds", "", every_trace,
     "Run time on the whole GPU under MIG; of a daemon's job, what is expected", "60"},
    {"speed", "times", "object", "by SMs", "miso",
     "In place of one time, how fast the job is by profile; submissions give times instead",
     R"({"1g.5gb": 0.36, "7g.40gb": 1})"},
    {"law", "", "object", "", "sacct", "In place of speed, the two parts of the job's time",
     R"({"a_s": 0.2, "w_s": 0.9})"},
    {"gpu_util", "", "percent, 0 to 100", "", "",
     "In place of speed, how much of its time on the whole GPU the job kept that busy", "40"},
    {"phases", "", "object", "", "", "In place of duration and speed, the time in each phase",
     R"({"cpu_s": 1, "compute_s": 9})", R"("duration_s": null)"},
    {"flat", "", "true or false", "false", "alibaba2023, philly, sacct, swf",
     "In place of speed, as fast on every instance that the job may have", "true"},
    {"reference_model", "", "text", "the fleet's first", "",
     "The GPU model on whose largest profile the times were taken", R"("A100-40GB")"},
    {"transfer_share", "", "0 to 1", "0", "",
     "Share of the job's time on the whole GPU in which it only transfers over the host link",
     "0.25"},
    {"power_factor", "", "number", "1", "",
     "What the job draws, relative to work that keeps a GPU at its cap", "1.1"},
    {"priority", "priority", "whole number", "0", "", "Jobs of higher priority start first", "3"},
    {"deadline_s", "deadline_s", "seconds", "", "", "", "100"},
    {"user", "", "text", "", "",
     "Whose it is, for fair share and limits; of a daemon's job, the user who submits it",
     R"("ann")"},
    {"account", "", "text", "", "",
     "The account that it is charged to; the daemon's configuration says it", R"("physics")"},
    {"application", "application", "text", "", "miso", "", R"("bert")"},
    {"batch", "batch", "whole number", "1", "miso", "", "4"},
    {"latency_s", "", "seconds", "", "miso", "Time of one batch on the whole GPU under MIG", "0.5"},
    {"output_tokens", "", "whole number", "", "",
     "Tokens that a language model makes in all the job's work", "700"},
    {"progress", "progress", "stateless, checkpoint or none", "", "", "", R"("checkpoint")"},
    {"checkpoint_every_s", "", "seconds", "", "",
     "How much work lies between two checkpoints that the job writes by itself", "60",
     R"("progress": "checkpoint")"},
    {"restartable", "restartable", "true or false", "true; a daemon's job: false", "", "", "true"},
    {"movable", "movable", "true or false", "true; a daemon's job: false", "", "", "true"},
    {"fails_after", "", "0 to below 1", "", "",
     "The job's process fails after this share of its work", "0.5"},
    {"memory", "", "object", "", "", "How the job's memory grows with its iterations",
     R"({"base_mib": 100, "iterations": 5})"},
    {"offload_mib", "", "MiB", "", "", "What the job can keep in host memory", "100"},
    {"offload_touches", "", "number", "", "",
     "How often what is in host memory crosses the link in all the job's work", "3",
     R"("memory_mib": 9000, "offload_mib": 100)"},
    {"cpus", "cpus", "number", "the share of its slices", "sacct", "", "8"},
    {"host_memory_mib", "host_memory_mib", "MiB", "the share of its slices", "sacct", "", "64000"},
    {"service", "service", "object", "", "",
     "The job is a service: its replicas; in workloads also its load and target",
     R"({"replicas": 2, "served_per_s": 10, "requests_per_s": 5})"},
    {"lease", "lease", "object", "", "",
     "The job is a lease, a place for a person: when it should start, when it is idle, and what "
     "becomes of it then; in workloads also when it works",
     R"({"starts_within_s": 10})"},
    {"", "command", "list of texts", "", "", "", {}},
    {"", "environment", "list of texts", "", "", "", {}},
    {"", "directory", "text", "", "", "", {}},
    {"", "time_limit_s", "seconds", "job_time_default_s", "", "", {}},
    {"", "retries", "whole number", "0", "", "", {}},
    {"", "checkpoint_signal", "number of a signal", "none", "", "", {}},
    {"", "checkpoint_command", "text", "none", "", "", {}},
    {"", "restore_command", "text", "none", "", "", {}},
    {"", "checkpoint_grace_s", "seconds", "0", "", "", {}},
    {"", "stop_grace_s", "seconds", "30", "", "", {}},
    {"", "out_of_memory_code", "1 to 255", "", "", "", {}},
    {"", "image", "text", "none", "", "", {}},
    {"", "binds", "list of texts", "", "", "", {}},
    {"array", "array", "indices", "one job", "", "", R"("1-3%2")"},
    {"task_of", "", "text", "", "",
     "The job is a task of the array of this name, as the others are that name it; what follows "
     "from array for tasks that differ",
     R"("sweep")"},
    {"at_once", "", "whole number", "all", "",
     "With task_of: how many tasks of the array may run at a time", "20", R"("task_of": "sweep")"},
    {"after", "after", "list of texts", "", "",
     "Wait until other jobs of yours have ended: ok:12 (it has finished), failed:12 (it has "
     "failed, or was cancelled) or any:12; ok:12-40 and any:12-40 for all with these numbers. In a "
     "workload, and in a file of jobs, the id of another line; of an array all its tasks. The job "
     "is cancelled if that cannot come any more",
     R"(["ok:12"])"},
    {"", "output", "text", "none", "", "", {}},
    {"", "error", "text", "that of output", "", "", {}},
};

std::string code(std::string_view word) {
  return word.empty() ? std::string() : fmt::format("`{}`", word);
}

}  // namespace

std::span<const JobField> job_fields() {
  return rows;
}

const FieldInfo* submission_field(const JobField& field) {
  const auto& all = field_infos<Submission>;
  const auto* const found = std::ranges::find(all, field.submission, &FieldInfo::key);
  return field.submission.empty() || found == all.end() ? nullptr : found;
}

std::string_view help_of(const JobField& field) {
  if (!field.help.empty()) return field.help;
  const FieldInfo* const row = submission_field(field);
  return row == nullptr ? std::string_view() : row->help;
}

std::string_view option_of(const JobField& field) {
  const FieldInfo* const row = submission_field(field);
  return row == nullptr ? std::string_view() : row->option;
}

std::string job_fields_table() {
  std::string table =
      "| workload file | submission | `cleave submit` | meaning | value | if absent | from traces "
      "|\n|---|---|---|---|---|---|---|\n";
  for (const JobField& field : job_fields())
    table += fmt::format("| {} | {} | {} | {} | {} | {} | {} |\n", code(field.workload),
                         code(field.submission), code(option_of(field)), help_of(field),
                         field.value, field.usual, field.traces);
  return table;
}

}  // namespace cleave
