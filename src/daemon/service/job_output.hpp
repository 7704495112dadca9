#pragma once
// Reading a job's output while it is written. The files are in a folder of the job's user
// (runner/job_directory.hpp), who can do with them what he likes (runner/job_log.hpp): no link is
// followed, nothing but a plain file of his is opened, and what they say moves offsets of this job
// only.
//
// An offset counts the bytes of an output from its beginning, so that it means the same bytes
// however often the files change places: the line in front of a file says how many are gone before
// it, and is not counted itself. After a full disk refused bytes, the note about these is counted
// until its file is dropped, and later offsets are smaller by so much.

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "runner/launch.hpp"

namespace cleave {

struct JobOutputPiece {
  std::int64_t offset = 0;  // of the first byte
  std::string bytes;
  std::int64_t end = 0;  // where the output ended when it was looked at
  [[nodiscard]] std::int64_t next() const {
    return offset + static_cast<std::int64_t>(bytes.size());
  }
};

/// From `offset` on, or where that is gone from the oldest byte on; a negative one counts from the
/// end, and one beyond the end is the end. `stream` is "stdout" or "stderr". Empty where nothing is
/// there yet.
[[nodiscard]] Result<JobOutputPiece> read_job_output(const std::string& jobs_folder,
                                                     const JobKey& key, std::uint32_t owner,
                                                     const std::string& stream, std::int64_t offset,
                                                     std::int64_t most_bytes);

}  // namespace cleave
