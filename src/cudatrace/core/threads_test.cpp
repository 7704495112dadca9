// The table of allocations from several threads at once.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <string>
#include <thread>
#include <vector>

#include "cudatrace/core/block_table.hpp"
#include "cudatrace/core/kernel_names.hpp"

namespace cleave::cuda {
namespace {

TEST(Threads, FindTheirOwnAllocations) {
  BlockTable table;
  KernelNames names;
  HighWater most;
  std::atomic<int> missing{0};
  const auto run = [&](std::uint64_t thread) {
    for (std::uint64_t i = 1; i <= 20'000; ++i) {
      const std::uint64_t name = (i * 8 + thread) * 512;
      std::optional<Block> lost;
      if (!table.add(Space::address, name, {i, MemoryKind::device}, lost) || lost) ++missing;
      most.reach(static_cast<std::int64_t>(i * thread));
      if (i % 100 == 0) names.tell(std::bit_cast<const void*>(name), "kernel");
      if (i % 3 == 0) continue;
      const auto block = table.take(Space::address, name);
      if (!block || block->bytes != i) ++missing;
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t i = 0; i < 4; ++i) threads.emplace_back(run, i);
  for (std::thread& each : threads) each.join();
  EXPECT_EQ(missing, 0);
  EXPECT_EQ(most.value(), 60'000);
  // A third of each thread's, by size: 3 + 6 + ... + 19998.
  EXPECT_EQ(table.clear()[0], 4 * 3 * (std::int64_t{6666} * 6667 / 2));
}

TEST(Threads, NameACallWithoutAnAnswerOnce) {
  for (int round = 0; round < 50; ++round) {
    Record* const record = private_record();
    ASSERT_NE(record, nullptr);
    std::atomic<bool> go{false};
    const auto run = [&](int thread) {
      while (!go) {
      }
      for (int i = 0; i < 6; ++i)
        note_unanswered(*record, ("call_" + std::to_string((i + thread) % 6)).c_str());
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(run, i);
    go = true;
    for (std::thread& each : threads) each.join();
    std::vector<std::string> names;
    for (const UnansweredRow& row : record->unanswered)
      if (row.state == LaunchRow::written) names.emplace_back(row.name.data());
    std::ranges::sort(names);
    EXPECT_EQ(names, (std::vector<std::string>{"call_0", "call_1", "call_2", "call_3", "call_4",
                                               "call_5"}));
    for (int i = 0; i < 100; ++i) note_unanswered(*record, std::to_string(i).c_str());
    EXPECT_EQ(record->unanswered.back().state, LaunchRow::written) << "no more than there are rows";
    unmap_record(record);
  }
}

}  // namespace
}  // namespace cleave::cuda
