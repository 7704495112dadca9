#include "model/host_share.hpp"

#include <cmath>

namespace cleave {

namespace {

std::int64_t part(std::int64_t all, int slices, int of) {
  return of == 0 ? 0 : all * slices / of;
}

}  // namespace

HostAmount host_share(const HostAsk& asked, const HostNode& node, HostSlices slices) {
  HostAmount amount;
  if (node.has.millicpus)
    amount.millicpus =
        asked.millicpus.value_or(part(*node.has.millicpus, slices.compute, node.compute));
  if (node.has.memory)
    amount.memory =
        asked.memory.value_or(MiB{part(node.has.memory->value, slices.memory, node.memory)});
  return amount;
}

std::int64_t millicpus(double cpus) {
  return std::llround(cpus * 1000);
}

}  // namespace cleave
