// Lists of shapes of models.

#include "accepted_input.hpp"
#include "forecast/shape/hf_config.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::model_shapes_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  const auto shape = parse_model_shapes(text, "a", "shapes.json");
  if (shape) ask_about({*shape, "", std::nullopt});
  return error_of(shape);
}

}  // namespace
}  // namespace cleave::fuzz::model_shapes_target

CLEAVE_FUZZ_TARGET(model_shapes, judged)
