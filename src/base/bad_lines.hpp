#pragma once
// Lines of a file that cannot be read. A reader that is given this passes them over, counts them
// and keeps what was wrong with the first; without it the first ends the reading.

#include <cstddef>
#include <expected>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace cleave {

/// The lines that were passed over.
struct BadLines {
  static constexpr std::size_t most_kept = 5;
  std::size_t count = 0;
  std::vector<Error> first;  // at most `most_kept`

  void add(Error error) {
    ++count;
    if (first.size() < most_kept) first.push_back(std::move(error));
  }
};

/// Passes over the line that is wrong, if `bad` is not null.
[[nodiscard]] inline Result<void> pass_over(BadLines* bad, const Error& error) {
  if (bad == nullptr) return std::unexpected(error);
  bad->add(error);
  return {};
}

}  // namespace cleave
