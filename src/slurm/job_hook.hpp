#pragma once
// What Slurm's prolog, epilog and task prolog are told of a job, what a job's instances on a node
// are called, and the note that the prolog leaves for the tasks. Pure: cli/slurm/ asks and does.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "model/claim.hpp"
#include "slurm/slurm_records.hpp"

namespace cleave {

/// A job on a node, by the environment that slurmd gives its hooks.
struct HookJob {
  std::int64_t number = 0;  // of an element of an array its own
  std::int64_t uid = -1;
  std::string user, node;
  bool is_script = false;  // of a batch job, and not a step within it; for the task prolog
  friend bool operator==(const HookJob&, const HookJob&) = default;
};
/// `variable` is null for what is not set.
[[nodiscard]] Result<HookJob> read_hook_job(
    const std::function<const char*(const char* name)>& variable);

/// The claim of a job on a node: all its steps there have it in common.
[[nodiscard]] std::string slurm_claim_key(std::int64_t job);
/// The job of such a claim; nothing where it is another's.
[[nodiscard]] std::optional<std::int64_t> job_of_claim(std::string_view key);

/// What the job is to have on this node: instances by its GRES, and exactly where its mark says so.
/// Without asks: it needs none.
[[nodiscard]] ClaimOrder claim_order_of(const SlurmJob& job, const HookJob& hook);

/// What the prolog leaves for the task prologs of every job, of those without instances too: where
/// there is no note, slurmd began the job without its prolog.
struct HookNote {
  std::string devices;                // what CUDA_VISIBLE_DEVICES is to be
  std::string refused;                // why there is none; else empty
  std::optional<Instant> begun = {};  // when the run of the job did, by Slurm
  friend bool operator==(const HookNote&, const HookNote&) = default;
};
[[nodiscard]] std::string note_text(const HookNote& note);
[[nodiscard]] HookNote parse_note(std::string_view text);
/// The name of the file with it, in a folder that several nodes of one machine may share.
[[nodiscard]] std::string note_name(const std::string& node, std::int64_t job);
/// What a task prolog prints: Slurm takes `export NAME=value` and shows `print TEXT` to the user.
[[nodiscard]] std::string task_prolog_text(const HookNote& note);

/// Claims of jobs that are not among those that Slurm has on the node: left over by an epilog that
/// never ran. `running` must have been asked for after the claims were listed.
[[nodiscard]] std::vector<std::string> claims_left_over(const std::vector<std::string>& keys,
                                                        const std::vector<std::int64_t>& running);

/// The numbers of `squeue -h -O JobID`, a line each.
[[nodiscard]] std::vector<std::int64_t> parse_job_numbers(std::string_view text);

/// A line that may stand in a comment of Slurm's: without quotes and line ends, and not too long.
[[nodiscard]] std::string comment_text(std::string_view text);

}  // namespace cleave
