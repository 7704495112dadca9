#pragma once
// Who holds something of a node, and whether it still can.
//
// A process keeps its number and its start over exec, but not its threads and mappings: whatever it
// held then is held by nobody. So who holds a lock or a handle is not a process but a program in
// it, which announces itself by a lock on one byte far behind the end of the node's file. The
// lock's descriptor is closed by exec and by death, and the kernel lets go of the byte at once
// (open file description locks, fcntl(2)).

#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace cleave::sim {

/// A process by its number and, in the upper half, when it started: numbers come again, pairs do
/// not.
using Identity = std::uint64_t;

constexpr std::uint32_t pid_of(std::uint64_t identity_or_holder) {
  return static_cast<std::uint32_t>(identity_or_holder);
}
/// Of a process that lives; 0 when there is none.
Identity identity_of(std::uint32_t pid);
/// Whether the process still runs. A zombie does not.
bool alive(Identity identity);

/// A program in a process by the process's number and, in the upper half, a random number; where it
/// could not announce itself, with the time at which the process started instead. Never 0.
using Holder = std::uint64_t;

/// This program on one node.
class Presence {
 public:
  /// Owns the descriptor, which is open for reading and writing and closed on exec. -1: there is no
  /// file, and whoever lives as a process lives.
  explicit Presence(int file);
  ~Presence();
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;

  /// Known without a system call; another one in the child of a fork.
  [[nodiscard]] Holder self() const { return self_.load(std::memory_order_relaxed); }
  /// Whether the program still runs that called itself so on the same node. Where this cannot be
  /// found out, it does.
  [[nodiscard]] bool alive(Holder holder) const;

 private:
  friend void renew_presences_after_fork();
  [[nodiscard]] bool file_is_ours() const;
  void announce();
  void renew();

  int file_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::atomic<Holder> self_{0};
};

/// In the child of a fork, which is not its parent.
void renew_presences_after_fork();

}  // namespace cleave::sim
