#include "manual/wrong_line.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <optional>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

/// A command that the line named, with the words that lead to it: "cleave plan deploy".
struct Named {
  const CLI::App* app = nullptr;
  std::string path;
};

/// The program and the commands that the line named, outermost first.
std::vector<Named> named_commands(const CLI::App& program) {
  std::vector<Named> commands = {{&program, program.get_name()}};
  while (true) {
    const auto below = commands.back().app->get_subcommands();
    if (below.empty()) return commands;
    commands.push_back({below.front(), commands.back().path + " " + below.front()->get_name()});
  }
}

Error bad_line(const Named& command, std::string place, std::string message,
               const std::string& remedy = {}) {
  return {ErrorKind::bad_usage, std::move(place), std::move(message),
          fmt::format("{}{}see `{} --help`", remedy, remedy.empty() ? "" : "; ", command.path)};
}

bool is_positional(const CLI::Option& option) {
  return option.get_lnames().empty() && option.get_snames().empty();
}

/// "-f", "--follow": every option of the command, flags for help included.
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    for (const std::string& name : option->get_snames()) names.push_back("-" + name);
  }
  return names;
}

/// The known option that `given` was probably meant to be; one dash may stand for two.
std::optional<std::string> meant_option(const std::string& given,
                                        const std::vector<std::string>& names) {
  const std::string dashed = given.starts_with("--") ? given : "-" + given;
  if (std::ranges::find(names, dashed) != names.end()) return dashed;
  std::vector<std::string> words;
  for (const std::string& name : names)
    if (name.starts_with("--")) words.push_back(name.substr(2));
  const auto word = nearest(dashed.substr(2), words);
  if (!word) return std::nullopt;
  return "--" + *word;
}

bool is_option(const std::string& word) {
  return word.size() > 1 && word.starts_with('-') && word != "--" && !parse_number(word);
}

/// What a word that the command could not use was probably meant to be: an option of another
/// command on the line, or one that it misspells.
std::optional<Error> mistaken_option(const std::vector<Named>& commands, const Named& command,
                                     const std::string& word) {
  const std::string given = word.substr(0, word.find('='));
  const auto error = [&](std::string remedy) {
    return Error{ErrorKind::bad_usage, "",
                 fmt::format("{} has no option '{}'", command.path, shown(given)),
                 std::move(remedy)};
  };
  for (const Named& other : commands) {
    const auto names = option_names(*other.app);
    if (other.app == command.app || std::ranges::find(names, given) == names.end()) continue;
    return error(fmt::format("write it behind its own command: `{} {}`", other.path, given));
  }
  if (const auto meant = meant_option(given, option_names(*command.app)))
    return error(fmt::format("did you mean '{}'?", *meant));
  return std::nullopt;
}

