#pragma once
// What the commands of the program share: how they are registered, what they are given, how they
// answer. A command is one file with one `add_` function and a row in the table of main.cpp; it
// parses, calls and prints, and decides nothing.

#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/json_fwd.hpp"
#include "base/result.hpp"
#include "manual/command_line.hpp"
#include "model/fleet_file.hpp"

namespace cleave::cli {

/// What main runs after the command line was understood; the value is the exit code.
using Run = std::function<Result<int>()>;

struct CommandRow {
  /// Adds the subcommand to the program; its callback puts what is to be done into `run`.
  void (*add)(CommandLine& program, Run& run);
};

void add_gpu(CommandLine& program, Run& run);
void add_layout(CommandLine& program, Run& run);
void add_place(CommandLine& program, Run& run);
void add_admit(CommandLine& program, Run& run);
void add_simulate(CommandLine& program, Run& run);
void add_compare(CommandLine& program, Run& run);
void add_policies(CommandLine& program, Run& run);
void add_schedulers(CommandLine& program, Run& run);
void add_workload(CommandLine& program, Run& run);
void add_bench(CommandLine& program, Run& run);
void add_plan(CommandLine& program, Run& run);
void add_reproduce(CommandLine& program, Run& run);
void add_import(CommandLine& program, Run& run);
void add_rebalance(CommandLine& program, Run& run);
void add_forecasters(CommandLine& program, Run& run);
void add_forecast(CommandLine& program, Run& run);
void add_recommend(CommandLine& program, Run& run);
void add_choose(CommandLine& program, Run& run);
void add_waste(CommandLine& program, Run& run);
void add_profiles_command(CommandLine& program, Run& run);
void add_gpus(CommandLine& program, Run& run);
void add_instances(CommandLine& program, Run& run);
void add_create(CommandLine& program, Run& run);
void add_destroy(CommandLine& program, Run& run);
void add_gpu_layout(CommandLine& program, Run& run);
void add_mig(CommandLine& program, Run& run);
void add_sim_node(CommandLine& program, Run& run);
void add_doctor(CommandLine& program, Run& run);
void add_submit(CommandLine& program, Run& run);
void add_ps(CommandLine& program, Run& run);
void add_show(CommandLine& program, Run& run);
void add_logs(CommandLine& program, Run& run);
void add_wait(CommandLine& program, Run& run);
void add_cancel(CommandLine& program, Run& run);
void add_top(CommandLine& program, Run& run);
void add_events(CommandLine& program, Run& run);
void add_drain(CommandLine& program, Run& run);
void add_undrain(CommandLine& program, Run& run);
void add_pause(CommandLine& program, Run& run);
void add_resume(CommandLine& program, Run& run);
void add_scheduler(CommandLine& program, Run& run);
void add_completion(CommandLine& program, Run& run);
void add_man(CommandLine& program, Run& run);

// Subcommands in files of their own, by group.
void add_forecast_memory(CommandLine& forecast, Run& run);
void add_forecast_model(CommandLine& forecast, Run& run);
void add_forecast_time(CommandLine& forecast, Run& run);
void add_bench_forecast(CommandLine& bench, Run& run);
void add_bench_nvml(CommandLine& bench, Run& run);
void add_reproduce_alarms(CommandLine& reproduce, Run& run);
void add_reproduce_carma(CommandLine& reproduce, Run& run);
void add_reproduce_completion_time(CommandLine& reproduce, Run& run);

/// A subcommand with its description and an example at the end of its help.
CommandLine* add_command(CommandLine& program, const std::string& name, const std::string& what,
                         const std::string& example);
/// `--json`, described the same way everywhere.
void add_json(CommandLine& command, bool& json);
/// `--profiles`, described the same way everywhere.
void add_profiles(CommandLine& command, std::string& profiles);

/// For options that take a whole number of at least `least`: CLI11 itself lets -5 wrap around.
Check whole_number(std::int64_t least);
/// For options that take a number in [low, high]: `Check::range` lets `nan` through.
Check number_from(double low, double high);
/// An empty word is most often a variable that was not set.
Check not_empty();

/// A fleet from a file, or in short (4xA100-40GB).
[[nodiscard]] Result<FleetFile> load_fleet(const std::string& fleet, const std::string& profiles);

/// Whether both paths lead to one file that is there.
[[nodiscard]] bool same_file(const std::string& one, const std::string& other);

/// Refuses an option whose file is one of those that the same command reads.
[[nodiscard]] Result<void> not_read_too(const std::string& option, const std::string& path,
                                        const std::vector<std::string>& read);

/// The whole file or none of it: whoever looks meanwhile sees the old one, and may do with the new
/// one what they might with the old. What is no plain file, such as a pipe, is written as it is.
[[nodiscard]] Result<void> write_whole(const std::string& path, const std::string& text);

/// The same for what is written piece by piece: the path names the whole file from `finish` on, and
/// without it never.
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

/// What stood behind the first "--" of `cleave submit`, word by word as it was given; main.cpp
/// takes it off before the command line is parsed.
std::vector<std::string>& command_words();

/// One JSON document on standard output.
void print(const Json& document);

}  // namespace cleave::cli
