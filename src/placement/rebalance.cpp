#include "placement/rebalance.hpp"

#include <tuple>

namespace cleave {

namespace {

/// The best move so far, by what is compared: cost after, a new instance, start, source, job.
class Best {
 public:
  Best(const Fleet& fleet, GpuId target, const HeldJobs& jobs)
      : fleet_(fleet),
        target_(target),
        gpu_(fleet[target]),
        graph_(fleet.graph(gpu_)),
        jobs_(jobs) {}

  void offer(GpuId source, PlacementId from, PlacementId to, StateId after) {
    const bool reuse = gpu_.idle.contains(to);
    const Rank rank{graph_.cost(after).units, reuse ? 0 : 1, graph_.geometry()[to].start,
                    index(source), jobs_.number(source, from)};
    if (move_ && !(rank < rank_)) return;
    rank_ = rank;
    move_ = JobMove{
        source, from, target_, to, reuse, {}, graph_.cost(gpu_.occupied), graph_.cost(after)};
  }

  [[nodiscard]] std::optional<JobMove> move() const {
    std::optional<JobMove> move = move_;
    if (move) move->destroys = fleet_.destroys(gpu_, move->to_placement);
    return move;
  }

 private:
  using Rank = std::tuple<int, int, int, std::size_t, std::uint64_t>;

  const Fleet& fleet_;
  GpuId target_;
  const GpuState& gpu_;
  const StateGraph& graph_;
  const HeldJobs& jobs_;
  Rank rank_;
  std::optional<JobMove> move_;
};

PlacementSet movable(const GpuState& gpu, GpuId id, const HeldJobs& jobs) {
  return jobs.fixed ? gpu.held - jobs.fixed(id) : gpu.held;
}

/// Where on the target a job of this placement's profile could go while everything stays where it
/// is.
PlacementSet places_for(const StateGraph& graph, PlacementId from, const GpuState& target,
                        const RebalanceOptions& options) {
  return graph.geometry().of_profile(graph.geometry()[from].profile_index) &
         open_places(graph, target, options);
}

std::optional<JobMove> next_intra(const Fleet& fleet, GpuId target, const RebalanceOptions& options,
                                  const HeldJobs& jobs) {
  const GpuState& gpu = fleet[target];
  const StateGraph& graph = fleet.graph(gpu);
  Best best(fleet, target, jobs);
  for (const PlacementId from : movable(gpu, target, jobs))
    for (const PlacementId to : places_for(graph, from, gpu, options)) {
      const StateId after = graph.add(graph.remove(gpu.occupied, from), to);
      if (graph.cost(after) < graph.cost(gpu.occupied)) best.offer(target, from, to, after);
    }
  return best.move();
}

bool eligible(const GpuState& target, const GpuState& source, const Profile& profile,
              const RebalanceOptions& options) {
  // Both GPUs are of one model: loads compare as slices do.
  const int job = slices_of(profile, options.load);
  const int target_after = held_slices(target, options.load) + job;
  const int source_before = held_slices(source, options.load);
  return target_after <
         (options.eligibility == Eligibility::both_after ? source_before - job : source_before);
}

std::optional<JobMove> next_inter(const Fleet& fleet, GpuId target, const RebalanceOptions& options,
                                  const HeldJobs& jobs) {
  const GpuState& gpu = fleet[target];
  const StateGraph& graph = fleet.graph(gpu);
  const PolicyOptions busy_from{options.threshold, options.load, {}};
  Best best(fleet, target, jobs);
  for (std::size_t i = 0; i < fleet.size(); ++i) {
    const auto source = static_cast<GpuId>(i);
    const GpuState& from_gpu = fleet[source];
    if (source == target || from_gpu.absent || from_gpu.kind != gpu.kind) continue;
    if (!busy({graph, from_gpu}, busy_from)) continue;
    for (const PlacementId from : movable(from_gpu, source, jobs)) {
      if (!eligible(gpu, from_gpu, *graph.geometry()[from].profile, options)) continue;
      for (const PlacementId to : places_for(graph, from, gpu, options)) {
        const StateId after = graph.add(gpu.occupied, to);
        if (options.guard && graph.cost(after) > graph.cost(gpu.occupied)) continue;
        best.offer(source, from, to, after);
      }
    }
  }
  return best.move();
}

}  // namespace

PlacementSet open_places(const StateGraph& graph, const GpuState& gpu,
                         const RebalanceOptions& options) {
  const PlacementSet free = graph.free(gpu.occupied);
  return options.existing_only ? free & gpu.idle : free;
}

int total_slices(const GpuModel& model, LoadMetric metric) {
  return (metric == LoadMetric::memory ? 0 : model.compute.value) +
         (metric == LoadMetric::compute ? 0 : model.memory_slices.value);
}

int held_slices(const GpuState& gpu, LoadMetric metric) {
  return (metric == LoadMetric::memory ? 0 : gpu.held_compute) +
         (metric == LoadMetric::compute ? 0 : gpu.held_memory);
}

int slices_of(const Profile& profile, LoadMetric metric) {
  return (metric == LoadMetric::memory ? 0 : profile.compute.value) +
         (metric == LoadMetric::compute ? 0 : profile.memory.value);
}

RebalanceKind rebalance_kind(const Fleet& fleet, GpuId target, const RebalanceOptions& options) {
  const GpuState& gpu = fleet[target];
  return busy({fleet.graph(gpu), gpu}, {options.threshold, options.load, {}})
             ? RebalanceKind::intra
             : RebalanceKind::inter;
}

std::optional<JobMove> next_move(const Fleet& fleet, GpuId target, RebalanceKind kind,
                                 const RebalanceOptions& options, const HeldJobs& jobs) {
  const bool intra = kind == RebalanceKind::intra;
  if (fleet[target].absent || !(intra ? options.intra : options.inter)) return std::nullopt;
  return intra ? next_intra(fleet, target, options, jobs)
               : next_inter(fleet, target, options, jobs);
}

void carry_out(Fleet& fleet, const JobMove& move) {
  fleet.hold(move.to, move.to_placement);
  fleet.release(move.from, move.from_placement);
}

Rebalance rebalance(Fleet& fleet, GpuId target, const RebalanceOptions& options,
                    const HeldJobs& jobs, const std::function<void(const JobMove&)>& moved) {
  Rebalance result{rebalance_kind(fleet, target, options), {}};
  while (const auto move = next_move(fleet, target, result.kind, options, jobs)) {
    carry_out(fleet, *move);
    if (moved) moved(*move);
    result.moves.push_back(*move);
  }
  return result;
}

}  // namespace cleave
