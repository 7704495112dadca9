#pragma once
// What a file says of a model: its shape, and, where the file holds the weights, what those take as
// stored.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "forecast/shape/model_shape.hpp"

namespace cleave {

/// The tensors of one type of number in a file.
struct StoredType {
  std::string name;  // "BF16", "Q4_K"
  std::uint64_t tensors = 0, parameters = 0, bytes = 0;
};

struct StoredWeights {
  std::vector<StoredType> types;  // by name
  std::uint64_t parameters = 0, bytes = 0;
};

struct ModelFile {
  std::optional<ModelShape> shape;  // empty: the file does not let one know
  std::string why_no_shape;         // then
  std::optional<StoredWeights> stored;
};

}  // namespace cleave
