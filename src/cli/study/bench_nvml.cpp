// `cleave bench nvml`: the cost of calls to simulated GPUs.

#include "study/bench/bench_nvml.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/command.hpp"
#include "cli/table.hpp"
#include "cli/live/live.hpp"

namespace cleave::cli {

namespace {

struct Options {
  std::string library, model = "A100-40GB";
  double seconds = 0.05;
  bool json = false;
};

Result<int> nvml(const Options& given) {
  const auto model = find_gpu_model(given.model);
  if (!model) return std::unexpected(model.error());
  const auto time = duration_from_seconds(given.seconds);
  if (!time) return fail_at("--seconds", time.error());
  const std::string library = given.library.empty() ? simulated_library().string() : given.library;
  const auto runs = bench_nvml({library, *model, *time});
  if (!runs) return std::unexpected(runs.error());
  double slowest = 0;
  Json list = Json::array();
  Table table({"operation", "calls", "library ns", "ns a call", "door ns"});
  for (const NvmlBench& run : *runs) {
    const double a_call = run.library_ns / run.calls;
    slowest = std::max(slowest, a_call);
    list.push_back({{"operation", run.operation},
                    {"calls", run.calls},
                    {"library_ns", run.library_ns},
                    {"call_ns", a_call},
                    {"door_ns", run.door_ns}});
    table.add({run.operation, fmt::format("{}", run.calls), fmt::format("{:.0f}", run.library_ns),
               fmt::format("{:.0f}", a_call), fmt::format("{:.0f}", run.door_ns)});
  }
  if (given.json) {
    print(Json{{"model", (*model)->key}, {"runs", list}, {"slowest_call_ns", slowest}});
    return 0;
  }
  fmt::print(
      "The simulated library on an instant node with two {}, medians\n\n{}\nslowest call: {:.0f} "
      "ns\n",
      (*model)->key, table.text(), slowest);
  return 0;
}

}  // namespace

void add_bench_nvml(CommandLine& bench, Run& run) {
  auto options = std::make_shared<Options>();
  CommandLine* command =
      add_command(bench, "nvml", "Calls to simulated GPUs, through the library and the door",
                  "cleave bench nvml --seconds 0.02");
  command
      ->add_option("--nvml", options->library,
                   "The simulated library; by itself the one that was built")
      ->check(not_empty());
  command->add_option("--model", options->model, "GPU model of the node")->default_str("A100-40GB");
  command->add_option("--seconds", options->seconds, "For each way of each operation")
      ->check(Check::range(0.0001, 60.0))
      ->default_str("0.05");
  add_json(*command, options->json);
  command->callback([options, &run] { run = [options] { return nvml(*options); }; });
}

}  // namespace cleave::cli
