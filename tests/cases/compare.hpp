#pragma once
// An answer against what a case expects of it. Every key that is expected is compared, others of
// the answer are not looked at. Numbers agree within 1e-9, relative or absolute; a rational
// {"value", "exact"} agrees with another by its exact form, with a plain number by its value. All
// else must be equal, the order of lists included.

#include <string>
#include <vector>

#include "base/json_fwd.hpp"

namespace cleave::cases {

/// Two values that should agree and do not, as text that fits on a line.
struct Difference {
  std::string path;  // inside the expected answer: "candidates[2].cost"
  std::string expected;
  std::string got;
};

/// In the order of `expected`; none when the answer is right.
std::vector<Difference> differences(const Json& expected, const Json& got);

}  // namespace cleave::cases
