#include "nvmlsim/fault_kinds.hpp"

namespace cleave::sim {

namespace {

constexpr FaultKind kinds[] = {
    {Fault::lost, "lost",
     "the GPU falls off the bus: every call answers GPU_IS_LOST, and an Xid 79 is reported", false},
    {Fault::slow_create, "slow-create", "creating a GPU instance takes ten times as long", true},
    {Fault::fail_create, "fail-create", "creating a GPU instance fails with UNKNOWN", true},
    {Fault::fail_compute, "fail-compute", "creating a compute instance fails with UNKNOWN", true},
    {Fault::fail_destroy, "fail-destroy",
     "destroying an instance of either kind fails with UNKNOWN", true},
    {Fault::stuck_in_use, "stuck-in-use",
     "destroying an instance of either kind answers IN_USE although nothing uses it", true},
    {Fault::mig_pending, "mig-pending",
     "a change of MIG mode stays pending (RESET_REQUIRED); 'none' counts as the reset", true},
    {Fault::rows_pending, "rows-pending", "rows of memory are to be remapped at the next reset",
     false},
    {Fault::rows_failed, "rows-failed", "a remapping of rows of memory has failed", false},
    {Fault::silent, "silent-health",
     "the driver tells no recovery action, remapped rows or memory errors, as older ones", false},
};

}  // namespace

std::span<const FaultKind> fault_kinds_table() {
  return kinds;
}

bool strikes(GpuCell& cell, Fault fault) {
  auto& left = cell.faults[static_cast<std::size_t>(fault)];
  std::uint32_t calls = left.load(std::memory_order_relaxed);
  while (calls != 0 && calls != until_mended)
    if (left.compare_exchange_weak(calls, calls - 1, std::memory_order_relaxed)) return true;
  return calls == until_mended;
}

bool is_set(const GpuCell& cell, Fault fault) {
  return cell.faults[static_cast<std::size_t>(fault)].load(std::memory_order_relaxed) != 0;
}

}  // namespace cleave::sim
