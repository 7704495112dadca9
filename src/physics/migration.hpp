#pragma once
// How long it takes to move the memory of a workload from one instance to another. Instances cannot
// read each other's memory, not even on one GPU, so everything goes over the GPU's link to the
// host, and between nodes over the network too.
//
// Neither rate was measured on a MIG system: 24 GB/s is the practical rate of PCIe 4 x16 each way,
// 12.5 GB/s is a network of 100 Gbit/s. Everything that reports these times says so. The times do
// not include starting a process and its context.

#include <cstdint>

#include "base/time.hpp"

namespace cleave {

/// Over what memory moves.
enum class Link { host, network };

/// The time for `mib` mebibytes over one link in one direction; simultaneous transfers share it.
Duration transfer_time(Link link, std::int64_t mib);

inline constexpr const char* transfer_note =
    "memory moves at 24 GB/s each way between a GPU and its host and at 12.5 GB/s between nodes, "
    "assumed, not measured; the start of processes is not in the times";

}  // namespace cleave
