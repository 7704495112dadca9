#pragma once
// `sacct`: what Slurm's `sacct -P` (or -p) prints: a header line with the names of columns, in any
// order, cells separated by '|'. A good way to get it:
//
//     SLURM_TIME_FORMAT=%s sacct -a -X -P -S 2024-01-01 -o
//     JobID,Submit,Start,End,ElapsedRaw,State,AllocTRES
//
// Needed: JobID or JobIDRaw, Submit, Start, State, AllocTRES, and ElapsedRaw, Elapsed or End (taken
// in this order: elapsed time knows of suspension and of summer time, the difference of two clock
// times does not). Used when there: ReqTRES. Times are seconds since 1970 or 2024-01-31T12:00:00 of
// a clock without a zone.
//
// A job arrives at Submit, counted from the earliest in the file, and runs its elapsed time. What
// it asks for comes from AllocTRES: gres/gpu is the number of GPUs, gres/gpu:TYPE which. A TYPE
// that ends in a profile's name ("1g.5gb", "a100_3g.20gb", "nvidia_h100_80gb_hbm3_1g.10gb") is that
// profile, every other type a whole GPU. A MIG instance that the site counts under a name of its
// own ("a100_10g"), or without types (AccountingStorageTRES=gres/gpu alone), looks like a whole
// GPU. The job runs as long on its profile as on every larger one. Its CPUs and host memory are
// those of AllocTRES.
//
// Job steps (123.batch, 123.0) are parts of their jobs and only counted (`steps`); elements of
// arrays (123_4) are jobs. Jobs that had no GPU are no part of what is read, and counted
// (`no_gpu`). Left out, each under the first reason that applies: never started, still running,
// several GPUs, unknown type of MIG, no run time, the same job again (a requeued job under
// --duplicates). A job that did not end as COMPLETED is kept, runs its recorded time and finishes;
// such jobs are counted by state (`state_failed`, `state_timeout`).

#include "simulate/traces/trace.hpp"

namespace cleave {

[[nodiscard]] Result<Workload> read_sacct(std::string_view text, const std::string& place,
                                          const TraceOptions& options);

}  // namespace cleave
