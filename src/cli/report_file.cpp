#include "cli/report_file.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "cli/workload_arguments.hpp"

namespace cleave::cli {

report::Report report_of(std::string title) {
  report::Report report;
  report.title = std::move(title);
  report.version = invocation().version;
  report.command = invocation().words;
  return report;
}

report::Report report_of(std::string title, const std::vector<report::Line>& asked,
                         const FleetFile& fleet, const Workload& workload,
                         const SimulationOptions& options) {
  report::Report report = report_of(std::move(title));
  const std::string words = introduction(fleet, workload), terms = run_text(options, fleet);
  std::string_view key = "jobs";
  for (const std::string_view line : split(words, '\n')) {
    if (!line.empty()) report.asked.emplace_back(key, line);
    key = "workload";
  }
  for (const std::string_view line : split(terms, '\n'))
    if (!line.empty()) report.asked.emplace_back("terms", line);
  report.asked.insert(report.asked.end(), asked.begin(), asked.end());
  return report;
}

void add_remarks(report::Report& report, const std::string& remarks) {
  for (const std::string_view line : split(remarks, '\n'))
    if (!line.empty() && std::ranges::find(report.assumed, line) == report.assumed.end())
      report.assumed.emplace_back(line);
}

void add_report_option(CommandLine& command, std::string& path) {
  command
      .add_option("--report", path,
                  "Write it as a page to FILE.html too: one file with tables and drawings, which "
                  "needs no network")
      ->check(not_empty())
      ->type_name("FILE");
}

}  // namespace cleave::cli
