#include "physics/allocation.hpp"

#include <algorithm>

namespace cleave {

namespace {

using std::chrono::microseconds;

/// *Managing Multi Instance GPUs*, table 3.
struct MeasuredAllocation {
  int instances;
  Duration allocate, free;
};
constexpr MeasuredAllocation alone{1, microseconds{240'000}, microseconds{580}};
constexpr MeasuredAllocation seven{7, microseconds{980'000}, microseconds{24'690}};

}  // namespace

Duration slower_allocation(int instances) {
  const Duration most = seven.allocate + seven.free - alone.allocate - alone.free;
  const int others = std::clamp(instances, alone.instances, seven.instances) - alone.instances;
  return most * others / (seven.instances - alone.instances);
}

}  // namespace cleave
