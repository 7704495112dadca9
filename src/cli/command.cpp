#include "cli/command.hpp"

#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "simulate/read_text.hpp"

namespace cleave::cli {

CLI::App* add_command(CLI::App& program, const std::string& name, const std::string& what,
                      const std::string& example) {
  CLI::App* command = program.add_subcommand(name, what);
  command->footer("Example:\n  " + example);
  return command;
}

void add_json(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "One JSON document on standard output, nothing else there");
}

void add_profiles(CLI::App& command, std::string& profiles) {
  command
      .add_option("--profiles", profiles,
                  "The profiles in play: all, plain (no +me and the like), five (plain without the "
                  "double-memory 1g), "
                  "four (1g to 4g of those), or names separated by commas")
      ->default_str("all");
}

CLI::Validator whole_number(std::int64_t least) {
  const auto check = [least](const std::string& text) {
    const auto number = parse_integer(text);
    return number && *number >= least
               ? std::string()
               : fmt::format("expected a whole number of at least {}, found {}", least, shown(text));
  };
  return CLI::Validator(check, "", "");
}

Result<FleetFile> load_fleet(const std::string& fleet, const std::string& profiles) {
  const auto choice = ProfileChoice::parse(profiles);
  if (!choice) return std::unexpected(choice.error());
  if (is_fleet_in_short(fleet) && ::access(fleet.c_str(), F_OK) != 0)
    return parse_fleet_in_short(fleet, *choice);
  const auto text = read_text(fleet);
  if (!text) return std::unexpected(text.error());
  return parse_fleet(*text, fleet == "-" ? "standard input" : shown(fleet, 200), *choice);
}

Result<void> write_whole(const std::string& path, const std::string& text) {
  namespace fs = std::filesystem;
  std::error_code failed;
  const bool plain = fs::is_regular_file(path, failed) || !fs::exists(path, failed);
  // Where the path is a link, what it leads to is replaced and not the link.
  const fs::path target = fs::exists(path, failed) ? fs::canonical(path, failed) : fs::path(path);
  const fs::path written =
      plain ? fs::path(fmt::format("{}.{}.part", target.string(), getpid())) : fs::path(path);
  errno = 0;
  std::ofstream file(written, std::ios::binary);
  file << text;
  file.close();
  if (file) {
    if (plain) fs::rename(written, target, failed);
    if (!plain || !failed) return {};
  } else {
    failed = std::error_code(errno, std::generic_category());
  }
  std::error_code ignored;
  if (plain) fs::remove(written, ignored);
  return fail(ErrorKind::infeasible, shown(path, 200),
              failed ? fmt::format("cannot be written: {}", failed.message()) : "cannot be written");
}

void print(const Json& document) {
  fmt::print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace cleave::cli
