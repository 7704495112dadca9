// The program `cleaved`: the daemon that runs jobs on MIG instances, which it makes for them. It
// stays in the foreground; a service manager starts and ends it.

#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <exception>
#include <filesystem>

#include "base/format.hpp"
#include "base/text.hpp"
#include "daemon/daemon.hpp"
#include "manual/manual.hpp"

namespace cleave {

namespace {

struct DaemonOptions {
  DaemonArguments arguments;
  std::optional<std::string> check;  // a file; empty: the one in force
  bool foreground = true, sample = false, man = false;
  std::string log_level = "info";
};

void add_options(CommandLine& program, DaemonOptions& options) {
  DaemonArguments& to = options.arguments;
  program.add_option("--socket", to.socket,
                     "Where it listens; /run/cleave/cleaved.sock as root, else "
                     "$XDG_RUNTIME_DIR/cleave/cleaved.sock");
  program.add_option("--state", to.state,
                     "What it remembers and the jobs' folders; /var/lib/cleave as root, else "
                     "$XDG_STATE_HOME/cleave; with --simulate the folder `simulated` in that");
  program.add_option("--config", to.config,
                     "Its configuration; /etc/cleave/cleaved.toml as root, else "
                     "$XDG_CONFIG_HOME/cleave/cleaved.toml");
  program.add_option("--nvml", to.nvml,
                     "The NVML library to open, before the one of the configuration");
  Option* simulate =
      program.add_option("--simulate", to.simulate,
                         "Makes simulated GPUs of its own, like 4xA100-40GB, and manages them all");
  simulate->check(Check([](const std::string& fleet) {
    return fleet.empty() ? std::string("it is empty; name GPUs, like 4xA100-40GB") : std::string();
  }));
  program
      .add_flag("--instant", to.instant, "Simulated instances are made and destroyed in no time")
      ->needs(simulate);
  program.add_flag("--foreground", options.foreground,
                   "It stays in the foreground, as it does in any case");
  program
      .add_option("--log-level", options.log_level,
                  "What it logs to standard error: debug, info, warn or error")
      ->check(Check::one_of({"debug", "info", "warn", "error"}))
      ->default_str("info");
  program.add_flag("--sample-config", options.sample,
                   "Prints a configuration with every key explained");
  program
      .add_option("--check-config", options.check,
                  "Reads the configuration, or this file, says what is wrong with it, and ends")
      ->expected(0, 1)
      ->type_name("[FILE]");
  program.add_flag("--man", options.man, "Prints this help as a man page");
  program.version_flag("--version", fmt::format("cleaved {}", CLEAVE_VERSION));
}

int report_error(const Error& error) {
  fmt::print(stderr, "cleaved: {}\n", shown(error.text(), 4000));
  return exit_code(error.kind);
}

int check_config(DaemonOptions& options) {
  if (options.check && !options.check->empty()) options.arguments.config = options.check;
  const auto config = load_config(options.arguments);
  if (!config) {
    report_error(config.error());
    return 2;
  }
  const auto place = config_place(options.arguments);
  std::error_code failed;
  const bool there = place && std::filesystem::exists(*place, failed);
  for (const std::string& each : config_changes(default_config(), *config))
    fmt::print("{}\n", shown(each, 500));
  if (there) {
    fmt::print("{}: it can be used\n", shown(place->string(), 200));
  } else {
    fmt::print(
        "there is no {}: every key has its default, and managed_gpus must be named somewhere\n",
        place ? shown(place->string(), 200) : "file");
  }
  return 0;
}

int run_program(int argc, char** argv) {
  CommandLine program(
      "Runs jobs on MIG instances, which it makes for them, and loses nothing. docs/api.md says "
      "how it is asked.",
      "cleaved");
  DaemonOptions options;
  options.arguments.version = CLEAVE_VERSION;
  add_options(program, options);
  if (const auto end = program.parse(argc, argv))
    return end->code == 0
               ? 0
               : report_error({ErrorKind::bad_usage, "", end->why, "see `cleaved --help`"});
  if (options.man) {
    const CommandNode tree = command_tree(program);
    fmt::print(
        "{}", manual_page(tree, tree,
                          {CLEAVE_VERSION,
                           "0 It was asked to end.\n1 It could not run.\n2 The command line or the "
                           "configuration is wrong; nothing was begun."}));
    return 0;
  }
  if (options.sample) {
    fmt::print("{}", sample_config());
    return 0;
  }
  if (program.count("--check-config") > 0) return check_config(options);
  spdlog::set_default_logger(spdlog::stderr_color_mt("cleaved"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
  spdlog::set_level(spdlog::level::from_str(options.log_level));
  if (const auto ran = run_daemon(options.arguments); !ran) return report_error(ran.error());
  return 0;
}

}  // namespace

}  // namespace cleave

int main(int argc, char** argv) {
  try {
    return cleave::run_program(argc, argv);
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "cleaved: something went wrong inside: %s\n", exception.what());
    return 1;
  }
}
