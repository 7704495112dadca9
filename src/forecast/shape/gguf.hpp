#pragma once
// The header of a GGUF file (llama.cpp, ggml): facts about the model as keys with values, then
// name, sizes and type of every tensor. Read in small pieces from the front; the weights are not
// read. Method: the format's description in github.com/ggml-org/ggml, docs/gguf.md; versions 2 and
// 3, little endian.
//
// No length is believed: what it would take is held against what is left of the file first, and
// long lists (the vocabulary) are walked over and not kept.

#include <optional>
#include <string_view>

#include "forecast/shape/byte_source.hpp"
#include "forecast/shape/model_file.hpp"

namespace cleave {

/// How ggml stores numbers: `weights` of them together in `bytes`.
struct GgufType {
  std::uint32_t number;
  std::string_view name;
  std::uint64_t weights, bytes;
};
/// Null: not known, or withdrawn.
const GgufType* gguf_type(std::uint32_t number);

[[nodiscard]] Result<ModelFile> read_gguf(const ByteSource& file);

}  // namespace cleave
