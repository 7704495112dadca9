#pragma once
// A file of reference cases: {"module": M, "cases": [{"id", "op", "input", "expected", ...}]}. Only
// its frame is read here; the operation reads the `input` of a case.

#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"

namespace cleave::cases {

/// One reference case.
struct Case {
  std::string id;
  std::string op;
  Json input;     // unchanged; null when absent
  Json expected;  // an object
};

/// All cases of one file.
struct CaseFile {
  std::string module;
  std::vector<Case> cases;
};

/// `place` is the file's name.
[[nodiscard]] Result<CaseFile> parse_cases(std::string_view text, const std::string& place);

}  // namespace cleave::cases
