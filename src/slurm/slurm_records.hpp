#pragma once
// What Slurm says of its nodes and jobs, as far as Cleave needs it, and the texts in which it says
// it.
//
// Cleave speaks to Slurm through its command line tools: `squeue -O`, `scontrol -o show node` and
// `sacct -P` to read, `scontrol update` to write. The alternatives live for a shorter time:
// slurmrestd changes its paths and documents with each release and removes the old ones after three
// (22.05 has v0.0.38, and no path of it is in 25.05), and many sites do not run it; libslurm's
// structures change with each release, so that a program has to be built for each. The names of the
// columns and keys below are those of the manual of 22.05, other people's programs use them with
// later ones too, and what is not known is passed over. A call takes 4 ms.
//
// Job names and comments are their users' to choose, and may hold any separator and any line. So
// jobs are read from `squeue -O` with a mark, drawn anew for each call, at the end of a record, and
// the one text of users that is asked for comes last. `scontrol show job` has no such form: a job
// may be named "x JobState=RUNNING".

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity.hpp"
#include "base/result.hpp"
#include "base/time.hpp"

namespace cleave {

/// The name of the generic resource (GRES) under which Slurm counts instances.
inline constexpr std::string_view gres_name = "mig";

/// A slurmd that registers reports what stands in slurm.conf. Slurm drains its node where that is
/// less than the node was told to have in sum, or where the sum has changed under a job. So the sum
/// never changes: what is not cut stands under a type that no job may ask for.
inline constexpr std::string_view uncut_type = "uncut";
inline constexpr std::int64_t node_total = 1000;

/// Seconds since 1970, as Slurm's tools write times if they are asked to; empty: no time is said.
[[nodiscard]] std::optional<Instant> slurm_time(std::string_view text);

/// Instances by the profile's name. A profile that is named with 0 is one that the node could have.
using GresCounts = std::map<std::string, std::int64_t>;

/// Reads "mig:3g.20gb:2,mig:1g.5gb:7(S:0)", "gres:mig:3g.20gb", "gres/mig:3g.20gb=2"; what is not
/// of `mig`, or has no type, is passed over, and so are counts that are not numbers.
[[nodiscard]] GresCounts parse_gres(std::string_view text);
/// As `scontrol update` takes it: "mig:1g.5gb:7,mig:3g.20gb:2".
[[nodiscard]] std::string gres_text(const GresCounts& counts);
/// What a node is told to have: these, and of `uncut_type` as many as make `node_total` of all.
[[nodiscard]] std::string node_gres_text(const GresCounts& counts);
/// How many of this type; 0 where it is not named.
[[nodiscard]] std::int64_t count_of(const GresCounts& counts, const std::string& profile);
[[nodiscard]] std::int64_t sum_of(const GresCounts& counts);

/// A node.
struct SlurmNode {
  std::string name;
  GresCounts has, used;  // what Slurm counts, and of that what it has given to jobs
  bool takes_jobs = true;
  std::string state;       // as Slurm says it: "MIXED", "IDLE+DRAIN"
  std::string reason;      // of a drain, without who and when
  std::string partitions;  // "mig,all"
  std::int64_t cpus = 0, cpus_used = 0;
  MiB memory, memory_used;
  std::optional<Instant> begun;  // when its slurmd did
};

/// What a job does, of the many states that Slurm knows.
enum class SlurmJobState : std::uint8_t { pending, running, ending, over };

/// A job, or one element of an array.
struct SlurmJob {
  std::int64_t number = 0;  // its own, also as the element of an array
  std::string shown;        // as users know it, and Slurm's tools take it: "12_3"
  SlurmJobState state = SlurmJobState::pending;
  GresCounts asks;  // on each of its nodes
  std::int64_t nodes = 1, cpus = 1;
  std::int64_t priority = 0;  // 0: held
  std::int64_t uid = 0;
  std::optional<Instant> submitted, starts;  // starts: or started, or not before
  std::optional<Duration> limit;
  std::string reason;
  std::string wanted_nodes, runs_on;  // as Slurm writes lists of nodes
  bool requeueable = false;
  std::int64_t restarts = 0;
  std::string partitions;  // one of these
  std::string depends_on;  // jobs that it still waits for: "afterok:12(unfulfilled)"
  std::string comment;
};

/// The word behind `squeue -h -r -O` that asks for what parse_squeue reads; `mark` ends a record.
[[nodiscard]] std::string squeue_columns(std::string_view mark);
/// Reads that. A record that cannot be read is left out and counted in `left_out`; a text without
/// any mark, that is not empty, is an error.
struct ReadJobs {
  std::vector<SlurmJob> jobs;
  std::size_t left_out = 0;
};
[[nodiscard]] Result<ReadJobs> parse_squeue(std::string_view text, std::string_view mark);

/// Reads `scontrol -o -d show node` with SLURM_TIME_FORMAT=%s; a line without NodeName is an error.
[[nodiscard]] Result<std::vector<SlurmNode>> parse_scontrol_nodes(std::string_view text);

/// When slurmctld began, of `scontrol show config` with SLURM_TIME_FORMAT=%s.
[[nodiscard]] std::optional<Instant> parse_boot_time(std::string_view config);

/// The nodes of a list such as "n[1-3,7],m2"; empty where it is not one, or too long.
[[nodiscard]] std::vector<std::string> nodes_of_list(std::string_view list);

/// Whether this list has the node.
[[nodiscard]] bool names(std::string_view list, std::string_view node);

/// "1-02:03:04", "03:04", "UNLIMITED" and "INVALID" (nothing).
[[nodiscard]] std::optional<Duration> slurm_duration(std::string_view text);

}  // namespace cleave
