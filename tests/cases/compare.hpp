#pragma once
// Whether an answer is what a case expects: every key of `expected`, numbers within 1e-9 relative or
// absolute, rationals by their exact form, everything else equal. Keys that only the answer has are of no
// concern.

#include <string>
#include <vector>

#include "base/json.hpp"

namespace cleave::cases {

/// A line for each difference: "path: expected X, got Y"; empty when there is none.
std::vector<std::string> differences(const Json& expected, const Json& got);

}  // namespace cleave::cases
