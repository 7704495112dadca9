#pragma once
// One GPU as it stands now: what the driver says of it, read in one go, with whose each instance
// is. What a driver does not tell stays empty; only where the GPU itself cannot be asked there is
// no view.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "device/driver_geometry.hpp"
#include "device/instances.hpp"
#include "device/layout_change.hpp"
#include "device/ledger.hpp"

namespace cleave {

struct InstanceView {
  LiveInstance live;
  std::optional<PlacementId> placement;  // in the GPU's geometry; empty where that does not know it
  std::vector<LiveProcess> processes;    // in it
  std::optional<MemoryUse> memory;       // empty without a compute instance
  Ownership owner = Ownership::unknown;  // until set_owners
};

struct LiveGpu {
  GpuFacts facts;
  std::optional<MigMode> mig;  // empty: it cannot be partitioned, or that is `unread`
  std::shared_ptr<const DriverGeometry> geometry;  // empty where it could not be read
  std::vector<InstanceView> instances;             // by start
  /// Where the instances themselves may not be seen: what everybody sees of them, without their
  /// places.
  std::vector<MigDevice> visible;
  std::vector<LiveProcess> processes;        // all of the GPU, as far as they may be seen
  std::optional<Refusal> processes_refused;  // why they are not known
  std::optional<MemoryUse> memory;
  std::optional<std::uint32_t> power_mw, power_limit_mw;
  std::vector<Error> unread;  // what could not be read and why

  [[nodiscard]] std::string place() const { return place_of(facts.index); }
  /// In the words of the ledger.
  [[nodiscard]] InstanceSeen seen(const InstanceView& instance) const;
  [[nodiscard]] std::vector<InstanceSeen> seen() const;
  /// In the words of a layout change; `adopt`: as if all were ours. Instances that the geometry
  /// does not know are left out.
  [[nodiscard]] std::vector<StandingInstance> standing(bool adopt) const;
};

/// Fails where the GPU is not there or lost. The geometry is read from the driver unless it is
/// known already.
[[nodiscard]] Result<LiveGpu> view_gpu(Door& door, GpuIndex gpu,
                                       std::shared_ptr<const DriverGeometry> known = {});
/// Says whose each instance is.
void set_owners(LiveGpu& view, const LedgerState& ledger);

/// What people call an instance: its first MIG UUID, else "GPU instance 3".
std::string called(const LiveInstance& instance);
/// "4711, 4712 (python)"
std::string pids_text(const std::vector<LiveProcess>& processes);

}  // namespace cleave
