#pragma once
// What it takes to bring the memory of a workload from one instance to another. Instances cannot
// read each other's memory, not even on one GPU, so everything goes over the GPU's link to the
// host; between nodes it goes over their network too.
//
// Neither rate was measured on a MIG system: 24 GB/s is what PCIe 4 x16 gives each way in
// practice, 12.5 GB/s is a network of 100 Gbit/s. Everything that reports these times says so. The
// start of a process and of its context is not in them.

#include <cstdint>

#include "base/time.hpp"

namespace cleave {

enum class Link { host, network };

/// Time for so many MiB over one link in one direction; those that use it at the same time share
/// it.
Duration transfer_time(Link link, std::int64_t mib);

inline constexpr const char* transfer_note =
    "memory moves at 24 GB/s each way between a GPU and its host and at 12.5 GB/s between nodes, "
    "assumed, "
    "not "
    "measured; the start of processes is not in the times";

}  // namespace cleave
