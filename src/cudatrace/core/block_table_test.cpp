// The table of allocations against a plain map, in random order.

#include "cudatrace/core/block_table.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <map>
#include <random>

#include "cudatrace/core/kernel_names.hpp"

namespace cleave::cuda {
namespace {

TEST(BlockTable, IsAMap) {
  std::mt19937_64 random(7);
  BlockTable table;
  std::map<std::pair<int, std::uint64_t>, std::pair<std::uint64_t, MemoryKind>> plain;
  for (int i = 0; i < 200'000; ++i) {
    const auto space = static_cast<Space>(random() % 4);
    // Few enough that most come again, with the low bits of addresses.
    const std::uint64_t name = (random() % 5000 + 1) * 512;
    const std::pair key(static_cast<int>(space), name);
    if (random() % 2 == 0) {
      const Block block{random() % (std::uint64_t{1} << 45U),
                        static_cast<MemoryKind>(random() % memory_kinds)};
      std::optional<Block> lost;
      ASSERT_TRUE(table.add(space, name, block, lost));
      ASSERT_EQ(lost.has_value(), plain.contains(key));
      if (lost) {
        EXPECT_EQ(lost->bytes, plain[key].first);
      }
      plain[key] = {block.bytes, block.kind};
    } else {
      const auto block = table.take(space, name);
      ASSERT_EQ(block.has_value(), plain.contains(key));
      if (!block) continue;
      EXPECT_EQ(block->bytes, plain[key].first);
      EXPECT_EQ(block->kind, plain[key].second);
      plain.erase(key);
    }
  }
  std::array<std::int64_t, memory_kinds> sums{};
  for (const auto& [key, block] : plain)
    sums[static_cast<std::size_t>(block.second)] += static_cast<std::int64_t>(block.first);
  EXPECT_GT(plain.size(), 1000U);
  EXPECT_EQ(table.clear(), sums);
  EXPECT_EQ(table.clear(), (std::array<std::int64_t, memory_kinds>{}));
  EXPECT_FALSE(table.take(Space::address, 512));
}

TEST(KernelNames, AreKeptForManyKernels) {
  KernelNames names;
  EXPECT_STREQ(names.find(&names), "");
  constexpr std::uintptr_t many = 2000;
  const auto kernel = [](std::uintptr_t i) { return std::bit_cast<const void*>(i * 16); };
  for (std::uintptr_t i = 1; i <= many; ++i) names.tell(kernel(i), std::to_string(i).c_str());
  for (std::uintptr_t i = 1; i <= many; ++i)
    EXPECT_EQ(names.find(kernel(i)), std::to_string(i)) << "the " << i << "th";
  names.tell(kernel(3), "another");
  EXPECT_STREQ(names.find(kernel(3)), "another") << "a handle that was reused";
  names.tell(nullptr, "nothing");
  EXPECT_STREQ(names.find(nullptr), "");
}

}  // namespace
}  // namespace cleave::cuda
