#pragma once
// An error in the words of a JSON answer.

#include "base/json.hpp"
#include "base/result.hpp"

namespace cleave::cli {

/// What stands under "error": kind, place, message and remedy.
Json error_json(const Error& error);

}  // namespace cleave::cli
