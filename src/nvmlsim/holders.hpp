#pragma once
// The programs that hold MIG device handles, one after the other.

#include <cstdint>

#include "nvmlsim/node.hpp"

namespace cleave::sim {

/// Any of these slots of compute instances of a GPU.
struct HeldSlots {
  std::uint32_t gpu;
  std::uint64_t slots;
};
/// The pid of the first other living program that holds one, from `client` on in the table of
/// clients, and `client` is behind it then; 0: there is none. Needs the GPU's state lock.
std::uint32_t next_holder(Node& node, const HeldSlots& held, std::uint32_t& client);

}  // namespace cleave::sim
