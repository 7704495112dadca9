#pragma once
// The checkpoint of a simulated job: one small file, complete or missing.
//
//   {"iterations":100,"done":42}

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace cleave {

/// Replaces the file atomically; the new one survives a crash of the machine.
[[nodiscard]] Result<void> write_checkpoint(const std::string& path, std::int64_t iterations,
                                            std::int64_t done);

/// Tries whether a checkpoint can be written there, so that a job fails at its start and not at its
/// first checkpoint.
[[nodiscard]] Result<void> can_keep_checkpoint(const std::string& path);

/// The finished iterations, 0 if there is no file. Fails if the file is not a checkpoint, or that
/// of a job with another number of iterations.
[[nodiscard]] Result<std::int64_t> read_checkpoint(const std::string& path,
                                                   std::int64_t iterations);

}  // namespace cleave
