#pragma once
// The JSON type, declared but not defined: enough for a header that only passes it on. Keys keep
// the order in which they were added, so that output reads well and repeats byte for byte.

#include <nlohmann/json_fwd.hpp>

namespace cleave {

using Json = nlohmann::ordered_json;

}  // namespace cleave
