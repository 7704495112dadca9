#pragma once
// What is due in a simulation, by time and, at one instant, by the order that simulator.hpp
// promises.
//
// The next few items stand in order, so that what they need can be fetched from memory before their
// time comes. The others form a heap of four children a node. A key is 16 bytes and the children of
// a node lie in one cache line; the path from top to bottom is half as long as with two.

#include <algorithm>
#include <array>
#include <cassert>
#include <compare>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/time.hpp"

namespace cleave {

/// What may be due, in the order in which it happens at one instant.
enum class Due : std::uint8_t {
  gpu_returns,
  process_ends,
  service_ends,
  progress_begins,
  memory_report,
  lease_changes,
  gpu_lost,
  wake,
  compaction
};

/// Something that is due at a time.
struct AgendaItem {
  Instant at;
  std::uint32_t which;       // a job or a GPU
  std::uint32_t generation;  // of the job's run; an item of an older one is stale
  Due due;
};

/// All that is due, the next first.
class Agenda {
 public:
  /// Generations are kept as their lowest bits.
  static constexpr std::uint32_t generation_mask = (std::uint32_t{1} << 28) - 1;
  /// How many of the next items can be looked at, if there are as many.
  static constexpr std::size_t foreseen = 8;

  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] AgendaItem top() const { return item(next_[begin_]); }
  /// How many of the next items are known in their order: at least `foreseen`, or all.
  [[nodiscard]] std::size_t ahead() const { return end_ - begin_; }
  /// The item that is due after `n` others.
  [[nodiscard]] AgendaItem later(std::size_t n) const { return item(next_[begin_ + n]); }

  void push(const AgendaItem& item) {
    const Key key{item.at, static_cast<std::uint64_t>(item.due) << 60 |
                               std::uint64_t{item.which} << 28 |
                               (item.generation & generation_mask)};
    if (ahead() >= foreseen && !(key < next_[end_ - 1])) return heap_.push(key);
    insert(key);
    if (ahead() > most_next) heap_.push(next_[--end_]);
  }

  void pop() {
    ++begin_;
    if (ahead() < foreseen && !heap_.empty()) append(heap_.pop());
  }

 private:
  /// Time, then what is due, then for which job or GPU; the generation last.
  struct Key {
    Instant at;
    std::uint64_t rest;
    /// Without branches, which could not be predicted.
    friend bool operator<(const Key& a, const Key& b) {
      return (static_cast<unsigned>(a.at < b.at) |
              (static_cast<unsigned>(a.at == b.at) & static_cast<unsigned>(a.rest < b.rest))) != 0;
    }
  };
  static constexpr Key after_all{Instant::max(), UINT64_MAX};

  /// Node 0 is the top; the children of node n are family n, and node n > 0 is child (n - 1) % 4 of
  /// family (n - 1) / 4. What is missing in the last family is `after_all`.
  class Heap {
   public:
    [[nodiscard]] bool empty() const { return size_ == 0; }

    void push(const Key& key) {
      std::size_t node = size_++;
      if (node > 0 && (node - 1) / 4 == families_.size()) families_.push_back(no_children);
      for (; node > 0 && key < at((node - 1) / 4); node = (node - 1) / 4)
        at(node) = at((node - 1) / 4);
      at(node) = key;
    }

    Key pop() {
      const Key first = top_;
      const Key last = std::exchange(at(--size_), after_all);
      if (size_ == 0) return first;
      std::size_t node = 0;
      while (node < families_.size()) {
        const Family& children = families_[node];
        if (4 * node + 4 < families_.size()) {  // one of them is next
          const Family* below = &families_[4 * node + 1];
          __builtin_prefetch(below);
          __builtin_prefetch(below + 1);
          __builtin_prefetch(below + 2);
          __builtin_prefetch(below + 3);
        }
        const std::size_t least = least_of(children);
        if (!(children.key[least] < last)) break;
        at(node) = children.key[least];
        node = 4 * node + 1 + least;
      }
      at(node) = last;
      if ((size_ + 2) / 4 < families_.size()) families_.pop_back();
      return first;
    }

   private:
    /// The children of a node.
    struct alignas(64) Family {
      std::array<Key, 4> key;
    };
    static constexpr Family no_children{{after_all, after_all, after_all, after_all}};

    [[nodiscard]] Key& at(std::size_t node) {
      return node == 0 ? top_ : families_[(node - 1) / 4].key[(node - 1) % 4];
    }
    /// Chosen by arithmetic: a branch would be guessed wrong every other time, and all that is
    /// waiting behind it with it.
    static std::size_t least_of(const Family& family) {
      const auto less = [&](std::size_t a, std::size_t b) {
        return static_cast<std::size_t>(family.key[a] < family.key[b]);
      };
      const std::size_t low = less(1, 0), high = 2 + less(3, 2);
      return low ^ ((low ^ high) & (std::size_t{0} - less(high, low)));
    }

    Key top_ = after_all;
    std::vector<Family> families_;
    std::size_t size_ = 0;
  };

  static AgendaItem item(const Key& key) {
    return {key.at, static_cast<std::uint32_t>(key.rest >> 28 & 0xffffffff),
            static_cast<std::uint32_t>(key.rest) & generation_mask,
            static_cast<Due>(key.rest >> 60)};
  }

  /// Behind all that stand in order.
  void append(const Key& key) {
    if (end_ == next_.size()) {
      end_ = static_cast<std::size_t>(std::copy(next_.begin() + static_cast<std::ptrdiff_t>(begin_),
                                                next_.end(), next_.begin()) -
                                      next_.begin());
      begin_ = 0;
    }
    next_[end_++] = key;
  }

  void insert(const Key& key) {
    append(key);
    for (std::size_t i = end_ - 1; i > begin_ && next_[i] < next_[i - 1]; --i)
      std::swap(next_[i], next_[i - 1]);
  }

  static constexpr std::size_t most_next = 2 * foreseen;
  std::array<Key, 8 * foreseen> next_{};  // in order; none of the heap is due before any of these
  std::size_t begin_ = 0, end_ = 0;       // of those in use
  Heap heap_;
};

}  // namespace cleave
