#pragma once
// Long requests of a user come in one after the other: the next is read when the one before it has
// been answered. So however many of them a user sends at a time, others wait for one at most, and
// no more than one is in memory.

#include <cstdint>
#include <deque>
#include <functional>
#include <unordered_map>
#include <utility>

namespace cleave {

/// A line for each user. Connections are told apart by their address.
class LongReads {
 public:
  /// Whether this connection may read on now; else `resume` is called when it may.
  [[nodiscard]] bool enter(std::uint32_t uid, const void* connection, std::function<void()> resume);
  /// It does not read any more, or does not wait for it; nothing where it did not.
  void leave(std::uint32_t uid, const void* connection);

 private:
  struct Line {
    const void* reads = nullptr;
    std::deque<std::pair<const void*, std::function<void()>>> waiting;
  };
  std::unordered_map<std::uint32_t, Line> lines_;
};

}  // namespace cleave
