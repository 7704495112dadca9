#pragma once
// All that is needed to start the process of a job, in one JSON file: the daemon writes it, the
// supervisor reads it. The file has mode 0600 and belongs to the daemon's user, since environments
// hold secrets; the supervisor accepts no other.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "runner/container/container.hpp"
#include "runner/control_groups.hpp"

namespace cleave {

/// One run of a job; each start of a job is a new attempt. Both numbers count from 1.
struct JobKey {
  std::int64_t job = 0;
  std::int64_t attempt = 0;
  friend auto operator<=>(const JobKey&, const JobKey&) = default;
};

/// What to start, as whom, and where.
struct Launch {
  JobKey key;
  std::int64_t known_as = 0;  // the job's number for its user, where its key has another; else 0
  std::uint32_t uid = 0, gid = 0;
  std::vector<std::uint32_t> groups;  // supplementary
  std::vector<std::string> argv;      // the first is looked up in the environment's PATH
  /// "NAME=value", all variables; the supervisor replaces those it sets itself (job_process.hpp).
  std::vector<std::string> environment;
  std::string working_directory;  // absolute
  /// Files for its outputs, absolute; empty: none, or of errors that of the output.
  std::string output_file, error_file;
  std::string visible_devices;     // the value of CUDA_VISIBLE_DEVICES, a MIG UUID
  std::string checkpoint_command;  // for a shell, run when a checkpoint is asked for; or none
  Duration stop_grace = std::chrono::seconds(30);  // from TERM to KILL when the job is stopped
  /// The same for processes that the job left behind when it ended.
  Duration leftover_grace = std::chrono::seconds(5);
  std::int64_t log_limit = 64 << 20;  // bytes kept of each of its two outputs
  /// What it was given, for the runner, which makes the rules of it; not in the file.
  std::vector<JobDevice> devices;
  /// Where its control groups are made and what they fence, which the runner says, and their
  /// limits.
  GroupPlaces groups_in;
  std::optional<DeviceRules> fence;
  GroupLimits limits;
  std::optional<Container> container;  // in which the command runs
};

/// Fails unless a process could be started from it: texts are UTF-8 without a zero byte, lengths
/// are within the system's limits, times are whole milliseconds up to a day. `place` is for the
/// error.
[[nodiscard]] Result<void> check_launch(const Launch& launch, const std::string& place);

/// The JSON of a launch that passes the check.
[[nodiscard]] std::string launch_text(const Launch& launch);
/// Reads the JSON, which has no other keys and passes the check; what older daemons do not
/// write may be missing.
[[nodiscard]] Result<Launch> parse_launch(std::string_view text, const std::string& place);
/// The greatest size of such a file.
inline constexpr std::int64_t longest_launch = 16 << 20;

}  // namespace cleave
