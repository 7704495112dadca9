#pragma once
// A file of reference cases: {"module": M, "cases": [{"id", "op", "input", "expected", ...}]}. Only
// its frame is read here; what stands in an `input` concerns the operation, and is a matter of that
// one case.

#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "base/result.hpp"

namespace cleave::cases {

struct Case {
  std::string id;
  std::string op;
  Json input;     // as it is written; null when absent
  Json expected;  // an object
};

struct CaseFile {
  std::string module;
  std::vector<Case> cases;
};

/// `place` is the file's name.
[[nodiscard]] Result<CaseFile> parse_cases(std::string_view text, const std::string& place);

}  // namespace cleave::cases
