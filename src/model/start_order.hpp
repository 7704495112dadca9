#pragma once
// Which jobs of a workload wait for which others. An array counts as one, however many tasks it
// has, so that a thousand jobs may wait for ten thousand tasks.

#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "model/dependency.hpp"
#include "model/job.hpp"

namespace cleave {

/// The order between the jobs of one workload.
struct JobsOrder {
  /// All jobs of a group must have ended so.
  struct Awaited {
    std::uint32_t group = 0;
    Dependency::On on = Dependency::On::ok;
  };
  std::vector<std::vector<std::uint32_t>> groups;  // jobs: one, or the tasks of an array
  std::vector<std::vector<Awaited>> awaited;       // by job; empty: none waits for another
  std::size_t elsewhere = 0;  // jobs that wait for others which the workload does not have
};
[[nodiscard]] JobsOrder start_order_of(const Workload& workload);

/// Jobs that wait for one another in a circle, each for the next; empty: there are none.
[[nodiscard]] std::vector<std::uint32_t> waiting_circle(const JobsOrder& order);

/// "ok:ID": how they must have ended, and their name. Nothing where it is not of this form.
[[nodiscard]] std::optional<std::pair<Dependency::On, std::string_view>> parse_awaited(
    std::string_view text);

}  // namespace cleave
