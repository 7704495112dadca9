#pragma once
// Whether the program of a submission is there, so that a misspelt one is refused at once and not
// when its turn comes.

#include "base/json.hpp"
#include "base/result.hpp"

namespace cleave::cli {

/// As the job would look for it: a path from its directory, a name in the PATH of its environment.
/// What an image holds is not known. Errors are bad_input, their place COMMAND.
[[nodiscard]] Result<void> check_program(const Json& submission);

}  // namespace cleave::cli
