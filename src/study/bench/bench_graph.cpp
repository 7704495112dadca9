// `cleave bench graph`: how long it takes to build the partition state graph of each model, with
// every table.

#include "base/format.hpp"
#include "cli/columns.hpp"
#include "graph/state_graph.hpp"
#include "study/bench/bench_parts.hpp"

namespace cleave::cli {

namespace {

struct BenchGraphCommandOptions {
  int repeats = 101;
  bool json = false;
};

struct GraphBench {
  std::string_view model, profiles;
  int states = 0, maximal_states = 0;
  double seconds_median = 0, seconds_min = 0;
  int repeats = 0;
};

const Columns<GraphBench> columns = {
    {"model", "model", &GraphBench::model},
    {"profiles", "profiles", &GraphBench::profiles},
    {"states", "states", &GraphBench::states},
    {"maximal_states", "maximal", &GraphBench::maximal_states},
    {"seconds_median", "median ms", &GraphBench::seconds_median, decimals(3, 1e3)},
    {"seconds_min", "least ms", &GraphBench::seconds_min, decimals(3, 1e3)},
    {"repeats", json_only, &GraphBench::repeats}};

GraphBench bench_one(const GpuModel& model, std::string_view set, int repeats) {
  const ProfileMask profiles = ProfileChoice::parse(set)->on(model);
  GraphBench bench{model.key, set, 0, 0, 0, 0, repeats};
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    const auto begin = BenchClock::now();
    const StateGraph graph(Geometry(model, profiles));
    seconds.push_back(seconds_since(begin));
    bench.states = graph.size();
    bench.maximal_states = graph.maximal_states();
  }
  bench.seconds_median = median(seconds);
  bench.seconds_min = std::ranges::min(seconds);
  return bench;
}

Result<int> graph(const BenchGraphCommandOptions& options) {
  std::vector<GraphBench> runs;
  for (const GpuModel& model : gpu_models())
    for (const std::string_view set : {"all", "plain"})
      runs.push_back(bench_one(model, set, options.repeats));
  if (options.json)
    print(Json{{"runs", json_rows(columns, runs)}});
  else
    fmt::print("Partition state graph with every table, built afresh {} times\n\n{}",
               options.repeats, text_rows(columns, runs));
  return 0;
}

}  // namespace

void add_bench_graph(CommandLine& bench, Run& run) {
  const auto [command, options] =
      add_command(bench, run, "graph", "Building the partition state graph of each GPU model",
                  "cleave bench graph --repeats 11", graph);
  command->add_option("--repeats", options.repeats, "Number of times that each graph is built")
      ->check(Check::range(1, 1000000))
      ->default_str("101");
  add_json(*command, options.json);
}

}  // namespace cleave::cli
