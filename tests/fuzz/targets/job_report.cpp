// Lines in which jobs report their memory.

#include "fuzz.hpp"
#include "runner/reports/memory_report_line.hpp"

namespace cleave::fuzz::job_report_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  const auto report = parse_report_line(text, "report");
  if (!report) return report.error();
  require(report->requested.value >= 0, "memory is not negative");
  require(parse_report_line(report_line(*report), "again").has_value(), "what is written reads");
  return std::nullopt;
}

}  // namespace
}  // namespace cleave::fuzz::job_report_target

CLEAVE_FUZZ_TARGET(job_report, judged)
