#include "cli/daemon/submission.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>

#include "base/format.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/forecast/model_input.hpp"

namespace cleave::cli {

namespace {

/// Set for each run by who starts it; those of the caller may be another job's.
constexpr auto of_the_run =
    std::to_array<std::string_view>({"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES", "CLEAVE_JOB",
                                     "CLEAVE_ATTEMPT", "CLEAVE_REPORT", "CLEAVE_JOB_MARK"});
/// What --clean-env keeps, and everything that begins with LC_.
constexpr auto of_the_user =
    std::to_array<std::string_view>({"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TZ", "USER"});

/// Keys of the submission and where they come from, in the order of documents.cpp.
struct KeyOption {
  std::string_view key, option;
};
constexpr auto key_options =
    std::to_array<KeyOption>({{"command", "COMMAND"},
                              {"environment", "--env"},
                              {"directory", "--cwd"},
                              {"name", "--name"},
                              {"profile", "--profile"},
                              {"memory_mib", "--memory"},
                              {"compute_slices", "--compute-slices"},
                              {"model", "--model"},
                              {"model.name", "--model"},
                              {"model.memory_mib", "--model"},
                              {"priority", "--priority"},
                              {"deadline_s", "--deadline"},
                              {"retries", "--retry"},
                              {"restartable", "--restartable"},
                              {"movable", "--movable"},
                              {"checkpoint_signal", "--checkpoint-signal"},
                              {"checkpoint_grace_s", "--checkpoint-grace"},
                              {"stop_grace_s", "--stop-grace"},
                              {"out_of_memory_code", "--out-of-memory-code"},
                              {"application", "--application"},
                              {"batch", "--batch"},
                              {"expected_s", "--expected"}});

struct SignalName {
  std::string_view name;
  int number;
};
constexpr SignalName signals[] = {
    {"HUP", SIGHUP},   {"INT", SIGINT},     {"QUIT", SIGQUIT}, {"ABRT", SIGABRT},
    {"USR1", SIGUSR1}, {"USR2", SIGUSR2},   {"ALRM", SIGALRM}, {"TERM", SIGTERM},
    {"CONT", SIGCONT}, {"TSTP", SIGTSTP},   {"URG", SIGURG},   {"XCPU", SIGXCPU},
    {"PROF", SIGPROF}, {"WINCH", SIGWINCH}, {"IO", SIGIO},     {"PWR", SIGPWR},
};

bool is_one_of(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

}  // namespace

Result<std::vector<std::string>> environment_of(std::span<const std::string> all,
                                                std::span<const std::string> given, bool clean,
                                                std::vector<std::string>& left_out) {
  std::map<std::string, std::string, std::less<>> variables, callers;
  for (const std::string& each : all) {
    const std::size_t equals = each.find('=');
    if (equals == std::string::npos || equals == 0) continue;
    const std::string name = each.substr(0, equals);
    if (is_one_of(name, of_the_run)) continue;
    callers[name] = each.substr(equals + 1);
    if (!clean || is_one_of(name, of_the_user) || name.starts_with("LC_"))
      variables[name] = callers[name];
  }
  std::erase_if(variables, [&](const auto& variable) {
    if (valid_utf8(variable.first) && valid_utf8(variable.second)) return false;
    left_out.push_back(variable.first);
    return true;
  });
  for (const std::string& each : given) {
    const std::size_t equals = each.find('=');
    const std::string name = each.substr(0, equals);
    const auto refuse = [&](const std::string& why, const std::string& remedy) {
      return fail(ErrorKind::bad_usage, "--env", fmt::format("'{}' {}", visible(shown(name)), why),
                  remedy);
    };
    if (name.empty()) return refuse("has no name", "write NAME=VALUE, or NAME to pass your own on");
    if (is_one_of(name, of_the_run))
      return refuse("is set for each run by the daemon", "leave it out");
    if (equals == std::string::npos && !callers.contains(name))
      return refuse("is not set here", "write NAME=VALUE, or export it first");
    variables[name] = equals == std::string::npos ? callers[name] : each.substr(equals + 1);
    if (!valid_utf8(name) || !valid_utf8(variables[name]))
      return refuse("is not UTF-8", "give it to the command in a file");
  }
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables)
    environment.push_back(fmt::format("{}={}", name, value));
  return environment;
}

Result<int> signal_of(const std::string& text) {
  if (const auto number = parse_integer(text); number && *number >= 1 && *number <= 64) {
    if (*number != SIGKILL && *number != SIGSTOP) return static_cast<int>(*number);
    return fail(ErrorKind::bad_usage, "--checkpoint-signal", "no program can hear KILL or STOP",
                "USR1 is the usual one");
  }
  const std::string_view name = std::string_view(text).substr(text.starts_with("SIG") ? 3 : 0);
  const auto* const row = std::ranges::find(signals, name, &SignalName::name);
  if (row != std::end(signals)) return row->number;
  std::vector<std::string> names;
  for (const SignalName& each : signals) names.emplace_back(each.name);
  return fail(ErrorKind::bad_usage, "--checkpoint-signal",
              fmt::format("'{}' is no signal", visible(shown(text))), suggestion(name, names));
}

namespace {

Result<ApiModel> model_of(const SubmitArguments& given) {
  const ModelUse use{given.model, given.precision, given.batch.value_or(1),
                     given.context.value_or(0), given.train};
  // Relative to here, as "-" is.
  const auto size = model_sizer("-")(use);
  if (!size) return fail_at("--model", size.error());
  if (given.model.starts_with("vision:")) return ApiModel{given.model.substr(7), *size};
  const auto file = load_model(given.model);
  if (!file) return fail_at("--model", file.error());
  const std::string name = file->shape && !file->shape->name.empty()
                               ? file->shape->name
                               : std::filesystem::path(given.model).filename().string();
  return ApiModel{name, *size};
}

Result<void> read_request(const SubmitArguments& given, ApiSubmission& submission) {
  if (!given.profile.empty()) submission.profile = given.profile;
  if (!given.memory.empty()) {
    const auto size = parse_size(given.memory);
    if (!size) return fail_at("--memory", size.error());
    submission.memory = *size;
  }
  if (given.compute_slices)
    submission.compute_slices = ComputeSlices{static_cast<int>(*given.compute_slices)};
  if (given.model.empty()) return {};
  const auto model = model_of(given);
  if (!model) return std::unexpected(model.error());
  submission.model = *model;
  return {};
}

Result<std::string> directory_of(const SubmitArguments& given) {
  std::error_code failed;
  const auto here = std::filesystem::current_path(failed);
  if (failed)
    return fail(ErrorKind::infeasible, "the working directory", failed.message(),
                "name one with --cwd");
  const auto directory = given.cwd.empty() ? here : (here / given.cwd).lexically_normal();
  if (!std::filesystem::is_directory(directory, failed))
    return fail(ErrorKind::bad_input, "--cwd",
                fmt::format("'{}' is no folder", visible(shown(directory.string(), 200))),
                "check the name");
  return directory.string();
}

std::optional<Duration> duration_of(const std::optional<double>& seconds) {
  if (!seconds) return std::nullopt;
  return duration_from_seconds(*seconds).value_or(longest_duration);
}

Result<void> check_utf8(const ApiSubmission& submission) {
  const auto refuse = [](const char* what) {
    return fail(ErrorKind::bad_input, what, "it is not UTF-8",
                "rename what it names, or put it into a script");
  };
  for (const std::string& word : submission.command)
    if (!valid_utf8(word)) return refuse("COMMAND");
  if (!valid_utf8(submission.directory)) return refuse("--cwd");
  if (!valid_utf8(submission.name.value_or(""))) return refuse("--name");
  if (!valid_utf8(submission.profile.value_or(""))) return refuse("--profile");
  if (!valid_utf8(submission.application.value_or(""))) return refuse("--application");
  return {};
}

}  // namespace

Result<ApiSubmission> submission_of(const SubmitArguments& given,
                                    const std::vector<std::string>& command,
                                    std::vector<std::string>& left_out) {
  ApiSubmission submission;
  submission.command = command;
  std::vector<std::string> all;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) all.emplace_back(*each);
  auto environment = environment_of(all, given.environment, given.clean_environment, left_out);
  if (!environment) return std::unexpected(environment.error());
  submission.environment = std::move(*environment);
  const auto directory = directory_of(given);
  if (!directory) return std::unexpected(directory.error());
  submission.directory = *directory;
  if (!given.name.empty()) submission.name = given.name;
  if (const auto request = read_request(given, submission); !request)
    return std::unexpected(request.error());
  if (!given.checkpoint_signal.empty()) {
    const auto signal = signal_of(given.checkpoint_signal);
    if (!signal) return std::unexpected(signal.error());
    submission.checkpoint_signal = *signal;
  }
  submission.priority = given.priority;
  submission.retries = given.retries;
  submission.deadline = duration_of(given.deadline);
  submission.restartable = given.restartable;
  submission.movable = given.movable;
  submission.checkpoint_grace = duration_of(given.checkpoint_grace);
  submission.stop_grace = duration_of(given.stop_grace);
  if (given.out_of_memory_code)
    submission.out_of_memory_code = static_cast<int>(*given.out_of_memory_code);
  if (!given.application.empty()) submission.application = given.application;
  submission.batch = given.batch;
  submission.expected = duration_of(given.expected);
  if (const auto sound = check_utf8(submission); !sound) return std::unexpected(sound.error());
  return submission;
}

