#pragma once
// What the wrappers of export_*.cpp share: call the real function, and count what came of it.

#include <cstdint>

#include "cudatrace/abi.hpp"
#include "cudatrace/core/trace.hpp"
#include "cudatrace/live/real.hpp"

#define CLEAVE_CUDA_EXPORT extern "C" __attribute__((visibility("default")))

namespace cleave::cuda {

/// What an allocation made.
struct Made {
  Space space;
  std::uint64_t name;
  std::uint64_t bytes;
  MemoryKind kind;
};

inline std::uint64_t number(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

/// A call that allocates; `made()` is asked after it succeeded, `wanted` is what it asked for.
template <class F, class MadeBy, class... Arguments>
Status follow_allocation(Real<F>& real, std::uint64_t wanted, const MadeBy& made,
                         Arguments... arguments) {
  F* const call = real.get();
  if (call == nullptr) return not_initialized;
  const Following following;
  const Status status = call(arguments...);
  if (!Following::outermost()) return status;
  if (status == success) {
    const Made result = made();
    if (result.name != 0) allocated(result.space, result.name, result.bytes, result.kind);
  } else if (status == out_of_memory) {
    refused(wanted);
  }
  return status;
}

/// A call that frees what has this name.
template <class F, class... Arguments>
Status follow_free(Real<F>& real, Space space, std::uint64_t name, Arguments... arguments) {
  F* const call = real.get();
  if (call == nullptr) return not_initialized;
  const Following following;
  if (!Following::outermost() || name == 0) return call(arguments...);
  const auto block = take(space, name);
  const Status status = call(arguments...);
  if (!block)
    unknown_free();
  else if (status == success)
    released(*block);
  else
    put_back(space, name, *block);
  return status;
}

/// A launch.
template <class F, class... Arguments>
Status follow_launch(Real<F>& real, const void* kernel, const LaunchShape& shape,
                     Arguments... arguments) {
  F* const call = real.get();
  if (call == nullptr) return not_initialized;
  const Following following;
  const Status status = call(arguments...);
  if (status == success && Following::outermost()) launched(kernel, shape);
  return status;
}

/// A call that waits for the GPU.
template <class F, class... Arguments>
Status follow_wait(Real<F>& real, Arguments... arguments) {
  F* const call = real.get();
  if (call == nullptr) return not_initialized;
  const Following following;
  if (Following::outermost()) moment();
  return call(arguments...);
}

/// A call that says something on the way, and is not followed itself.
template <class F, class... Arguments>
Status forward(Real<F>& real, Arguments... arguments) {
  F* const call = real.get();
  return call == nullptr ? not_initialized : call(arguments...);
}

inline LaunchShape shape_of(const Dim3& grid, const Dim3& block, std::uint64_t shared) {
  return {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared};
}

}  // namespace cleave::cuda
