#pragma once
// Shapes of models from text: the `config.json` beside a model on Hugging Face, and an entry of a
// file of shapes ({"models": [{"name", "family", "layers", ...}]}). The names that architectures
// use for their sizes are a table; other keys are ignored, since configurations have dozens of
// them.

#include <string>
#include <string_view>

#include "forecast/shape/model_shape.hpp"

namespace cleave {

/// A `config.json`. For a model that contains a text model (`text_config`), that one is read.
[[nodiscard]] Result<ModelShape> parse_hf_config(std::string_view text, const std::string& place);

/// The entry called `name`. Sizes and family count; a number of parameters in the file is ignored.
[[nodiscard]] Result<ModelShape> parse_model_shapes(std::string_view text, std::string_view name,
                                                    const std::string& place);

}  // namespace cleave
