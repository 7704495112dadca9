#include "graph/state_graph.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <map>
#include <mutex>
#include <set>

namespace cleave {

namespace {

/// Fibonacci hashing: spreads sets that differ in one low bit over the whole table.
std::size_t slot_of(PlacementSet state, std::size_t slots) {
  return (state.bits() * std::uint64_t{0x9e3779b97f4a7c15}) >> (64 - std::countr_zero(slots));
}

std::uint8_t longest_run(MemorySlices slices, SliceMask taken) {
  std::uint8_t longest = 0, run = 0;
  for (int slice = 0; slice < slices.value; ++slice) {
    run = (taken >> slice & 1U) != 0 ? std::uint8_t{0} : static_cast<std::uint8_t>(run + 1);
    longest = std::max(longest, run);
  }
  return longest;
}

}  // namespace

StateGraph::StateGraph(Geometry geometry)
    : geometry_(std::move(geometry)), width_(static_cast<std::size_t>(geometry_.size())) {
  enumerate();
  connect();
  measure();
}

/// Extends every state by placements above its highest, so that each set occurs once, smaller sets
/// first.
void StateGraph::enumerate() {
  std::vector<PlacementSet> open;  // for each state, what does not conflict with it
  states_.push_back({});
  open.push_back(geometry_.all());
  for (std::size_t i = 0; i < states_.size(); ++i) {
    const PlacementSet state = states_[i];
    for (const PlacementId id : open[i]) {
      if (!state.empty() && id < state.last()) continue;
      const PlacementSet larger = state | PlacementSet::of(id);
      if (!geometry_.within_limits(larger)) {
        pairwise_ = false;
        continue;
      }
      assert(states_.size() < no_state);
      states_.push_back(larger);
      open.push_back(open[i] - geometry_[id].conflicts - PlacementSet::of(id));
    }
  }
}

/// Fills the hash table, then for each state and placement the state without it, and its inverse.
void StateGraph::connect() {
  slots_.assign(std::bit_ceil(states_.size() * 2), no_state);
  for (std::size_t i = 0; i < states_.size(); ++i) {
    std::size_t slot = slot_of(states_[i], slots_.size());
    while (slots_[slot] != no_state) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = static_cast<StateId>(i);
  }
  successors_.assign(states_.size() * width_, no_state);
  predecessors_.assign(states_.size() * width_, no_state);
  free_.resize(states_.size());
  for (std::size_t i = 0; i < states_.size(); ++i) {
    for (const PlacementId placement : states_[i]) {
      const StateId smaller = find(states_[i] - PlacementSet::of(placement));
      predecessors_[i * width_ + placement] = smaller;
      successors_[cell(smaller, placement)] = static_cast<StateId>(i);
      free_[smaller].insert(placement);
    }
  }
}

void StateGraph::measure() {
  const std::size_t count = states_.size();
  // A state reaches the union of what its successors reach. Bit k means the k-th maximal state.
  maximal_states_ = static_cast<int>(std::ranges::count(free_, PlacementSet{}));
  const std::size_t words = (static_cast<std::size_t>(maximal_states_) + 63) / 64;
  std::vector<std::uint64_t> reach(count * words);
  reachability_.resize(count);
  std::size_t next_maximal = 0;
  for (std::size_t i = count; i-- > 0;) {
    std::uint64_t* own = &reach[i * words];
    if (free_[i].empty()) {
      own[next_maximal / 64] |= std::uint64_t{1} << next_maximal % 64;
      ++next_maximal;
    }
    for (const PlacementId placement : free_[i]) {
      const std::uint64_t* theirs = &reach[successors_[i * width_ + placement] * words];
      for (std::size_t w = 0; w < words; ++w) own[w] |= theirs[w];
    }
    int reached = 0;
    for (std::size_t w = 0; w < words; ++w) reached += std::popcount(own[w]);
    reachability_[i] = static_cast<std::uint16_t>(reached);
  }
  compute_.resize(count);
  memory_.resize(count);
  longest_free_run_.resize(count);
  cost_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    compute_[i] = static_cast<std::uint8_t>(geometry_.compute(states_[i]).value);
    memory_[i] = static_cast<std::uint8_t>(geometry_.memory(states_[i]).value);
    cost_[i] = fragmentation_cost(geometry_, states_[i]);
    longest_free_run_[i] =
        longest_run(geometry_.model().memory_slices, geometry_.slices(states_[i]));
  }
}

StateId StateGraph::find(PlacementSet state) const {
  std::size_t slot = slot_of(state, slots_.size());
  while (slots_[slot] != no_state) {
    if (states_[slots_[slot]] == state) return slots_[slot];
    slot = (slot + 1) & (slots_.size() - 1);
  }
  return no_state;
}

int StateGraph::maximal_multisets() const {
  std::set<std::vector<int>> multisets;
  for (std::size_t i = 0; i < states_.size(); ++i) {
    if (!free_[i].empty()) continue;
    std::vector<int> profiles;
    for (const PlacementId id : states_[i]) profiles.push_back(geometry_[id].profile_index);
    multisets.insert(std::move(profiles));
  }
  return static_cast<int>(multisets.size());
}

std::shared_ptr<const StateGraph> StateGraph::of(const GpuModel& model, ProfileMask profiles) {
  using Key = std::pair<const GpuModel*, ProfileMask>;
  static std::mutex mutex;
  static std::map<Key, std::shared_ptr<const StateGraph>> of_tables;
  static std::map<Key, std::weak_ptr<const StateGraph>> of_others;
  const auto make = [&] { return std::make_shared<const StateGraph>(Geometry(model, profiles)); };
  const Key key{&model, profiles};
  const std::scoped_lock lock(mutex);
  const auto tables = gpu_models();
  if (&model >= tables.data() && &model < tables.data() + tables.size()) {
    auto& graph = of_tables[key];
    if (!graph) graph = make();
    return graph;
  }
  // A model read from a driver may be destroyed, and another may get its address.
  auto known = of_others[key].lock();
  if (known) return known;
  std::erase_if(of_others, [](const auto& each) { return each.second.expired(); });
  known = make();
  of_others[key] = known;
  return known;
}

}  // namespace cleave
