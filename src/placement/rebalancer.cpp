#include "placement/rebalancer.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

namespace cleave {

namespace {

/// What is compared before the job's number: cost after the move, a new instance, start.
using Merit = std::tuple<int, bool, int>;

/// Loads above `load`, a bit each.
std::uint64_t above(int load) {
  return load >= 63 ? 0 : ~std::uint64_t{0} << (load + 1);
}

std::size_t most_profiles(const Fleet& fleet) {
  std::size_t most = 0;
  for (const auto& graph : fleet.graphs())
    most = std::max(most, graph->geometry().model().profiles.size());
  return most;
}

}  // namespace

Rebalancer::Rebalancer(const Fleet& fleet, const RebalanceOptions& options, HeldJobs jobs)
    : fleet_(&fleet),
      options_(options),
      jobs_(std::move(jobs)),
      width_(most_profiles(fleet)),
      supply_(fleet.graphs().size() * width_) {
  assert(width_ <= 32);
  assert(std::ranges::all_of(fleet.graphs(), [&](const auto& graph) {
    return total_slices(graph->geometry().model(), options.load) < static_cast<int>(most_load);
  }));
  rebuild();
}

void Rebalancer::rebuild() {
  for (std::size_t i = 0; i < classes_.size(); ++i) {
    if (fronts_[i].first != no_gpu) set_filled(classes_[i], false);
    fronts_[i].first = no_gpu;
    classes_[i].gpus = GpuSet(fleet_->size());
  }
  row_.assign(fleet_->size(), no_class);
  for (std::size_t i = 0; i < row_.size(); ++i) changed(static_cast<GpuId>(i));
}

void Rebalancer::changed(GpuId id) {
  if (index(id) >= row_.size()) return rebuild();
  const ClassId before = row_[index(id)];
  const ClassId after = class_now(id);
  if (before == after) return;
  row_[index(id)] = after;
  if (after != no_class) enter(after, static_cast<std::uint32_t>(id));
  if (before != no_class) leave(before, static_cast<std::uint32_t>(id));
}

Rebalancer::ClassId Rebalancer::class_now(GpuId id) {
  const ClassId all_movable = known(fleet_->number(id)).source;
  if (all_movable == no_class || !jobs_.fixed) return all_movable;
  const GpuState& gpu = (*fleet_)[id];
  const PlacementSet fixed = gpu.held & jobs_.fixed(id);
  return fixed.empty() ? all_movable : source_class(gpu, gpu.held - fixed);
}

Rebalancer::ClassId Rebalancer::source_class(const GpuState& gpu, PlacementSet movable) {
  const Geometry& geometry = fleet_->geometry(gpu);
  std::uint32_t profiles = 0;
  for (const PlacementId held : movable)
    profiles |= std::uint32_t{1} << geometry[held].profile_index;
  if (profiles == 0) return no_class;
  const int load = held_slices(gpu, options_.load);
  const auto [entry, fresh] =
      class_numbers_.try_emplace({gpu.kind, load, profiles}, static_cast<ClassId>(classes_.size()));
  if (fresh) {
    classes_.push_back({gpu.kind, load, profiles, GpuSet(fleet_->size())});
    fronts_.push_back({std::uint64_t{1} << load, no_gpu});
    for (std::size_t profile = 0; profile < width_; ++profile)
      if ((profiles >> profile & 1U) != 0)
        supply_[gpu.kind * width_ + profile].classes.push_back(entry->second);
  }
  return entry->second;
}

void Rebalancer::enter(ClassId source, std::uint32_t gpu) {
  classes_[source].gpus.insert(gpu);
  std::uint32_t& first = fronts_[source].first;
  if (first == no_gpu) set_filled(classes_[source], true);
  first = std::min(first, gpu);
}

void Rebalancer::leave(ClassId source, std::uint32_t gpu) {
  GpuSet& gpus = classes_[source].gpus;
  gpus.erase(gpu);
  std::uint32_t& first = fronts_[source].first;
  if (first != gpu) return;
  first = gpus.empty() ? no_gpu : gpus.first();
  if (first == no_gpu) set_filled(classes_[source], false);
}

void Rebalancer::set_filled(const SourceClass& source, bool filled) {
  const std::uint64_t bit = std::uint64_t{1} << source.load;
  for (std::uint32_t left = source.profiles; left != 0; left &= left - 1) {
    Supply& supply =
        supply_[source.kind * width_ + static_cast<std::size_t>(std::countr_zero(left))];
    std::uint16_t& count = supply.filled[static_cast<std::size_t>(source.load)];
    count = static_cast<std::uint16_t>(filled ? count + 1 : count - 1);
    supply.loads = count != 0 ? supply.loads | bit : supply.loads & ~bit;
  }
}

const Rebalancer::Known& Rebalancer::learn(StateNumber number) {
  if (number >= known_.size()) known_.resize(fleet_->states().size());
  const GpuState& gpu = fleet_->states()[number];
  Known state;
  state.learned = true;
  state.busy = busy({fleet_->graph(gpu), gpu}, {options_.threshold, options_.load, {}});
  state.first_step = static_cast<std::uint32_t>(steps_.size());
  state.first_place = static_cast<std::uint32_t>(places_.size());
  if (!gpu.absent) {
    if (state.busy) state.source = source_class(gpu, gpu.held);
    if (options_.intra) learn_steps(gpu, state);
    if (options_.inter) learn_places(gpu, state);
  }
  return known_[number] = state;
}

/// All moves within the GPU that share the least (cost after, a new instance, start) and lower the
/// cost.
void Rebalancer::learn_steps(const GpuState& gpu, Known& state) {
  const StateGraph& graph = fleet_->graph(gpu);
  const Geometry& geometry = graph.geometry();
  Merit best{graph.cost(gpu.occupied).units, false,
             -1};  // below every move that does not lower the cost
  for (const PlacementId from : gpu.held)
    for (const PlacementId to :
         geometry.of_profile(geometry[from].profile_index) & open_places(graph, gpu, options_)) {
      const StateId after = graph.add(graph.remove(gpu.occupied, from), to);
      const Merit merit{graph.cost(after).units, !gpu.idle.contains(to), geometry[to].start};
      if (merit > best) continue;
      if (merit < best) steps_.resize(state.first_step);
      best = merit;
      steps_.push_back({from, to});
    }
  state.steps = static_cast<std::uint8_t>(steps_.size() - state.first_step);
}

/// The best place for each profile, and which loads of sources allow it (as `eligible` in
/// rebalance.cpp).
void Rebalancer::learn_places(const GpuState& gpu, Known& state) {
  const StateGraph& graph = fleet_->graph(gpu);
  const Geometry& geometry = graph.geometry();
  std::vector<std::pair<Merit, Place>> found;
  for (const Profile* profile : geometry.profile_list()) {
    const int number = static_cast<int>(profile - geometry.model().profiles.data());
    std::optional<std::pair<Merit, PlacementId>> best;
    for (const PlacementId to : geometry.of_profile(number) & open_places(graph, gpu, options_)) {
      const int cost = graph.cost(graph.add(gpu.occupied, to)).units;
      if (options_.guard && cost > graph.cost(gpu.occupied).units) continue;
      const Merit merit{cost, !gpu.idle.contains(to), geometry[to].start};
      if (!best || merit < best->first) best = {merit, to};
    }
    if (!best) continue;
    const int job = slices_of(*profile, options_.load);
    const int target_after = held_slices(gpu, options_.load) + job;
    const std::uint64_t loads =
        above(options_.eligibility == Eligibility::both_after ? target_after + job : target_after);
    found.push_back({best->first,
                     {gpu.kind * width_ + static_cast<std::size_t>(number), loads, number,
                      best->second, false}});
  }
  std::ranges::sort(found, {}, [](const auto& entry) { return entry.first; });
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i].second.as_good_as_previous = i > 0 && found[i].first == found[i - 1].first;
    places_.push_back(found[i].second);
  }
  state.places = static_cast<std::uint8_t>(found.size());
}

