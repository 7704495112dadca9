#pragma once
// Lines of a workload that say the same but for the job's name, arrival and duration, as most lines
// of a long file do. What the first of them came to holds for the others, so these need not be
// parsed as documents.

#include <string>
#include <string_view>

namespace cleave {

/// A line taken apart: three values, and the rest of its text, in which they are left out.
struct LineParts {
  std::string_view id;
  double arrival_s = 0, duration_s = 0;
  std::string rest;
};

/// False where the line is anything but one flat object with these three keys, whose texts are
/// plain ASCII without escapes, and whose arrival and duration are written in digits with at most a
/// point. Such a line may still be right: it has to be parsed. So may one that is wrong in its
/// rest; a rest that has been found right is right again.
[[nodiscard]] bool take_apart(std::string_view line, LineParts& parts);

}  // namespace cleave
