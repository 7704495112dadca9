#pragma once
// `swf`: the Standard Workload Format of the Parallel Workloads Archive, version 2.2 (Chapin et
// al., JSSPP 1999; the archive's page swf.html): comment lines begin with ';', every other line is
// a job with 18 numbers, -1 for unknown values. The reader uses job number (1), submit time (2),
// run time (4), allocated processors (5) or, if unknown, requested ones (8), and status (11). A job
// arrives at its submit time, counted from the earliest in the file, and runs for its run time.
//
// The format has processors, not GPUs: `--processors-per-gpu N` (default 1) says how many make one
// whole GPU. A job on p <= N processors asks for the share p/N, rounded down to a thousandth so
// that an exact seventh remains one, and runs equally long on the profile the share maps to and on
// every larger one. A job on more asks for as many GPUs as have its processors. GPU-hours are
// processor-hours divided by N.
//
// Left out, each under the first reason that applies: part of a job (status 2, 3, 4: one stretch of
// a checkpointed job, whose summary is another line), never started (cancelled, without a run
// time), no run time (unknown, or below half a second), processors unknown, several GPUs (more than
// N processors) where the options say so. Failed and cancelled jobs that ran are kept, run for
// their recorded time and are counted (`state_failed`, `state_cancelled`).

#include "simulate/traces/trace.hpp"

namespace cleave {

[[nodiscard]] Result<Workload> read_swf(std::string_view text, const std::string& place,
                                        const TraceOptions& options);

}  // namespace cleave
