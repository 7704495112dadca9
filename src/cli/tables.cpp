// `cleave policies`, `cleave schedulers`, `cleave forecasters` and `cleave workload list`: the
// tables, as they are.

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/command.hpp"
#include "cli/table.hpp"
#include "engine/scheduler.hpp"
#include "forecast/memory/forecaster.hpp"
#include "placement/policy.hpp"
#include "simulate/generate/generate.hpp"

namespace cleave::cli {

namespace {

Json options_json(std::span<const OptionRow> options) {
  Json list = Json::array();
  for (const OptionRow& row : options)
    list.push_back({{"name", row.name},
                    {"values", row.values},
                    {"default", row.otherwise},
                    {"help", row.help}});
  return list;
}

/// Policies, schedulers and generators look alike: a name, a summary, a source, options.
template <class Row>
Result<int> list(std::span<const Row> rows, const char* key, std::string_view by_default,
                 bool json) {
  if (json) {
    Json all = Json::array();
    for (const Row& row : rows)
      all.push_back({{"name", row.name},
                     {"summary", row.summary},
                     {"source", row.source},
                     {"default", row.name == by_default},
                     {"options", options_json(row.options)}});
    if constexpr (std::is_same_v<Row, GeneratorRow>)
      for (std::size_t i = 0; i < rows.size(); ++i) all[i]["fleet"] = rows[i].fleet;
    if constexpr (std::is_same_v<Row, SchedulerRow>)
      for (std::size_t i = 0; i < rows.size(); ++i) all[i]["priority"] = rows[i].priority;
    if constexpr (std::is_same_v<Row, Policy>)
      for (Json& row : all) row["served_by"] = "index";
    print(Json{{key, all}});
    return 0;
  }
  for (const Row& row : rows) {
    fmt::print("{}{}\n    {}\n    from: {}\n", row.name, row.name == by_default ? " (default)" : "",
               row.summary, row.source);
    if constexpr (std::is_same_v<Row, GeneratorRow>) fmt::print("    for: {}\n", row.fleet);
    if constexpr (std::is_same_v<Row, SchedulerRow>)
      fmt::print("    priority: {}\n", row.priority.empty() ? "not read" : row.priority);
    for (const OptionRow& option : row.options)
      fmt::print("    {}={}  {}{}\n", option.name, option.values, option.help,
                 option.otherwise.empty() ? "" : fmt::format(", default {}", option.otherwise));
    fmt::print("\n");
  }
  return 0;
}

}  // namespace

void add_policies(CommandLine& program, Run& run) {
  auto json = std::make_shared<bool>(false);
  CommandLine* command = add_command(
      program, "policies", "How a GPU and a start are chosen for one request", "cleave policies");
  add_json(*command, *json);
  command->callback([json, &run] {
    run = [json] {
      const auto code = list(policies(), "policies", default_policy, *json);
      if (!*json)
        fmt::print(
            "The index serves them all: a decision costs about the same on 100,000 GPUs as on "
            "100.\n");
      return code;
    };
  });
}

void add_schedulers(CommandLine& program, Run& run) {
  auto json = std::make_shared<bool>(false);
  CommandLine* command =
      add_command(program, "schedulers", "Schedulers for simulate and compare, with their options",
                  "cleave schedulers");
  add_json(*command, *json);
  command->callback([json, &run] {
    run = [json] {
      const auto code = list(schedulers(), "schedulers", "", *json);
      if (!*json)
        fmt::print("Written NAME:key=value;key=value, for example online:policy=first-fit.\n");
      return code;
    };
  });
}

void add_forecasters(CommandLine& program, Run& run) {
  auto json = std::make_shared<bool>(false);
  CommandLine* command =
      add_command(program, "forecasters", "Forecasters of a job's memory, with their options",
                  "cleave forecasters");
  add_json(*command, *json);
  command->callback([json, &run] {
    run = [json] {
      const auto code = list(forecasters(), "forecasters", "", *json);
      if (!*json)
        fmt::print("Written NAME:key=value;key=value, for example trend:plateau=on;warm-up=5.\n");
      return code;
    };
  });
}

Result<int> list_generators(bool json) {
  const auto code = list(generators(), "workloads", "", json);
  if (!json)
    fmt::print("Written NAME:key=value;key=value, for example 'normal-25:jobs=50;queries=2'.\n");
  return code;
}

}  // namespace cleave::cli
