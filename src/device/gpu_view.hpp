#pragma once
// One GPU at this moment: what the driver says about it, read in one go, and the owner of each
// instance. What a driver does not say stays empty; only if the GPU itself does not answer there is
// no view.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/driver_geometry.hpp"
#include "device/layout_change.hpp"
#include "device/ledger.hpp"
#include "device/live_instances.hpp"

namespace cleave {

/// One instance with what runs in it.
struct InstanceView {
  LiveInstance live;
  std::optional<PlacementId> placement;  // in the GPU's geometry; empty if it is not in that
  std::vector<LiveProcess> processes;    // in it
  std::optional<MemoryUse> memory;       // empty without a compute instance
  Ownership owner = Ownership::unknown;  // until set_owners
};

/// A GPU with all its instances.
struct LiveGpu {
  GpuFacts facts;
  std::optional<MigMode> mig;  // empty: it cannot be partitioned, or see `unread`
  std::shared_ptr<const DriverGeometry> geometry;  // empty if it could not be read
  std::vector<InstanceView> instances;             // by start
  /// If the instances may not be read: what any user may see of them, without their placements.
  std::vector<MigDevice> visible;
  std::vector<LiveProcess> processes;        // on all of the GPU, as far as this user may see them
  std::optional<Refusal> processes_refused;  // why they are unknown
  std::optional<MemoryUse> memory;
  std::optional<std::uint32_t> power_mw, power_limit_mw;
  std::vector<Error> unread;  // what could not be read and why

  [[nodiscard]] std::string place() const { return place_of(facts.index); }
  /// The instance as the ledger describes it.
  [[nodiscard]] InstanceSeen seen(const InstanceView& instance) const;
  [[nodiscard]] std::vector<InstanceSeen> seen() const;
  /// The instances as a layout change takes them; with `adopt` as if all were ours. Without those
  /// that the geometry does not know.
  [[nodiscard]] std::vector<StandingInstance> standing(bool adopt) const;
};

/// Fails if the GPU is missing or lost. The geometry is read from the driver unless `known`.
[[nodiscard]] Result<LiveGpu> view_gpu(Door& door, GpuIndex gpu,
                                       std::shared_ptr<const DriverGeometry> known = {});
/// Sets the owner of each instance.
void set_owners(LiveGpu& view, const LedgerState& ledger);

/// The name of an instance in messages: its first MIG UUID, else "GPU instance 3".
std::string called(const LiveInstance& instance);
/// "4711, 4712 (python)"
std::string pids_text(const std::vector<LiveProcess>& processes);

}  // namespace cleave
