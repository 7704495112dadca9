#include "cli/command.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <filesystem>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/tell.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/output_files.hpp"

namespace cleave::cli {

CommandLine* add_command(CommandLine& program, const std::string& name, const std::string& what,
                         const std::string& example) {
  CommandLine* command = program.add_subcommand(name, what);
  command->footer("Example:\n  " + example);
  return command;
}

void add_json(CommandLine& command, bool& json) {
  command.add_flag("--json", json, "Print one JSON document and nothing else on standard output");
}

void add_profiles(CommandLine& command, std::string& profiles) {
  command
      .add_option(
          "--profiles", profiles,
          "Profiles to use: all, plain (without attributes such as +me), five (plain without the "
          "double-memory 1g), four (1g to 4g of those), or names separated by commas")
      ->default_str("all");
}

Check not_empty() {
  return Check(
      [](const std::string& text) { return text.empty() ? "it is empty" : std::string(); });
}

Check whole_number(std::int64_t least) {
  const auto check = [least](const std::string& text) {
    const auto number = parse_integer(text);
    return number && *number >= least
               ? std::string()
               : fmt::format("expected a whole number of at least {}, found {}", least,
                             shown(text));
  };
  return Check(check);
}

Check number_from(double low, double high) {
  const auto check = [low, high](const std::string& text) {
    const auto number = parse_number(text);
    return number && *number >= low && *number <= high
               ? std::string()
               : fmt::format("expected a number from {} to {}, found {}", low, high, shown(text));
  };
  return Check(check);
}

Result<ModelProfiles> choose_profiles(const std::string& model, const std::string& profiles,
                                      const std::string& option) {
  const auto found = find_gpu_model(model);
  if (!found && !option.empty()) return fail_at(option, found.error());
  if (!found) return std::unexpected(found.error());
  const auto choice = ProfileChoice::parse(profiles);
  if (!choice) return std::unexpected(choice.error());
  if (const auto checked = choice->check(std::span(&*found, 1)); !checked)
    return std::unexpected(checked.error());
  return ModelProfiles{*found, choice->on(**found)};
}

namespace {

/// What helps where there is no file of fleets called so.
std::string in_place_of_a_file(const std::string& fleet) {
  for (const GpuModel& model : gpu_models())
    if (lowercase(fleet).find(lowercase(model.key)) != std::string::npos)
      return fmt::format("write a number, an x and the model, such as 4x{}", model.key);
  return "check the name, or write GPUs in short, such as 4xA100-40GB";
}

}  // namespace

Result<FleetFile> load_fleet(const std::string& fleet, const std::string& profiles) {
  const auto choice = ProfileChoice::parse(profiles);
  if (!choice) return std::unexpected(choice.error());
  if (is_fleet_in_short(fleet) && ::access(fleet.c_str(), F_OK) != 0)
    return parse_fleet_in_short(fleet, *choice);
  auto text = read_text(fleet);
  if (!text && !fleet.empty() && ::access(fleet.c_str(), F_OK) != 0)
    text.error().remedy = in_place_of_a_file(fleet);
  if (!text) return std::unexpected(text.error());
  return parse_fleet(*text, fleet == "-" ? "standard input" : shown(fleet, 200), *choice);
}

bool same_file(const std::string& one, const std::string& other) {
  std::error_code failed;
  return !one.empty() && !other.empty() && std::filesystem::equivalent(one, other, failed);
}

Result<void> not_read_too(const std::string& option, const std::string& path,
                          const std::vector<std::string>& read) {
  for (const std::string& each : read)
    if (same_file(path, each))
      return fail(ErrorKind::bad_usage, option,
                  fmt::format("{} is read by the same command", shown(path, 200)),
                  "write to another file");
  return {};
}

namespace {

// The files being written, which the handler removes when a signal ends the program. It may neither
// allocate nor lock.
constexpr std::size_t most_files = 4, longest_path = 4096;
std::array<std::array<char, longest_path>, most_files> in_writing;
std::array<std::atomic<bool>, most_files> in_use;

extern "C" void remove_unfinished(int signal) {
  for (std::size_t i = 0; i < most_files; ++i)
    if (in_use[i].load()) ::unlink(in_writing[i].data());
  ::raise(signal);  // the default action by now
}

/// Registers the file for removal; its slot, or most_files if there is none left.
std::size_t watch(const std::string& path) {
  for (std::size_t i = 0; i < most_files; ++i) {
    if (in_use[i].load() || path.size() >= longest_path) continue;
    std::ranges::copy(path, in_writing[i].begin());
    in_writing[i][path.size()] = 0;
    in_use[i].store(true);
    struct sigaction action = {};
    action.sa_handler = remove_unfinished;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
      struct sigaction now = {};
      if (::sigaction(signal, nullptr, &now) == 0 && now.sa_handler == SIG_DFL)
        ::sigaction(signal, &action, nullptr);
    }
    return i;
  }
  return most_files;
}

}  // namespace

