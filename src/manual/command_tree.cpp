#include "manual/command_tree.hpp"

#include <CLI/CLI.hpp>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

/// "TEXT:{a,b}" is a text that must be one of these; other checks may stand behind it.
void read_type(const std::string& type, CommandOption& option) {
  option.value = type.substr(0, type.find_first_of(": "));
  const std::size_t begin = type.find('{'), end = type.find('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return;
  for (const std::string_view choice :
       split(std::string_view(type).substr(begin + 1, end - begin - 1), ','))
    option.choices.emplace_back(choice);
}

CommandOption option_of(const CLI::Option& given) {
  CommandOption option;
  for (const std::string& name : given.get_snames())
    option.names.push_back(fmt::format("-{}", name));
  for (const std::string& name : given.get_lnames())
    option.names.push_back(fmt::format("--{}", name));
  if (option.names.empty()) option.names.push_back(given.get_name(true));
  if (given.get_items_expected_max() > 0) read_type(given.get_type_name(), option);
  option.description = given.get_description();
  option.otherwise = given.get_default_str();
  option.required = given.get_required();
  option.repeats = given.get_items_expected_max() > 1;
  return option;
}

CommandNode node_of(const CLI::App& app, const std::string& above) {
  CommandNode node;
  node.name = app.get_name();
  node.path = above.empty() ? node.name : fmt::format("{} {}", above, node.name);
  node.description = app.get_description();
  node.group = app.get_group();
  const std::string footer = app.get_footer();
  constexpr std::string_view heading = "Example:\n";
  node.example = footer.starts_with(heading) ? footer.substr(heading.size()) : footer;
  for (const CLI::Option* option : app.get_options()) {
    const bool positional = option->get_lnames().empty() && option->get_snames().empty();
    (positional ? node.positionals : node.options).push_back(option_of(*option));
  }
  for (const CLI::App* command : app.get_subcommands({}))
    if (!command->get_name().empty()) node.commands.push_back(node_of(*command, node.path));
  return node;
}

void gather(const CommandNode& node, std::vector<const CommandNode*>& to) {
  to.push_back(&node);
  for (const CommandNode& command : node.commands) gather(command, to);
}

}  // namespace

CommandNode command_tree(const CommandLine& program) {
  return node_of(program.given(), "");
}

std::vector<const CommandNode*> all_commands(const CommandNode& root) {
  std::vector<const CommandNode*> all;
  gather(root, all);
  return all;
}

}  // namespace cleave
