#include "cli/command.hpp"

#include <unistd.h>

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

void print(const Json& document) {
  fmt::print("{}\n", document.dump(2, ' ', false, Json::error_handler_t::replace));
}

}  // namespace cleave::cli
