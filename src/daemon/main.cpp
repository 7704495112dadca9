// The program `cleaved`: the daemon that makes MIG instances and runs jobs on them. It stays in the
// foreground; a service manager starts and ends it.

#include <malloc.h>
#include <spdlog/spdlog.h>

#include <cstdio>
#include <exception>
#include <filesystem>

#include "base/format.hpp"
#include "base/tell.hpp"
#include "base/text.hpp"
#include "daemon/config_check.hpp"
#include "daemon/daemon.hpp"
#include "daemon/log_output.hpp"
#include "daemon/metrics/metrics_access.hpp"
#include "daemon/page/page_address.hpp"
#include "daemon/store_commands.hpp"
#include "manual/completion.hpp"
#include "manual/manual.hpp"

namespace cleave {

namespace {

struct DaemonOptions {
  DaemonArguments arguments;
  std::optional<std::string> check;  // a file; empty: the one the daemon would read
  bool foreground = true, sample = false, man = false;
  std::string log_level = "info";
  std::string command;     // "check"; empty: the daemon itself
  std::string completion;  // a shell
  std::string backup;      // a file
};

constexpr const char* state_help =
    "Directory of the daemon's state and the jobs' files; /var/lib/cleave as root, "
    "else $XDG_STATE_HOME/cleave; with --simulate the folder `simulated` in it";

/// A command beside the daemon; the caller adds what is its own.
CommandLine* add_command(CommandLine& program, DaemonOptions& options, const std::string& name,
                         const std::string& what) {
  CommandLine* command = program.add_subcommand(name, what);
  command->add_option("--state", options.arguments.state, state_help);
  command->add_flag("--man", options.man, "Print this help as a man page");
  command->callback([&options, name] { options.command = name; });
  return command;
}

void add_commands(CommandLine& program, DaemonOptions& options) {
  add_command(program, options, "check",
              "Read all of the store and say what is wrong with it; nothing is changed, and a "
              "daemon may run meanwhile")
      ->footer("Example:\n  cleaved check --state /var/lib/cleave");
  CommandLine* backup = add_command(program, options, "backup",
                                    "Copy the store, as it stands at one moment, to a file, and "
                                    "read the copy again; a daemon may "
                                    "run meanwhile");
  backup
      ->add_option("file", options.backup,
                   "File to make; beside it is made FILE.witness. Neither may be there already")
      ->type_name("FILE");
  backup->footer("Example:\n  cleaved backup /backup/cleave-monday.db");
}

void add_options(CommandLine& program, DaemonOptions& options) {
  DaemonArguments& to = options.arguments;
  program.add_option("--socket", to.socket,
                     "Socket to listen on; /run/cleave/cleaved.sock as root, else "
                     "$XDG_RUNTIME_DIR/cleave/cleaved.sock");
  program.add_option("--state", to.state, state_help);
  program.add_option("--config", to.config,
                     "Configuration file; /etc/cleave/cleaved.toml as root, else "
                     "$XDG_CONFIG_HOME/cleave/cleaved.toml");
  program.add_option("--nvml", to.nvml,
                     "NVML library to open; takes precedence over the configuration");
  program
      .add_option("--page", to.page,
                  "Address of the live page, such as 127.0.0.1:8790; takes precedence over the "
                  "configuration. Port 0: any that is free, which the log names")
      ->type_name("ADDRESS:PORT")
      ->check(Check([](const std::string& text) {
        const auto address = parse_page_address(text);
        return address ? std::string()
                       : fmt::format("{}; {}", address.error().message, address.error().remedy);
      }));
  Option* simulate = program.add_option(
      "--simulate", to.simulate, "Make simulated GPUs, such as 4xA100-40GB, and manage them all");
  simulate->check(Check([](const std::string& fleet) {
    return fleet.empty() ? std::string("it is empty; name GPUs, such as 4xA100-40GB")
                         : std::string();
  }));
  program
      .add_flag("--instant", to.instant,
                "Create and destroy simulated instances without the delays of hardware")
      ->needs(simulate);
  program.add_flag("--accept-loss", to.accepts_loss,
                   "Begin although the store lacks what it is known to have held; numbers of jobs "
                   "go on after those that were given");
  program.add_flag("--foreground", options.foreground,
                   "Stay in the foreground, which is the only mode");
  program
      .add_option("--log-level", options.log_level,
                  "Least severe level logged to standard error: debug, info, warn or error")
      ->check(Check::one_of({"debug", "info", "warn", "error"}))
      ->default_str("info");
  program.add_flag("--sample-config", options.sample,
                   "Print a configuration file that explains every key");
  program
      .add_option("--check-config", options.check,
                  "Check the configuration, or this file, say what is wrong with it, and exit")
      ->expected(0, 1)
      ->type_name("[FILE]");
  program.add_flag("--man", options.man, "Print this help as a man page");
  program
      .add_option("--completion", options.completion,
                  "Print what lets the Tab key of this shell complete options")
      ->check(Check::one_of(completion_shells));
  program.version_flag("--version", fmt::format("cleaved {}", CLEAVE_VERSION));
}

int report_error(const Error& error) {
  tell("cleaved: {}\n", shown(error.text(), 4000));
  return exit_code(error.kind);
}

/// What is wrong in the file that is read, and on this machine, in that order.
std::vector<Error> wrong_with(const ConfigReading& reading, const std::string& place) {
  std::vector<Error> wrong = reading.wrong;
  for (Error& why : check_on_this_machine(reading.config.settings)) {
    // What is wrong in a file that it names has that file's place already.
    const bool placed = place.empty() || why.place.find('/') != std::string::npos;
    wrong.push_back(placed ? std::move(why) : fail_at(place, std::move(why)).error());
  }
  return wrong;
}

int check_config(DaemonOptions& options) {
  if (options.check && !options.check->empty()) options.arguments.config = options.check;
  const auto place = config_place(options.arguments);
  if (!place) return report_error(place.error());
  std::error_code failed;
  const bool there = options.arguments.config || std::filesystem::exists(*place, failed);
  const std::string file = there ? shown(place->string(), 200) : std::string();
  const ConfigReading reading =
      there ? inspect_config_file(place->string()) : ConfigReading{default_config(), {}};
  const std::vector<Error> wrong = wrong_with(reading, file);
  for (const Error& each : wrong) report_error(each);
  if (wrong.size() > 1) tell("cleaved: {} mistakes\n", wrong.size());
  if (!wrong.empty()) return 2;
  const DaemonSettings& settings = reading.config.settings;
  for (const std::string& each : config_changes(default_config(), reading.config))
    fmt::print("{}\n", shown(each, 500));
  for (const auto& remarks : {metrics_remarks(settings.metrics), reservation_remarks(settings)})
    for (const std::string& each : remarks) fmt::print("{}\n", shown(each, 500));
  if (there) {
    fmt::print("{}: it can be used{}\n", file,
               settings.managed_gpus.empty()
                   ? ", but managed_gpus must still be named, unless with --simulate"
                   : "");
  } else {
    fmt::print("there is no {}: every key has its default, and managed_gpus must still be named\n",
               shown(place->string(), 200));
  }
  return 0;
}

/// Of the program, or of one of its commands.
void print_man_page(const CommandLine& program, const std::string& command) {
  constexpr const char* daemon_exit_status =
      "0 It was asked to end.\n1 It could not run.\n2 The command line or the configuration is "
      "wrong; nothing was started.";
  const CommandNode tree = command_tree(program);
  const CommandNode* page = &tree;
  for (const CommandNode& each : tree.commands)
    if (each.name == command) page = &each;
  fmt::print("{}", manual_page(*page, tree,
                               {CLEAVE_VERSION, command == "check"    ? check_exit_status
                                                : command == "backup" ? backup_exit_status
                                                                      : daemon_exit_status}));
}

/// What long requests and answers took goes back to the system when they are done. By itself the
/// allocator keeps more of it the larger they are.
void give_memory_back() {
  static_cast<void>(::mallopt(M_MMAP_THRESHOLD, 128 << 10));
  static_cast<void>(::mallopt(M_TRIM_THRESHOLD, 1 << 20));
}

int run_program(int argc, char** argv) {
  CommandLine program(
      "Runs jobs on MIG instances that it makes for them. Jobs survive the daemon's end. "
      "docs/api.md describes its API.",
      "cleaved");
  DaemonOptions options;
  options.arguments.version = CLEAVE_VERSION;
  add_options(program, options);
  add_commands(program, options);
  if (const auto end = program.parse(argc, argv)) return end->error ? report_error(*end->error) : 0;
  if (options.man) {
    print_man_page(program, options.command);
    return 0;
  }
  if (!options.completion.empty()) {
    fmt::print("{}", completion(command_tree(program), options.completion, nullptr));
    return 0;
  }
  if (options.command == "check") return run_check(options.arguments);
  if (options.command == "backup") {
    if (!options.backup.empty()) return run_backup(options.arguments, options.backup);
    return report_error(
        {ErrorKind::bad_usage, "backup", "no file is named", "cleaved backup FILE"});
  }
  if (options.sample) {
    fmt::print("{}", sample_config());
    return 0;
  }
  if (program.count("--check-config") > 0) return check_config(options);
  spdlog::set_default_logger(std::make_shared<spdlog::logger>("cleaved", log_to_standard_error()));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%eZ %l %v", spdlog::pattern_time_type::utc);
  spdlog::set_level(spdlog::level::from_str(options.log_level));
  give_memory_back();
  if (const auto ran = run_daemon(options.arguments); !ran) return report_error(ran.error());
  return 0;
}

}  // namespace

}  // namespace cleave

int main(int argc, char** argv) {
  try {
    return cleave::run_program(argc, argv);
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "cleaved: internal error: %s\n", exception.what());
    return 1;
  }
}
