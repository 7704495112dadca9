// `cleave reproduce online`: the evaluation of *An Online Fragmentation-Aware Scheduler* again.

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/columns.hpp"
#include "study/reproduce/page_command.hpp"
#include "study/reproduce/reproduce_online.hpp"

namespace cleave::cli {

namespace {

struct OnlineCommandOptions : PageOptions {
  std::size_t seeds = 30;
  std::string data;
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

PageFiles files_of(const OnlineReproduction& reproduction) {
  PageFiles files = online_figures(reproduction);
  files.emplace_back("online.md", online_page(reproduction));
  return files;
}

Json study_json(const OnlineReproduction& reproduction) {
  Json points = Json::array();
  for (const OnlinePoint& point : reproduction.points) points.push_back(point_json(point));
  return {{"seeds", reproduction.options.seeds},
          {"points", points},
          {"claims", json_rows(claim_columns, online_claims(reproduction))}};
}

Result<int> online(const OnlineCommandOptions& options) {
  if (const auto there = data_is_there(options.data); !there) return std::unexpected(there.error());
  OnlineReproductionOptions wanted;
  wanted.seeds = options.seeds;
  wanted.data = options.data;
  return run_page<OnlineReproduction>(options, {.make = [&] { return reproduce_online(wanted); },
                                                .files = files_of,
                                                .json = study_json,
                                                .text =
                                                    [](const OnlineReproduction& reproduction) {
                                                      return text_rows(claim_columns,
                                                                       online_claims(reproduction));
                                                    }});
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
  add_seeds(*command, options.seeds, 3, "each workload");
  add_page_options(*command, options, "the page and its figures");
}

}  // namespace cleave::cli
