#pragma once
// The folder of one attempt, JOBS/12.1. It belongs to the daemon's user, so that no other user can
// replace what the daemon believes, holds or connects to there; the job's group may pass through it
// (0710). Its contents belong to the daemon's user, except for the folder `user`:
//
//   launch.json   what to start, 0600
//   lock          held by the supervisor while it lives, 0600: it shows whether the supervisor is
//                 alive, a process number never does. Empty until the job's first process writes
//                 its session into it, just before it becomes the job's program
//   control       the socket between daemon and supervisor, 0700
//   outcome.json  how the attempt ended, 0600: empty, with reserved space, until the supervisor
//                 writes it through the descriptor that it opened with the daemon's rights
//   user          a folder of the job's user, 0700, with all its contents:
//     report      the socket that CLEAVE_REPORT names
//     stdout.log, stderr.log, and .old.log of each
//
// A folder is named .new-12.1 while it is made, and .gone-12.1 and a number while it is removed.

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

/// Creates the file if it is missing and takes the lock; empty if the lock is held. A process that
/// inherits the descriptor has the lock.
[[nodiscard]] Result<std::optional<Descriptor>> take_job_lock(int folder);
/// Whether the lock is held. True if that cannot be determined, since a job whose supervisor seems
/// dead would be started again.
[[nodiscard]] bool job_lock_is_held(int folder);

/// Creates the file for the outcome, with reserved space if the file system supports that.
[[nodiscard]] Result<Descriptor> make_outcome_file(int folder);
/// Writes the outcome and syncs it. If the writer dies meanwhile, the incomplete record counts as
/// none; it may be written again.
[[nodiscard]] Result<void> write_outcome(int file, const ProcessOutcome& outcome);
/// The outcome; empty if there is no complete one.
[[nodiscard]] Result<std::optional<ProcessOutcome>> read_outcome(int folder);

/// What identifies the processes of an attempt. The text is made from the folder itself, so that no
/// two jobs on a machine share it; the session is filled in if the lock has it.
[[nodiscard]] Result<JobMark> job_mark(int folder, const JobKey& key);

/// Its launch, as the daemon wrote it.
[[nodiscard]] Result<Launch> read_launch(int folder);
/// When the attempt is over and its groups are gone: users' environments are not kept.
void forget_launch(int folder);
/// Its control groups, under this mark.
[[nodiscard]] inline JobGroups groups_of(const Launch& launch, const JobMark& mark) {
  return {launch.groups_in, mark.text};
}

/// Whether what a supervisor left, with this outcome, can be read at the moment. A shortage of the
/// system passes; damage does not, and is something that can be judged.
[[nodiscard]] bool can_judge(int folder, const JobKey& key,
                             const Result<std::optional<ProcessOutcome>>& outcome);

/// What the job's first process writes about itself into the lock.
[[nodiscard]] std::string began_text();
/// False only if the job's program certainly did not run.
[[nodiscard]] bool may_have_begun(int folder);

}  // namespace cleave
