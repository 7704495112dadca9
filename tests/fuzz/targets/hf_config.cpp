// config.json of models.

#include "forecast/shape/hf_config.hpp"
#include "accepted_input.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz {
namespace {

std::optional<Error> read_input(const std::string& text) {
  const auto shape = parse_hf_config(text, "config.json");
  if (shape) ask_about({*shape, "", std::nullopt});
  return error_of(shape);
}

}  // namespace
}  // namespace cleave::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return cleave::fuzz::judged(cleave::fuzz::read_input(cleave::fuzz::text_of(data, size)));
}
