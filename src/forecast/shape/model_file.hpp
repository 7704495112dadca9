#pragma once
// What files say about a model: its shape, and, if a file holds the weights, their size as stored.
// Only headers are read, in small pieces, since files have many gigabytes. No length in a file is
// trusted: it is checked against the file's size before anything is allocated.

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "forecast/shape/model_shape.hpp"

namespace cleave {

/// A file as its readers see it: its length and a way to get a few of its bytes. The caller opens
/// it.
struct ByteSource {
  std::string place;  // the file's name, for errors
  std::uint64_t size = 0;
  /// Exactly `length` bytes from `offset` on. Only asked for what lies within `size`.
  std::function<Result<std::string>(std::uint64_t offset, std::size_t length)> read;
};

/// The tensors of one type of number in a file.
struct StoredType {
  std::string name;  // "BF16", "Q4_K"
  std::uint64_t tensors = 0, parameters = 0, bytes = 0;
};

/// All tensors of a file.
struct StoredWeights {
  std::vector<StoredType> types;  // by name
  std::uint64_t parameters = 0, bytes = 0;
};

/// What one file says of a model.
struct ModelFile {
  std::optional<ModelShape> shape;  // empty: the file does not tell
  std::string why_no_shape;         // then
  std::optional<StoredWeights> stored;
};

/// The header of a safetensors file: eight bytes of its length, then a JSON table of tensors with
/// type, sizes and place. Bytes as stored, by type, and the shape as far as the names of the
/// tensors tell: layers and widths always, the number of heads only where a tensor of one head's
/// size is there. A file whose tensors do not fill the rest of it exactly is torn or altered and
/// refused.
[[nodiscard]] Result<ModelFile> read_safetensors(const ByteSource& file);

/// A model.safetensors.index.json, which names the files of a model in several: the bytes of all
/// tensors together, nothing of the shape.
[[nodiscard]] Result<ModelFile> read_safetensors_index(const ByteSource& file);

/// The longest header that is read; the longest published ones have 90,000 tensors.
constexpr std::uint64_t longest_safetensors_header = 16U << 20;

/// The header of a GGUF file (llama.cpp, ggml): facts about the model as keys with values, then
/// name, sizes and type of every tensor. Versions 2 and 3, little endian. Long lists (the
/// vocabulary) are skipped.
[[nodiscard]] Result<ModelFile> read_gguf(const ByteSource& file);

/// How ggml stores numbers: `weights` of them together in `bytes`.
struct GgufType {
  std::uint32_t number;
  std::string_view name;
  std::uint64_t weights, bytes;
};
/// Null: not known, or withdrawn.
const GgufType* gguf_type(std::uint32_t number);

/// One tensor of a file, without its numbers.
struct NamedTensor {
  std::string name;
  std::vector<std::uint64_t> sizes;
};

/// A model's shape from the names and sizes of its tensors, where no configuration stands beside
/// them. Weights alone do not tell into how many heads a width is divided. The memory that a shape
/// is asked for depends on the widths only, so one head of the whole KV width stands in where
/// nothing tells, and the shape says so (`heads_known`). Fails where the names are of no known
/// family, or the sizes contradict each other.
[[nodiscard]] Result<ModelShape> shape_from_names(std::span<const NamedTensor> tensors,
                                                  const std::string& place);

}  // namespace cleave
