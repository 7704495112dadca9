#pragma once
// What a CUDA source asks for, read from the LLVM IR that clang makes of its host part: the sizes
// of allocations and the shapes of launches, where the compiler knows them. *Managing Multi
// Instance GPUs*, 4.3, takes both from the compiler pass of CASE.
//
// The IR is text from outside. Every line is read once, and what is not understood is unknown.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace cleave {

/// Where an allocation lies.
enum class SourceMemory : std::uint8_t { device, managed, array, pinned };
std::string_view name(SourceMemory memory);

/// One call that allocates.
struct SourceAllocation {
  std::string_view call;  // "cudaMalloc"
  SourceMemory memory = SourceMemory::device;
  std::optional<std::int64_t> bytes;  // empty: depends on data

  bool operator==(const SourceAllocation&) const = default;
};

/// Blocks of a grid or threads of a block.
using SourceShape = std::array<std::uint32_t, 3>;

/// One launch of a kernel; what is empty depends on data.
struct SourceLaunch {
  std::string kernel;  // as it is written in the source; empty: not known
  std::optional<SourceShape> grid, threads;
  std::optional<std::int64_t> shared_bytes;  // dynamic

  bool operator==(const SourceLaunch&) const = default;
};

/// A function of the source, with its calls in the order of the text.
struct SourceFunction {
  std::string name;                     // as the linker sees it
  std::vector<std::string> references;  // all that its body names
  std::vector<SourceAllocation> allocations;
  std::vector<SourceLaunch> launches;
  std::size_t frees = 0;
};

/// What one source was compiled to.
struct SourceModule {
  std::vector<SourceFunction> functions;
  std::vector<std::string> roots;  // what variables and tables name
};

/// The names of the calls that are known to allocate.
[[nodiscard]] std::vector<std::string_view> known_allocation_calls();

/// `place` stands in errors.
[[nodiscard]] Result<SourceModule> read_cuda_ir(std::string_view text, const std::string& place);

/// If one of the modules has `main`, leaves out the functions that neither it nor a variable leads
/// to: the compiler has copied them to where they are called, or nobody calls them.
void keep_what_main_reaches(std::vector<SourceModule>& modules);

}  // namespace cleave
