#pragma once
// What a job says of its memory once an iteration. What decides whether it runs out is memory
// allocated, with the context, not what an allocator has reserved (*Managing Multi Instance
// GPUs*, 3.2.1).

#include <cstdint>
#include <optional>

#include "base/quantity.hpp"

namespace cleave {

struct MemoryReport {
  std::int64_t iteration = 0;              // the first is 1
  std::optional<std::int64_t> iterations;  // in all, where the job knows
  MiB requested;                           // by the program, in all, during this iteration
  MiB allocated;                           // of that, physically, with context
};

}  // namespace cleave
