// `cleave scheduler`: by which the daemon places its jobs.

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/terminal_text.hpp"
#include "cli/daemon/daemon_client.hpp"

namespace cleave::cli {

namespace {

struct DaemonSchedulerCommandOptions : DaemonOptions {
  std::string spec;
};

Result<int> scheduler(const DaemonSchedulerCommandOptions& options) {
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  const bool change = !options.spec.empty();
  const auto document = daemon->ask_json(
      change ? "PUT" : "GET", "/v1/scheduler",
      change
          ? Json{{"scheduler", options.spec}}.dump(-1, ' ', false, Json::error_handler_t::replace)
          : std::string());
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  const std::string spec = JsonReader(*document, "the daemon's answer", error).text("scheduler");
  if (error) return std::unexpected(*error);
  if (options.json)
    print(*document);
  else
    fmt::print("{}\n", visible(spec));
  return 0;
}

}  // namespace

void add_scheduler(CommandLine& program, Run& run) {
  const auto [command, options] =
      add_command(program, run, "scheduler", "Show the daemon's scheduler, or change it",
                  "cleave scheduler 'online:threshold=auto'", scheduler);
  command
      ->add_option("SPEC", options.spec,
                   "The new scheduler, NAME[:key=value;key=value]; listed by `cleave schedulers`")
      ->check(not_empty());
  add_daemon(*command, options);
}

}  // namespace cleave::cli
