#pragma once
// Why a request cannot be placed on a fleet as it stands, in numbers that a person can act on.

#include <string>

#include "placement/fleet.hpp"
#include "placement/request_table.hpp"

namespace cleave {

/// What stands in the way of a request.
struct WhyNot {
  std::string impossible;  // no GPU of the fleet could take it even if empty; then the rest is 0
  std::size_t gpus = 0;    // GPUs whose model can take the request at all
  std::size_t fit_by_size =
      0;  // of these, with enough compute and memory free (idle instances count as free)
  std::size_t fit_by_position =
      0;  // of these, with an allowed start free: a rule of coexistence forbids it

  /// A sentence: "2g.10gb fits by size on 3 of 4 GPUs, but by position on none".
  [[nodiscard]] std::string message(const Request& request) const;
  [[nodiscard]] std::string remedy() const;
};

WhyNot why_not(const Fleet& fleet, const ResolvedRequest& request);

}  // namespace cleave
