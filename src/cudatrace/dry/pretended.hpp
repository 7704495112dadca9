#pragma once
// The GPU that the dry library pretends to be: its properties, its addresses, what is on it. Device
// memory has addresses and no contents; memory that the host can touch is real.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "cudatrace/abi.hpp"
#include "cudatrace/core/trace.hpp"

#define CLEAVE_CUDA_EXPORT extern "C" __attribute__((visibility("default")))

namespace cleave::cuda {

/// The pointer of that number.
inline void* pointer_to(std::uint64_t address) {
  return std::bit_cast<void*>(address);
}

/// What programs can ask of the GPU. From CLEAVE_CUDA_GPU, else an A100 with 80 GB.
struct PretendedGpu {
  char name[64] = "A100-80GB";
  int major = 8, minor = 0, sms = 108;
  std::uint64_t memory = std::uint64_t{81920} << 20U;  // bytes
  int warps_of_sm = 64, blocks_of_sm = 32;
  int shared_of_sm = 164 << 10, shared_of_block = 163 << 10;
};
const PretendedGpu& pretended_gpu();
/// Bytes that no process holds, the context taken off.
std::uint64_t free_memory();

/// Notes the time at which a call came in, and makes it last as long as CLEAVE_CUDA_CALL_US says.
class DryCall {
 public:
  DryCall();
  ~DryCall();
  DryCall(const DryCall&) = delete;
  DryCall& operator=(const DryCall&) = delete;
  /// Keeps what cudaGetLastError answers.
  Status done(Status status);

 private:
  std::int64_t until_ns_;
};
/// What the last call of this thread that failed returned; success when it was asked before.
Status last_error(bool forget);

/// Memory of the GPU, or of the host.
Status dry_allocate(void** at, std::uint64_t bytes, MemoryKind kind);
Status dry_free(void* at);
/// A thing without contents that has a handle: streams, events, modules. Never null.
void* new_handle();
/// Memory that has a handle and no address.
Status dry_make(Space space, void** handle, std::uint64_t bytes, MemoryKind kind);
Status dry_unmake(Space space, const void* handle);
/// Only an address, for memory to be mapped there.
Status dry_reserve(void** at, std::uint64_t bytes);

/// What lies at an address; empty: not CUDA's.
struct Place {
  void* begin;
  std::uint64_t bytes;
  MemoryKind kind;
};
std::optional<Place> place_of(const void* at);
/// Whether only the GPU could read it.
bool is_device_address(const void* at);
/// As cudaMemcpy: what comes from the GPU is zeros.
void dry_copy(void* to, const void* from, std::uint64_t bytes);
void dry_fill(void* to, int value, std::uint64_t bytes);

/// Everything that was allocated is gone.
void dry_reset();

Status dry_launch(const void* kernel, const LaunchShape& shape, Status if_impossible);

/// A call that has no answer here.
Status unanswered(const char* name);

/// What an attribute of the device is, by the number that runtime and driver share.
int attribute(int number);

}  // namespace cleave::cuda
