#pragma once
// What the commands of the program share: how they are registered, what they are given, how they answer. A
// command is one file with one `add_` function and a row in the table of main.cpp; it parses, calls and
// prints, and decides nothing.

#include <CLI/CLI.hpp>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json_fwd.hpp"
#include "base/result.hpp"
#include "model/fleet_file.hpp"

namespace cleave::cli {

/// What main runs after the command line was understood; the value is the exit code.
using Run = std::function<Result<int>()>;

struct CommandRow {
  /// Adds the subcommand to the program; its callback puts what is to be done into `run`.
  void (*add)(CLI::App& program, Run& run);
};

void add_gpu(CLI::App& program, Run& run);
void add_layout(CLI::App& program, Run& run);
void add_place(CLI::App& program, Run& run);
void add_admit(CLI::App& program, Run& run);
void add_simulate(CLI::App& program, Run& run);
void add_compare(CLI::App& program, Run& run);
void add_policies(CLI::App& program, Run& run);
void add_schedulers(CLI::App& program, Run& run);
void add_workload(CLI::App& program, Run& run);
void add_bench(CLI::App& program, Run& run);
void add_plan(CLI::App& program, Run& run);
void add_reproduce(CLI::App& program, Run& run);
void add_import(CLI::App& program, Run& run);
void add_rebalance(CLI::App& program, Run& run);
void add_forecasters(CLI::App& program, Run& run);
void add_forecast(CLI::App& program, Run& run);
void add_recommend(CLI::App& program, Run& run);
void add_choose(CLI::App& program, Run& run);
void add_waste(CLI::App& program, Run& run);
void add_profiles_command(CLI::App& program, Run& run);
void add_gpus(CLI::App& program, Run& run);
void add_instances(CLI::App& program, Run& run);
void add_create(CLI::App& program, Run& run);
void add_destroy(CLI::App& program, Run& run);
void add_gpu_layout(CLI::App& program, Run& run);
void add_mig(CLI::App& program, Run& run);
void add_sim_node(CLI::App& program, Run& run);
void add_doctor(CLI::App& program, Run& run);
void add_submit(CLI::App& program, Run& run);
void add_ps(CLI::App& program, Run& run);
void add_show(CLI::App& program, Run& run);
void add_logs(CLI::App& program, Run& run);
void add_wait(CLI::App& program, Run& run);
void add_cancel(CLI::App& program, Run& run);
void add_top(CLI::App& program, Run& run);
void add_events(CLI::App& program, Run& run);
void add_drain(CLI::App& program, Run& run);
void add_undrain(CLI::App& program, Run& run);
void add_pause(CLI::App& program, Run& run);
void add_resume(CLI::App& program, Run& run);
void add_scheduler(CLI::App& program, Run& run);
void add_completion(CLI::App& program, Run& run);
void add_man(CLI::App& program, Run& run);

// Subcommands in files of their own, by group.
void add_forecast_memory(CLI::App& forecast, Run& run);
void add_forecast_model(CLI::App& forecast, Run& run);
void add_forecast_time(CLI::App& forecast, Run& run);
void add_bench_forecast(CLI::App& bench, Run& run);
void add_bench_nvml(CLI::App& bench, Run& run);
void add_reproduce_alarms(CLI::App& reproduce, Run& run);
void add_reproduce_carma(CLI::App& reproduce, Run& run);
void add_reproduce_completion_time(CLI::App& reproduce, Run& run);

/// A subcommand with its description and an example at the end of its help.
CLI::App* add_command(CLI::App& program, const std::string& name, const std::string& what,
                      const std::string& example);
/// `--json`, described the same way everywhere.
void add_json(CLI::App& command, bool& json);
/// `--profiles`, described the same way everywhere.
void add_profiles(CLI::App& command, std::string& profiles);

/// For options that take a whole number of at least `least`: CLI11 itself lets -5 wrap around.
CLI::Validator whole_number(std::int64_t least);
/// For options that take a number in [low, high]: CLI11's own Range lets `nan` through.
CLI::Validator number_from(double low, double high);
/// An empty word is most often a variable that was not set.
CLI::Validator not_empty();

/// A fleet from a file, or in short (4xA100-40GB).
[[nodiscard]] Result<FleetFile> load_fleet(const std::string& fleet, const std::string& profiles);

/// The whole file or none of it: whoever looks meanwhile sees the old one. What is no plain file, such as a
/// pipe, is written as it is.
[[nodiscard]] Result<void> write_whole(const std::string& path, const std::string& text);

/// The same for what is written piece by piece: the path names the whole file from `finish` on, and without
/// it never.
class WholeFile {
 public:
  [[nodiscard]] static Result<std::unique_ptr<WholeFile>> open(const std::string& path);
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  [[nodiscard]] std::ostream& stream() { return file_; }
  [[nodiscard]] Result<void> finish();

 private:
  explicit WholeFile(const std::string& path);
  [[nodiscard]] std::unexpected<Error> failure(std::error_code why) const;

  std::string path_, target_, written_;  // as given; where links lead; what is written meanwhile
  bool plain_ = true, finished_ = false;
  std::size_t slot_ = 0;  // among the files that a signal removes
  std::ofstream file_;
};

/// What stood behind the first "--" of `cleave submit`, word by word as it was given; main.cpp takes it off
/// before the command line is parsed.
std::vector<std::string>& command_words();

/// One JSON document on standard output.
void print(const Json& document);

}  // namespace cleave::cli
