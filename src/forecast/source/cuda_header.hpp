#pragma once
// What stands in for CUDA's headers while clang reads a source: enough of the language and of the
// runtime's interface to compile the host part without an installed CUDA. Nothing is ever run.

#include <span>
#include <string>
#include <string_view>

namespace cleave {

/// The text of the header that declares everything.
[[nodiscard]] std::string cuda_header();

/// The name under which it is written, and other names that lead to it.
constexpr std::string_view cuda_header_name = "cuda_runtime.h";
[[nodiscard]] std::span<const std::string_view> other_cuda_header_names();

}  // namespace cleave
