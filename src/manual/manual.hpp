#pragma once
// Man pages from the same source as --help: a page of roff for each command of a program.

#include <string>
#include <string_view>

#include "manual/command_tree.hpp"

namespace cleave {

/// What a page says beside the command's own help.
struct ManualNotes {
  std::string version;
  std::string exit_status;  // one line for each status, "0 done"; tells the program's own apart
};

/// One page; `root` is the program it belongs to. Works for any program of CLI11, so that others
/// than `cleave` can print their own.
[[nodiscard]] std::string manual_page(const CommandNode& node, const CommandNode& root,
                                      const ManualNotes& notes);

/// "cleave-plan-deploy"
[[nodiscard]] std::string page_name(const CommandNode& node);

}  // namespace cleave
