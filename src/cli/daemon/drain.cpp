// `cleave drain` and `cleave undrain`: whether a GPU takes new jobs.

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/daemon/daemon_client.hpp"
#include "cli/daemon/job_text.hpp"

namespace cleave::cli {

namespace {

struct DrainCommandOptions : DaemonOptions {
  std::string gpu;
};

Result<int> drain(const DrainCommandOptions& options, const char* what) {
  auto daemon = open_daemon(options);
  if (!daemon) return std::unexpected(daemon.error());
  const auto document =
      daemon->ask_json("POST", fmt::format("/v1/gpus/{}/{}", percent_encoded(options.gpu), what));
  if (!document) return std::unexpected(document.error());
  if (options.json) {
    print(*document);
    return 0;
  }
  const auto gpu = read_gpu(*document, "the daemon's answer");
  if (!gpu) return std::unexpected(gpu.error());
  fmt::print("GPU {} {}\n", gpu->index,
             gpu->drained ? "takes no new jobs; its running jobs continue" : "takes jobs");
  return 0;
}

void add(CommandLine& program, Run& run, const char* name, const char* what, const char* example) {
  const auto [command, options] = add_command<DrainCommandOptions>(
      program, run, name, what, example,
      [name](const DrainCommandOptions& given) { return drain(given, name); });
  command->add_option("GPU", options.gpu, "The GPU's index or UUID")
      ->required()
      ->check(not_empty());
  add_daemon(*command, options);
}

}  // namespace

void add_drain(CommandLine& program, Run& run) {
  add(program, run, "drain", "Stop a GPU from taking new jobs; its running jobs continue",
      "cleave drain 0");
}

void add_undrain(CommandLine& program, Run& run) {
  add(program, run, "undrain", "Let a drained GPU take jobs again", "cleave undrain 0");
}

}  // namespace cleave::cli