namespace {

Check whole_number_from(std::int64_t least, std::int64_t most) {
  const auto check = [least, most](const std::string& text) {
    const auto number = parse_integer(text);
    return number && *number >= least && *number <= most
               ? std::string()
               : fmt::format("expected a whole number from {} to {}, found {}", least, most,
                             shown(text));
  };
  return Check(check);
}

void add_size_options(CommandLine& command, SubmitArguments& to) {
  Option* profile = command.add_option("--profile", to.profile, "The instance's profile: 2g.10gb");
  Option* memory = command.add_option("--memory", to.memory, "What it needs instead: 9GiB, or MiB");
  Option* model =
      command.add_option("--model", to.model,
                         "Its model instead, read and sized here: config.json, F.safetensors, "
                         "F.gguf, SHAPES.json#NAME or "
                         "vision:NAME; without any of these it begins on the smallest instance");
  for (Option* each : {profile, memory, model}) each->check(not_empty());
  profile->excludes(memory)->excludes(model);
  memory->excludes(model);
  command.add_option("--compute-slices", to.compute_slices, "With --memory: at least so many")
      ->check(whole_number_from(1, 1000))
      ->needs(memory);
  command
      .add_option("--batch", to.batch,
                  "Sequences or images at a time, of --model and of --application")
      ->check(whole_number(1));
  command.add_option("--context", to.context, "With --model: tokens of a sequence")
      ->check(whole_number(1))
      ->needs(model);
  command
      .add_option("--precision", to.precision,
                  "With --model: of the weights, as `cleave forecast model`")
      ->needs(model);
  command.add_flag("--train", to.train, "With --model: it is trained")->needs(model);
}

void add_stop_options(CommandLine& command, SubmitArguments& to) {
  const double longest = in_seconds(longest_duration);
  command
      .add_option("--retry", to.retries,
                  "Run it again when it fails by itself or is lost, so often")
      ->check(whole_number_from(0, 1000))
      ->default_str("0");
  command.add_flag(
      "--restartable", to.restartable,
      "It may be stopped and run again from the beginning, as on a larger instance before its "
      "memory runs out");
  command.add_flag("--movable", to.movable,
                   "A replica of it may take over elsewhere while it runs");
  Option* signal =
      command
          .add_option("--checkpoint-signal", to.checkpoint_signal,
                      "Sent before it is stopped to be restarted: USR1, SIGUSR1 or a number")
          ->check(not_empty());
  command.add_option("--checkpoint-grace", to.checkpoint_grace, "Seconds from that signal to TERM")
      ->check(number_from(0, longest))
      ->needs(signal);
  command.add_option("--stop-grace", to.stop_grace, "Seconds from TERM to KILL")
      ->check(number_from(0, longest))
      ->default_str("30");
  command
      .add_option("--out-of-memory-code", to.out_of_memory_code,
                  "The exit code by which it says that its memory ran out")
      ->check(whole_number_from(1, 255));
}

}  // namespace

