#include "manual/completion.hpp"

#include <algorithm>

#include "base/format.hpp"

namespace cleave {

namespace {

/// Only what no shell takes for anything else.
std::string words(const std::vector<std::string>& list) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=+@%,";
  std::vector<std::string> safe;
  for (const std::string& word : list)
    if (!word.empty() && word.find_first_not_of(plain) == std::string::npos) safe.push_back(word);
  return fmt::format("{}", fmt::join(safe, " "));
}

std::vector<std::string> choices_of(const CommandNode& node, const CommandOption& option,
                                    NamesFor names_for) {
  return option.choices.empty() && names_for != nullptr ? names_for(node.path, option.names.back())
                                                        : option.choices;
}

/// Patterns of the files that a command's positionals name.
std::vector<std::string> file_patterns(const CommandNode& node, NamesFor names_for) {
  std::vector<std::string> patterns;
  for (const CommandOption& positional : node.positionals)
    for (const std::string& choice : choices_of(node, positional, names_for))
      if (choice.starts_with("*.")) patterns.push_back(choice);
  return patterns;
}

/// Commands, options and the choices of positionals.
std::vector<std::string> words_at(const CommandNode& node, NamesFor names_for) {
  std::vector<std::string> list;
  for (const CommandNode& command : node.commands) list.push_back(command.name);
  for (const CommandOption& positional : node.positionals)
    for (std::string& choice : choices_of(node, positional, names_for))
      list.push_back(std::move(choice));
  for (const CommandOption& option : node.options)
    list.insert(list.end(), option.names.begin(), option.names.end());
  return list;
}

/// The lines `"cleave plan"|"cleave plan deploy"` of a case: every command but the program itself.
/// A program without commands has its own name, which no path with a word behind it equals.
std::string known_paths(const std::vector<const CommandNode*>& nodes, const char* between) {
  std::vector<std::string> paths;
  for (const CommandNode* node : nodes)
    if (node != nodes.front()) paths.push_back(fmt::format("'{}'", node->path));
  if (paths.empty()) paths.push_back(fmt::format("'{}'", nodes.front()->path));
  return fmt::format("{}", fmt::join(paths, between));
}

/// For each option with a value: where it may stand, and its choices. `row` writes one.
template <class Row>
std::string value_rows(const std::vector<const CommandNode*>& nodes, NamesFor names_for, Row row) {
  std::string text;
  for (const CommandNode* node : nodes)
    for (const CommandOption& option : node->options) {
      if (option.value.empty()) continue;
      std::vector<std::string> places;
      for (const std::string& name : option.names)
        places.push_back(fmt::format("'{} {}'", node->path, name));
      text += row(fmt::format("{}", fmt::join(places, "|")),
                  words(choices_of(*node, option, names_for)));
    }
  return text;
}

/// Prints the numbers of the user's newest jobs, in any of the shells; nothing where no daemon
/// answers.
constexpr std::string_view job_numbers =
    R"(cleave ps --all --limit 100 2>/dev/null | sed -n 's/^ *\([0-9][0-9]*\) .*/\1/p')";

bool takes_jobs(const CommandNode& node) {
  return std::ranges::any_of(node.positionals, [](const CommandOption& positional) {
    return positional.names.back() == "JOB";
  });
}

/// Where the word begins that is being completed: behind --option=, and behind the last comma of a
/// list. Bash takes words apart at : and =, so that only what comes behind these is answered.
constexpr std::string_view bash_words = R"(
  # One of the words, behind the last comma of a list.
  _{0}_list() {{
    local there=; [[ $cur == *,* ]] && there=${{cur%,*}},
    COMPREPLY=($(compgen -P "$before$there" -W "$1" -- "${{cur##*,}}"))
  }}
  local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} at={0} i before= whole
  if [[ -n $COMP_LINE ]]; then
    whole=${{COMP_LINE:0:COMP_POINT}}; cur=${{whole##*[[:space:]]}}; whole=${{whole%"$cur"}}
    whole=${{whole%"${{whole##*[![:space:]]}}"}}; prev=${{whole##*[[:space:]]}}; whole=$cur
    [[ $cur == --*=* ]] && prev=${{cur%%=*}} before=${{cur%%=*}}= cur=${{cur#*=}}
  fi
)";

std::string for_bash(const CommandNode& root, NamesFor names_for) {
  const auto nodes = all_commands(root);
  std::string text = fmt::format(
      "# Completion of {0} for bash: source this, or put it into bash-completion's folder.\n_{0}() "
      "{{",
      root.name);
  text += fmt::format(fmt::runtime(bash_words), root.name);
  text += fmt::format(
      "  COMPREPLY=()\n"
      "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
      "    # Behind -- stands another program's command.\n"
      "    if [[ ${{COMP_WORDS[i]}} == -- ]]; then COMPREPLY=($(compgen -c -- \"$cur\")); return; "
      "fi\n"
      "    case \"$at ${{COMP_WORDS[i]}}\" in\n      {0}) at=\"$at ${{COMP_WORDS[i]}}\" ;;\n    "
      "esac\n  "
      "done\n"
      "  _{1}_words\n"
      "  # Bash has the part up to the last : or = already.\n"
      "  [[ $whole == *[:=]* ]] && "
      "COMPREPLY=(\"${{COMPREPLY[@]#\"${{whole%\"${{whole##*[:=]}}\"}}\"}}\")\n"
      "  [[ ${{#COMPREPLY[@]}} == 1 && ${{COMPREPLY[0]}} == *[:=] ]] && compopt -o nospace "
      "2>/dev/null\n"
      "  return 0\n"
      "}}\n"
      "_{1}_words() {{\n"
      "  case \"$at $prev\" in\n",
      known_paths(nodes, "|"), root.name);
  text += value_rows(nodes, names_for, [&](const std::string& places, const std::string& choices) {
    return fmt::format("    {}) _{}_list '{}'; return ;;\n", places, root.name, choices);
  });
  text += "  esac\n  case \"$at\" in\n";
  for (const CommandNode* node : nodes) {
    text += fmt::format("    '{}') _{}_list '{}'", node->path, root.name,
                        words(words_at(*node, names_for)));
    if (takes_jobs(*node))
      text += fmt::format(
          "\n      [[ $cur == -* ]] || COMPREPLY+=($(compgen -W \"$({})\" -- \"$cur\"))",
          job_numbers);
    if (const auto patterns = file_patterns(*node, names_for); !patterns.empty()) {
      text += "\n      [[ $cur == -* ]] || COMPREPLY+=($(compgen -d -- \"$cur\")";
      for (const std::string& pattern : patterns)
        text += fmt::format(" $(compgen -f -X '!{}' -- \"$cur\")", pattern);
      text += ")";
    }
    text += " ;;\n";
  }
  // Where nothing fits, names of files.
  return text + fmt::format("  esac\n}}\ncomplete -o default -F _{0} {0}\n", root.name);
}

std::string for_zsh(const CommandNode& root, NamesFor names_for) {
  const auto nodes = all_commands(root);
  std::string text = fmt::format(
      "#compdef {0}\n# Completion of {0} for zsh: put it into a folder of $fpath as _{0}.\n_{0}() "
      "{{\n"
      "  local at={0} i\n"
      "  for ((i = 2; i < CURRENT; i++)); do\n"
      "    if [[ $words[i] == -- ]]; then _normal; return; fi\n"
      "    case \"$at $words[i]\" in\n      ({1}) at=\"$at $words[i]\" ;;\n    esac\n  done\n"
      "  case \"$at $words[CURRENT-1]\" in\n",
      root.name, known_paths(nodes, "|"));
  text += value_rows(nodes, names_for, [](const std::string& places, const std::string& choices) {
    // Behind the last comma of a list.
    return choices.empty() ? fmt::format("    ({}) _files; return ;;\n", places)
                           : fmt::format("    ({}) compset -P '*,'; compadd -- {}; return ;;\n",
                                         places, choices);
  });
  text += "  esac\n  case \"$at\" in\n";
  for (const CommandNode* node : nodes) {
    text += fmt::format("    ('{}') compadd -- {}", node->path, words(words_at(*node, names_for)));
    if (takes_jobs(*node)) text += fmt::format("\n      compadd -- ${{(f)\"$({})\"}}", job_numbers);
    text += " ;;\n";
  }
  return text +
         fmt::format("  esac\n  [[ $PREFIX == -* ]] || _files\n}}\ncompdef _{0} {0}\n", root.name);
}

/// For fish's single quotes.
std::string in_quotes(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    if (c == '\'' || c == '\\') safe += '\\';
    safe += c == '\n' ? ' ' : c;
  }
  return fmt::format("'{}'", safe);
}

std::string for_fish(const CommandNode& root, NamesFor names_for) {
  const auto nodes = all_commands(root);
  std::string text = fmt::format(
      "# Completion of {0} for fish: put it into ~/.config/fish/completions/{0}.fish\n"
      "function __{0}_at\n  set -l at {0}\n  for word in (commandline -opc)[2..-1]\n"
      "    switch \"$at $word\"\n      case {1}\n        set at \"$at $word\"\n    end\n  end\n"
      "  test \"$at\" = \"$argv[1]\"\nend\n"
      "# The words behind what is there of a list, up to its last comma.\n"
      "function __{0}_list\n  set -l there (commandline -ct | string match -r "
      "'^(?:--[^=]*=)?(.*,)')\n"
      "  for word in $argv\n    echo \"$there[2]$word\"\n  end\nend\n",
      root.name, known_paths(nodes, " "));
  for (const CommandNode* node : nodes) {
    const std::string here =
        fmt::format("complete -c {} -n \"__{}_at '{}'\"", root.name, root.name, node->path);
    for (const CommandNode& command : node->commands)
      text +=
          fmt::format("{} -f -a {} -d {}\n", here, command.name, in_quotes(command.description));
    for (const CommandOption& positional : node->positionals)
      if (const std::string choices = words(choices_of(*node, positional, names_for));
          !choices.empty())
        text += fmt::format("{} -a {}\n", here, in_quotes(choices));
    if (takes_jobs(*node))
      text += fmt::format("{} -f -a {}\n", here, in_quotes(fmt::format("({})", job_numbers)));
    for (const CommandOption& option : node->options) {
      std::string line = here;
      for (const std::string& name : option.names)
        line += name.starts_with("--") ? fmt::format(" -l {}", name.substr(2))
                                       : fmt::format(" -s {}", name.substr(1));
      const std::string choices = words(choices_of(*node, option, names_for));
      if (!option.value.empty())
        line += choices.empty()
                    ? " -r"
                    : fmt::format(" -x -a {}",
                                  in_quotes(fmt::format("(__{}_list {})", root.name, choices)));
      text += fmt::format("{} -d {}\n", line, in_quotes(option.description));
    }
  }
  return text;
}

}  // namespace

std::string completion(const CommandNode& root, std::string_view shell, NamesFor names_for) {
  if (shell == "zsh") return for_zsh(root, names_for);
  return shell == "fish" ? for_fish(root, names_for) : for_bash(root, names_for);
}

}  // namespace cleave
