#pragma once
// Models as the commands are given them: a config.json, the header of a safetensors or GGUF file, an entry of
// a file of shapes. Files are opened here; the readers see pieces of them.

#include <string>

#include "forecast/byte_source.hpp"
#include "forecast/model_file.hpp"

namespace cleave::cli {

/// A regular file, read piece by piece.
[[nodiscard]] Result<ByteSource> open_bytes(const std::string& path);

/// config.json | F.safetensors | model.safetensors.index.json | F.gguf | SHAPES.json#NAME. A config.json
/// beside a safetensors file tells its shape.
[[nodiscard]] Result<ModelFile> load_model(const std::string& model);

}  // namespace cleave::cli
