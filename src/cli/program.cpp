#include "cli/program.hpp"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <span>
#include <string_view>
#include <system_error>
#include <vector>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "manual/command_tree.hpp"
#include "manual/help_text.hpp"

namespace cleave::cli {

// Every command: declared here, defined in its own file, and one row of the table below.
AddCommand add_gpu, add_layout, add_place, add_admit, add_plan, add_simulate, add_compare,
    add_advise, add_policies, add_schedulers, add_workload, add_bench, add_reproduce, add_arena,
    add_import, add_rebalance, add_forecast, add_forecasters, add_recommend, add_choose, add_waste,
    add_profiles_command, add_gpus, add_instances, add_create, add_destroy, add_gpu_layout, add_mig,
    add_sim_node, add_doctor, add_certify, add_health, add_probe, add_submit, add_ps, add_show,
    add_logs, add_wait, add_cancel, add_purge, add_top, add_events, add_drain, add_undrain,
    add_pause, add_resume, add_scheduler, add_apply, add_plans, add_usage, add_page, add_claim,
    add_completion, add_man, add_slurm;

namespace {

/// One command: its word, and what adds it.
struct CommandRow {
  std::string_view word;
  AddCommand* add;
};

/// Commands as help lists them.
struct CommandGroup {
  const char* heading;
  std::vector<CommandRow> commands;
};

std::vector<CommandGroup> command_groups() {
  return {{"Jobs",
           {{"submit", add_submit},
            {"ps", add_ps},
            {"top", add_top},
            {"show", add_show},
            {"logs", add_logs},
            {"wait", add_wait},
            {"cancel", add_cancel},
            {"purge", add_purge},
            {"events", add_events},
            {"usage", add_usage}}},
          {"GPUs and instances",
           {{"gpus", add_gpus},
            {"instances", add_instances},
            {"create", add_create},
            {"destroy", add_destroy},
            {"gpu-layout", add_gpu_layout},
            {"mig", add_mig},
            {"doctor", add_doctor},
            {"certify", add_certify},
            {"probe", add_probe},
            {"sim-node", add_sim_node},
            {"import", add_import}}},
          {"Placing and planning",
           {{"gpu", add_gpu},
            {"layout", add_layout},
            {"place", add_place},
            {"admit", add_admit},
            {"plan", add_plan},
            {"rebalance", add_rebalance},
            {"policies", add_policies},
            {"waste", add_waste}}},
          {"The daemon",
           {{"page", add_page},
            {"scheduler", add_scheduler},
            {"pause", add_pause},
            {"resume", add_resume},
            {"drain", add_drain},
            {"undrain", add_undrain},
            {"apply", add_apply},
            {"plans", add_plans},
            {"health", add_health},
            {"claim", add_claim},
            {"slurm", add_slurm}}},
          {"Simulating and comparing",
           {{"simulate", add_simulate},
            {"compare", add_compare},
            {"advise", add_advise},
            {"schedulers", add_schedulers},
            {"workload", add_workload},
            {"bench", add_bench},
            {"reproduce", add_reproduce},
            {"arena", add_arena}}},
          {"Forecasting",
           {{"forecast", add_forecast},
            {"forecasters", add_forecasters},
            {"recommend", add_recommend},
            {"choose", add_choose},
            {"profiles", add_profiles_command}}},
          {"Help", {{"completion", add_completion}, {"man", add_man}}}};
}

/// Commands that are given words of another program's; the second may be any.
constexpr std::pair<std::string_view, std::string_view> taking_a_command[] = {
    {"submit", ""},
    {"forecast", "run"},
    {"forecast", "source"},
    {"sim-node", "enter"},
    {"certify", ""}};

bool takes_a_command(int argc, char** argv) {
  return std::ranges::any_of(taking_a_command, [&](const auto& words) {
    const auto& [first, second] = words;
    return argc >= 2 && argv[1] == first && (second.empty() || (argc >= 3 && argv[2] == second));
  });
}

/// CLI11 would take some of these words apart, and options of ours must not be looked for among
/// them. Where the command line ends for us.
int own_words(int argc, char** argv) {
  if (!takes_a_command(argc, argv)) return argc;
  for (int i = 2; i < argc; ++i) {
    if (std::string_view(argv[i]) != "--") continue;
    command_words().assign(argv + i + 1, argv + argc);
    return i;
  }
  return argc;
}

bool wants_json(int argc, char** argv) {
  const std::span<char*> arguments(argv, static_cast<std::size_t>(argc));
  return std::ranges::any_of(arguments, [](std::string_view word) { return word == "--json"; });
}

/// A word that is no command where one must stand: nothing else about the line can be right.
std::optional<Error> unknown_command(const CommandLine& program, int argc, char** argv) {
  const CommandNode root = command_tree(program);
  const CommandNode* node = &root;
  for (int i = 1; i < argc && !node->commands.empty(); ++i) {
    const std::string word = argv[i];
    if (word.empty() || word.starts_with('-')) return std::nullopt;
    const auto found = std::ranges::find(node->commands, word, &CommandNode::name);
    if (found == node->commands.end()) {
      const std::string hint = suggestion(word, names_of(node->commands));
      return Error{
          ErrorKind::bad_usage, "",
          node == &root ? fmt::format("there is no command '{}'", shown(word))
                        : fmt::format("{} has no command '{}'", node->path, shown(word)),
          hint.starts_with("did you mean") ? hint : fmt::format("see `{} --help`", node->path)};
    }
    node = &*found;
  }
  return std::nullopt;
}

/// The one command that the line can be about; null where every command has to be there: the first
/// word is not a command's, another one is too, or the command describes all of them.
const CommandRow* only_command(const std::vector<CommandGroup>& groups, int argc, char** argv) {
  const CommandRow* only = nullptr;
  for (const std::string_view word : std::span(argv, static_cast<std::size_t>(argc)).subspan(1))
    for (const CommandGroup& group : groups) {
      const auto row = std::ranges::find(group.commands, word, &CommandRow::word);
      if (row == group.commands.end()) continue;
      if (only != nullptr || word != argv[1] || row->add == add_man || row->add == add_completion)
        return nullptr;
      only = &*row;
    }
  return only;
}

/// The commands themselves take longer to describe than most of them take to run, so only what the
/// line can be about is added.
void add_commands(CommandLine& program, Run& run, int argc, char** argv) {
  if (argc == 2 && argv[1] == std::string_view("--version")) return;
  const std::vector<CommandGroup> groups = command_groups();
  const CommandRow* const only = only_command(groups, argc, argv);
  for (const CommandGroup& group : groups) {
    for (const CommandRow& row : group.commands)
      if (only == nullptr || only == &row) row.add(program, run);
    group_commands(program, group.heading);
  }
}

int run_line(int argc, char** argv, const char* version, bool json) {
  CommandLine program(
      "Partitions NVIDIA Multi-Instance GPUs, places and schedules work on them, and simulates all "
      "of it.",
      "cleave");
  program.version_flag("--version", version);
  program.require_subcommand();
  program.help_all_flag("--help-all", "Print the help of every command");
  Run run;
  add_commands(program, run, argc, argv);
  if (const auto end = program.parse(argc, argv)) {
    if (!end->error) return 0;  // --help, --version
    const auto unknown = unknown_command(program, argc, argv);
    return report_error(unknown ? *unknown : *end->error, json);
  }
  const Result<int> code = run();
  if (!code) return report_error(code.error(), json);
  if (std::fflush(stdout) != 0)
    return report_error({ErrorKind::infeasible, "standard output",
                         "the answer could not be written", "is the disk full?"},
                        false);
  return *code;
}

}  // namespace

int run_program(int argc, char** argv, const char* version, const StudyCommands& studies) {
  invocation() = {{argv, argv + argc}, version};
  std::string& program_word = invocation().words.front();
  program_word = program_word.substr(program_word.rfind('/') + 1);
  study_commands() = studies;
  argc = own_words(argc, argv);
  const bool json = wants_json(argc, argv);
  try {
    if (const auto missing = hand_to_study(argc, argv)) return report_error(*missing, json);
    return run_line(argc, argv, version, json);
  } catch (const std::system_error& failure) {
    // What fmt throws when standard output takes no more.
    return report_error({ErrorKind::infeasible, "standard output", failure.code().message(),
                         "the answer is not complete"},
                        false);
  } catch (const std::bad_alloc&) {
    return report_error({ErrorKind::infeasible, "", "there is not enough memory for this",
                         "give it a smaller input, or allow the process more (ulimit -v)"},
                        json);
  } catch (const std::exception& exception) {
    return report_error({ErrorKind::internal, "",
                         fmt::format("something went wrong inside Cleave: {}", exception.what()),
                         "please report it with the command"},
                        json);
  }
}

}  // namespace cleave::cli
