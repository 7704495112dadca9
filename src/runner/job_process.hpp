#pragma once
// The job's own process. Its supervisor starts it in a session of its own, which becomes the job's
// user before it runs the program, with its outputs into pipes and its input from /dev/null. It
// dies with its supervisor.
//
// Its environment is that of the launch and: CUDA_VISIBLE_DEVICES and NVIDIA_VISIBLE_DEVICES (its
// instance), CLEAVE_JOB (its number), CLEAVE_ATTEMPT, CLEAVE_REPORT (the socket for reports) and a
// mark that identifies its descendants.

#include <sys/types.h>

#include <string>

#include "runner/descriptor.hpp"
#include "runner/launch.hpp"

namespace cleave {

/// A started process, as its supervisor sees it.
struct JobProcess {
  pid_t pid = 0;
  Descriptor out, err;  // to read from
  Descriptor exec;      // ends when the program runs; otherwise an ExecFailure comes first
  Descriptor files;     // over which its files come before the program runs; where it has any
};

/// Why the program did not run, as it comes through `exec`: "2 DIR: cannot be entered: ...", with
/// the system's error number first.
struct ExecFailure {
  int code = 0;
  std::string reason;
};
[[nodiscard]] ExecFailure parse_exec_failure(std::string_view text);

/// `folder` is the user's folder in that of the attempt, `path` its name, and `lock` the attempt's
/// lock (job_directory.hpp), in which it is noted that the job began; -1 for a process beside the
/// job's. Descriptors are not passed on, unless the job could not reach the
/// socket by its path, because the path is too long for a socket or leads through folders closed to
/// the user. Then CLEAVE_REPORT goes through the job's own descriptor of the folder,
/// /proc/PID/fd/N/report, which works for all processes of the user as long as the job's first
/// process lives.
[[nodiscard]] Result<JobProcess> start_job_process(const Launch& launch, int folder, int lock,
                                                   const std::string& path, const std::string& mark,
                                                   const JobGroups& groups);

}  // namespace cleave
