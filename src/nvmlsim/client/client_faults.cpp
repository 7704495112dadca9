// Sets and ends faults of simulated GPUs.

#include <algorithm>

#include "base/format.hpp"
#include "base/options.hpp"
#include "nvmlsim/client/client_signs.hpp"
#include "nvmlsim/client/client_view.hpp"
#include "nvmlsim/fault_kinds.hpp"

namespace cleave {

namespace {

constexpr std::string_view mended = "none";

/// Mends a GPU, which resets it: a pending MIG mode becomes active.
void mend(sim::Node& node, std::uint32_t gpu) {
  const sim::Holding change(node.cell(gpu).change, node.presence());
  for (const sim::FaultKind& kind : sim::fault_kinds_table())
    node.cell(gpu).faults[static_cast<std::size_t>(kind.fault)].store(0);
  sim::end_signs(node.cell(gpu));
  sim::reap(node, gpu, true);
  sim::GpuAccess access(node, gpu);
  if (access.status() != nvml::Return::success) return;
  const sim::GpuRecord& record = access.record();
  const bool busy = sim::has_gpu_instances(record) || record.process_count > 0;
  if (busy || record.mig_wanted == record.mig_enabled) return;
  sim::GpuRecord& next = access.draft();
  next.mig_enabled = next.mig_wanted;
  access.commit();
}

void lose(sim::Node& node, std::uint32_t gpu) {
  constexpr std::uint64_t xid_fallen_off_the_bus = 79;
  {
    // Programs that have already read the GPU do not change it after this.
    const sim::GpuAccess access(node, gpu);
    access.cell().faults[static_cast<std::size_t>(sim::Fault::lost)].store(sim::until_mended);
  }
  node.report_event(gpu, {nvml::event_xid, xid_fallen_off_the_bus});
  node.report_event(gpu, {nvml::event_gpu_unavailable});
}

}  // namespace

std::vector<SimFaultRow> sim_faults() {
  std::vector<SimFaultRow> rows;
  for (const sim::FaultKind& kind : sim::fault_kinds_table())
    rows.push_back({kind.name, kind.what});
  for (const SimFaultRow& row : sim::sign_rows()) rows.push_back(row);
  rows.push_back(
      {mended,
       "ends all faults, and is a reset of the GPU to memory errors, the recovery action "
       "and a pending change of MIG mode"});
  return rows;
}

Result<void> set_sim_fault(const std::filesystem::path& directory, int gpu, std::string_view kind,
                           std::optional<std::uint32_t> times,
                           std::optional<std::uint32_t> instance) {
  const auto node = sim::open_living(directory);
  if (!node) return std::unexpected(node.error());
  if (gpu < 0 || gpu >= static_cast<int>((*node)->gpus()))
    return fail(ErrorKind::bad_usage, directory.string(), fmt::format("there is no GPU {}", gpu),
                fmt::format("it has GPUs 0 to {}", (*node)->gpus() - 1));
  const auto number = static_cast<std::uint32_t>(gpu);
  if (kind == mended) {
    mend(**node, number);
    return {};
  }
  const std::string place = sim::gpu_place(directory, number);
  if (const auto sign = sim::parse_sign(kind)) {
    if (times)
      return fail(ErrorKind::bad_usage, place,
                  "a sign of the GPU's health is given once, not for calls");
    return sim::give_sign(**node, number, *sign, instance, place);
  }
  if (instance)
    return fail(ErrorKind::bad_usage, place,
                fmt::format("'{}' is of the GPU, not of an instance", kind));
  const auto kinds = sim::fault_kinds_table();
  const auto row = std::ranges::find(kinds, kind, &sim::FaultKind::name);
  if (row == kinds.end()) return fail_at(place, no_such("fault", kind, names_of(sim_faults())));
  if (times && (*times == 0 || *times == sim::until_mended || !row->of_calls))
    return fail(ErrorKind::bad_usage, place,
                fmt::format("'{}' cannot be set for {} calls", kind, *times),
                row->of_calls ? "name at least one" : "it lasts until it is ended with 'none'");
  if (row->fault == sim::Fault::lost)
    lose(**node, number);
  else
    (*node)->cell(number).faults[static_cast<std::size_t>(row->fault)].store(
        times.value_or(sim::until_mended));
  return {};
}

}  // namespace cleave
