#pragma once
// The schedulers that advice chooses from, as one table.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/scheduler.hpp"

namespace cleave {

/// What a candidate stands for in the answer.
enum class CandidateRole : std::uint8_t {
  whole_gpus,    // what a site has without MIG
  fixed_layout,  // instances that are made once
  changing,      // instances are made and destroyed for the jobs
  hindsight,     // knows the future; shows what is possible and is never advised
};
[[nodiscard]] std::string_view name(CandidateRole role);

/// A scheduler that is tried.
struct AdviceCandidate {
  SchedulerSpec spec;
  CandidateRole role;
  std::string layout = {};  // of a fixed one, in words
};

/// All of the table. Fixed layouts depend on the fleet (layouts.hpp) and are not in it.
[[nodiscard]] std::vector<AdviceCandidate> advice_candidates();

}  // namespace cleave
