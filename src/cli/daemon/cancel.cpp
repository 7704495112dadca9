// `cleave cancel`: ends jobs.

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/daemon/daemon_client.hpp"

namespace cleave::cli {

namespace {

struct Options : DaemonOptions {
  bool now = false;
  std::vector<std::string> jobs;
};

Result<Json> cancel_one(ApiClient& daemon, const std::string& job, bool now) {
  const auto number = find_job(daemon, job);
  if (!number) return std::unexpected(number.error());
  return daemon.ask_json("POST", fmt::format("/v1/jobs/{}/cancel{}", *number, now ? "?now=1" : ""));
}

Result<int> cancel(const Options& options) {
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  int code = 0;
  Json documents = Json::array();
  for (const std::string& each : options.jobs) {
    const auto document = cancel_one(*daemon, each, options.now);
    if (!document) {
      // The others are cancelled all the same, unless no daemon answers.
      if (daemon->unreachable() || options.jobs.size() == 1)
        return std::unexpected(document.error());
      code = std::max(code, report_error(document.error(), false));
      continue;
    }
    documents.push_back(*document);
    const auto job = read_job(*document, "the daemon's answer");
    if (!job) return std::unexpected(job.error());
    if (!options.json)
      fmt::print("{}\n", job->is_over() ? end_in_words(*job)
                                        : fmt::format("job {} is being stopped", job->id));
  }
  if (options.json) print(Json{{"jobs", documents}});
  return code;
}

}  // namespace

void add_cancel(CommandLine& program, Run& run) {
  const auto [command, options] =
      add_command(program, run, "cancel", "Cancel jobs: TERM, then KILL after the job's grace time",
                  "cleave cancel 12", cancel);
  command->add_option("JOB", options.jobs, "Job numbers, or names of unfinished jobs")
      ->required()
      ->check(not_empty());
  command->add_flag("--now", options.now,
                    "KILL at once; also jobs that are being cancelled and have not ended yet");
  add_daemon(*command, options);
}

}  // namespace cleave::cli
