#pragma once
// Shapes of models from text: the `config.json` that stands beside a model on Hugging Face, and an
// entry of a file of shapes ({"models": [{"name", "family", "layers", ...}]}). What architectures
// call their sizes is a table; keys that are no sizes are passed over, since configurations carry
// dozens of them.

#include <string>
#include <string_view>

#include "forecast/shape/model_shape.hpp"

namespace cleave {

/// A `config.json`. A model with a text model inside (`text_config`) is read as that.
[[nodiscard]] Result<ModelShape> parse_hf_config(std::string_view text, const std::string& place);

/// The entry called `name`. Sizes and family count; parameters that stand there are not believed.
[[nodiscard]] Result<ModelShape> parse_model_shapes(std::string_view text, std::string_view name,
                                                    const std::string& place);

}  // namespace cleave
