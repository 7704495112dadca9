#include "placement/why_not.hpp"

#include "base/format.hpp"

namespace cleave {

namespace {

bool fits_by_size(const GpuState& state, const StateGraph& graph, PlacementSet candidates) {
  const Geometry& geometry = graph.geometry();
  const MemorySlices memory = geometry.model().memory_slices - graph.memory(state.occupied);
  const ComputeSlices compute = geometry.model().compute - graph.compute(state.occupied);
  for (const PlacementId id : candidates)
    if (geometry[id].profile->memory <= memory && geometry[id].profile->compute <= compute)
      return true;
  return false;
}

bool fits_by_position(const GpuState& state, const StateGraph& graph, PlacementSet candidates) {
  const Geometry& geometry = graph.geometry();
  const SliceMask taken = geometry.slices(graph.state(state.occupied));
  for (const PlacementId id : candidates)
    if ((geometry[id].slices & taken) == 0) return true;
  return false;
}

}  // namespace

WhyNot why_not(const Fleet& fleet, const ResolvedRequest& request) {
  WhyNot why;
  why.impossible = request.impossible;
  for (const GpuState& state : fleet.gpus()) {
    const PlacementSet candidates = request.candidates[state.kind];
    if (candidates.empty() || state.absent) continue;
    ++why.gpus;
    if (fits_by_size(state, fleet.graph(state), candidates)) ++why.fit_by_size;
    if (fits_by_position(state, fleet.graph(state), candidates)) ++why.fit_by_position;
  }
  return why;
}

std::string WhyNot::message(const Request& request) const {
  if (!impossible.empty()) return impossible;
  if (fit_by_size == 0)
    return fmt::format("{} fits nowhere by size: no GPU has enough free slices (looked at {})",
                       text(request), gpus);
  if (fit_by_position > 0)
    return fmt::format(
        "{} fits by size and by position on {} of {} GPUs, but what runs there excludes it",
        text(request), fit_by_position, gpus);
  return fmt::format("{} fits by size on {} of {} GPUs, but by position on none", text(request),
                     fit_by_size, gpus);
}

std::string WhyNot::remedy() const {
  if (!impossible.empty()) return "ask for less, or add a GPU that has it";
  if (fit_by_size == 0) return "wait for work to end";
  if (fit_by_position > 0)
    return "a GPU has room for one +me instance, and beside +me.all only for -me instances: wait "
           "for that "
           "one to end";
  return "the free slices lie where it may not start";
}

}  // namespace cleave
