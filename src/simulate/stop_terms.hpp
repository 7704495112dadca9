#pragma once
// What a simulation says of saving, restoring and moving jobs.

#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/time.hpp"
#include "physics/copy_time.hpp"

namespace cleave {

/// To write a checkpoint and to read it, half each; or, with a store, by memory and link. Then a
/// replica is ready when it has its memory; else it needs no time for that.
struct StopTerms {
  Duration checkpoint = std::chrono::seconds{30};
  std::optional<CheckpointStore> by_memory = {};
  friend bool operator==(const StopTerms&, const StopTerms&) = default;
};

/// "30", "memory" or "memory:2"; and the same as written.
[[nodiscard]] Result<StopTerms> parse_stop_terms(std::string_view given);
[[nodiscard]] std::string text(const StopTerms& terms);

}  // namespace cleave
