#pragma once
// Numbers with names as people write them on a command line: "compute=8,bandwidth=2.5".

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cleave {

/// A number and what it is called.
struct NamedNumber {
  std::string name;
  double number;
};

/// Reads "a=1,b=2": each name once, numbers at or above zero. `place` is for the error.
[[nodiscard]] Result<std::vector<NamedNumber>> named_numbers(std::string_view text,
                                                             const std::string& place);

}  // namespace cleave
