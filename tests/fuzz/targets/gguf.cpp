// Headers of GGUF files.

#include "accepted_input.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz {
namespace {

std::optional<Error> read_input(const std::string& text) {
  const auto model = read_gguf(watched(text));
  if (model) ask_about(*model);
  return error_of(model);
}

}  // namespace
}  // namespace cleave::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return cleave::fuzz::judged(cleave::fuzz::read_input(cleave::fuzz::text_of(data, size)));
}
