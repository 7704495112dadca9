#pragma once
// Tables of facts by GPU model that cannot lack a model. A row begins with its GpuModelId, and rows
// stand in the order of the enumeration. With static_assert(has_every_model(rows)) beside it, a
// table with a row missing or out of order does not compile, and the compiler names the model.

#include <cstddef>
#include <utility>

#include "model/gpu_model.hpp"

namespace cleave {

inline constexpr auto gpu_model_count = static_cast<std::size_t>(GpuModelId::other);

/// Not a constant when the row is missing: the compiler then shows this call, and with it `model`.
template <GpuModelId model>
constexpr bool table_has(bool present) {
  return present ? true : throw "the table has no row for this GPU model";
}

/// Whether the table has one row for each model, in the order of GpuModelId.
template <class Row, std::size_t count>
constexpr bool has_every_model(const Row (&rows)[count]) {
  static_assert(count <= gpu_model_count, "the table has more rows than there are GPU models");
  return [&]<std::size_t... i>(std::index_sequence<i...>) {
    return (table_has<GpuModelId{i}>(i < count && rows[i].id == GpuModelId{i}) && ...);
  }
  (std::make_index_sequence<gpu_model_count>());
}

/// The row of a model; null for a GPU that only its driver describes.
template <class Row>
constexpr const Row* row_of(const Row (&rows)[gpu_model_count], GpuModelId model) {
  return model == GpuModelId::other ? nullptr : &rows[static_cast<std::size_t>(model)];
}

}  // namespace cleave
