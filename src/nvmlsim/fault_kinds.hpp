#pragma once
// The kinds of fault that a simulated GPU can have, and what each does, as a table.

#include <span>
#include <string_view>

#include "nvmlsim/state.hpp"

namespace cleave::sim {

/// A kind of fault.
struct FaultKind {
  Fault fault;
  std::string_view name;
  std::string_view what;
  bool of_calls;  // can be set for a number of calls
};
std::span<const FaultKind> fault_kinds_table();

/// Whether the fault affects this call; uses up one of the calls that it was set for.
bool strikes(GpuCell& cell, Fault fault);
/// Whether it is set, without using it up.
bool is_set(const GpuCell& cell, Fault fault);

}  // namespace cleave::sim
