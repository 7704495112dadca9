// config.json of models.

#include "forecast/shape/hf_config.hpp"
#include "accepted_input.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::hf_config_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  const auto shape = parse_hf_config(text, "config.json");
  if (shape) ask_about({*shape, "", std::nullopt});
  return error_of(shape);
}

}  // namespace
}  // namespace cleave::fuzz::hf_config_target

CLEAVE_FUZZ_TARGET(hf_config, judged)
