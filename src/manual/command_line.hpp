#pragma once
// A program's commands and options. CLI11 reads the line; its headers are all templates and cost
// every file that includes them more than the rest of the file, so that this room alone includes
// them and what commands need of it stands here, under its own names. A line that is wrong is an
// answer; an exception is a mistake of the program's, such as an option that was added twice.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
class Validator;
}  // namespace CLI

namespace cleave {

/// What a word must be; help and shell completion say what they can of it.
class Check {
 public:
  /// `wrong` says what is wrong with a word: nothing, if all is well.
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

/// One option, flag or positional; lives as long as its command. What changes it returns it.
class Option {
 public:
  explicit Option(CLI::Option& given) : given_(&given) {}

  Option* required();
  Option* check(const Check& check);
  /// What help says that it is otherwise; what it is otherwise is in the variable.
  Option* default_str(const std::string& otherwise);
  Option* excludes(Option* other);
  Option* excludes(const std::string& other);
  Option* needs(Option* other);
  Option* needs(const std::string& other);
  /// Several values in one word, with this between them.
  Option* delimiter(char between);
  /// What help says of its value in place of the type: FILE.
  Option* type_name(const std::string& name);
  Option* expected(int least, int most);
  /// It may be said more often than once, with one value each time.
  Option* one_each_time();

  /// How often it was said.
  [[nodiscard]] std::size_t count() const;
  /// "--gpus"; of a positional, its own name.
  [[nodiscard]] std::string name() const;
  [[nodiscard]] const CLI::Option& given() const { return *given_; }

 private:
  CLI::Option* given_;
};

/// Why a line ends the program before it has begun.
struct LineEnd {
  int code = 0;         // 0: help or the version was asked for, and has been printed
  std::string why;      // what is wrong with the line
  std::string command;  // where: "cleave plan deploy"
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
  /// One of its commands must be named.
  void require_subcommand();
  /// T: those of which there is one in command_line.cpp; the linker misses others.
  template <typename T>
  Option* add_option(const std::string& name, T& variable, const std::string& what);
  Option* add_flag(const std::string& name, bool& variable, const std::string& what);
  void version_flag(const std::string& name, const std::string& version);
  void help_all_flag(const std::string& name, const std::string& what);
  /// At the end of its help.
  void footer(const std::string& text);
  /// What is done when its line has been understood.
  void callback(std::function<void()> act);

  /// Reads the line and calls what its commands do. Nothing: it was understood.
  [[nodiscard]] std::optional<LineEnd> parse(int argc, const char* const* argv);

  /// How often an option was said.
  [[nodiscard]] std::size_t count(const std::string& option) const;
  [[nodiscard]] std::string version() const;
  /// Those that were added here, in this order: not the flag for help.
  [[nodiscard]] const std::vector<std::unique_ptr<Option>>& options() const { return options_; }
  [[nodiscard]] const CLI::App& given() const { return *given_; }

 private:
  explicit CommandLine(CLI::App& given);
  Option* keep(CLI::Option& option);

  std::unique_ptr<CLI::App> owned_;  // the program's; a command's belongs to the program
  CLI::App* given_;
  std::vector<std::unique_ptr<CommandLine>> commands_;
  std::vector<std::unique_ptr<Option>> options_;
};

}  // namespace cleave
