#pragma once
// `sacct`: the output of Slurm's `sacct -P` (or -p): a header line with the names of columns, in
// any order, cells separated by '|'. A good way to get it:
//
//     SLURM_TIME_FORMAT=%s sacct -a -X -P -S 2024-01-01
// -o JobID,Submit,Start,End,ElapsedRaw,State,AllocTRES
//
// Required: JobID or JobIDRaw, Submit, Start, State, AllocTRES, and ElapsedRaw, Elapsed or End (in
// this order of preference: elapsed time accounts for suspension and summer time, the difference of
// two clock times does not). Used if present: ReqTRES. Times are seconds since 1970 or
// 2024-01-31T12:00:00 without a time zone.
//
// A job arrives at Submit, counted from the earliest in the file, and runs for its elapsed time.
// Its request comes from AllocTRES: gres/gpu is the number of GPUs, gres/gpu:TYPE their type. A
// TYPE that ends in a profile's name ("1g.5gb", "a100_3g.20gb", "nvidia_h100_80gb_hbm3_1g.10gb")
// means that profile, every other type a whole GPU. A MIG instance that the site counts under a
// name of its own ("a100_10g"), or without types (AccountingStorageTRES=gres/gpu alone), looks like
// a whole GPU. A job may have had several GPUs, or instances of one size; where AllocTRES says
// node=1, they lie on one node. The job runs equally long on its profile and on every larger one.
// Its CPUs and host memory are those of AllocTRES.
//
// Job steps (123.batch, 123.0) are parts of their jobs and only counted (`steps`); elements of
// arrays (123_4) are jobs. Jobs without a GPU are not part of the workload, and counted (`no_gpu`).
// Left out, each under the first reason that applies: never started, still running, unknown type of
// MIG, instances of several sizes, several GPUs where the options say so, no run time, the same job
// again (a requeued job under --duplicates). A job
// that did not end as COMPLETED is kept, runs for its recorded time and finishes; such jobs are
// counted by state (`state_failed`, `state_timeout`).

#include "simulate/traces/trace.hpp"

namespace cleave {

[[nodiscard]] Result<Workload> read_sacct(std::string_view text, const std::string& place,
                                          const TraceOptions& options);

}  // namespace cleave
