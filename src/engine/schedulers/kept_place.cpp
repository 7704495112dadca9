#include "engine/schedulers/kept_place.hpp"

#include <algorithm>

namespace cleave {

void SoonestPlace::consider(GpuId gpu, StateId fixed) {
  const GpuState& state = seats_.fleet()[gpu];
  const StateGraph& graph = seats_.fleet().graph(state);
  const Geometry& geometry = graph.geometry();
  const std::size_t kind = state.kind;
  const RequestId request = jobs_[job_].request;
  if (!jobs_.chooser().runs_on(kind, request)) return;
  const std::vector<JobId> running = seats_.on(gpu);
  for (const int profile : jobs_.chooser().partitions(kind, job_, request, now_)) {
    const auto own = jobs_.chooser().predicted(job_, kind, profile);
    for (const PlacementId place : geometry.of_profile(profile) & graph.free(fixed)) {
      std::size_t in_way = 0;
      Instant free_at = now_;  // the end of time where it is unknown
      for (const JobId other : running) {
        const PlacementId held = seats_[other].placement;
        if (held != place && !geometry[place].conflicts.contains(held)) continue;
        ++in_way;
        free_at = std::max(free_at, jobs_.end(other).value_or(Instant::max()));
      }
      const Instant end =
          free_at < Instant::max() ? free_at + own.value_or(Duration{}) : Instant::max();
      if (best_ && std::pair(end, in_way) >= std::pair(best_end_, best_in_way_)) continue;
      best_ = KeptPlace{job_, jobs_[job_].priority, gpu, place};
      best_end_ = end;
      best_in_way_ = in_way;
    }
  }
}

StateId keeping_free(const StateGraph& graph, StateId occupied, PlacementId kept) {
  if (const StateId with = graph.add(occupied, kept); with != no_state) return with;
  StateId state = occupied;
  for (;;) {
    const PlacementSet open = graph.free(state) & graph.geometry()[kept].conflicts;
    if (open.empty()) return state;
    // Small ones have high numbers, and cover least of what is beside the place.
    state = graph.add(state, open.last());
  }
}

}  // namespace cleave