WholeFile::WholeFile(const std::string& path) : path_(path) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const bool there = fs::exists(path, failed);
  plain_ = is_plain(path);
  // A link stays, and the file that it leads to is made or replaced.
  target_ = end_of_links(path).string();
  written_ = plain_ ? fmt::format("{}.{}.part", target_, getpid()) : path;
  slot_ = plain_ ? watch(written_) : most_files;
  errno = 0;
  file_.open(written_, std::ios::binary);
  if (plain_ && there && file_) {
    const fs::perms old = fs::status(target_, failed).permissions();
    if (!failed) fs::permissions(written_, old, failed);
  }
}

Result<std::unique_ptr<WholeFile>> WholeFile::open(const std::string& path) {
  if (path == "-")
    return fail(ErrorKind::bad_usage, "-", "a file is written here, not standard output",
                "name a file; ./- is one of that name");
  std::unique_ptr<WholeFile> file(new WholeFile(path));
  if (!file->file_) return file->failure(std::error_code(errno, std::generic_category()));
  return file;
}

WholeFile::~WholeFile() {
  std::error_code ignored;
  file_.close();
  if (plain_ && !finished_) std::filesystem::remove(written_, ignored);
  if (slot_ < most_files) in_use[slot_].store(false);
}

Result<void> WholeFile::finish() {
  errno = 0;
  file_.close();
  if (!file_) return failure(std::error_code(errno, std::generic_category()));
  std::error_code failed;
  if (plain_) std::filesystem::rename(written_, target_, failed);
  if (failed) return failure(failed);
  finished_ = true;
  if (slot_ < most_files) in_use[slot_].store(false);
  return {};
}

std::unexpected<Error> WholeFile::failure(std::error_code why) const {
  return fail(ErrorKind::infeasible, shown(path_, 200),
              why ? fmt::format("cannot be written: {}", why.message()) : "cannot be written",
              why == std::errc::no_such_file_or_directory ? "make its folder first"
              : why == std::errc::permission_denied || why == std::errc::read_only_file_system
                  ? "name a file in a folder where you may write"
              : why == std::errc::no_space_on_device ? "make room there, or name another place"
                                                     : "");
}

Result<void> write_whole(const std::string& path, const std::string& text) {
  auto file = WholeFile::open(path);
  if (!file) return std::unexpected(file.error());
  (*file)->stream() << text;
  return (*file)->finish();
}

Invocation& invocation() {
  static Invocation called;
  return called;
}

std::vector<std::string>& command_words() {
  static std::vector<std::string> words;
  return words;
}

void print(const Json& document) {
  fmt::print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
}

Json error_json(const Error& error) {
  return {{"kind", name(error.kind)},
          {"place", error.place},
          {"message", error.message},
          {"remedy", error.remedy}};
}

int report_error(const Error& error, bool json) {
  std::fflush(stdout);
  // A daemon's errors may quote what a user named.
  std::string text = error.text();
  std::string safe;
  for (const std::string_view line : split(text, '\n'))
    safe += fmt::format("{}{}", safe.empty() ? "" : "\n", visible(line));
  tell("cleave: {}\n", safe);
  if (json) print(Json{{"error", error_json(error)}});
  return exit_code(error.kind);
}

}  // namespace cleave::cli
