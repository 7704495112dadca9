#pragma once
// Facts of real serving from the data folder: shapes of published models, lengths of requests in
// traces.

#include <string>

#include "study/reproduce/growth_series.hpp"

namespace cleave {

/// From `models`, `azure-llm-2023` and `mooncake-fast25` below `folder`; empty where the folder is
/// not there.
[[nodiscard]] Result<ServingFacts> read_serving_facts(const std::string& folder);

}  // namespace cleave
