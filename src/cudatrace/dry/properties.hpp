#pragma once
// cudaDeviceProp in its two layouts: version 13 left out what had become meaningless. Only the
// members that are answered have names; the order is that of NVIDIA's reference.

#include <cstddef>
#include <cstdint>

namespace cleave::cuda {

/// How it begins in all versions.
struct PropertiesBegin {
  char name[256];
  char uuid[16], luid[8];
  unsigned luid_mask;
  std::size_t memory, shared_of_block;
  int registers_of_block, threads_of_warp;
  std::size_t pitch;
};

/// From version 11 on; 12 adds members at the end, under another name of the function.
struct PropertiesTo12 : PropertiesBegin {
  int threads_of_block, block[3], grid[3], clock;
  std::size_t constants;
  int major, minor;
  std::size_t texture_alignment, pitch_alignment;
  int overlap, sms, timeout, integrated, maps_host, mode;
  int textures[40];
  std::size_t surface_alignment;
  int concurrent, ecc, bus, device, domain, tcc, copy_engines, one_address_space;
  int memory_clock, bus_width, l2, l2_persisting, threads_of_sm, priorities, l1[2];
  std::size_t shared_of_sm;
  int registers_of_sm, managed, board[2], atomics, double_ratio, pageable, concurrent_managed;
  int preemption, host_pointers, cooperative, cooperative_on_many;
  std::size_t shared_of_block_at_most;
  int page_tables, direct_managed, blocks_of_sm, window;
  std::size_t shared_of_system;
};
static_assert(sizeof(PropertiesTo12) == 728);
inline constexpr std::size_t size_in_12 = 1032;

/// From version 13 on, without the end.
struct PropertiesFrom13 : PropertiesBegin {
  int threads_of_block, block[3], grid[3];
  std::size_t constants;
  int major, minor;
  std::size_t texture_alignment, pitch_alignment;
  int sms, integrated, maps_host;
  int textures[39];
  std::size_t surface_alignment;
  int concurrent, ecc, bus, device, domain, tcc, copy_engines, one_address_space;
  int bus_width, l2, l2_persisting, threads_of_sm, priorities, l1[2];
  std::size_t shared_of_sm;
  int registers_of_sm, managed, board[2], atomics, pageable, concurrent_managed;
  int preemption, host_pointers, cooperative;
  std::size_t shared_of_block_at_most;
  int page_tables, direct_managed, blocks_of_sm, window;
  std::size_t shared_of_system;
};
static_assert(sizeof(PropertiesFrom13) == 704);

}  // namespace cleave::cuda
