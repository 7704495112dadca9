#pragma once
// A claim as the loop knows it. Plain values; verdicts/claim_verdicts.hpp reads them,
// loop/claim_keeper.hpp changes them.

#include <cstdint>
#include <set>
#include <string>

#include "base/time.hpp"
#include "model/claim.hpp"

namespace cleave {

/// A claim with what is known of it for now.
struct LiveClaim {
  Claim record;
  bool written = false;              // false: its room is kept, and nothing is done for it yet
  std::uint64_t released_after = 0;  // the last operation asked for before it was given back
  Duration look_at{};                // not before, on the steady clock, once it is given back
  std::set<std::string> refused;     // UUIDs of GPUs that would not make its instances
};

}  // namespace cleave
