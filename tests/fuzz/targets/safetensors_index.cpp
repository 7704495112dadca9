// Indices of safetensors files.

#include "accepted_input.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::safetensors_index_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  const auto model = read_safetensors_index(watched(text));
  if (model) ask_about(*model);
  return error_of(model);
}

}  // namespace
}  // namespace cleave::fuzz::safetensors_index_target

CLEAVE_FUZZ_TARGET(safetensors_index, judged)
