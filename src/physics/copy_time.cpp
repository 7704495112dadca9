#include "physics/copy_time.hpp"

#include <algorithm>
#include <cmath>

namespace cleave {

Duration copy_time(const HostLink& link, bool whole_gpu, MiB memory, const CheckpointStore& store) {
  const double crosses = whole_gpu ? link.gb_per_s : link.instance_gb_per_s;
  const double rate = std::min(crosses, store.gb_per_s.value_or(crosses));  // bytes a nanosecond
  return Duration{std::llround(static_cast<double>(memory.value) * bytes_per_mib / rate)};
}

}  // namespace cleave
