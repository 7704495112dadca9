#include "study/bench/bench_admission.hpp"

#include <chrono>

#include "base/random.hpp"
#include "base/time.hpp"
#include "placement/admission.hpp"

namespace cleave {

namespace {

using Clock = std::chrono::steady_clock;

double ns_each(Clock::time_point begin, std::size_t times) {
  return in_seconds(Clock::now() - begin) * 1e9 / static_cast<double>(times);
}

AdmissionBench bench_one(const AdmissionTable& table, std::size_t size) {
  constexpr std::size_t times = 200000;
  Random random(9);
  const auto states = static_cast<std::uint64_t>(table.graph().size());
  std::vector<StateId> gpus(size);
  for (StateId& state : gpus) state = static_cast<StateId>(random.below(states));
  std::vector<Demand> demands(256, Demand(table.profiles(), 0));
  for (Demand& demand : demands)
    for (std::int64_t& wanted : demand) wanted = static_cast<std::int64_t>(random.below(size + 2));
  std::vector<std::pair<std::size_t, StateId>> changes(times);
  for (auto& change : changes)
    change = {random.below(size), static_cast<StateId>(random.below(states))};

  AdmissionBench bench{size, 0, 0, 0, true};
  auto begin = Clock::now();
  AdmissionSums sums(table);
  for (const StateId state : gpus) sums.add(state);
  bench.anew_ms = in_seconds(Clock::now() - begin) * 1e3;

  begin = Clock::now();
  for (const auto& [gpu, state] : changes) {
    sums.remove(gpus[gpu]);
    sums.add(state);
    gpus[gpu] = state;
  }
  bench.change_ns = ns_each(begin, times);

  begin = Clock::now();
  std::int64_t all = 0;
  for (std::size_t i = 0; i < times; ++i) all += sums.missing(demands[i % demands.size()]);
  bench.answer_ns = ns_each(begin, times);

  AdmissionSums anew(table);
  for (const StateId state : gpus) anew.add(state);
  std::int64_t check = 0;
  for (std::size_t i = 0; i < times; ++i) check += anew.missing(demands[i % demands.size()]);
  bench.identical = check == all;
  return bench;
}

}  // namespace

std::vector<AdmissionBench> bench_admission(const GpuModel& model,
                                            const std::vector<std::size_t>& sizes) {
  const auto table = AdmissionTable::make(StateGraph::of(model, ProfileChoice().on(model)));
  std::vector<AdmissionBench> all;
  if (table)
    for (const std::size_t size : sizes) all.push_back(bench_one(*table, size));
  return all;
}

}  // namespace cleave
