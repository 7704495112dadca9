#pragma once
// What is due in a simulation, by time and, at one instant, by the order that simulator.hpp promises.
//
// A heap of four children a node, 16 bytes an item: those of a node lie in one cache line, and the path from
// top to bottom is half as long as with two.

#include <algorithm>
#include <compare>
#include <cstdint>
#include <vector>

#include "base/time.hpp"

namespace cleave {

enum class Due : std::uint8_t { gpu_returns, process_ends, memory_report, gpu_lost, wake };

struct AgendaItem {
  Instant at;
  std::uint32_t which;       // a job or a GPU
  std::uint32_t generation;  // of the job's run; an item of an older one is stale
  Due due;
};

class Agenda {
 public:
  /// Generations are kept as their lowest bits.
  static constexpr std::uint32_t generation_mask = (std::uint32_t{1} << 28) - 1;

  [[nodiscard]] bool empty() const { return heap_.empty(); }
  [[nodiscard]] AgendaItem top() const {
    const std::uint64_t rest = heap_.front().rest;
    return {heap_.front().at, static_cast<std::uint32_t>(rest >> 28 & 0xffffffff),
            static_cast<std::uint32_t>(rest) & generation_mask, static_cast<Due>(rest >> 60)};
  }

  void push(const AgendaItem& item) {
    const Key key{item.at, static_cast<std::uint64_t>(item.due) << 60 | std::uint64_t{item.which} << 28 |
                               (item.generation & generation_mask)};
    std::size_t at = heap_.size();
    heap_.push_back(key);
    for (; at > 0 && key < heap_[(at - 1) / 4]; at = (at - 1) / 4) heap_[at] = heap_[(at - 1) / 4];
    heap_[at] = key;
  }

  void pop() {
    const Key last = heap_.back();
    heap_.pop_back();
    if (heap_.empty()) return;
    std::size_t at = 0;
    for (std::size_t child = 1; child < heap_.size(); child = 4 * at + 1) {
      const std::size_t end = std::min(child + 4, heap_.size());
      std::size_t least = child;
      for (std::size_t other = child + 1; other < end; ++other)
        least = heap_[other] < heap_[least] ? other : least;
      if (!(heap_[least] < last)) break;
      heap_[at] = heap_[least];
      at = least;
    }
    heap_[at] = last;
  }

 private:
  /// Time, then what is due, then for whom; the generation last.
  struct Key {
    Instant at;
    std::uint64_t rest;
    /// Without branches, which nobody could predict.
    friend bool operator<(const Key& a, const Key& b) {
      return (static_cast<unsigned>(a.at < b.at) |
              (static_cast<unsigned>(a.at == b.at) & static_cast<unsigned>(a.rest < b.rest))) != 0;
    }
  };

  std::vector<Key> heap_;
};

}  // namespace cleave
