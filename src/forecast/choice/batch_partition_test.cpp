// The partition predictor of Dyna-P: which partitions get an edge, their weights, which one wins.

#include "forecast/choice/batch_partition.hpp"

#include <gtest/gtest.h>

#include "base/random.hpp"

namespace cleave {
namespace {

using Rows = ProfileRows<double>;
using Table = std::vector<PartitionOption<double>>;

/// The partitions of the paper's example, on an A30; memory in GB.
const Table a30 = {{"1g.6gb", 1, 6.0}, {"2g.12gb", 2, 12.0}, {"4g.24gb", 4, 24.0}};

struct Ask {
  std::int64_t batch = 16;
  double memory = 5.0;
  std::optional<double> deadline = std::nullopt;
};

PartitionChoice<double> choose(const Rows& rows, const Ask& ask,
                               const PartitionWeighing<double>& weighing,
                               const Table& table = a30) {
  const std::vector<double> memory{ask.memory};
  return choose_partition(rows, std::span<const PartitionOption<double>>(table),
                          {"bert", ask.batch, memory, ask.deadline}, weighing);
}

std::string names(const PartitionChoice<double>& choice, const Table& table = a30) {
  std::string text;
  for (const auto& edge : choice.edges) text += table[edge.partition].name + " ";
  for (const ExcludedPartition& one : choice.excluded)
    text.append("-")
        .append(table[one.partition].name)
        .append(":")
        .append(name(one.reason))
        .append(" ");
  return text.append("> ").append(choice.choice ? table[*choice.choice].name : "none");
}

/// Latency in seconds and throughput in items a second; the smallest partition cannot take a batch
/// of 32.
Rows example() {
  Rows rows;
  rows.add("bert", "1g.6gb", {16, 2.0, 80.0});
  rows.add("bert", "2g.12gb", {16, 1.0, 160.0});
  rows.add("bert", "2g.12gb", {32, 1.6, 200.0});
  rows.add("bert", "4g.24gb", {64, 2.0, 320.0});
  rows.add("bert", "4g.24gb", {16, 0.5, 240.0});
  rows.add("bert", "4g.24gb", {32, 1.0, 300.0});
  return rows;
}

TEST(BatchPartition, ThePapersTwoJobs) {
  // 3.1.1 and Figure 6: every partition is an edge of the job with batch 16; for batch 32, all but
  // 1g.6gb.
  EXPECT_EQ(names(choose(example(), {16}, {0.5, 0.0})), "1g.6gb 2g.12gb 4g.24gb > 4g.24gb");
  EXPECT_EQ(names(choose(example(), {32}, {0.5, 0.0})), "2g.12gb 4g.24gb -1g.6gb:memory > 4g.24gb");
  EXPECT_EQ(names(choose(example(), {16, 6.5}, {0.5, 0.0})),
            "2g.12gb 4g.24gb -1g.6gb:memory > 4g.24gb");
}

TEST(BatchPartition, WeightsAreEquationsTwoToFour) {
  const auto choice = choose(example(), {16}, {0.25, 0.0});
  ASSERT_EQ(choice.edges.size(), 3U);
  EXPECT_DOUBLE_EQ(choice.edges[0].weight, 0.0);  // its own base
  EXPECT_DOUBLE_EQ(choice.edges[2].delta_latency, 0.75);
  EXPECT_DOUBLE_EQ(choice.edges[2].delta_throughput, -0.25);
  EXPECT_DOUBLE_EQ(choice.edges[2].weight, 0.25 * 0.75 - 0.75 * 0.25);
  const auto common = choose(example(), {16}, {0.25, 0.0, BatchBase::full});
  EXPECT_DOUBLE_EQ(common.edges[0].delta_latency, 0.0);
  EXPECT_DOUBLE_EQ(common.edges[0].delta_throughput, -0.75);
  EXPECT_EQ(*common.choice, 2U);
}

TEST(BatchPartition, EqualWeightsGoToTheFewestSlicesThenToTheFirst) {
  // At the largest batch of each partition all weights are zero (D4).
  Rows rows;
  for (const auto& partition : a30)
    rows.add("bert", partition.name, {8, 1.0 / partition.slices, 10.0});
  EXPECT_EQ(names(choose(rows, {8}, {0.5, 0.0})), "1g.6gb 2g.12gb 4g.24gb > 1g.6gb");
  const Table twins = {{"4g.24gb", 4, 24.0}, {"2g.12gb", 1, 12.0}, {"1g.6gb", 1, 6.0}};
  EXPECT_EQ(*choose(rows, {8}, {0.5, 0.0}, twins).choice, 1U);
  // 0.3 of 0.1 + 0.2, which are equal although doubles differ.
  Rows rounded;
  rounded.add("bert", "1g.6gb", {8, 0.3, 10.0});
  rounded.add("bert", "1g.6gb", {16, 1.0, 10.0});
  rounded.add("bert", "2g.12gb", {8, 0.1 + 0.2, 10.0});
  rounded.add("bert", "2g.12gb", {16, 1.0, 10.0});
  EXPECT_EQ(*choose(rounded, {8}, {1.0, 0.0}).choice, 0U);
}

TEST(BatchPartition, MemoryComesBeforeTheDeadlineAndBothIncludeEquality) {
  EXPECT_EQ(names(choose(example(), {16, 5.0, 1.1}, {0.5, 0.1})),
            "2g.12gb 4g.24gb -1g.6gb:deadline > 4g.24gb");
  EXPECT_EQ(names(choose(example(), {16, 6.0, 2.1}, {0.5, 0.1})),
            "1g.6gb 2g.12gb 4g.24gb > 4g.24gb");
  EXPECT_EQ(names(choose(example(), {32, 7.0, 0.2}, {0.5, 0.0})),
            "-1g.6gb:memory -2g.12gb:deadline -4g.24gb:deadline > none");
}

TEST(BatchPartition, WithoutRowsThereAreNoEdges) {
  for (const BatchBase base : {BatchBase::own, BatchBase::full}) {
    EXPECT_EQ(names(choose({}, {16}, {0.5, 0.0, base})),
              "-1g.6gb:memory -2g.12gb:memory -4g.24gb:memory > none");
    EXPECT_EQ(names(choose(example(), {128}, {0.5, 0.0, base})),
              "-1g.6gb:memory -2g.12gb:memory -4g.24gb:memory > none");
    EXPECT_EQ(names(choose(example(), {16}, {0.5, 0.0, base}, {}), {}), "> none");
  }
}

TEST(BatchPartition, TheCommonBaseIsTheLargestPartitionThatWasMeasured) {
  Rows rows;
  rows.add("bert", "1g.6gb", {16, 2.0, 80.0});
  rows.add("bert", "2g.12gb", {16, 1.0, 160.0});
  const auto choice = choose(rows, {16}, {1.0, 0.0, BatchBase::full});
  ASSERT_EQ(choice.edges.size(), 2U);
  EXPECT_DOUBLE_EQ(choice.edges[0].weight, -1.0);
  EXPECT_DOUBLE_EQ(choice.edges[1].weight, 0.0);
}

TEST(BatchPartition, ALaterRowReplacesAnEarlierOne) {
  Rows rows = example();
  rows.add("bert", "2g.12gb", {32, 3.2, 50.0});
  EXPECT_DOUBLE_EQ(rows.find("bert", "2g.12gb", 32)->latency, 3.2);
  EXPECT_EQ(rows.largest("bert", "2g.12gb")->batch, 32);
  EXPECT_EQ(rows.find("bert", "2g.12gb", 8), nullptr);
  EXPECT_EQ(rows.largest("bert", "3g.20gb"), nullptr);
  EXPECT_EQ(rows.largest("gpt", "2g.12gb"), nullptr);
}

/// Algorithm 1 again, with plain lists and whole numbers: latencies in ms, throughputs in items,
/// lambda in quarters. Two weights are compared as fractions.
struct Measured {
  std::size_t partition;
  std::int64_t batch, latency, throughput;
};

std::optional<std::size_t> by_hand(const std::vector<Measured>& rows, std::int64_t batch,
                                   std::int64_t quarters) {
  std::optional<std::size_t> best;
  std::int64_t best_numerator = 0, best_denominator = 1;
  for (std::size_t i = 0; i < a30.size(); ++i) {
    const Measured *row = nullptr, *base = nullptr;
    for (const Measured& one : rows) {
      if (one.partition != i) continue;
      if (one.batch == batch) row = &one;
      if (base == nullptr || one.batch > base->batch) base = &one;
    }
    if (row == nullptr) continue;
    const std::int64_t denominator = base->latency * base->throughput;
    const std::int64_t numerator =
        quarters * (base->latency - row->latency) * base->throughput +
        (4 - quarters) * (row->throughput - base->throughput) * base->latency;
    if (best && numerator * best_denominator <= best_numerator * denominator) continue;
    best = i;
    best_numerator = numerator;
    best_denominator = denominator;
  }
  return best;
}

TEST(BatchPartition, ChoosesAsExactArithmeticDoes) {
  Random random(7);
  const auto number = [&](std::uint64_t most) {
    return static_cast<std::int64_t>(random.below(most)) + 1;
  };
  int chosen = 0;
  for (int round = 0; round < 5000; ++round) {
    std::vector<Measured> measured;
    Rows rows;
    for (std::size_t i = 0; i < a30.size(); ++i)
      for (std::int64_t batch = 1; batch <= number(4); ++batch) {
        measured.push_back(
            {i, batch, number(4), number(4)});  // few values, so that many weights are equal
        rows.add("bert", a30[i].name,
                 {batch, static_cast<double>(measured.back().latency) / 1000.0,
                  static_cast<double>(measured.back().throughput)});
      }
    const std::int64_t batch = number(4), quarters = number(5) - 1;
    const auto choice = choose(rows, {batch}, {static_cast<double>(quarters) / 4.0, 0.0});
    EXPECT_EQ(choice.choice, by_hand(measured, batch, quarters)) << "round " << round;
    chosen += choice.choice ? 1 : 0;
  }
  EXPECT_GT(chosen, 3000);
}

}  // namespace
}  // namespace cleave