void SubmitArguments::add(CommandLine& command) {
  const double longest = in_seconds(longest_duration);
  add_size_options(command, *this);
  command.add_option("--name", name, "For people, and for commands while it lives")
      ->check(not_empty());
  command
      .add_option("--priority", priority,
                  "Higher goes first among those that wait; above 0 for operators, unless the "
                  "daemon allows more")
      ->check(whole_number_from(-1'000'000, 1'000'000))
      ->default_str("0");
  command.add_option("--deadline", deadline, "Seconds from now until which it should be done")
      ->check(number_from(0, longest));
  command
      .add_option(
          "--env", environment,
          "NAME=VALUE sets a variable, NAME passes yours on; as often as wanted. All of your "
          "environment goes along anyway, unless --clean-env is given")
      ->one_each_time();
  command.add_flag("--clean-env", clean_environment,
                   "Of your environment only HOME, LANG, LC_*, LOGNAME, PATH, SHELL, TZ and USER");
  command.add_option("--cwd", cwd, "Where it runs; otherwise here")->check(not_empty());
  add_stop_options(command, *this);
  command
      .add_option("--application", application,
                  "Jobs of one application share what is learned of their speed and memory")
      ->check(not_empty());
  command
      .add_option("--expected", expected,
                  "Seconds that it takes on the whole GPU under MIG, if you know")
      ->check(number_from(0, longest));
}

Error of_its_option(Error error) {
  constexpr std::string_view document = "submission: ";
  if (!error.place.starts_with(document)) return error;
  std::string_view key = error.place;
  key.remove_prefix(document.size());
  key = key.substr(0, key.find('['));  // an element of a list
  const auto found = std::ranges::find(key_options, key, &KeyOption::key);
  if (found != key_options.end()) error.place = found->option;
  return error;
}

}  // namespace cleave::cli
