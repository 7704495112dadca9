// `cleave reproduce online`: the evaluation of *An Online Fragmentation-Aware Scheduler* again.

#include <filesystem>

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/columns.hpp"
#include "cli/command.hpp"
#include "study/reproduce/reproduce_online.hpp"

namespace cleave::cli {

namespace {

struct Options {
  std::size_t seeds = 30;
  std::string data, folder;
  bool json = false;
};

const Columns<OnlineClaim> claim_columns = {
    {"figure", "figure", &OnlineClaim::figure}, {"claim", "claim", &OnlineClaim::claim},
    {"paper", "paper", &OnlineClaim::paper},    {"ours", "here", &OnlineClaim::ours},
    {"verdict", " ", &OnlineClaim::verdict},  // no heading
    {"why", json_only, &OnlineClaim::why}};

Json change_json(const PairedChange& change) {
  return {{"mean", change.mean},   {"low", change.low},     {"high", change.high},
          {"seeds", change.seeds}, {"lower", change.lower}, {"higher", change.higher}};
}

Json point_json(const OnlinePoint& point) {
  Json workloads = Json::array();
  for (std::size_t w = 0; w < online_workloads.size(); ++w) {
    const OnlineOutcome& one = point.workloads[w];
    Json makespan = Json::object();
    for (std::size_t parts = 0; parts < online_parts; ++parts)
      makespan[std::string(name_of(static_cast<OnlineParts>(parts)))] =
          change_json(one.makespan[parts]);
    workloads.push_back({{"workload", online_workloads[w].name},
                         {"held", one.held},
                         {"wait_s", one.wait_s},
                         {"static_wait_s", one.static_wait_s},
                         {"execution_s", one.execution_s},
                         {"migrations", one.migrations},
                         {"wait_change", change_json(one.wait)},
                         {"execution_change", change_json(one.execution)},
                         {"time_per_output_token_change", change_json(one.token)},
                         {"makespan_change", makespan}});
  }
  return {{"held", point.inputs.held},
          {"queries", point.inputs.queries},
          {"lengths", point.inputs.lengths},
          {"unit_s", point.unit_s},
          {"workloads", workloads}};
}

Result<void> write_all(const OnlineReproduction& reproduction, const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  const std::filesystem::path into(folder);
  for (const auto& [file, svg] : online_figures(reproduction))
    if (const auto done = write_whole((into / file).string(), svg); !done) return done;
  return write_whole((into / "online.md").string(), online_page(reproduction));
}

Result<int> online(const Options& options) {
  OnlineReproductionOptions wanted;
  wanted.seeds = options.seeds;
  wanted.data = options.data;
  const auto reproduction = reproduce_online(wanted);
  if (!reproduction) return std::unexpected(reproduction.error());
  if (!options.folder.empty())
    if (const auto written = write_all(*reproduction, options.folder); !written)
      return std::unexpected(written.error());
  const std::vector<OnlineClaim> claims = online_claims(*reproduction);
  if (!options.json) {
    fmt::print("{}", text_rows(claim_columns, claims));
    return 0;
  }
  Json points = Json::array();
  for (const OnlinePoint& point : reproduction->points) points.push_back(point_json(point));
  print(Json{
      {"seeds", options.seeds}, {"points", points}, {"claims", json_rows(claim_columns, claims)}});
  return 0;
}

}  // namespace

void add_reproduce_online(CommandLine& reproduce, Run& run) {
  const auto [command, options] =
      add_command(reproduce, run, "online",
                  "An Online Fragmentation-Aware Scheduler, section V: figures 5 to 10",
                  "cleave reproduce online --data DIR --seeds 10", online);
  command->add_option("--data", options.data,
                      "Folder with burstgpt and azure-llm-2023, lengths of queries; what is not "
                      "there is left out");
  command->add_option("--seeds", options.seeds, "Workloads of each kind, seeds 1, 2, ...")
      ->check(Check::range(3, 10000))
      ->default_str("30");
  command->add_option("--write", options.folder, "Folder for the page and its figures");
  add_json(*command, options.json);
}

}  // namespace cleave::cli
