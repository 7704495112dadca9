#pragma once
// How things fail here: an operation that may fail for reasons of the world returns Result<T>, and
// its Error says what kind of failure it is, where, what happened and what would help. A bug in the
// program itself is not an Error but an assertion.

#include <expected>
#include <string>
#include <utility>

namespace cleave {

/// What went wrong in general; decides the exit code.
enum class ErrorKind {
  bad_usage,   // the command line is wrong
  bad_input,   // a file or a value in it is wrong
  infeasible,  // understood, but impossible
  internal,    // a bug; never the user's fault
};

std::string name(ErrorKind kind);

/// The exit code that goes with a failure: 2 for bad usage and bad input, 1 for the rest.
int exit_code(ErrorKind kind);

/// One failure, as it is shown to the user.
struct Error {
  ErrorKind kind = ErrorKind::bad_input;
  /// File, line, path inside it: "fleet.json: gpus[3].instances[1]"; may be empty.
  std::string place;
  std::string message;  // what is wrong, as a sentence without a full stop
  std::string remedy;   // what to do about it; empty where the message says so

  /// "place: message; remedy", leaving out what is empty.
  [[nodiscard]] std::string text() const;
};

/// A value, or the error that took its place.
template <class T>
using Result = std::expected<T, Error>;

inline std::unexpected<Error> fail(ErrorKind kind, std::string place, std::string message,
                                   std::string remedy = {}) {
  return std::unexpected(Error{kind, std::move(place), std::move(message), std::move(remedy)});
}

/// Passes an error on to the caller, with `place` in front of the place it already has.
std::unexpected<Error> fail_at(const std::string& place, Error error);

}  // namespace cleave
