#pragma once
// What the exported functions of both libraries call: a process's allocations and launches, counted
// in its record and reported to the daemon. Calls may come from any thread, before main and after
// it, and in forked children.

#include <cstdint>
#include <optional>

#include "cudatrace/core/block_table.hpp"
#include "cudatrace/core/record.hpp"

namespace cleave::cuda {

/// The record of this process; made at the first use, from the environment.
Record& record();

/// An allocation that succeeded.
void allocated(Space space, std::uint64_t name, std::uint64_t bytes, MemoryKind kind);
/// Before the driver frees it, since its name may be another thread's at once. Empty: not known.
[[nodiscard]] std::optional<Block> take(Space space, std::uint64_t name);
/// After the driver has freed it.
void released(Block block);
/// The driver did not free it after all.
void put_back(Space space, std::uint64_t name, Block block);
/// A free of something that is not known.
void unknown_free();
/// How many processes have a context on the GPU, with this one.
[[nodiscard]] std::int64_t contexts();
/// The GPU had no room for that much more.
void refused(std::uint64_t bytes);
/// The device was reset: nothing is left.
void released_everything();

/// Tells the name of a function of the host that stands for a kernel, or of a kernel's handle.
void named(const void* kernel, const char* name);
/// Empty if it was never told.
[[nodiscard]] const char* name_of(const void* kernel);
void launched(const void* kernel, const LaunchShape& shape);

/// A call that takes a while: what has not been reported yet is reported first, if it is time.
void moment();

/// How the memory that others than the program's allocations take is found out, such as that of the
/// CUDA context: bytes, or -1. The live library sets it.
extern std::int64_t (*measured_context)(std::int64_t held);

}  // namespace cleave::cuda
