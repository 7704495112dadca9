#pragma once
// Man pages from the same source as --help: one page of roff for each command of a program.

#include <string>

#include "manual/command_tree.hpp"

namespace cleave {

/// What a page says in addition to the command's help.
struct ManualNotes {
  std::string version;
  std::string exit_status;  // one line per status: "0 Done."
};

/// One page; `root` is the program it belongs to. Works for any CommandLine, so that cleaved can
/// print its own page too.
[[nodiscard]] std::string manual_page(const CommandNode& node, const CommandNode& root,
                                      const ManualNotes& notes);

/// "cleave-plan-deploy"
[[nodiscard]] std::string page_name(const CommandNode& node);

}  // namespace cleave
