#pragma once
// Where a simulated job keeps how far it has come: one small file, whole or not there.
//
//   {"iterations":100,"done":42}

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace cleave {

/// Replaces the file at once and lasts over a crash of the machine.
[[nodiscard]] Result<void> write_checkpoint(const std::string& path, std::int64_t iterations,
                                            std::int64_t done);

/// Whether a checkpoint could be written there, tried out: better refused at the start than at the
/// first one.
[[nodiscard]] Result<void> can_keep_checkpoint(const std::string& path);

/// Iterations done, 0 where there is no file; fails where the file is of a job with another number
/// of iterations, or none of ours.
[[nodiscard]] Result<std::int64_t> read_checkpoint(const std::string& path,
                                                   std::int64_t iterations);

}  // namespace cleave
