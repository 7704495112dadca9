// Views of simulated nodes, and the check whether they obey the rules.

#include <algorithm>

#include "base/format.hpp"
#include "nvmlsim/client/client_view.hpp"
#include "nvmlsim/energy.hpp"
#include "nvmlsim/fault_kinds.hpp"
#include "nvmlsim/uuid.hpp"

namespace cleave {

namespace sim {

Result<std::unique_ptr<Node>> open_living(const std::filesystem::path& directory) {
  auto node = Node::open(directory);
  if (node && (*node)->gone())
    return fail(ErrorKind::bad_input, directory.string(), "the simulated node was destroyed");
  return node;
}

std::string gpu_place(const std::filesystem::path& directory, std::uint32_t gpu) {
  return fmt::format("{}: GPU {}", directory.string(), gpu);
}

namespace {

SimProcessView view_of(const ProcessRecord& process) {
  return {pid_of(process.identity), whole_mib(process.bytes), process.busy};
}

std::vector<SimProcessView> processes_on(const GpuRecord& record, std::uint64_t compute) {
  std::vector<SimProcessView> list;
  for (std::uint32_t i = 0; i < std::min(record.process_count, most_processes); ++i)
    if (record.processes[i].compute == compute) list.push_back(view_of(record.processes[i]));
  std::ranges::sort(list, {}, &SimProcessView::pid);
  return list;
}

SimGpuInstanceView view_of(const Node& node, const Board& board, const GpuRecord& record,
                           std::size_t slot) {
  const Placement& place = placement_of(board, record, slot);
  SimGpuInstanceView view{
      gpu_instance_id(board, record.gpu_instances[slot].placement, node.numbering()),
      place.profile,
      place.start,
      {}};
  for (const ComputeInstanceRecord& compute : record.compute_instances)
    if (compute.serial != 0 && compute.gpu_instance == slot)
      view.compute_instances.push_back({compute.id, uuid_text("MIG-", compute.uuid).data(),
                                        compute.start, compute.slices,
                                        processes_on(record, compute.serial)});
  std::ranges::sort(view.compute_instances, {}, &SimComputeInstanceView::id);
  return view;
}

std::vector<std::string> fault_names(const GpuCell& cell) {
  std::vector<std::string> names;
  for (const FaultKind& kind : fault_kinds_table())
    if (is_set(cell, kind.fault)) names.emplace_back(kind.name);
  return names;
}

SimGpuView view_of(Node& node, std::uint32_t gpu) {
  reap(node, gpu, true);
  const GpuAccess access(node, gpu);
  const Board& board = access.board();
  const bool readable = sound(board, access.record());
  const GpuRecord& record = access.record();
  SimGpuView view{uuid_text("GPU-", access.cell().uuid).data(),
                  board.model,
                  record.mig_enabled != 0,
                  record.mig_wanted != 0,
                  is_set(access.cell(), Fault::lost),
                  fault_names(access.cell()),
                  {},
                  processes_on(record, 0),
                  record.power_w,
                  energy_joules(record, now_ns())};
  if (!readable) return view;
  for (std::size_t slot = 0; slot < instance_slots; ++slot)
    if (record.gpu_instances[slot].serial != 0)
      view.instances.push_back(view_of(node, board, record, slot));
  std::ranges::sort(view.instances, {}, &SimGpuInstanceView::start);
  return view;
}

}  // namespace

}  // namespace sim

Result<SimNodeView> look_at_sim_node(const std::filesystem::path& directory) {
  const auto node = sim::open_living(directory);
  if (!node) return std::unexpected(node.error());
  SimNodeView view{(*node)->instant(), (*node)->header().administrator.load(), {}};
  for (std::uint32_t gpu = 0; gpu < (*node)->gpus(); ++gpu)
    view.gpus.push_back(sim::view_of(**node, gpu));
  return view;
}

Result<std::string> sim_node_flaw(const std::filesystem::path& directory) {
  const auto node = sim::open_living(directory);
  if (!node) return std::unexpected(node.error());
  for (std::uint32_t gpu = 0; gpu < (*node)->gpus(); ++gpu) {
    const sim::GpuAccess access(**node, gpu);
    if (const std::string flaw = sim::flaw_of(access.board(), access.record()); !flaw.empty())
      return fmt::format("GPU {}: {}", gpu, flaw);
  }
  return std::string{};
}

}  // namespace cleave
