#pragma once
// What `simulate` and `compare` are both given: a fleet, a workload, a trace or a generator, and
// how a run goes: faults, forecasts, and the times that things take.

#include <string>
#include <vector>

#include "cli/command.hpp"
#include "cli/trace_arguments.hpp"
#include "model/job.hpp"
#include "model/workload_file.hpp"
#include "simulate/simulator.hpp"
#include "simulate/traces/trace.hpp"

namespace cleave::cli {

/// The options that `simulate` and `compare` share, as they were given, and what they mean.
struct RunArguments {
  std::string fleet, workload, trace, generate, profiles = "all";
  std::uint64_t seed = 1;
  bool fleet_may_be_asked = false;  // the command may learn the fleet elsewhere
  bool json = false, timing = false, no_index = false, jitter = false;
  std::string profiles_repository, time_model, know, may = "all";
  std::string faults, forecast = "none", reconfiguration, checkpoint = "30", process_start = "0",
                      compaction;
  std::string mig_switch = "0";
  std::string link = "spread", allocation = "off", sharing, power, power_cap, sample;
  std::vector<std::string> outages, reservations;
  TraceArguments trace_options;

  void add(CommandLine& command);
  /// The fleet and the workload, read and checked.
  /// Refuses to write to a file that the run is read from; an empty path is none.
  [[nodiscard]] Result<void> not_read(const char* option, const std::string& path) const;
  [[nodiscard]] Result<FleetFile> read_fleet() const { return load_fleet(fleet, profiles); }
  [[nodiscard]] Result<Workload> read_workload(std::uint64_t with_seed) const;
  /// Whether any workload, trace or generator is named.
  [[nodiscard]] bool names_workload() const {
    return !workload.empty() || !trace.empty() || !generate.empty();
  }
  /// Whether another seed makes another workload.
  [[nodiscard]] bool workload_is_drawn() const;
  /// How a run goes, as far as these options say.
  [[nodiscard]] Result<SimulationOptions> read_simulation(const FleetFile& of) const;

 private:
  [[nodiscard]] Result<Workload> read_lines_of_workload(std::uint64_t with_seed,
                                                        BadLines& bad) const;
  /// What a kernel is of the fleet's GPU model, if it has only one.
  [[nodiscard]] Result<ComputeSlices> slices_of(const KernelUse& kernel) const;
  void add_run_options(CommandLine& command);
  void add_told_options(CommandLine& command);
  void add_world_options(CommandLine& command);
  [[nodiscard]] Result<WorldTerms> read_world(const FleetFile& of) const;
  [[nodiscard]] Result<void> read_knowledge(const FleetFile& of, SimulationOptions& options) const;
};

/// How a run of this scheduler went, whatever was said and what was not: `run` in the answers.
Json run_json(const SimulationOptions& options, const FleetFile& fleet, const SchedulerSpec& spec);
/// Which terms of the physical world were on: `world` in the answers.
Json world_json(const WorldTerms& terms, const Workload& workload);
/// The same as a line, of what was said; empty where nothing was.
std::string run_text(const SimulationOptions& options, const FleetFile& fleet);

/// A line on the terminal that says how far a run is; nothing where standard error is not a
/// terminal. Safe to call from several threads for several runs: each adds its part.
class ProgressLine {
 public:
  ProgressLine(std::string what, std::size_t runs);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  /// For run number `run`.
  [[nodiscard]] Progress of_run(std::size_t run);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

/// Words about a workload before its results: how it was read, what was left out and why.
std::string introduction(const FleetFile& fleet, const Workload& workload);

/// What is wrong where schedulers are told predicted times and none is known of some jobs, or of
/// any, and what helps; empty otherwise.
std::string without_predictions(const SimulationOptions& options, const FleetFile& fleet,
                                const Workload& workload);
/// Says so on standard error.
void report_without_predictions(const SimulationOptions& options, const FleetFile& fleet,
                                const Workload& workload);

/// What a person should know beside the figures, a line each; from the summary of one run.
/// `measured_times`: changes of GPUs took the times of physics/.
std::string remarks(const RunSummary& summary, bool measured_times);

}  // namespace cleave::cli
