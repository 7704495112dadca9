#pragma once
// What the commands of the program share: how they are registered, what they are given, how they
// answer. A command is one file with an `add_` function and a row in the table of program.cpp; it
// parses, calls and prints, and decides nothing.

#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "base/json_fwd.hpp"
#include "base/result.hpp"
#include "manual/command_line.hpp"
#include "model/fleet_file.hpp"

namespace cleave::cli {

/// Runs after the command line has been parsed; the value is the exit code.
using Run = std::function<Result<int>()>;

/// What each command is to the table of program.cpp, and to its group: a function that adds the
/// subcommand; the subcommand's callback puts what is to be done into `run`.
using AddCommand = void(CommandLine& program, Run& run);

/// A subcommand with its description and an example at the end of its help.
CommandLine* add_command(CommandLine& program, const std::string& name, const std::string& what,
                         const std::string& example);
/// A subcommand and what its options are read into, which lives as long.
template <class Options>
struct AddedCommand {
  CommandLine* command;
  Options& options;
};
/// The same with what the subcommand does, once its options have been read.
template <class Options>
AddedCommand<Options> add_command(
    CommandLine& program, Run& run, const std::string& name, const std::string& what,
    const std::string& example,
    const std::function<Result<int>(const std::type_identity_t<Options>&)>& act) {
  auto options = std::make_shared<Options>();
  CommandLine* command = add_command(program, name, what, example);
  command->callback([options, act, &run] { run = [options, act] { return act(*options); }; });
  return {command, *options};
}
template <class Options>
AddedCommand<Options> add_command(CommandLine& program, Run& run, const std::string& name,
                                  const std::string& what, const std::string& example,
                                  Result<int> (*act)(const Options&)) {
  return add_command<Options>(program, run, name, what, example, std::function(act));
}

/// `--json`, described the same way everywhere.
void add_json(CommandLine& command, bool& json);
/// `--profiles`, described the same way everywhere.
void add_profiles(CommandLine& command, std::string& profiles);

/// For options that take a whole number of at least `least`: CLI11 itself lets -5 wrap around.
Check whole_number(std::int64_t least);
/// For options that take a number in [low, high]: `Check::range` lets `nan` through.
Check number_from(double low, double high);
/// An empty word is most often a variable that was not set.
Check not_empty();

/// A GPU model of the tables, and the profiles in play on it.
struct ModelProfiles {
  const GpuModel* model = nullptr;
  ProfileMask profiles{};
};
/// `MODEL` and `--profiles` as they were given. An error in the model has the place `option`, if
/// that is not empty.
[[nodiscard]] Result<ModelProfiles> choose_profiles(const std::string& model,
                                                    const std::string& profiles,
                                                    const std::string& option = {});

/// A fleet from a file, or in short (4xA100-40GB).
[[nodiscard]] Result<FleetFile> load_fleet(const std::string& fleet, const std::string& profiles);

/// Whether both paths lead to the same file, and it exists.
[[nodiscard]] bool same_file(const std::string& one, const std::string& other);

/// Refuses to write to a file that the same command reads.
[[nodiscard]] Result<void> not_read_too(const std::string& option, const std::string& path,
                                        const std::vector<std::string>& read);

/// Replaces the file atomically: readers see the old or the new one, whole. The new file has the
/// mode of the old one. What is not a plain file, such as a pipe, is written directly.
[[nodiscard]] Result<void> write_whole(const std::string& path, const std::string& text);

/// The same for what is written piece by piece: the path names the new file only after `finish`.
class WholeFile {
 public:
  [[nodiscard]] static Result<std::unique_ptr<WholeFile>> open(const std::string& path);
  ~WholeFile();
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;

  [[nodiscard]] std::ostream& stream() { return file_; }
  [[nodiscard]] Result<void> finish();

 private:
  explicit WholeFile(const std::string& path);
  [[nodiscard]] std::unexpected<Error> failure(std::error_code why) const;

  std::string path_, target_, written_;  // as given; with links followed; written until finish
  bool plain_ = true, finished_ = false;
  std::size_t slot_ = 0;  // among the files that a signal removes
  std::ofstream file_;
};

/// What stood behind the first "--" of `cleave submit`, word by word as it was given; program.cpp
/// takes it off before the command line is parsed.
std::vector<std::string>& command_words();

/// How this program was called: the words of its command line, the program by its name, and which
/// version it is. program.cpp sets it.
struct Invocation {
  std::vector<std::string> words;
  std::string version;
};
Invocation& invocation();

/// One JSON document on standard output.
void print(const Json& document);
/// What stands under "error" in JSON: kind, place, message and remedy.
[[nodiscard]] Json error_json(const Error& error);
/// Reports the error on standard error and, if JSON was requested, as a document on standard
/// output; returns its exit code.
int report_error(const Error& error, bool json);

}  // namespace cleave::cli
