#pragma once
// Which program holds a lock or handle of a node, and whether that program still runs.
//
// A process keeps its pid and start time over exec, but not its threads and mappings, so that
// nothing holds what it held before. The holder of a lock or handle is therefore not a process but
// a program in it, which announces itself by a lock on one byte far behind the end of the node's
// file. The lock's descriptor is closed by exec and by death, and the kernel releases the byte at
// once (open file description locks, fcntl(2)).

#include <sys/types.h>

#include <atomic>
#include <cstdint>

namespace cleave::sim {

/// A process by its pid and, in the upper half, its start time: pids are reused, pairs are not.
using Identity = std::uint64_t;

constexpr std::uint32_t pid_of(std::uint64_t identity_or_holder) {
  return static_cast<std::uint32_t>(identity_or_holder);
}
/// The identity of a live process; 0 if there is none.
Identity identity_of(std::uint32_t pid);
/// Whether the process still runs. A zombie does not.
bool alive(Identity identity);

/// A program by its pid and, in the upper half, a random number, or the start time of the process
/// if the program could not announce itself. Never 0.
using Holder = std::uint64_t;

/// This program on one node.
class Presence {
 public:
  /// Owns the descriptor, which is open for reading and writing and closed on exec. With -1 there
  /// is no file, and a program counts as alive as long as its process.
  explicit Presence(int file);
  ~Presence();
  Presence(const Presence&) = delete;
  Presence& operator=(const Presence&) = delete;

  /// Needs no system call; differs in the child of a fork.
  [[nodiscard]] Holder self() const { return self_.load(std::memory_order_relaxed); }
  /// Whether the program with this name on the same node still runs; true if that cannot be
  /// determined.
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

/// Called in the child of a fork, which is a program of its own.
void renew_presences_after_fork();

}  // namespace cleave::sim
