#pragma once
// GPUs on the screen of `cleave top`, in as much detail as there are lines for.

#include <span>
#include <string>
#include <vector>

#include "api/documents.hpp"

namespace cleave::cli {

/// With at most `most` lines: a line for each GPU and each of its instances, or one for each GPU,
/// or several GPUs on a line; in the last form there may be more lines than that.
[[nodiscard]] std::vector<std::string> gpu_lines(std::span<const ApiGpu> gpus,
                                                 std::span<const ApiJob> jobs, std::size_t width,
                                                 std::size_t most);

}  // namespace cleave::cli
