#pragma once
// The header of a safetensors file: eight bytes of its length, then a JSON table of tensors with
// type, sizes and place. Only it is read; the weights are not. Method: the format's description at
// github.com/huggingface/safetensors.
//
// Lengths are held against the file's size before anything is allocated. A file whose tensors do
// not fill the rest of it exactly is torn or altered and refused.

#include "forecast/shape/byte_source.hpp"
#include "forecast/shape/model_file.hpp"

namespace cleave {

/// The longest header that is read; the longest published ones have 90,000 tensors.
constexpr std::uint64_t longest_safetensors_header = 16U << 20;

/// Bytes as stored, by type, and the shape as far as the names of the tensors tell: layers and
/// widths always, the number of heads only where a tensor of one head's size is there.
[[nodiscard]] Result<ModelFile> read_safetensors(const ByteSource& file);

/// A model.safetensors.index.json, which names the files of a model in several: the bytes of all
/// tensors together, nothing of the shape.
[[nodiscard]] Result<ModelFile> read_safetensors_index(const ByteSource& file);

}  // namespace cleave
