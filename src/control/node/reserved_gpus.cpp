#include "control/node/reserved_gpus.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

std::optional<GpuId> gpu_named(const std::string& name, const NodeState& node) {
  if (const auto by_uuid = node.gpu_of(name)) return by_uuid;
  for (const GpuId id : node.all_gpus())
    if (fmt::format("{}", node.gpu(id).identity->index) == name) return id;
  return std::nullopt;
}

}  // namespace

Result<void> check_reserved(const std::vector<ReservedGpu>& reserved, const NodeState& node,
                            Instant now) {
  std::vector<GpuReservation> all;
  for (const ReservedGpu& each : reserved) {
    if (each.until <= now) continue;
    const auto gpu = gpu_named(each.gpu, node);
    if (!gpu)
      return fail(ErrorKind::bad_input, "reservations",
                  fmt::format("no managed GPU is '{}'", shown(each.gpu)),
                  "name its index or its UUID, as `cleave top --once` shows them");
    all.push_back({*gpu, each.from, each.until, each.name});
  }
  std::ranges::sort(all, {}, [](const auto& each) { return std::pair(each.gpu, each.from); });
  for (std::size_t i = 1; i < all.size(); ++i)
    if (all[i].gpu == all[i - 1].gpu && all[i].from < all[i - 1].until)
      return fail(ErrorKind::bad_input, "reservations",
                  fmt::format("two of {} overlap", node.in_words(all[i].gpu)), "let one end first");
  return {};
}

std::vector<GpuReservation> reservations_of(const std::vector<ReservedGpu>& reserved,
                                            const NodeState& node, Instant now, Instant horizon) {
  std::vector<GpuReservation> all;
  for (const ReservedGpu& each : reserved) {
    if (each.until <= now || each.from >= horizon) continue;
    if (const auto gpu = gpu_named(each.gpu, node))
      all.push_back({*gpu, each.from, each.until, each.name});
  }
  return all;
}

}  // namespace cleave
