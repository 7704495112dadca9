#include "manual/manual.hpp"

#include <algorithm>
#include <functional>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

/// Text as roff takes it for text.
std::string roff(std::string_view text) {
  std::string safe;
  bool line_begins = true;
  for (const char c : text) {
    if (line_begins && (c == '.' || c == '\'')) safe += "\\&";
    line_begins = c == '\n';
    if (c == '\\')
      safe += "\\e";
    else if (c == '-')
      safe += "\\-";
    else if (c == '\'')
      safe += "\\(aq";
    else if (c == '`')
      safe += "\\(ga";
    else if (c == '^')
      safe += "\\(ha";
    else if (c == '~')
      safe += "\\(ti";
    else
      safe += c;
  }
  return safe;
}

std::string bold(std::string_view text) {
  return fmt::format("\\fB{}\\fR", roff(text));
}
std::string italic(std::string_view text) {
  return fmt::format("\\fI{}\\fR", roff(text));
}

std::string value_of(const CommandOption& option) {
  if (!option.choices.empty()) return fmt::format("{}", fmt::join(option.choices, "|"));
  return option.value;
}

std::string option_entry(const CommandOption& option, bool positional) {
  std::vector<std::string> names;
  for (const std::string& name : option.names)
    names.push_back(positional ? italic(name) : bold(name));
  std::string text = fmt::format(".TP\n{}", fmt::join(names, ", "));
  if (!positional && !option.value.empty()) text += fmt::format(" {}", italic(value_of(option)));
  text += fmt::format("\n{}", roff(option.description));
  if (positional && !option.choices.empty())
    text += fmt::format(": {}", roff(fmt::format("{}", fmt::join(option.choices, ", "))));
  if (!option.otherwise.empty()) text += fmt::format("; {} by default", roff(option.otherwise));
  if (option.required && !positional) text += "; required";
  return text + ".\n";
}

std::string synopsis(const CommandNode& node) {
  std::string text = bold(node.path);
  if (!node.options.empty()) text += " [" + italic("OPTIONS") + "]";
  for (const CommandOption& positional : node.positionals) {
    const std::string name = italic(positional.names.front()) + (positional.repeats ? "..." : "");
    text += positional.required ? fmt::format(" {}", name) : fmt::format(" [{}]", name);
  }
  if (!node.commands.empty()) text += fmt::format(" {} ...", italic("COMMAND"));
  return text + "\n";
}

/// The first clause, for the line that `whatis` shows.
std::string in_short(const std::string& description) {
  const std::size_t end =
      std::min({description.find(". "), description.find(": "), description.find("; ")});
  return description.substr(0, end);
}

/// In the groups of --help, where there are several.
std::string commands_text(const std::vector<CommandNode>& commands) {
  if (commands.empty()) return "";
  std::string text = ".SH COMMANDS\n", group;
  const bool grouped = std::ranges::adjacent_find(commands, std::ranges::not_equal_to(),
                                                  &CommandNode::group) != commands.end();
  for (const CommandNode& command : commands) {
    if (grouped && command.group != group) {
      group = command.group;
      text += fmt::format(".SS {}\n", roff(group));
    }
    text += fmt::format(".TP\n{}\n{}.\n", bold(command.name), roff(command.description));
  }
  return text;
}

}  // namespace

std::string page_name(const CommandNode& node) {
  std::string name = node.path;
  std::ranges::replace(name, ' ', '-');
  return name;
}

std::string manual_page(const CommandNode& node, const CommandNode& root,
                        const ManualNotes& notes) {
  std::string title = page_name(node);
  std::ranges::transform(title, title.begin(),
                         [](char c) { return c >= 'a' && c <= 'z' ? char(c - 32) : c; });
  std::string text = fmt::format(".TH {} 1 \"\" \"{} {}\" \"{}\"\n", roff(title), roff(root.name),
                                 roff(notes.version), roff(root.name));
  text +=
      fmt::format(".SH NAME\n{} \\- {}\n", roff(page_name(node)), roff(in_short(node.description)));
  text += fmt::format(".SH SYNOPSIS\n{}", synopsis(node));
  text += fmt::format(".SH DESCRIPTION\n{}{}\n", roff(node.description),
                      node.description.ends_with('.') ? "" : ".");
  text += commands_text(node.commands);
  if (!node.positionals.empty()) text += ".SH ARGUMENTS\n";
  for (const CommandOption& positional : node.positionals) text += option_entry(positional, true);
  if (!node.options.empty()) text += ".SH OPTIONS\n";
  for (const CommandOption& option : node.options) text += option_entry(option, false);
  if (!node.example.empty()) text += fmt::format(".SH EXAMPLE\n.nf\n{}\n.fi\n", roff(node.example));
  text += ".SH EXIT STATUS\n";
  for (const std::string_view line : split(notes.exit_status, '\n')) {
    const std::size_t space = line.find(' ');
    text += fmt::format(".TP\n{}\n{}\n", bold(line.substr(0, space)), roff(line.substr(space + 1)));
  }
  if (&node != &root) text += fmt::format(".SH SEE ALSO\n.BR {} (1)\n", roff(root.name));
  return text;
}

}  // namespace cleave
