#include "forecast/choice/batch_partition.hpp"

#include <cassert>

#include "forecast/choice/fraction.hpp"

namespace cleave {

namespace {

/// The row that the weights of all partitions are relative to. Null with BatchBase::own, and if the
/// application was not measured.
template <class Number>
const MeasuredRow<Number>* common_base(const ProfileRows<Number>& rows,
                                       std::string_view application,
                                       std::span<const PartitionOption<Number>> table,
                                       BatchBase base) {
  const MeasuredRow<Number>* best = nullptr;
  int slices = 0;
  if (base == BatchBase::own) return best;
  for (const PartitionOption<Number>& partition : table) {
    const auto* row = rows.largest(application, partition.name);
    if (row == nullptr || (best != nullptr && partition.slices <= slices)) continue;
    best = row;
    slices = partition.slices;
  }
  return best;
}

/// The edge with the greatest weight; ties: fewest slices, then the order of the table.
template <class Number>
std::optional<std::size_t> heaviest(std::span<const PartitionEdge<Number>> edges,
                                    std::span<const PartitionOption<Number>> table) {
  if (edges.empty()) return std::nullopt;
  const auto lighter = [](const auto& a, const auto& b) { return a.weight < b.weight; };
  const Number most = std::max_element(edges.begin(), edges.end(), lighter)->weight;
  std::optional<std::size_t> choice;
  for (const PartitionEdge<Number>& edge : edges) {
    if (clearly_greater(most, edge.weight)) continue;
    if (!choice || table[edge.partition].slices < table[*choice].slices) choice = edge.partition;
  }
  return choice;
}

}  // namespace

template <class Number>
PartitionChoice<Number> choose_partition(const ProfileRows<Number>& rows,
                                         std::span<const PartitionOption<Number>> table,
                                         const BatchJob<Number>& job,
                                         const PartitionWeighing<Number>& weighing) {
  assert(job.memory.size() == 1 || job.memory.size() == table.size());
  const MeasuredRow<Number>* shared = common_base(rows, job.application, table, weighing.base);
  PartitionChoice<Number> result;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto* row = rows.find(job.application, table[i].name, job.batch);
    const Number memory = job.memory[job.memory.size() == 1 ? 0 : i];
    if (row == nullptr || clearly_greater(memory, table[i].memory)) {
      result.excluded.push_back({i, Exclusion::memory});
      continue;
    }
    if (job.deadline && clearly_greater(row->latency + weighing.margin, *job.deadline)) {
      result.excluded.push_back({i, Exclusion::deadline});
      continue;
    }
    const auto& base = shared != nullptr ? *shared : *rows.largest(job.application, table[i].name);
    PartitionEdge<Number> edge{i, (base.latency - row->latency) / base.latency,
                               (row->throughput - base.throughput) / base.throughput, Number{}};
    edge.weight = weighing.lambda * edge.delta_latency +
                  (Number(1) - weighing.lambda) * edge.delta_throughput;
    result.edges.push_back(edge);
  }
  result.choice = heaviest(std::span<const PartitionEdge<Number>>(result.edges), table);
  return result;
}

template PartitionChoice<double> choose_partition(const ProfileRows<double>&,
                                                  std::span<const PartitionOption<double>>,
                                                  const BatchJob<double>&,
                                                  const PartitionWeighing<double>&);
template PartitionChoice<Fraction> choose_partition(const ProfileRows<Fraction>&,
                                                    std::span<const PartitionOption<Fraction>>,
                                                    const BatchJob<Fraction>&,
                                                    const PartitionWeighing<Fraction>&);

std::string_view name(Exclusion reason) {
  return reason == Exclusion::memory ? "memory" : "deadline";
}

}  // namespace cleave
