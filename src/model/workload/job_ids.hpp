#pragma once
// The names of a workload's jobs, to find out whether one is there twice: the numbers of the jobs
// by a hash of their names, in one table without lists.

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "model/job.hpp"

namespace cleave {

/// Which names the jobs have.
class JobIds {
 public:
  [[nodiscard]] bool contains(const std::vector<Job>& jobs, std::string_view id) const {
    if (slots_.empty()) return false;
    const std::uint32_t hash = hash_of(id);
    for (std::size_t at = hash & mask();; at = (at + 1) & mask()) {
      const Slot& slot = slots_[at];
      if (slot.job == none) return false;
      if (slot.hash == hash && jobs[slot.job].id == id) return true;
    }
  }

  /// The job with this number has come to those that are there.
  void insert(const std::vector<Job>& jobs, std::size_t job) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    put({static_cast<std::uint32_t>(job), hash_of(jobs[job].id)});
    ++count_;
  }

 private:
  static constexpr std::uint32_t none = UINT32_MAX;
  /// A job and the hash of its name.
  struct Slot {
    std::uint32_t job = none, hash = 0;
  };

  [[nodiscard]] std::size_t mask() const { return slots_.size() - 1; }
  static std::uint32_t hash_of(std::string_view id) {
    const std::uint64_t hash = std::hash<std::string_view>()(id);
    return static_cast<std::uint32_t>(hash ^ hash >> 32);
  }
  void put(const Slot& slot) {
    std::size_t at = slot.hash & mask();
    while (slots_[at].job != none) at = (at + 1) & mask();
    slots_[at] = slot;
  }
  void grow() {
    const std::vector<Slot> before = std::exchange(
        slots_, std::vector<Slot>(slots_.empty() ? std::size_t{64} : 4 * slots_.size()));
    for (const Slot& slot : before)
      if (slot.job != none) put(slot);
  }

  std::vector<Slot> slots_;  // a power of two, at most half full
  std::size_t count_ = 0;
};

}  // namespace cleave
