#pragma once
// What is wrong with a command line, in Cleave's words. CLI11 knows that a line is wrong and stops
// at the first reason; what it has read of the line shows which reason helps most.

#include "base/result.hpp"

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace cleave {

/// The error for a line that `program` has just refused with `stop`; the kind is bad_usage. An
/// option that is misspelt or in the wrong place comes first: other complaints often follow from
/// it. Other words that no command takes come last.
[[nodiscard]] Error wrong_line(const CLI::App& program, const CLI::ParseError& stop);

}  // namespace cleave
