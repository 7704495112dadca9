// `cleave workload generate NAME`: a workload made up from a seed, as a file that people can edit.

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "model/workload_file.hpp"
#include "simulate/generate.hpp"

namespace cleave::cli {

namespace {

struct Options {
  std::string name;
  std::uint64_t seed = 1;
};

Result<int> generate(const Options& options) {
  const auto row = std::ranges::find(generators(), options.name, &GeneratorRow::name);
  if (row == generators().end()) {
    std::vector<std::string> known;
    for (const GeneratorRow& other : generators()) known.emplace_back(other.name);
    return fail(ErrorKind::bad_usage, "", fmt::format("there is no generator '{}'", shown(options.name)),
                suggestion(options.name, known));
  }
  fmt::print("{}", workload_text(row->make(options.seed)));
  return 0;
}

}  // namespace

void add_workload(CLI::App& program, Run& run) {
  auto options = std::make_shared<Options>();
  CLI::App* group = program.add_subcommand("workload", "Make workloads");
  group->require_subcommand(1);
  CLI::App* command =
      add_command(*group, "generate", "A workload made up from a seed, as JSON lines on standard output",
                  "cleave workload generate lab-day --seed 7 > my-day.jsonl");
  std::vector<std::string> known;
  for (const GeneratorRow& row : generators()) known.push_back(fmt::format("{} ({})", row.name, row.summary));
  command->add_option("NAME", options->name, fmt::format("{}", fmt::join(known, "; ")))->required();
  command->add_option("--seed", options->seed, "Same seed, same file")
      ->check(whole_number(0))
      ->default_str("1");
  command->callback([options, &run] { run = [options] { return generate(*options); }; });
}

}  // namespace cleave::cli
