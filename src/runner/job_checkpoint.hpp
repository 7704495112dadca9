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

/// Iterations done, 0 where there is no file; fails where the file is of a job with another number of
/// iterations, or none of ours.
[[nodiscard]] Result<std::int64_t> read_checkpoint(const std::string& path, std::int64_t iterations);

}  // namespace cleave
