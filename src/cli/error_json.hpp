#pragma once
// How a failure is told: in the words of a JSON answer, and to people.

#include "base/json.hpp"
#include "base/result.hpp"

namespace cleave::cli {

/// What stands under "error": kind, place, message and remedy.
Json error_json(const Error& error);

/// To people on standard error, and where JSON was asked for also as a document on standard output.
/// The exit code that goes with it.
int report_error(const Error& error, bool json);

}  // namespace cleave::cli
