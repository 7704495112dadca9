#include "cli/nothing_ran.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave::cli {

std::optional<Error> nothing_ran(std::span<const RunSummary* const> runs) {
  const auto rejects_all = [](const RunSummary* run) {
    return run->jobs > 0 && run->rejected == run->jobs && !run->rejections.empty();
  };
  if (runs.empty() || !std::ranges::all_of(runs, rejects_all)) return std::nullopt;
  const RunSummary& first = *runs.front();
  const ReasonCount& most = *std::ranges::max_element(
      first.rejections, {}, [](const ReasonCount& each) { return each.count; });
  const bool alike = most.count == first.jobs;
  return Error{
      ErrorKind::infeasible, runs.size() == 1 ? "the run" : "the runs",
      fmt::format("no job could run: {} {} rejected{} {}", counted(first.jobs, "job"),
                  first.jobs == 1 ? "was" : "were",
                  alike ? ":" : fmt::format(", {} of them because", most.count), most.reason),
      "name a fleet that holds such jobs, or change what they ask for"};
}

}  // namespace cleave::cli
