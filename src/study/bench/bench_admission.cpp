// `cleave bench admission`: what an exact answer about a whole batch costs when the sums are kept
// while the fleet changes, and what keeping them costs.

#include "base/format.hpp"
#include "base/random.hpp"
#include "cli/columns.hpp"
#include "placement/admission.hpp"
#include "study/bench/bench_parts.hpp"

namespace cleave::cli {

namespace {

struct BenchAdmissionCommandOptions {
  std::vector<std::size_t> gpus = {8, 100, 1000, 10000, 100000};
  std::string model = "A100-80GB";
  bool json = false;
};

struct AdmissionBench {
  std::size_t gpus = 0;
  double answer_ns = 0;   // a batch of random demand
  double change_ns = 0;   // a GPU changes its state
  double rebuild_ms = 0;  // all sums from all GPUs
  bool identical = true;  // kept sums answer as rebuilt ones do
};

const Columns<AdmissionBench> columns = {
    {"gpus", "GPUs", &AdmissionBench::gpus},
    {"answer_ns", "answer ns", &AdmissionBench::answer_ns, decimals(0)},
    {"change_ns", "change ns", &AdmissionBench::change_ns, decimals(0)},
    {"anew_ms", "rebuild ms", &AdmissionBench::rebuild_ms, decimals(3)},
    {"identical", "same answers", &AdmissionBench::identical, yes_or_alarm}};

AdmissionBench bench_one(const AdmissionTable& table, std::size_t size) {
  constexpr int times = 200000;
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
  auto begin = BenchClock::now();
  AdmissionSums sums(table);
  for (const StateId state : gpus) sums.add(state);
  bench.rebuild_ms = seconds_since(begin) * 1e3;

  begin = BenchClock::now();
  for (const auto& [gpu, state] : changes) {
    sums.remove(gpus[gpu]);
    sums.add(state);
    gpus[gpu] = state;
  }
  bench.change_ns = seconds_since(begin) * 1e9 / times;

  begin = BenchClock::now();
  std::int64_t all = 0;
  for (std::size_t i = 0; i < times; ++i) all += sums.missing(demands[i % demands.size()]);
  bench.answer_ns = seconds_since(begin) * 1e9 / times;

  AdmissionSums rebuilt(table);
  for (const StateId state : gpus) rebuilt.add(state);
  std::int64_t check = 0;
  for (std::size_t i = 0; i < times; ++i) check += rebuilt.missing(demands[i % demands.size()]);
  bench.identical = check == all;
  return bench;
}

Result<int> admission(const BenchAdmissionCommandOptions& given) {
  const auto model = find_gpu_model(given.model);
  if (!model) return std::unexpected(model.error());
  const auto table = AdmissionTable::make(StateGraph::of(**model, ProfileChoice().on(**model)));
  std::vector<AdmissionBench> runs;
  if (table)
    for (const std::size_t size : given.gpus) runs.push_back(bench_one(*table, size));
  if (given.json)
    print(Json{{"model", (*model)->key}, {"runs", json_rows(columns, runs)}});
  else
    fmt::print("Exact admission of a batch on {}, all profiles, with kept sums\n\n{}",
               (*model)->key, text_rows(columns, runs));
  return 0;
}

}  // namespace

void add_bench_admission(CommandLine& bench, Run& run) {
  const auto [command, options] =
      add_command(bench, run, "admission", "An exact answer to whether a whole batch fits",
                  "cleave bench admission --gpus 8,10000", admission);
  add_fleet_sizes(*command, options.gpus);
  add_bench_model(*command, options.model);
  add_json(*command, options.json);
}

}  // namespace cleave::cli
