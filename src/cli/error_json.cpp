#include "cli/error_json.hpp"

#include <cstdio>

#include "base/format.hpp"
#include "base/terminal_text.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"

namespace cleave::cli {

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
  fmt::print(stderr, "cleave: {}\n", safe);
  if (json) print(Json{{"error", error_json(error)}});
  return exit_code(error.kind);
}

}  // namespace cleave::cli
