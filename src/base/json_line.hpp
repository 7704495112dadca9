#pragma once
// JSON of files with one value a line.

#include <string>
#include <string_view>

#include "base/json_fwd.hpp"
#include "base/result.hpp"

namespace cleave {

/// As parse_json() reads a document. `place` names file and line; errors add the column alone.
[[nodiscard]] Result<Json> parse_json_line(std::string_view text, const std::string& place);

}  // namespace cleave
