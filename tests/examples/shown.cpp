#include "shown.hpp"

#include <algorithm>
#include <regex>
#include <sstream>

namespace cleave::testing_shown {

namespace {

/// All that the first group of the pattern finds, each once, in order.
std::vector<std::string> all_matches(const std::string& text, const std::regex& pattern) {
  std::vector<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match)
    if (const std::string each = (*match)[1]; std::ranges::find(found, each) == found.end())
      found.push_back(each);
  return found;
}

/// Text within quotes of the shell is not taken apart.
std::vector<std::string> split_outside_quotes(const std::string& line) {
  std::vector<std::string> parts(1);
  char quote = 0;
  for (const char c : line) {
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '\'' || c == '"') {
      quote = c;
    } else if (std::string_view("|&;<>#").find(c) != std::string_view::npos) {
      const bool begins_call = c == '|' || c == '&' || c == ';';
      // Which stream is redirected is no word of the call.
      if (c == '>' && parts.back().ends_with(" 2")) parts.back().pop_back();
      parts.emplace_back(begins_call ? "" : "(not a call)");
      continue;
    }
    parts.back() += c;
  }
  return parts;
}

std::string without_ends(const std::string& text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Adds the calls of one line that is to be typed.
void add_calls(const std::string& line, std::vector<std::string>& calls) {
  static const std::regex ours(
      R"(^(?:\$ )?(?:sudo )?(?:[A-Z_]+=\S+ )*((?:cleave|cleaved|cleave-job|cleave-kube) .*)$)");
  for (const std::string& part : split_outside_quotes(line)) {
    std::smatch match;
    const std::string call = without_ends(part);
    if (std::regex_match(call, match, ours)) calls.push_back(match[1]);
  }
}

}  // namespace

std::vector<std::string> specs_in(const std::string& text) {
  static const std::regex pattern(
      R"(([a-z][a-z0-9-]*:[a-z][a-z-]*=[^\s`"'|,()\\]*[^\s`"'|,()\\.;:]))");
  return all_matches(text, pattern);
}

std::vector<std::string> options_in(const std::string& text) {
  static const std::regex pattern("`([a-z][a-z-]*=[^\\s`]+)`");
  return all_matches(text, pattern);
}

std::vector<std::string> calls_in(const std::string& text, bool help) {
  std::vector<std::string> calls;
  std::stringstream stream(text);
  bool fenced = false;
  std::string whole;
  for (std::string line; std::getline(stream, line);) {
    if (line.starts_with("```")) fenced = !fenced;
    if (!(help ? line.starts_with("  ") : fenced)) continue;
    whole += without_ends(line);
    if (whole.ends_with('\\')) {
      whole.back() = ' ';
      continue;
    }
    add_calls(whole, calls);
    whole.clear();
  }
  return calls;
}

std::vector<std::string> mentions_in(const std::string& text) {
  static const std::regex pattern("`((?:cleave|cleaved|cleave-job|cleave-kube) [^`]+)`");
  std::vector<std::string> mentions = all_matches(text, pattern);
  for (std::string& each : mentions) std::ranges::replace(each, '\n', ' ');
  return mentions;
}

std::vector<std::string> lone_options_in(const std::string& text) {
  static const std::regex pattern("`(--[a-z][a-z-]*)[^`]*`");
  return all_matches(text, pattern);
}

std::vector<std::string> commands_of(const std::string& mention) {
  static const std::regex word("[a-z][a-z-]*(\\|[a-z][a-z-]*)*");
  std::vector<std::string> commands(1);
  std::stringstream stream(mention);
  for (std::string each; stream >> each && std::regex_match(each, word);) {
    std::vector<std::string> longer;
    std::stringstream ways(each);
    for (std::string way; std::getline(ways, way, '|');)
      for (const std::string& before : commands) {
        std::string& both = longer.emplace_back(before);
        if (!both.empty()) both += ' ';
        both += way;
      }
    commands = longer;
  }
  return commands;
}

std::vector<std::string> long_options_of(const std::string& mention) {
  static const std::regex pattern("(?:^|[ \\[|])(--[a-z][a-z-]*)");
  return all_matches(mention.substr(0, mention.find(" -- ")), pattern);
}

std::string with_values(const std::string& sample) {
  static const std::regex value("(^|\n)#([a-z_0-9]+ = )");
  return std::regex_replace(sample, value, "$1$2");
}

}  // namespace cleave::testing_shown
