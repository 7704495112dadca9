// Schedulers with their options.

#include "engine/scheduler.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::schedulers_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  return error_of(parse_schedulers(text));
}

}  // namespace
}  // namespace cleave::fuzz::schedulers_target

CLEAVE_FUZZ_TARGET(schedulers, judged)
