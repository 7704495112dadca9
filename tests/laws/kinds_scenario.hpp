#pragma once
// Services and leases among the random jobs of a scenario.

#include "scenario.hpp"

namespace cleave::laws {

/// Makes some jobs of the scenario, of one place each, services of a replica and leases.
void add_kinds(Scenario& scenario, std::uint64_t seed);

}  // namespace cleave::laws
