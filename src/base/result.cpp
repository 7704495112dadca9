#include "base/result.hpp"

namespace cleave {

std::string name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::bad_usage:
      return "bad usage";
    case ErrorKind::bad_input:
      return "bad input";
    case ErrorKind::infeasible:
      return "infeasible";
    case ErrorKind::internal:
      return "internal";
  }
  return "unknown";
}

int exit_code(ErrorKind kind) {
  return kind == ErrorKind::bad_usage || kind == ErrorKind::bad_input ? 2 : 1;
}

std::string Error::text() const {
  std::string line = place.empty() ? message : place + ": " + message;
  if (!remedy.empty()) line += "; " + remedy;
  return line;
}

std::unexpected<Error> fail_at(const std::string& place, Error error) {
  error.place = error.place.empty() ? place : place + ": " + error.place;
  return std::unexpected(std::move(error));
}

}  // namespace cleave
