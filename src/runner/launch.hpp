#pragma once
// All that the process of a job needs to begin, one JSON file: the daemon writes it, the supervisor
// reads it. The file is of mode 0600 and belongs to the daemon's user, since environments hold
// secrets; the supervisor believes no other.

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"

namespace cleave {

/// One run of a job; a job that is started again has another attempt. Both count from 1.
struct JobKey {
  std::int64_t job = 0;
  std::int64_t attempt = 0;
  friend auto operator<=>(const JobKey&, const JobKey&) = default;
};

struct Launch {
  JobKey key;
  std::uint32_t uid = 0, gid = 0;
  std::vector<std::uint32_t> groups;     // supplementary
  std::vector<std::string> argv;         // the first is looked up in the environment's PATH
  std::vector<std::string> environment;  // "NAME=value", the whole of it; what the supervisor sets
                                         // itself (job_process.hpp) is replaced
  std::string working_directory;         // absolute
  std::string visible_devices;           // what CUDA_VISIBLE_DEVICES is set to, a MIG UUID
  Duration stop_grace = std::chrono::seconds(30);  // from TERM to KILL when the job is stopped
  Duration leftover_grace =
      std::chrono::seconds(5);        // the same for what it left behind when it ended
  std::int64_t log_limit = 64 << 20;  // bytes kept of each of its two outputs
};

/// Whether a process could be started from it: texts are UTF-8 without a zero byte, lengths are
/// what the system takes, times whole milliseconds up to a day. `place` is said in the error.
[[nodiscard]] Result<void> check_launch(const Launch& launch, const std::string& place);

/// Of a launch that passes the check.
[[nodiscard]] std::string launch_text(const Launch& launch);
/// Every key by name and nothing else; passes the check.
[[nodiscard]] Result<Launch> parse_launch(std::string_view text, const std::string& place);
/// A file of a launch is never longer.
inline constexpr std::int64_t longest_launch = 16 << 20;

}  // namespace cleave
