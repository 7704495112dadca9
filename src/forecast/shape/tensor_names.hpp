#pragma once
// A model's shape from the names and sizes of its tensors, where no configuration stands beside
// them. What families call their tensors is a table.
//
// Weights alone do not tell into how many heads a width is divided. The memory that a shape is
// asked for depends on the widths only, so that one head of the whole KV width stands in where
// nothing tells, and the shape says so (`heads_known`).

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "forecast/shape/model_shape.hpp"

namespace cleave {

struct NamedTensor {
  std::string name;
  std::vector<std::uint64_t> sizes;
};

/// Fails where the names are of no family of the table, or the sizes contradict each other.
[[nodiscard]] Result<ModelShape> shape_from_names(std::span<const NamedTensor> tensors,
                                                  const std::string& place);

}  // namespace cleave
