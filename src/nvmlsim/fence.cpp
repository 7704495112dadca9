#include "nvmlsim/fence.hpp"

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "nvmlsim/sim_node.hpp"
#include "nvmlsim/uuid.hpp"

namespace cleave::sim {

namespace {

using Devices = std::optional<std::vector<Uuid>>;

/// Empty: all. Never destroyed: threads may call until the program ends.
Devices& devices() {
  static Devices* const made = new Devices;
  return *made;
}

}  // namespace

void read_fence() {
  devices().reset();
  const char* const given = std::getenv(sim_devices_variable);
  if (given == nullptr || *given == '\0') return;
  std::vector<Uuid> all;
  for (const std::string_view each : split(given, ','))
    for (const std::string_view prefix : {"MIG-", "GPU-"})
      if (const auto uuid = parse_uuid(prefix, each)) all.push_back(*uuid);
  devices() = std::move(all);
}

bool can_reach(const Uuid& device) {
  return !devices() || std::ranges::find(*devices(), device) != devices()->end();
}

bool can_reach(const Uuid& gpu, const GpuRecord& record) {
  return can_reach(gpu) ||
         std::ranges::any_of(record.compute_instances, [](const ComputeInstanceRecord& each) {
           return each.serial != 0 && can_reach(each.uuid);
         });
}

}  // namespace cleave::sim
