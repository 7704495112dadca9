// `cleave workload from-history`: the jobs that a daemon ran as a workload file, each with how it
// went in keys of its own.

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/tell.hpp"
#include "base/text.hpp"
#include "cli/advise_history.hpp"
#include "cli/command.hpp"
#include "cli/history_replay.hpp"
#include "model/workload_file.hpp"

namespace cleave::cli {

namespace {

struct WorkloadHistoryCommandOptions {
  HistoryArguments history;
  std::string fleet, profiles = "all";
  WorkloadHistoryCommandOptions() { history.source = ask_the_daemon; }
};

/// The line of the job with what was seen of it, which readers of workloads pass over.
std::string line_with(std::string_view line, const SeenRun& seen) {
  Json said{{"x-waited_s", in_seconds(seen.wait)},
            {"x-ran_s", in_seconds(seen.turnaround - seen.wait)}};
  if (!seen.ran_on.empty()) said["x-ran_on"] = seen.ran_on;
  if (seen.peak) said["x-used_mib"] = seen.peak->value;
  if (!seen.state.empty()) said["x-ended"] = seen.state;
  // Both are objects: the job's members, then these.
  line.remove_suffix(1);
  return fmt::format("{},{}", line, said.dump().substr(1));
}

Result<int> write_history(const WorkloadHistoryCommandOptions& options) {
  const auto fleet = options.history.read_fleet(options.fleet, options.profiles);
  if (!fleet) return std::unexpected(fleet.error());
  const auto replay = read_replay(options.history, *fleet);
  if (!replay) return std::unexpected(replay.error());
  const std::string text = workload_text(replay->workload);
  std::size_t job = 0;
  for (const std::string_view line : split(text, '\n'))
    if (!line.empty()) fmt::print("{}\n", line_with(line, replay->past.seen[job++]));
  std::fflush(stdout);
  tell("{}", introduction_of(replay->past, *fleet));
  return 0;
}

}  // namespace

AddCommand add_workload_history;

void add_workload_history(CommandLine& workload, Run& run) {
  const auto [command, options] =
      add_command(workload, run, "from-history",
                  "Write the jobs that a daemon ran as a workload: JSON lines on standard output, "
                  "and on standard error what was left out and assumed",
                  "cleave workload from-history --since 7d > week.jsonl", write_history);
  options.history.add(*command);
  command->add_option("--fleet", options.fleet,
                      "The GPUs that the jobs ran on, a fleet file or 4xA100-40GB; those of the "
                      "daemon if it is asked");
  add_profiles(*command, options.profiles);
}

}  // namespace cleave::cli
