#pragma once
// A program's commands and options. CLI11 parses the line. Its headers are templates that take
// longer to compile than the rest of a file, so only this room includes them; this header offers
// commands what they need of it. A wrong line is an answer, not an exception; an exception is a
// mistake in the program, such as an option that was added twice.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace cleave {

/// A rule for the value of an option; help and shell completion show it as far as they can.
class Check {
 public:
  /// `wrong` returns what is wrong with a word; empty if nothing is.
  explicit Check(std::function<std::string(const std::string& word)> wrong);

  [[nodiscard]] static Check one_of(const std::vector<std::string>& choices);
  /// A number in [low, high], both of them included.
  [[nodiscard]] static Check range(std::int64_t low, std::int64_t high);
  [[nodiscard]] static Check range(int low, int high) {
    return range(std::int64_t{low}, std::int64_t{high});
  }
  [[nodiscard]] static Check range(double low, double high);

 private:
  friend class Option;
  explicit Check(CLI::Validator validator);
  std::shared_ptr<const CLI::Validator> validator_;
};

/// One option, flag or positional; lives as long as its command. Its setters return it.
class Option {
 public:
  explicit Option(CLI::Option& given) : given_(&given) {}

  Option* required();
  Option* check(const Check& check);
  /// The default that help shows; the default itself is the variable's value.
  Option* default_str(const std::string& otherwise);
  Option* excludes(Option* other);
  Option* excludes(const std::string& other);
  Option* needs(Option* other);
  Option* needs(const std::string& other);
  /// Several values in one word, separated by this character.
  Option* delimiter(char between);
  /// What help shows instead of the value's type: FILE.
  Option* type_name(const std::string& name);
  Option* expected(int least, int most);
  /// The option may be repeated, with one value each time.
  Option* one_each_time();

  /// How often it was given.
  [[nodiscard]] std::size_t count() const;
  /// "--gpus"; the plain name of a positional.
  [[nodiscard]] std::string name() const;
  [[nodiscard]] const CLI::Option& given() const { return *given_; }

 private:
  CLI::Option* given_;
};

/// Why the program ends after parsing its command line.
struct LineEnd {
  std::optional<Error> error;  // none: help or the version was requested, and has been printed
};

/// A program or one of its commands. Variables must live until the line has been parsed.
class CommandLine {
 public:
  /// The program itself.
  CommandLine(const std::string& what, const std::string& name);
  ~CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;

  CommandLine* add_subcommand(const std::string& name, const std::string& what);
  /// Requires the name of one of its commands.
  void require_subcommand();
  /// For the types instantiated in command_line.cpp; the linker reports others as missing.
  template <typename T>
  Option* add_option(const std::string& name, T& variable, const std::string& what);
  Option* add_flag(const std::string& name, bool& variable, const std::string& what);
  void version_flag(const std::string& name, const std::string& version);
  void help_all_flag(const std::string& name, const std::string& what);
  /// At the end of its help.
  void footer(const std::string& text);
  /// Called when its line has been parsed.
  void callback(std::function<void()> act);

  /// Parses the line and calls its commands' callbacks. Nothing if all went well.
  [[nodiscard]] std::optional<LineEnd> parse(int argc, const char* const* argv);

  /// How often an option was given.
  [[nodiscard]] std::size_t count(const std::string& option) const;
  [[nodiscard]] std::string version() const;
  /// The options added here, in this order, without the flag for help.
  [[nodiscard]] const std::vector<std::unique_ptr<Option>>& options() const { return options_; }
  [[nodiscard]] const CLI::App& given() const { return *given_; }

 private:
  explicit CommandLine(CLI::App& given);
  Option* keep(CLI::Option& option);
  void check_numbers();

  std::unique_ptr<CLI::App> owned_;  // the program's; a command's belongs to the program
  CLI::App* given_;
  std::vector<std::unique_ptr<CommandLine>> commands_;
  std::vector<std::unique_ptr<Option>> options_;
  /// Options for numbers, and what is wrong with a word that is not one. Checked last, so that a
  /// command's own check, which says more, comes first.
  std::vector<std::pair<CLI::Option*, std::string (*)(const std::string&)>> numbers_;
};

}  // namespace cleave
