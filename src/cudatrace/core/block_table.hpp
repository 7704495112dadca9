#pragma once
// The live allocations of this process by what the driver calls them: which address or handle is
// how large, and of what kind. In shards, each with a lock that is held for a few instructions.
// Memory comes from the kernel, not from malloc: it is used inside calls of any program.

#include <array>
#include <cstdint>
#include <mutex>
#include <optional>

#include "cudatrace/core/record.hpp"

namespace cleave::cuda {

/// What a number names: equal numbers in different spaces are different things.
enum class Space : std::uint8_t { address, array, physical, variable };

/// One allocation.
struct Block {
  std::uint64_t bytes = 0;
  MemoryKind kind = MemoryKind::device;
};

/// The table.
class BlockTable {
 public:
  BlockTable() = default;
  ~BlockTable();
  BlockTable(const BlockTable&) = delete;
  BlockTable& operator=(const BlockTable&) = delete;
  /// False if there is no memory for it. An allocation of the same name is replaced: the program
  /// must have freed it in a way that was not seen; it is returned in `lost`.
  bool add(Space space, std::uint64_t name, Block block, std::optional<Block>& lost);
  /// Takes it out.
  std::optional<Block> take(Space space, std::uint64_t name);
  /// Takes everything out, pinned memory of the host too; returns the sum of bytes by kind.
  std::array<std::int64_t, memory_kinds> clear();

  /// Around a fork, so that the child finds every lock free.
  void lock_all();
  void unlock_all();

 private:
  struct Slot {
    std::uint64_t key;  // 0: unused
    std::uint64_t bytes_and_kind;
  };
  struct Shard {
    std::mutex mutex;
    Slot* slots = nullptr;
    std::size_t capacity = 0, used = 0;
    bool grow();
    Slot* find(std::uint64_t key);
    void erase(Slot* slot);
  };
  static constexpr std::size_t shard_count = 64;
  Shard& shard_of(std::uint64_t key);
  std::array<Shard, shard_count> shards_;
};

}  // namespace cleave::cuda
