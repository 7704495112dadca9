#pragma once
// Which of the jobs that wait start now, by simulating the next starts forward.

#include <utility>
#include <vector>

#include "engine/adaptive/books.hpp"
#include "engine/adaptive/place_finder.hpp"

namespace cleave {

/// Of the jobs that wait, those that are planned; the others' turn has not come.
struct ForwardStarts {
  std::vector<std::pair<JobId, Spot>> now;  // in the order of their turn
  std::vector<JobId> later;                 // something better becomes free
};

/// The plan of the moment; `finder` says what is expected to come.
[[nodiscard]] ForwardStarts starts_by_plan(Books& books, const PlaceFinder& finder);

}  // namespace cleave
