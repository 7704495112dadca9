#pragma once
// The folder of one attempt, JOBS/12.1. It is the daemon's user's, and so nobody else can replace
// what the daemon believes, holds or connects to there; the job's group may pass through it (0710).
// In it lie, each the daemon's user's:
//
//   launch.json   what to start, 0600
//   lock          held by the supervisor while it lives: alive or not is asked of it, never of a
//   number; 0600.
//                 Empty until the job's first process writes its session into it, just before it
//                 becomes the job's program
//   control       socket by which the daemon speaks with the supervisor, and nobody else, 0700
//   outcome.json  how it ended, 0600: empty, with space set aside, until the supervisor writes it
//   through the
//                 descriptor that it opened before it became the job's user
//   user          a folder, 0700, which is the job's user's with all that he makes of it:
//     report      socket that CLEAVE_REPORT names
//     stdout.log stderr.log, and .old.log of each
//
// Folders being made are called .new-12.1 and those being removed .gone-12.1 and a number.

#include <optional>
#include <string>
#include <string_view>

#include "runner/descriptor.hpp"
#include "runner/launch.hpp"
#include "runner/process_outcome.hpp"
#include "runner/process_tree.hpp"

namespace cleave {

inline constexpr const char *launch_file = "launch.json", *lock_file = "lock",
                            *control_socket = "control", *outcome_file = "outcome.json",
                            *user_folder = "user", *report_socket = "report";

/// "12.1"
[[nodiscard]] std::string directory_name(const JobKey& key);
[[nodiscard]] std::optional<JobKey> parse_directory_name(std::string_view name);

/// Makes the file where it is not there and takes the lock; nothing where somebody has it. Who gets
/// the descriptor by inheritance has the lock.
[[nodiscard]] Result<std::optional<Descriptor>> take_job_lock(int folder);
/// Whether somebody has it; also where that cannot be told, since who is believed dead is started
/// again.
[[nodiscard]] bool job_lock_is_held(int folder);

/// For the supervisor to write into, with space set aside as far as the file system can.
[[nodiscard]] Result<Descriptor> make_outcome_file(int folder);
/// Brought to the disk. What is torn by the end of who writes it is
/// none; it may be written again.
[[nodiscard]] Result<void> write_outcome(int file, const ProcessOutcome& outcome);
/// Nothing where there is none that is whole.
[[nodiscard]] Result<std::optional<ProcessOutcome>> read_outcome(int folder);

/// By what the processes of an attempt are known; the text is made of the folder itself, so that no
/// two jobs of a machine share it. The session is filled in where the lock tells it.
[[nodiscard]] Result<JobMark> job_mark(int folder, const JobKey& key);

/// What the job's first process writes about itself into the lock.
[[nodiscard]] std::string began_text();
/// False only where the job's program surely did not run.
[[nodiscard]] bool may_have_begun(int folder);

}  // namespace cleave
