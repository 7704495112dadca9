#pragma once
// Words of commands that are shown to be given to a shell.

#include <string>
#include <string_view>

namespace cleave {

/// A word as a shell takes it back: as it is, or in single quotes where a shell would read more
/// into it.
[[nodiscard]] std::string shell_word(std::string_view word);

}  // namespace cleave
