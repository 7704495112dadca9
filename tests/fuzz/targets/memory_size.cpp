// Sizes of memory.

#include "base/text.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::memory_size_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  return error_of(parse_size(text));
}

}  // namespace
}  // namespace cleave::fuzz::memory_size_target

CLEAVE_FUZZ_TARGET(memory_size, judged)
