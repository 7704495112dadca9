#pragma once
// What the hooks on a node share: its daemon, Slurm's tools with deadlines, and notes for tasks.

#include <chrono>
#include <optional>
#include <string>

#include "cli/daemon/daemon_client.hpp"
#include "cli/slurm/slurm_tools.hpp"
#include "slurm/job_hook.hpp"

namespace cleave::cli {

/// The options of hooks.
struct HookOptions : DaemonOptions {
  std::string sockets, folder = "/run/cleave/slurm";
  std::int64_t wait_s = 60, batch_wait_s = 5;
};
/// Where the node's daemon listens and where notes lie; `%n` is the node's name in both.
void add_hook_options(CommandLine& command, HookOptions& options);

/// The options with the names of this node.
[[nodiscard]] HookOptions on_node(HookOptions options, const std::string& node);
/// The job that Slurm calls the hook for.
[[nodiscard]] Result<HookJob> hook_job();
/// A tool of Slurm's, for ten seconds at most.
[[nodiscard]] Result<std::string> ask_slurm(const std::vector<std::string>& command);
/// The job as squeue has it. Fails where it has none.
[[nodiscard]] Result<SlurmJob> look_up_job(std::int64_t job);
/// The same where slurmctld or munge may be on its way back, for so long at most.
[[nodiscard]] Result<SlurmJob> look_up_patiently(std::int64_t job, std::chrono::seconds patience);
/// Whether it was submitted by sbatch; others are not requeued.
[[nodiscard]] bool is_batch(std::int64_t job);
/// Has it wait again, and goes on asking for a minute. Whether it does. By the name that its users
/// know: the number of one element of an array is that of the whole array, too.
[[nodiscard]] bool put_back(const SlurmJob& job);

/// Readers see the old note or the whole new one.
[[nodiscard]] Result<void> write_note(const HookOptions& options, const HookJob& job,
                                      const HookNote& note);
/// Nothing where the prolog left none.
[[nodiscard]] std::optional<HookNote> read_note(const HookOptions& options, const HookJob& job);
/// How long ago the prolog left it.
[[nodiscard]] std::optional<Duration> note_age(const HookOptions& options, const HookJob& job);
void remove_note(const HookOptions& options, const HookJob& job);

/// Gives back what jobs hold that Slurm does not have on this node any more, and removes their
/// notes; how many.
[[nodiscard]] Result<std::size_t> release_left_over(ApiClient& daemon, const HookOptions& options,
                                                    const std::string& node);

/// A hook that failed would drain the node: whatever happened is said, and the exit code is 0.
[[nodiscard]] Result<int> never_failing(const char* hook, const Result<void>& done);

}  // namespace cleave::cli
