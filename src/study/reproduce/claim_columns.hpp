#pragma once
// Swept claims as the commands print them.

#include <string>

#include "base/json_fwd.hpp"
#include "study/reproduce/claim_sweep.hpp"

namespace cleave::cli {

/// {"median", "low", "high"}
[[nodiscard]] Json spread_json(const SeedSpread& spread);
/// Inputs and claims.
[[nodiscard]] Json experiment_json(const SweptExperiment& each);
/// The claims, a table for each experiment under its name.
[[nodiscard]] std::string experiments_text(const std::vector<SweptExperiment>& experiments);

}  // namespace cleave::cli
