#include "study/wpm/wpm_bins.hpp"

#include <algorithm>
#include <array>

#include "planner/metrics.hpp"

namespace cleave {

namespace {

/// A multiset of plain profiles by how many there are of each.
using Multiset = std::vector<int>;

class Bins {
 public:
  explicit Bins(const PlanProblem& problem)
      : problem_(problem), graph_(*problem.graphs[0]), geometry_(graph_.geometry()) {}

  WpmBins make() {
    all_.gpus.resize(problem_.gpus.size());
    for (std::size_t gpu = 0; gpu < problem_.gpus.size(); ++gpu) add(gpu);
    return std::move(all_);
  }

 private:
  void add(std::size_t gpu) {
    PlacementSet stays = problem_.gpus[gpu].walls, moves;
    for (const WorkloadIndex i : problem_.running_on(static_cast<GpuId>(gpu))) {
      const PlanWorkload& workload = problem_.workloads[i];
      (workload.stays ? stays : moves).insert(workload.now->placement);
    }
    WpmGpu& target = all_.gpus[gpu];
    target.in_use = !stays.empty();
    for (const PlacementId id : stays)
      target.media_taken |= geometry_[id].profile->attribute == Attribute::media;
    if (stays.empty())
      target.whole = push(gpu, moves.empty() ? WpmBinKind::free : WpmBinKind::imaginary);
    if (problem_.kind == ProblemKind::reconfigure) {
      if (!stays.empty()) add_free_partitions(gpu, stays);
      return;
    }
    if (stays.empty() && moves.empty()) return;
    for (const PlacementId id : moves) push_place(gpu, geometry_[id]);
    add_free_partitions(gpu, stays | moves);
  }

  std::size_t push(std::size_t gpu, WpmBinKind kind) {
    const GpuModel& model = geometry_.model();
    all_.bins.push_back({kind, gpu, model.compute.value, model.memory_slices.value,
                         static_cast<SliceMask>((1U << model.memory_slices.value) - 1)});
    return all_.bins.size() - 1;
  }

  void push_partition(std::size_t gpu, int compute, int memory, SliceMask slices) {
    all_.gpus[gpu].partitions.push_back(all_.bins.size());
    all_.bins.push_back({WpmBinKind::partition, gpu, compute, memory, slices});
  }

  /// The place of an instance that may move: everything its place could be used for, with the last
  /// memory slice where only this place could have it.
  void push_place(std::size_t gpu, const Placement& placement) {
    const Waste lost = waste(geometry_, *geometry_.find(*placement.profile, placement.start));
    push_partition(gpu, placement.profile->compute.value + lost.compute,
                   placement.profile->memory.value + lost.memory, placement.slices);
  }

  void add_free_partitions(std::size_t gpu, PlacementSet occupied) {
    const StateId state = graph_.find(occupied);
    auto [known, fresh] = cut_.try_emplace(state);
    if (fresh) known->second = cut(state);
    for (const WpmBin& bin : known->second)
      push_partition(gpu, bin.compute, bin.memory, bin.slices);
    if (known->second.size() > 1) ++all_.unmerged;
  }

  /// The free partitions of a state: one, where merging them is exact.
  std::vector<WpmBin> cut(StateId state) const {
    std::vector<WpmBin> parts;
    WpmBin merged{WpmBinKind::partition, 0, 0, 0, 0};
    for (const PlacementId id : largest_free_partitions(geometry_, graph_.state(state))) {
      const Placement& place = geometry_[id];
      parts.push_back({WpmBinKind::partition, 0, place.profile->compute.value,
                       place.profile->memory.value, place.slices});
      merged.compute += place.profile->compute.value;
      merged.memory += place.profile->memory.value;
      merged.slices |= place.slices;
    }
    if (parts.size() > 1 && exact(merged, state)) return {merged};
    return parts;
  }

  /// Whether the box holds the same multisets as the free starts, and U + V is the least waste they
  /// leave.
  bool exact(const WpmBin& box, StateId state) const {
    const std::map<Multiset, int> real = least_waste(state);
    std::size_t inside = 0;
    for (const auto& [multiset, wasted] : real) {
      const auto [compute, memory] = slices(multiset);
      const int u = box.compute - compute, v = box.memory - memory;
      if (u < 0 || v < 0) return false;
      const int excess = std::max(u - v, 0) + (u == 0 ? v : 0);
      if (excess != wasted && (compute > 0 || excess != 0)) return false;
      ++inside;
    }
    return inside == multisets_in(box);
  }

  /// What can be added to a state, as multisets of profiles without attribute, each with the least
  /// waste.
  std::map<Multiset, int> least_waste(StateId state) const {
    const PlacementSet here = graph_.state(state);
    std::map<Multiset, int> found;
    for (int other = state; other < graph_.size(); ++other) {
      const PlacementSet more = graph_.state(static_cast<StateId>(other));
      if ((more & here) != here) continue;
      Multiset multiset(geometry_.model().profiles.size(), 0);
      int wasted = 0;
      bool plain = true;
      for (const PlacementId id : more - here) {
        plain &= geometry_[id].profile->attribute == Attribute::none;
        ++multiset[static_cast<std::size_t>(geometry_[id].profile_index)];
        wasted += waste(geometry_, id).slices();
      }
      if (!plain) continue;
      const auto [known, fresh] = found.try_emplace(multiset, wasted);
      if (!fresh) known->second = std::min(known->second, wasted);
    }
    return found;
  }

  [[nodiscard]] std::array<int, 2> slices(const Multiset& multiset) const {
    std::array<int, 2> sum{0, 0};
    for (std::size_t i = 0; i < multiset.size(); ++i) {
      sum[0] += multiset[i] * geometry_.model().profiles[i].compute.value;
      sum[1] += multiset[i] * geometry_.model().profiles[i].memory.value;
    }
    return sum;
  }

  /// How many multisets of the fleet's plain profiles a box holds.
  [[nodiscard]] std::size_t multisets_in(const WpmBin& box) const {
    std::vector<std::vector<std::size_t>> ways(static_cast<std::size_t>(box.compute) + 1);
    for (auto& row : ways) row.assign(static_cast<std::size_t>(box.memory) + 1, 0);
    ways[0][0] = 1;
    for (const Profile* profile : geometry_.profile_list()) {
      if (profile->attribute != Attribute::none) continue;
      const auto c = static_cast<std::size_t>(profile->compute.value);
      const auto m = static_cast<std::size_t>(profile->memory.value);
      for (std::size_t i = c; i < ways.size(); ++i)
        for (std::size_t j = m; j < ways[i].size(); ++j) ways[i][j] += ways[i - c][j - m];
    }
    std::size_t sum = 0;
    for (const auto& row : ways)
      for (const std::size_t count : row) sum += count;
    return sum;
  }

  const PlanProblem& problem_;
  const StateGraph& graph_;
  const Geometry& geometry_;
  std::map<StateId, std::vector<WpmBin>> cut_;
  WpmBins all_;
};

}  // namespace

WpmBins wpm_bins(const PlanProblem& problem) {
  return Bins(problem).make();
}

}  // namespace cleave
