// `cleave wait`: until jobs are over.

#include <algorithm>
#include <limits>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/tell.hpp"
#include "cli/daemon/daemon_client.hpp"
#include "cli/daemon/job_choice.hpp"

namespace cleave::cli {

namespace {

struct WaitCommandOptions : DaemonOptions {
  std::vector<std::string> jobs;
  bool all = false;
  std::string patience = usual_patience;
};

/// The user's unfinished jobs, the oldest first.
Result<std::vector<std::int64_t>> all_unfinished(ApiClient& daemon) {
  const auto found = ask_jobs(daemon, "", std::numeric_limits<std::size_t>::max());
  if (!found) return std::unexpected(found.error());
  const auto jobs = read_jobs(Json{{"jobs", *found}}, "the daemon's answer");
  if (!jobs) return std::unexpected(jobs.error());
  std::vector<std::int64_t> numbers;
  for (const ApiJob& each : *jobs) numbers.push_back(each.id);
  std::ranges::sort(numbers);
  if (numbers.empty()) tell("cleave: you have no unfinished jobs\n");
  return numbers;
}

/// All words first: while one job is waited for, a newer one may take its name. Each job once.
Result<std::vector<std::int64_t>> meant(ApiClient& daemon, const WaitCommandOptions& options) {
  if (options.all) return all_unfinished(daemon);
  std::vector<std::int64_t> numbers;
  for (const std::string& job : options.jobs) {
    const auto found = find_jobs(daemon, job, patience_of(options.patience));
    if (!found) return std::unexpected(found.error());
    for (const std::int64_t each : *found)
      if (std::ranges::find(numbers, each) == numbers.end()) numbers.push_back(each);
  }
  return numbers;
}

Result<int> wait_for_all(const WaitCommandOptions& options) {
  if (options.jobs.empty() && !options.all)
    return fail(ErrorKind::bad_usage, "JOB", "no job is named",
                "give numbers or names, or --all for all your unfinished jobs");
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  const auto found = meant(*daemon, options);
  if (!found) return std::unexpected(found.error());
  const std::vector<std::int64_t>& numbers = *found;
  int code = 0;
  Json documents = Json::array();
  for (const std::int64_t number : numbers) {
    const auto document = wait_for_job(*daemon, number, patience_of(options.patience));
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

Result<int> wait_command(const WaitCommandOptions& options) {
  return or_125(wait_for_all(options), options.json);
}

}  // namespace

void add_wait(CommandLine& program, Run& run) {
  const auto [command, options] = add_command(
      program, run, "wait",
      "Wait until jobs have ended. Exits with the job's code; for several jobs with "
      "the first that is not 0, in the order in which they are named, and by number or index "
      "within a range or an array; with 125 if one never ran or was lost, or no daemon answers",
      "cleave wait 12 20-31 sweep\n  cleave wait --all", wait_command);
  Option* jobs = command->add_option(
      "JOB", options.jobs,
      "Job numbers; 12-40: your jobs with these numbers; names, each of which means the newest "
      "job of that name, an unfinished one before those that have ended; 12_7 and 12_1-5: those "
      "of array 12 with these indices; 12 itself, or its name, for all jobs of that array");
  jobs->check(not_empty());
  command->add_flag("--all", options.all, "All your jobs that are unfinished now")->excludes(jobs);
  add_patience(*command, options.patience);
  add_daemon(*command, options);
}

}  // namespace cleave::cli
