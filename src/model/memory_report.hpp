#pragma once
// What a job reports about its memory once per iteration, in parts, as *Managing Multi Instance
// GPUs*, 3.2.1 divides it: what its allocator holds, which grows; workspaces of libraries and the
// CUDA context, which do not. Whether the job runs out of memory depends on their sum, not on what
// an allocator has reserved.
//
// Reports in which the context is not a part of its own are older: there it is in `allocated`.

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/quantity.hpp"

namespace cleave {

/// The report of one iteration.
struct MemoryReport {
  std::int64_t iteration = 0;              // the first is 1
  std::optional<std::int64_t> iterations;  // in total, if the job knows
  MiB requested;                           // by the program in total during this iteration
  /// Held physically for these requests, at most during this iteration; with context and
  /// workspaces if `context` is empty.
  MiB allocated;
  std::optional<MiB> context = {};    // the CUDA context, and whatever else is constant
  std::optional<MiB> workspace = {};  // of libraries, not in `allocated`; empty: not known
  std::optional<MiB> reserved = {};   // by the allocator, at least `allocated`; if it is known

  /// What does not grow and is not in `allocated`.
  [[nodiscard]] MiB constant() const {
    return context.value_or(MiB{0}) + workspace.value_or(MiB{0});
  }
  /// Everything that the job held: with more than its instance has, it is out of memory.
  [[nodiscard]] MiB held() const { return allocated + constant(); }
  /// Whether it asks for more than an instance with this memory has. Older reports name a demand
  /// before it is met as what was requested; in others that is a sum over the iteration.
  [[nodiscard]] bool beyond(MiB capacity) const {
    return (context ? held() : requested) > capacity;
  }

  friend bool operator==(const MemoryReport&, const MemoryReport&) = default;
};

/// A part that a report may have; keys are its name and a unit.
struct ReportPart {
  std::string_view name;
  std::optional<MiB> MemoryReport::*size;
};
inline constexpr ReportPart report_parts[] = {{"context", &MemoryReport::context},
                                              {"workspace", &MemoryReport::workspace},
                                              {"reserved", &MemoryReport::reserved}};

}  // namespace cleave
