#pragma once
// What a job reports about its memory once per iteration. Whether it runs out of memory depends on
// the memory allocated, with the context, not on what an allocator has reserved (*Managing Multi
// Instance GPUs*, 3.2.1).

#include <cstdint>
#include <optional>

#include "base/quantity.hpp"

namespace cleave {

/// The report of one iteration.
struct MemoryReport {
  std::int64_t iteration = 0;              // the first is 1
  std::optional<std::int64_t> iterations;  // in total, if the job knows
  MiB requested;                           // by the program in total during this iteration
  MiB allocated;                           // of that, physically, with context
};

}  // namespace cleave
