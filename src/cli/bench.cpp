// `cleave bench NAME`: every speed that is claimed, measured on the product's own path.

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/command.hpp"
#include "cli/show.hpp"
#include "study/bench_graph.hpp"

namespace cleave::cli {

namespace {

struct Options {
  int repeats = 101;
  bool json = false;
};

Result<int> graph(const Options& options) {
  const auto runs = bench_graph(options.repeats);
  if (options.json) {
    Json list = Json::array();
    for (const GraphBench& run : runs)
      list.push_back({{"model", run.model},
                      {"profiles", run.profiles},
                      {"states", run.states},
                      {"maximal_states", run.maximal_states},
                      {"seconds_median", run.seconds_median},
                      {"seconds_min", run.seconds_min},
                      {"repeats", run.repeats}});
    print(Json{{"runs", list}});
    return 0;
  }
  Table table({"model", "profiles", "states", "maximal", "median ms", "least ms"});
  for (const GraphBench& run : runs)
    table.add({run.model, run.profiles, fmt::format("{}", run.states), fmt::format("{}", run.maximal_states),
               fmt::format("{:.3f}", run.seconds_median * 1e3),
               fmt::format("{:.3f}", run.seconds_min * 1e3)});
  fmt::print("Partition state graph with every table, built afresh {} times\n\n{}", options.repeats,
             table.text());
  return 0;
}

}  // namespace

void add_bench(CLI::App& program, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* group = program.add_subcommand("bench", "Measure the speeds that are claimed, on this machine");
  group->require_subcommand(1);
  CLI::App* command = add_command(*group, "graph", "Building the partition state graph of each GPU model",
                                  "cleave bench graph --repeats 11");
  command->add_option("--repeats", options->repeats, "How often each is built")
      ->check(CLI::Range(1, 1000000))
      ->default_str("101");
  add_json(*command, options->json);
  command->callback([options, &run] { run = [options] { return graph(*options); }; });
}

}  // namespace cleave::cli
