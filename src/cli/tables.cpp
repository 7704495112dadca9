// `cleave policies`, `cleave schedulers`, `cleave forecasters` and `cleave workload list`: what the
// tables of the rooms hold.

#include "base/format.hpp"
#include "cli/columns.hpp"
#include "cli/command.hpp"
#include "cli/say.hpp"
#include "engine/scheduler.hpp"
#include "forecast/memory/forecaster.hpp"
#include "placement/policy.hpp"
#include "simulate/generate/generate.hpp"

namespace cleave::cli {

namespace {

/// What tells one listing from the other.
struct Listing {
  const char* command;
  std::string what, example;
  const char* key;  // of the rows in JSON
  std::string remark;
  std::string_view by_default = {};  // the row that is the default; empty: none
};

const Columns<OptionRow> option_columns = {{"name", json_only, &OptionRow::name},
                                           {"values", json_only, &OptionRow::values},
                                           {"default", json_only, &OptionRow::otherwise},
                                           {"help", json_only, &OptionRow::help}};

/// Policies, schedulers, forecasters and generators look alike: a name, a summary, a source,
/// options.
template <class Row>
Columns<Row> columns_of(std::string_view by_default) {
  Columns<Row> columns = {
      {"name", json_only, &Row::name},
      {"summary", json_only, &Row::summary},
      {"source", json_only, &Row::source},
      {"default", json_only, [=](const Row& row) { return row.name == by_default; }},
      {"options", json_only, [](const Row& row) { return json_rows(option_columns, row.options); }},
  };
  if constexpr (std::is_same_v<Row, GeneratorRow>)
    columns.emplace_back("fleet", json_only, &Row::fleet);
  if constexpr (std::is_same_v<Row, SchedulerRow>)
    columns.emplace_back("priority", json_only, &Row::priority);
  if constexpr (std::is_same_v<Row, Policy>)
    columns.emplace_back("served_by", json_only, [](const Row&) { return "index"; });
  return columns;
}

template <class Row>
void print_text(std::span<const Row> rows, const Listing& listing) {
  for (const Row& row : rows) {
    say("{}{}\n    {}\n    from: {}\n", row.name,
        row.name == listing.by_default ? " (default)" : "", row.summary, row.source);
    if constexpr (std::is_same_v<Row, GeneratorRow>) say("    for: {}\n", row.fleet);
    if constexpr (std::is_same_v<Row, SchedulerRow>)
      say("    priority: {}\n", row.priority.empty() ? "not read" : row.priority);
    for (const OptionRow& option : row.options)
      say("    {}={}  {}{}\n", option.name, option.values, option.help,
          option.otherwise.empty() ? "" : fmt::format(", default {}", option.otherwise));
    say("\n");
  }
  say("{}\n", listing.remark);
}

template <class Row>
void add_listing(CommandLine& group, Run& run, std::span<const Row> rows, const Listing& listing) {
  auto json = std::make_shared<bool>(false);
  CommandLine* command = add_command(group, listing.command, listing.what, listing.example);
  add_json(*command, *json);
  command->callback([json, rows, listing, &run] {
    run = [json, rows, listing]() -> Result<int> {
      if (*json)
        print(Json{{listing.key, json_rows(columns_of<Row>(listing.by_default), rows)}});
      else
        print_text(rows, listing);
      return 0;
    };
  });
}

}  // namespace

void add_policies(CommandLine& program, Run& run) {
  add_listing(program, run, policies(),
              {"policies", "Policies that choose a GPU and a start for one request",
               "cleave policies", "policies",
               "The index serves them all: a decision costs about the same on 100,000 GPUs as on "
               "100.",
               default_policy});
}

void add_schedulers(CommandLine& program, Run& run) {
  add_listing(
      program, run, schedulers(),
      {"schedulers", "Schedulers for simulate and compare, with their options", "cleave schedulers",
       "schedulers", "Written NAME:key=value;key=value, for example online:policy=first-fit."});
}

void add_forecasters(CommandLine& program, Run& run) {
  add_listing(
      program, run, forecasters(),
      {"forecasters", "Forecasters of a job's memory, with their options", "cleave forecasters",
       "forecasters", "Written NAME:key=value;key=value, for example trend:plateau=on;warm-up=5."});
}

void add_workload_list(CommandLine& workload, Run& run) {
  add_listing(workload, run, generators(),
              {"list", "The workloads that can be generated, with their options and defaults",
               "cleave workload list", "workloads",
               "Written NAME:key=value;key=value, for example 'normal-25:jobs=50;queries=2'."});
}

}  // namespace cleave::cli
