// `cleave wait`: until jobs are over.

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/daemon/daemon_client.hpp"

namespace cleave::cli {

namespace {

struct Options : DaemonOptions {
  std::vector<std::string> jobs;
  std::int64_t patience = 60;
};

Result<int> wait_for_all(const Options& options) {
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  // All names first: while one job is waited for, another may end and lose its name.
  std::vector<std::int64_t> numbers;
  for (const std::string& job : options.jobs) {
    const auto meant = find_jobs(*daemon, job, std::chrono::seconds(options.patience));
    if (!meant) return std::unexpected(meant.error());
    numbers.insert(numbers.end(), meant->begin(), meant->end());
  }
  int code = 0;
  Json documents = Json::array();
  for (const std::int64_t number : numbers) {
    const auto document = wait_for_job(*daemon, number, std::chrono::seconds(options.patience));
    if (!document) return std::unexpected(document.error());
    const auto job = read_job(*document, "the daemon's answer");
    if (!job) return std::unexpected(job.error());
    if (code == 0) code = exit_code_of(*job);
    documents.push_back(*document);
    if (!options.json) fmt::print("{}\n", end_in_words(*job));
  }
  if (options.json) print(Json{{"jobs", documents}});
  return code;
}

Result<int> wait_command(const Options& options) {
  return or_125(wait_for_all(options), options.json);
}

}  // namespace

void add_wait(CommandLine& program, Run& run) {
  const auto [command, options] = add_command(
      program, run, "wait",
      "Wait until jobs have ended. Exits with the job's code; for several jobs with "
      "the first that is not 0; with 125 if one never ran or was lost, or no daemon answers",
      "cleave wait 12 13", wait_command);
  command
      ->add_option("JOB", options.jobs,
                   "Job numbers, names of unfinished jobs, or 12_7: of array 12 the job with "
                   "index 7; 12 itself for all jobs of that array")
      ->required()
      ->check(not_empty());
  add_patience(*command, options.patience);
  add_daemon(*command, options);
}

}  // namespace cleave::cli
