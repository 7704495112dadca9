// Headers of GGUF files.

#include "accepted_input.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::gguf_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  const auto model = read_gguf(watched(text));
  if (model) ask_about(*model);
  return error_of(model);
}

}  // namespace
}  // namespace cleave::fuzz::gguf_target

CLEAVE_FUZZ_TARGET(gguf, judged)
