// Workload files, JSON lines or CSV; the workload runs and is written again.

#include "accepted_input.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::workload_file_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  const auto workload = parse_workload(text, "jobs");
  if (workload) {
    run(small_fleet(), *workload);
    require(parse_workload(workload_text(*workload), "again").has_value(), "what is written reads");
  }
  return error_of(workload);
}

}  // namespace
}  // namespace cleave::fuzz::workload_file_target

CLEAVE_FUZZ_TARGET(workload_file, judged)
