#pragma once
// Of how many places a job says that it has them at a time, and how they lie: the same in a
// submission and in a workload file.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/request.hpp"

namespace cleave {

/// Whole GPUs, or instances of what else is asked for.
struct AskedPlaces {
  std::optional<std::int64_t> gpus;       // with MIG off
  std::optional<std::int64_t> instances;  // of the profile or size
  Together together = Together::anywhere;
  friend bool operator==(const AskedPlaces&, const AskedPlaces&) = default;
};

/// Which of its keys cannot be as it is, why, and what would help.
struct WrongPlaces {
  std::string_view key;
  std::string message, remedy;
};
/// What does not go together. `sized`: a profile or a size is asked for; `movable`: the job says
/// that it may be moved.
[[nodiscard]] std::optional<WrongPlaces> wrong_places(const AskedPlaces& asked, bool sized,
                                                      bool movable);

/// The request for these places, given that for one of them.
[[nodiscard]] Request request_of(const AskedPlaces& asked, Request one);
/// "2 whole GPUs", "4 x 9 GiB on one GPU"; `one` in words.
[[nodiscard]] std::string in_words(const AskedPlaces& asked, std::string one);

}  // namespace cleave
