#include "control/brain/fleet_of_node.hpp"

#include "base/format.hpp"

namespace cleave {

namespace {

/// Whether two GPUs follow the same rules, so that the engine may take them for one kind.
bool same_rules(const Geometry& a, const Geometry& b) {
  if (a.model().key != b.model().key || a.size() != b.size()) return false;
  for (int i = 0; i < a.size(); ++i) {
    const Placement &x = a[static_cast<PlacementId>(i)], &y = b[static_cast<PlacementId>(i)];
    if (x.profile->name != y.profile->name || x.start != y.start || x.conflicts != y.conflicts ||
        x.profile->usable != y.profile->usable)
      return false;
  }
  return true;
}

std::size_t geometry_index(std::vector<Geometry>& known, const Geometry& geometry) {
  for (std::size_t i = known.size(); i > 0; --i)
    if (same_rules(known[i - 1], geometry)) return i - 1;
  known.push_back(geometry);
  return known.size() - 1;
}

void add(PlacementSet which, bool owned, GpuEntry& entry) {
  for (const PlacementId placement : which) {
    InstanceEntry instance;
    instance.placement = placement;
    instance.owned = owned;
    entry.instances.push_back(std::move(instance));
  }
}

}  // namespace

FleetFile fleet_of(const NodeState& node) {
  FleetFile file;
  for (const GpuId id : node.all_gpus()) {
    const ManagedGpu& gpu = node.gpu(id);
    GpuEntry entry;
    entry.name = fmt::format("gpu/{}", gpu.identity->index);
    entry.geometry = geometry_index(file.geometries, gpu.geometry());
    // What a plan has all to itself takes no work: its places are no walls there.
    const PlanHold held = node.held_of(id);
    const PlacementSet kept = held.all ? PlacementSet{} : held.places;
    const PlacementSet ours = gpu.ready_instances() - kept;
    const PlacementSet walls = (gpu.immovable() | kept) - ours;
    // One whose state is not legal takes no work (loop/engine_rebuild.cpp).
    if (!gpu.lost && gpu.geometry().legal(walls | ours)) {
      add(walls, false, entry);
      add(ours, true, entry);
    }
    file.gpus.push_back(std::move(entry));
  }
  if (node.host.empty()) return file;
  NodeEntry host{"gpu", {}, node.host.memory};
  if (node.host.millicpus) host.cpus = static_cast<double>(*node.host.millicpus) / 1000;
  file.nodes.push_back(std::move(host));
  return file;
}

}  // namespace cleave
