#pragma once
// The names that reference cases give to GPUs, and what they mean here. No other file knows them.

#include <memory>
#include <string_view>

#include "base/result.hpp"
#include "graph/state_graph.hpp"

namespace cleave::cases {

/// The state graph of a device by its name in the cases, "A100-40GB/five"; the error lists the
/// known names.
[[nodiscard]] Result<std::shared_ptr<const StateGraph>> find_device(std::string_view name);

}  // namespace cleave::cases
