// How an attempt ended, as its supervisor wrote it.

#include "fuzz.hpp"
#include "runner/process_outcome.hpp"

namespace cleave::fuzz::outcome_target {
namespace {

bool read_input(const std::string& text) {
  const auto outcome = parse_outcome(text, "outcome");
  if (!outcome) return false;
  require(parse_outcome(outcome_text(*outcome), "again").has_value(), "what is written reads");
  return true;
}

}  // namespace
}  // namespace cleave::fuzz::outcome_target

CLEAVE_FUZZ_TARGET(outcome, counted)
