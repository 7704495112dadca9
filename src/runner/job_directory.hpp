#pragma once
// The folder of one attempt, JOBS/12.1, mode 0700 and the job's user's, and what lies in it:
//
//   launch.json   what to start; the daemon's user's, 0600
//   lock          held by the supervisor while it lives: alive or not is asked of it, never of a number. The
//                 daemon's user's, 0600; empty until the job's first process writes its session into it, just
//                 before it becomes the job's program
//   control       socket by which the daemon speaks with the supervisor
//   report        socket that CLEAVE_REPORT names
//   stdout.log stderr.log, and .old.log of each
//   outcome.json  how it ended; outcome.json.new is the space set aside for it
//
// Folders being made are called .new-12.1 and those being removed .gone-12.1.

#include <optional>
#include <string>
#include <string_view>

#include "runner/descriptor.hpp"
#include "runner/launch.hpp"
#include "runner/process_outcome.hpp"
#include "runner/process_tree.hpp"

namespace cleave {

inline constexpr const char *launch_file = "launch.json", *lock_file = "lock", *control_socket = "control",
                            *report_socket = "report", *outcome_file = "outcome.json";

/// "12.1"
[[nodiscard]] std::string directory_name(const JobKey& key);
[[nodiscard]] std::optional<JobKey> parse_directory_name(std::string_view name);

/// Makes the file where it is not there and takes the lock; nothing where somebody has it. Who gets the
/// descriptor by inheritance has the lock.
[[nodiscard]] Result<std::optional<Descriptor>> take_job_lock(int folder);
/// Whether somebody has it. What is not a plain file is nobody's lock.
[[nodiscard]] bool job_lock_is_held(int folder);

/// Nothing where there is none.
[[nodiscard]] Result<std::optional<ProcessOutcome>> read_outcome(int folder, uid_t owner);

/// By what the processes of an attempt are known; the text is made of the folder itself, so that no two jobs
/// of a machine share it. The session is filled in where the lock tells it.
[[nodiscard]] Result<JobMark> job_mark(int folder, const JobKey& key);

/// What the job's first process writes about itself into the lock.
[[nodiscard]] std::string began_text();
[[nodiscard]] bool may_have_begun(int folder);

}  // namespace cleave
