#pragma once
// Reading a job's output while it is written. The files are in a folder of the job's user
// (runner/job_directory.hpp), who can change them at will (runner/job_log.hpp). So links are not
// followed, only plain files of that user are opened, and their contents affect the offsets of this
// job only.
//
// An offset counts the bytes of an output from its beginning. It means the same bytes however often
// the files are rotated: a line at the top of a file says how many bytes were dropped before it,
// and is not counted itself. If a full disk refused bytes, the note about them is counted until its
// file is dropped; later offsets are then smaller by its length.

#include <cstdint>
#include <string>

#include "base/result.hpp"
#include "runner/launch.hpp"

namespace cleave {

/// Bytes of an output, and where they are in it.
struct JobOutputPiece {
  std::int64_t offset = 0;  // of the first byte
  std::string bytes;
  std::int64_t end = 0;  // where the output ended when it was read
  [[nodiscard]] std::int64_t next() const {
    return offset + static_cast<std::int64_t>(bytes.size());
  }
};

/// Reads from `offset`, or from the oldest byte kept if that was dropped. A negative offset counts
/// from the end; one beyond the end is the end. `stream` is "stdout" or "stderr". Empty if there is
/// no output yet.
[[nodiscard]] Result<JobOutputPiece> read_job_output(const std::string& jobs_folder,
                                                     const JobKey& key, std::uint32_t owner,
                                                     const std::string& stream, std::int64_t offset,
                                                     std::int64_t most_bytes);

}  // namespace cleave
