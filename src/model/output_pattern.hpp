#pragma once
// Where a job wants its outputs beside the daemon's logs: file names with %j and the like, as Slurm
// has them.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/record.hpp"

namespace cleave {

/// What a pattern is filled with.
struct OutputNames {
  std::int64_t job = 0, array = 0;  // the array's number; that of the job where it is in none
  std::int64_t index = 0, rank = 0, attempt = 1;
  std::string name;
};

inline constexpr std::int64_t longest_output_pattern = 4095;  // bytes

/// The rule of a field; an empty pattern is none.
[[nodiscard]] std::optional<WrongValue> wrong_output_pattern(std::string_view pattern);
/// Whether it has the letter: 'a' for %a.
[[nodiscard]] bool has_letter(std::string_view pattern, char letter);
/// The absolute path of the file; a relative one is below the directory. In place of a slash in the
/// name stands an underscore. The pattern has passed the check.
[[nodiscard]] std::string output_file(std::string_view pattern, const std::string& directory,
                                      const OutputNames& names);

}  // namespace cleave
