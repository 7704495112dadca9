#include "nvmlsim/event_sets.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "nvmlsim/energy.hpp"
#include "nvmlsim/forks.hpp"

namespace cleave::sim {

using enum nvml::Return;

namespace {

struct EventSetState {
  bool registered = false;
  std::uint64_t read = 0;  // events of the node up to this one
  std::array<std::uint64_t, most_sim_gpus> types{};
};

constexpr std::size_t most_sets = 4096;

/// Guarded by events_mutex.
struct EventSets {
  std::uint64_t last = 0;
  std::map<std::uint64_t, EventSetState> sets;
};
EventSets& all_sets() {
  static auto* const sets =
      new EventSets;  // never destroyed: threads may wait until the program ends
  return *sets;
}

/// The next of the node's events after `read` that the set is registered for; advances `read`.
bool next_event(Node& node, EventSetState& set, SeenEvent& seen) {
  NodeHeader& header = node.header();
  const std::uint64_t last = header.events.load(std::memory_order_acquire);
  if (set.read > last || last - set.read > event_slots)
    set.read = last - std::min<std::uint64_t>(last, event_slots);
  while (set.read < last) {
    const EventRecord& event = header.ring[++set.read % event_slots];
    if (event.number.load(std::memory_order_acquire) != set.read) continue;  // overwritten
    const SeenEvent copy{event.gpu.load(std::memory_order_acquire),
                         event.type.load(std::memory_order_acquire),
                         event.data.load(std::memory_order_acquire),
                         event.gpu_instance.load(std::memory_order_acquire),
                         event.compute_instance.load(std::memory_order_acquire)};
    if (event.number.load(std::memory_order_relaxed) != set.read)
      continue;  // overwritten meanwhile
    if (copy.gpu >= node.gpus() || (set.types[copy.gpu] & copy.type) == 0) continue;
    seen = copy;
    return true;
  }
  return false;
}

void sleep_until_bell(Node& node, std::uint32_t rung, std::int64_t at_most_ns) {
  constexpr std::int64_t longest = 100'000'000;  // a destroyed node does not ring the bell
  const timespec time{0, static_cast<long>(std::min(at_most_ns, longest))};
  if (node.gpus() == 0)
    ::nanosleep(&time, nullptr);
  else
    ::syscall(SYS_futex, &node.header().bell, FUTEX_WAIT, rung, &time, nullptr, 0);
}

}  // namespace

std::uint64_t make_event_set() {
  const std::lock_guard guard(events_mutex);
  EventSets& all = all_sets();
  if (all.sets.size() >= most_sets) return 0;
  all.sets[++all.last] = {};
  return all.last;
}

bool has_event_set(std::uint64_t set) {
  const std::lock_guard guard(events_mutex);
  return all_sets().sets.contains(set);
}

bool free_event_set(std::uint64_t set) {
  const std::lock_guard guard(events_mutex);
  EventSets& all = all_sets();
  return all.sets.erase(set) > 0;
}

bool register_events(Node& node, std::uint64_t set, std::uint32_t gpu, std::uint64_t types) {
  const std::lock_guard guard(events_mutex);
  EventSets& all = all_sets();
  const auto found = all.sets.find(set);
  if (found == all.sets.end()) return false;
  EventSetState& state = found->second;
  if (!state.registered) state.read = node.header().events.load(std::memory_order_acquire);
  state.registered = true;
  state.types[gpu] |= types;
  node.header().wanted_events.fetch_or(types, std::memory_order_relaxed);
  return true;
}

nvml::Return wait_for_event(Node& node, std::uint64_t set, std::uint32_t timeout_ms,
                            SeenEvent& event) {
  const std::int64_t end = now_ns() + static_cast<std::int64_t>(timeout_ms) * 1'000'000;
  while (true) {
    if (node.gone()) return gpu_is_lost;
    const std::uint32_t rung = node.header().bell.load(std::memory_order_acquire);
    {
      const std::lock_guard guard(events_mutex);
      EventSets& all = all_sets();
      const auto found = all.sets.find(set);
      if (found == all.sets.end()) return invalid_argument;
      if (node.gpus() > 0 && next_event(node, found->second, event)) return success;
    }
    const std::int64_t left = end - now_ns();
    if (left <= 0) return timeout;
    sleep_until_bell(node, rung, left);
  }
}

}  // namespace cleave::sim
