#pragma once
// What is due in a simulation, by time and, at one instant, by the order that simulator.hpp promises.

#include <cstdint>
#include <queue>
#include <vector>

#include "base/time.hpp"

namespace cleave {

enum class Due : std::uint8_t { gpu_returns, process_ends, memory_report, gpu_lost, wake };

struct AgendaItem {
  Instant at;
  std::uint32_t which;       // a job or a GPU
  std::uint32_t generation;  // of the job's run; an item of an older one is stale
  Due due;

  friend bool operator>(const AgendaItem& a, const AgendaItem& b) {
    return a.at != b.at ? a.at > b.at : a.due != b.due ? a.due > b.due : a.which > b.which;
  }
};

using Agenda = std::priority_queue<AgendaItem, std::vector<AgendaItem>, std::greater<>>;

}  // namespace cleave
