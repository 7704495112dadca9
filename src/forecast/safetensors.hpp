#pragma once
// The header of a safetensors file: eight bytes of its length, then a JSON table of tensors with type, sizes
// and place. Only it is read; the weights are not. Method: the format's description at
// github.com/huggingface/safetensors.
//
// Lengths are held against the file's size before anything is allocated. A file whose tensors do not fill the
// rest of it exactly is torn or altered and refused.

#include "forecast/byte_source.hpp"
#include "forecast/model_file.hpp"

namespace cleave {

/// The longest header that is read; published ones are a few hundred KiB.
constexpr std::uint64_t longest_safetensors_header = 8U << 20;

/// Bytes as stored, by type, and the shape as far as the names of the tensors tell: layers and widths always,
/// the number of heads only where a tensor of one head's size is there.
[[nodiscard]] Result<ModelFile> read_safetensors(const ByteSource& file);

}  // namespace cleave