JobMove Rebalancer::move_of(GpuId source, PlacementId from, GpuId target, PlacementId to) const {
  const GpuState& gpu = (*fleet_)[target];
  const StateGraph& graph = fleet_->graph(gpu);
  const StateId without = source == target ? graph.remove(gpu.occupied, from) : gpu.occupied;
  return {source,
          from,
          target,
          to,
          gpu.idle.contains(to),
          fleet_->destroys(gpu, to),
          graph.cost(gpu.occupied),
          graph.cost(graph.add(without, to))};
}

std::optional<JobMove> Rebalancer::choose_step(GpuId target, const Known& state) const {
  const Step* best = &steps_[state.first_step];
  for (std::size_t i = 1; i < state.steps; ++i) {
    const Step* other = &steps_[state.first_step + i];
    if (jobs_.number(target, other->from) < jobs_.number(target, best->from)) best = other;
  }
  return move_of(target, best->from, target, best->to);
}

std::optional<JobMove> Rebalancer::choose_source(GpuId target, const Known& state) const {
  const std::uint8_t begin = first_open(state);
  std::uint8_t end = static_cast<std::uint8_t>(begin + 1);
  while (end < state.places && places_[state.first_place + end].as_good_as_previous) ++end;

  std::uint32_t source = no_gpu;
  for (std::uint8_t i = begin; i < end; ++i) {
    const Place& place = places_[state.first_place + i];
    if (!open(place)) continue;
    for (const ClassId giver : supply_[place.supply].classes) {
      // Without a branch: which classes may give is as good as random.
      const Front& front = fronts_[giver];
      const std::uint32_t but =
          std::uint32_t{0} - static_cast<std::uint32_t>((place.loads & front.load) == 0);
      source = std::min(source, front.first | but);
    }
  }

  const auto id = static_cast<GpuId>(source);
  const GpuState& gpu = (*fleet_)[id];
  const PlacementSet movable = jobs_.fixed ? gpu.held - jobs_.fixed(id) : gpu.held;
  std::optional<std::pair<PlacementId, const Place*>> best;
  for (std::uint8_t i = begin; i < end; ++i) {
    const Place& place = places_[state.first_place + i];
    if ((place.loads >> held_slices(gpu, options_.load) & 1U) == 0) continue;
    for (const PlacementId from : movable & fleet_->geometry(gpu).of_profile(place.profile_index))
      if (!best || jobs_.number(id, from) < jobs_.number(id, best->first)) best = {from, &place};
  }
  return move_of(id, best->first, target, best->second->to);
}

std::size_t Rebalancer::bytes() const {
  std::size_t bytes = row_.size() * sizeof(ClassId);
  for (const SourceClass& source : classes_) bytes += source.gpus.bytes();
  return bytes;
}

}  // namespace cleave
