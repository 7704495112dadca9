// `cleave pause` and `cleave resume`: whether the daemon starts jobs.

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/daemon/daemon_client.hpp"

namespace cleave::cli {

namespace {

Result<int> set_paused(const DaemonOptions& options, const char* what) {
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  const auto document = daemon->ask_json("POST", fmt::format("/v1/{}", what));
  if (!document) return std::unexpected(document.error());
  std::optional<Error> error;
  const bool paused = JsonReader(*document, "the daemon's answer", error).flag("paused", false);
  if (error) return std::unexpected(*error);
  if (options.json)
    print(*document);
  else
    fmt::print("{}\n", paused
                           ? "no jobs are started; running jobs continue, and new ones are accepted"
                           : "jobs are started");
  return 0;
}

void add(CommandLine& program, Run& run, const char* name, const char* what, const char* example) {
  const auto [command, options] = add_command<DaemonOptions>(
      program, run, name, what, example,
      [name](const DaemonOptions& given) { return set_paused(given, name); });
  add_daemon(*command, options);
}

}  // namespace

void add_pause(CommandLine& program, Run& run) {
  add(program, run, "pause", "Stop the daemon from starting jobs until `cleave resume`",
      "cleave pause");
}

void add_resume(CommandLine& program, Run& run) {
  add(program, run, "resume", "Let the daemon start jobs again", "cleave resume");
}

}  // namespace cleave::cli
