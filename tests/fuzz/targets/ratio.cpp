// Ratios.

#include "base/ratio.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::ratio_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  return error_of(Ratio::parse(text));
}

}  // namespace
}  // namespace cleave::fuzz::ratio_target

CLEAVE_FUZZ_TARGET(ratio, judged)
