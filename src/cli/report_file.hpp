#pragma once
// `--report FILE.html`: what a command found, as a page.

#include <string>
#include <vector>

#include "cli/command.hpp"
#include "model/fleet_file.hpp"
#include "model/job.hpp"
#include "report/report.hpp"
#include "simulate/simulator.hpp"

namespace cleave::cli {

/// A report of this command line, with nothing in it yet.
report::Report report_of(std::string title);

/// Of a report about runs: what was asked, from the words that commands print before their figures
/// (introduction() and run_text()).
report::Report report_of(std::string title, const std::vector<report::Line>& asked,
                         const FleetFile& fleet, const Workload& workload,
                         const SimulationOptions& options);

/// Adds each line of the remarks that is not there yet to what the answer rests on.
void add_remarks(report::Report& report, const std::string& remarks);

/// The option.
void add_report_option(CommandLine& command, std::string& path);

}  // namespace cleave::cli
