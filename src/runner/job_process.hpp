#pragma once
// The job's own process: begun by its supervisor in a session of its own, as the user that the
// supervisor is by then, with its outputs into pipes and its input from /dev/null. It dies with its
// supervisor.
//
// It finds in its environment, beside what its launch says: CUDA_VISIBLE_DEVICES and
// NVIDIA_VISIBLE_DEVICES (its instance), CLEAVE_JOB (its number), CLEAVE_ATTEMPT, CLEAVE_REPORT
// (the socket for reports) and a mark by which its descendants are known.

#include <sys/types.h>

#include <string>

#include "runner/descriptor.hpp"
#include "runner/launch.hpp"

namespace cleave {

struct JobProcess {
  pid_t pid = 0;
  Descriptor out, err;  // to read from
  Descriptor exec;      // ends when the program runs; what comes before is an exec_failure
};

/// What kept the program from running, as it comes through `exec`: "2 DIR: cannot be entered: ...",
/// the number of the system's error first.
struct ExecFailure {
  int code = 0;
  std::string reason;
};
[[nodiscard]] ExecFailure parse_exec_failure(std::string_view text);

/// `folder` is the user's in the attempt's folder, and `path` names it; `lock` is the attempt's
/// (job_directory.hpp); descriptors are not passed on, except where the job could not reach the
/// socket by its path: it is too long for one, or leads through folders closed to the user. Then
/// CLEAVE_REPORT goes through the job's own descriptor of the folder, /proc/PID/fd/N/report, which
/// works for all its user's processes as long as the job's first process lives.
[[nodiscard]] Result<JobProcess> start_job_process(const Launch& launch, int folder, int lock,
                                                   const std::string& path,
                                                   const std::string& mark);

}  // namespace cleave
