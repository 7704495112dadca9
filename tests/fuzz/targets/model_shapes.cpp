// Lists of shapes of models.

#include "accepted_input.hpp"
#include "forecast/shape/hf_config.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz {
namespace {

std::optional<Error> read_input(const std::string& text) {
  const auto shape = parse_model_shapes(text, "a", "shapes.json");
  if (shape) ask_about({*shape, "", std::nullopt});
  return error_of(shape);
}

}  // namespace
}  // namespace cleave::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return cleave::fuzz::judged(cleave::fuzz::read_input(cleave::fuzz::text_of(data, size)));
}
