#include "cudatrace/core/block_table.hpp"

#include <sys/mman.h>

namespace cleave::cuda {

namespace {

constexpr unsigned kind_bits = 3, space_bits = 2;
constexpr std::size_t first_capacity = 256;  // a page

/// Never 0, since names are not. Addresses have at most 57 bits.
std::uint64_t key_of(Space space, std::uint64_t name) {
  return (name << space_bits) | static_cast<std::uint64_t>(space);
}

/// Addresses are multiples of 256 or more: their low bits tell nothing.
std::uint64_t mixed(std::uint64_t key) {
  key ^= key >> 29U;
  key *= 0x9E3779B97F4A7C15U;
  return key ^ (key >> 32U);
}

Block block_of(std::uint64_t bytes_and_kind) {
  return {bytes_and_kind >> kind_bits,
          static_cast<MemoryKind>(bytes_and_kind & ((1U << kind_bits) - 1))};
}

std::uint64_t packed(Block block) {
  return (block.bytes << kind_bits) | static_cast<std::uint64_t>(block.kind);
}

}  // namespace

BlockTable::~BlockTable() {
  for (Shard& shard : shards_)
    if (shard.capacity > 0) ::munmap(shard.slots, shard.capacity * sizeof(Slot));
}

BlockTable::Shard& BlockTable::shard_of(std::uint64_t key) {
  return shards_[(mixed(key) >> 40U) % shard_count];
}

BlockTable::Slot* BlockTable::Shard::find(std::uint64_t key) {
  if (capacity == 0) return nullptr;
  for (std::size_t at = mixed(key) & (capacity - 1);; at = (at + 1) & (capacity - 1)) {
    if (slots[at].key == key) return &slots[at];
    if (slots[at].key == 0) return nullptr;
  }
}

bool BlockTable::Shard::grow() {
  const std::size_t larger = capacity == 0 ? first_capacity : 2 * capacity;
  void* const at = ::mmap(nullptr, larger * sizeof(Slot), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) return false;
  auto* const fresh = static_cast<Slot*>(at);
  for (std::size_t i = 0; i < capacity; ++i) {
    if (slots[i].key == 0) continue;
    std::size_t to = mixed(slots[i].key) & (larger - 1);
    while (fresh[to].key != 0) to = (to + 1) & (larger - 1);
    fresh[to] = slots[i];
  }
  if (capacity > 0) ::munmap(slots, capacity * sizeof(Slot));
  slots = fresh;
  capacity = larger;
  return true;
}

/// What stands behind it in its chain moves up, so that no marks of removed entries are needed.
void BlockTable::Shard::erase(Slot* slot) {
  auto hole = static_cast<std::size_t>(slot - slots);
  for (std::size_t at = (hole + 1) & (capacity - 1); slots[at].key != 0;
       at = (at + 1) & (capacity - 1)) {
    const std::size_t home = mixed(slots[at].key) & (capacity - 1);
    if (((at - home) & (capacity - 1)) < ((at - hole) & (capacity - 1))) continue;
    slots[hole] = slots[at];
    hole = at;
  }
  slots[hole].key = 0;
  --used;
}

bool BlockTable::add(Space space, std::uint64_t name, Block block, std::optional<Block>& lost) {
  const std::uint64_t key = key_of(space, name);
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  if (Slot* const known = shard.find(key)) {
    lost = block_of(known->bytes_and_kind);
    known->bytes_and_kind = packed(block);
    return true;
  }
  if (shard.used * 2 >= shard.capacity && !shard.grow()) return false;
  std::size_t at = mixed(key) & (shard.capacity - 1);
  while (shard.slots[at].key != 0) at = (at + 1) & (shard.capacity - 1);
  shard.slots[at] = {key, packed(block)};
  ++shard.used;
  return true;
}

std::optional<Block> BlockTable::take(Space space, std::uint64_t name) {
  const std::uint64_t key = key_of(space, name);
  Shard& shard = shard_of(key);
  const std::lock_guard lock(shard.mutex);
  Slot* const slot = shard.find(key);
  if (slot == nullptr) return std::nullopt;
  const Block block = block_of(slot->bytes_and_kind);
  shard.erase(slot);
  return block;
}

std::array<std::int64_t, memory_kinds> BlockTable::clear() {
  std::array<std::int64_t, memory_kinds> sums{};
  for (Shard& shard : shards_) {
    const std::lock_guard lock(shard.mutex);
    for (std::size_t i = 0; i < shard.capacity; ++i) {
      if (shard.slots[i].key == 0) continue;
      const Block block = block_of(shard.slots[i].bytes_and_kind);
      sums[static_cast<std::size_t>(block.kind)] += static_cast<std::int64_t>(block.bytes);
      shard.slots[i].key = 0;
    }
    shard.used = 0;
  }
  return sums;
}

void BlockTable::lock_all() {
  for (Shard& shard : shards_) shard.mutex.lock();
}

void BlockTable::unlock_all() {
  for (Shard& shard : shards_) shard.mutex.unlock();
}

}  // namespace cleave::cuda
