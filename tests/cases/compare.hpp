#pragma once
// Compares an answer with the expected one. Every expected key is compared; other keys of the
// answer are ignored. Numbers agree within 1e-9, relative or absolute; a rational {"value",
// "exact"} agrees with another by its exact form, with a plain number by its value. Everything else
// must be equal, including the order of lists.

#include <string>
#include <vector>

#include "base/json_fwd.hpp"

namespace cleave::cases {

/// Two values that should agree but do not, as text that fits on a line.
struct Difference {
  std::string path;  // inside the expected answer: "candidates[2].cost"
  std::string expected;
  std::string got;
};

/// In the order of `expected`; empty if the answer is right.
std::vector<Difference> differences(const Json& expected, const Json& got);

}  // namespace cleave::cases