/// "[MODEL]", "JOB...": the arguments of a command as its usage shows them.
std::string arguments_of(const CLI::App& app) {
  std::vector<std::string> words;
  for (const CLI::Option* option : app.get_options()) {
    if (!is_positional(*option)) continue;
    const std::string name =
        option->get_name(true) + (option->get_items_expected_max() > 1 ? "..." : "");
    words.push_back(option->get_required() ? name : fmt::format("[{}]", name));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

/// The first option that the parser could not use and that was probably meant otherwise.
std::optional<Error> mistaken_option(const std::vector<Named>& commands) {
  for (const Named& command : commands)
    for (const std::string& word : command.app->remaining(false))
      if (is_option(word))
        if (auto mistaken = mistaken_option(commands, command, word)) return mistaken;
  return std::nullopt;
}

/// The first word that the parser could not use.
std::optional<Error> unexpected_word(const std::vector<Named>& commands) {
  for (const Named& command : commands) {
    const auto words = command.app->remaining(false);
    if (words.empty()) continue;
    const std::string& word = words.front();
    if (is_option(word))
      return bad_line(command, "",
                      fmt::format("{} has no option '{}'", command.path,
                                  shown(word.substr(0, word.find('=')))));
    const std::string takes = arguments_of(*command.app);
    return bad_line(
        command, "", fmt::format("unexpected argument '{}'", shown(word)),
        fmt::format("`{}` takes {}", command.path, takes.empty() ? "only options" : takes));
  }
  return std::nullopt;
}

Error something_missing(const Named& command) {
  std::vector<std::string> missing;
  for (const CLI::Option* option : command.app->get_options())
    if (option->get_required() && option->count() == 0) missing.push_back(option->get_name());
  if (!missing.empty())
    return bad_line(command, "",
                    fmt::format("{} {} required", fmt::join(missing, " and "),
                                missing.size() == 1 ? "is" : "are"));
  return bad_line(command, "", "no command was given");
}

/// Two options that were given together and may not be.
std::optional<Error> excluded(const Named& command) {
  const auto options = command.app->get_options();
  for (const CLI::Option* one : options) {
    const auto others = one->get_excludes();
    for (const CLI::Option* other : options)
      if (one->count() > 0 && other->count() > 0 &&
          std::ranges::any_of(others, [&](const CLI::Option* each) { return each == other; }))
        return bad_line(
            command, "",
            fmt::format("{} and {} cannot be used together", one->get_name(), other->get_name()),
            "leave one of them out");
  }
  return std::nullopt;
}

/// An option that was given without the one that it belongs to.
std::optional<Error> unaccompanied(const Named& command) {
  const auto options = command.app->get_options();
  for (const CLI::Option* one : options) {
    const auto others = one->get_needs();
    for (const CLI::Option* other : options)
      if (one->count() > 0 && other->count() == 0 &&
          std::ranges::any_of(others, [&](const CLI::Option* each) { return each == other; }))
        return bad_line(command, one->get_name(),
                        fmt::format("it is used only with {}", other->get_name()),
                        fmt::format("add {}, or leave out {}", other->get_name(), one->get_name()));
  }
  return std::nullopt;
}

/// The option at the beginning of what CLI11 says.
const CLI::Option* option_in(const CLI::App& app, std::string_view said) {
  for (const CLI::Option* option : app.get_options()) {
    const std::string name = option->get_name();
    if (!said.starts_with(name) || said.size() <= name.size()) continue;
    if (said[name.size()] == ':' || said[name.size()] == ' ') return option;
  }
  return nullptr;
}

/// A value that is missing, or an option that was given too often.
std::optional<Error> mismatched(const Named& command, const std::string& said) {
  const CLI::Option* option = option_in(*command.app, said);
  if (option == nullptr) return std::nullopt;
  const auto most = static_cast<std::size_t>(std::max(1, option->get_items_expected_max()));
  if (option->results().size() > most)
    return bad_line(command, option->get_name(),
                    fmt::format("it was given {} times", option->results().size()),
                    most == 1 ? "give it once" : fmt::format("give it at most {} times", most));
  return bad_line(command, option->get_name(), "its value is missing");
}

/// A value that one of our own checks refuses; CLI11 puts the option's name in front.
Error refused_value(const Named& command, const std::string& said) {
  const CLI::Option* option = option_in(*command.app, said);
  if (option == nullptr) return bad_line(command, "", said);
  return bad_line(command, option->get_name(),
                  std::string(trimmed(said.substr(option->get_name().size() + 1))));
}

/// The only values that CLI11 itself reads are those of flags, as in --json=yes.
std::optional<Error> unreadable(const Named& command) {
  for (const CLI::Option* option : command.app->get_options())
    if (option->count() > 0 && option->get_items_expected_max() == 0 &&
        option->results().front() != "true" && option->results().front() != "false")
      return bad_line(command, option->get_name(), "it takes no value");
  return std::nullopt;
}

std::optional<Error> reason(const Named& command, const CLI::ParseError& stop) {
  if (dynamic_cast<const CLI::RequiredError*>(&stop) != nullptr) return something_missing(command);
  if (dynamic_cast<const CLI::ExcludesError*>(&stop) != nullptr) return excluded(command);
  if (dynamic_cast<const CLI::RequiresError*>(&stop) != nullptr) return unaccompanied(command);
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&stop) != nullptr)
    return mismatched(command, stop.what());
  if (dynamic_cast<const CLI::ValidationError*>(&stop) != nullptr)
    return refused_value(command, stop.what());
  if (dynamic_cast<const CLI::ConversionError*>(&stop) != nullptr) return unreadable(command);
  return std::nullopt;
}

}  // namespace

Error wrong_line(const CLI::App& program, const CLI::ParseError& stop) {
  const auto commands = named_commands(program);
  if (const auto mistaken = mistaken_option(commands)) return *mistaken;
  if (dynamic_cast<const CLI::ExtrasError*>(&stop) != nullptr)
    if (const auto unexpected = unexpected_word(commands)) return *unexpected;
  for (auto command = commands.rbegin(); command != commands.rend(); ++command)
    if (const auto found = reason(*command, stop)) return *found;
  return bad_line(commands.back(), "", stop.what());
}

}  // namespace cleave
