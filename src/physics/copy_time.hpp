#pragma once
// How long it takes to save a job's memory, to read it back, and to fill that of a replica: all of
// it crosses the link between GPU and host (link.hpp), and where checkpoints are kept on a file
// system, what that takes and gives. Nothing else uses the link meanwhile.

#include <optional>

#include "base/quantity.hpp"
#include "base/time.hpp"
#include "physics/link.hpp"

namespace cleave {

/// Where the memory of jobs lies in between: with the host, unless a store is slower.
struct CheckpointStore {
  std::optional<double> gb_per_s;  // GB are 10^9 bytes
  friend bool operator==(const CheckpointStore&, const CheckpointStore&) = default;
};

/// From or to an instance of a GPU with this link, or from or to the whole GPU.
[[nodiscard]] Duration copy_time(const HostLink& link, bool whole_gpu, MiB memory,
                                 const CheckpointStore& store = {});

}  // namespace cleave
