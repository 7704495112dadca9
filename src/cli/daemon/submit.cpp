// `cleave submit`: gives the daemon a job.

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/terminal_text.hpp"
#include "cli/daemon/daemon_client.hpp"
#include "cli/daemon/job_follow.hpp"
#include "cli/daemon/submission.hpp"

namespace cleave::cli {

namespace {

struct Options : DaemonOptions {
  SubmitOptions job;
  std::vector<std::string> before_dashes;
  bool wait = false, follow = false, raw = false;
  std::int64_t patience = 60;
};

Result<Json> send(const Options& options) {
  if (command_words().empty() || !options.before_dashes.empty())
    return fail(
        ErrorKind::bad_usage, "COMMAND",
        options.before_dashes.empty()
            ? "no command is given"
            : fmt::format("'{}' stands before the command", visible(options.before_dashes.front())),
        "write the command after --, as in cleave submit --memory 9GiB -- python3 train.py");
  std::vector<std::string> left_out;
  const auto submission = options.job.document(command_words(), left_out);
  if (!submission) return std::unexpected(submission.error());
  for (const std::string& name : left_out)
    fmt::print(stderr, "cleave: the variable {} is not UTF-8 and is left out\n", visible(name));
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  auto document = daemon->ask_json("POST", "/v1/jobs", submission->dump());
  if (!document) return std::unexpected(of_its_option(std::move(document.error())));
  return document;
}

Result<int> wait_for(const Options& options, std::int64_t number) {
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  const auto document = wait_for_job(*daemon, number, std::chrono::seconds(options.patience));
  if (!document) return std::unexpected(document.error());
  const auto job = read_job(*document, "the daemon's answer");
  if (!job) return std::unexpected(job.error());
  if (options.json)
    print(*document);
  else if (job->state != "finished")
    fmt::print(stderr, "cleave: {}\n", end_in_words(*job));
  return exit_code_of(*job);
}

Result<int> submit(const Options& options) {
  const auto document = send(options);
  if (!document) return std::unexpected(document.error());
  const auto job = read_job(*document, "the daemon's answer");
  if (!job) return std::unexpected(job.error());
  // With --follow standard output is the job's.
  if (!options.json) fmt::print(options.follow ? stderr : stdout, "job {}\n", job->id);
  if (!options.wait && !options.follow) {
    if (options.json) print(*document);
    return 0;
  }
  std::fflush(stdout);
  if (options.wait) return wait_for(options, job->id);
  return follow_job(options, job->id, std::chrono::seconds(options.patience), options.raw);
}

}  // namespace

void add_submit(CommandLine& program, Run& run) {
  auto options = std::make_shared<Options>();
  CommandLine* command =
      add_command(program, "submit",
                  "Submit a job to the daemon: a command that runs as you, in this directory and "
                  "with your environment, on an instance made for it. Prints its number",
                  "cleave submit --memory 9GiB --restartable -- python3 train.py");
  options->job.add(*command);
  Option* wait = command->add_flag(
      "--wait", options->wait,
      "Wait until the job ends and exit with its code, or with 125 if Cleave itself failed");
  Option* follow = command->add_flag("--follow", options->follow,
                                     "Like --wait, and print its outputs as they come; Ctrl-C asks "
                                     "whether to cancel the job");
  follow->excludes(wait);
  command
      ->add_flag("--raw", options->raw,
                 "With --follow: print control characters to a terminal as they are")
      ->needs(follow);
  add_patience(*command, options->patience);
  add_daemon(*command, *options);
  follow->excludes("--json");
  command->add_option("COMMAND", options->before_dashes, "After --: the command and its arguments");
  command->callback([options, &run] {
    run = [options] {
      const auto code = submit(*options);
      return options->wait || options->follow ? or_125(code, options->json) : code;
    };
  });
}

}  // namespace cleave::cli
