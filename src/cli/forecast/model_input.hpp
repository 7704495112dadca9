#pragma once
// Models as the commands are given them: a config.json, the header of a safetensors or GGUF file,
// an entry of a file of shapes. Files are opened here; the readers see pieces of them.

#include <string>
#include <string_view>

#include "forecast/shape/model_file.hpp"
#include "model/workload_file.hpp"

namespace cleave::cli {

/// Before the name of a network of images, in place of a file: vision:resnet50.
inline constexpr std::string_view vision_prefix = "vision:";

/// A regular file, read piece by piece.
[[nodiscard]] Result<ByteSource> open_bytes(const std::string& path);

/// config.json | F.safetensors | model.safetensors.index.json | F.gguf | SHAPES.json#NAME. A
/// config.json beside a safetensors file tells its shape.
[[nodiscard]] Result<ModelFile> load_model(const std::string& model);

/// Sizes of the models that a workload file names, from its folder on where their names are
/// relative. Each use of a model is worked out once.
[[nodiscard]] ModelSizer model_sizer(const std::string& workload);

}  // namespace cleave::cli
