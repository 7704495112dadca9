// Who holds MIG device handles.

#include <algorithm>
#include <set>

#include "nvmlsim/client/client_view.hpp"
#include "nvmlsim/holders.hpp"
#include "nvmlsim/sim_holders.hpp"

namespace cleave {

namespace sim {

std::uint32_t next_holder(Node& node, const HeldSlots& held, std::uint32_t& client) {
  NodeHeader& header = node.header();
  const std::uint32_t used =
      std::min(header.clients_used.load(std::memory_order_acquire), most_clients);
  while (client < used) {
    const ClientRecord& record = header.clients[client++];
    const Holder holder = record.holder.load(std::memory_order_acquire);  // before what it holds
    if (holder == 0 || pid_of(holder) == pid_of(node.presence().self())) continue;
    if ((record.held[held.gpu].load(std::memory_order_relaxed) & held.slots) == 0) continue;
    if (node.presence().alive(holder)) return pid_of(holder);
  }
  return 0;
}

}  // namespace sim

std::vector<std::uint32_t> sim_holders(const std::filesystem::path& directory, std::uint32_t gpu) {
  const auto node = sim::open_living(directory);
  if (!node || gpu >= (*node)->gpus()) return {};
  const sim::GpuAccess access(**node, gpu);
  std::uint64_t slots = 0;
  for (std::size_t i = 0; i < sim::instance_slots; ++i)
    if (access.record().compute_instances[i].serial != 0) slots |= std::uint64_t{1} << i;
  std::set<std::uint32_t> pids;
  std::uint32_t from = 0;
  while (const std::uint32_t pid = sim::next_holder(**node, {gpu, slots}, from)) pids.insert(pid);
  return {pids.begin(), pids.end()};
}

}  // namespace cleave
