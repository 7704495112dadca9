// `cleave waste`: the processors and the memory that no instance has, for each profile alone, for a
// layout, or for any mix of instances; and the Taming paper's Table II.

#include "forecast/choice/choice_file.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"
#include "cli/columns.hpp"
#include "cli/command.hpp"
#include "cli/say.hpp"
#include "model/layout_text.hpp"

namespace cleave::cli {

namespace {

struct WasteCommandOptions {
  std::string model, input, profiles = "all";
  std::optional<std::string> layout;
  bool paper = false, json = false;
};

constexpr double mib_of_gib = 1024;

std::optional<double> in_gib(std::optional<double> mib) {
  return mib ? std::optional(*mib / mib_of_gib) : std::nullopt;
}

/// The same with memory in GiB, as the paper and the cases have it.
WastedResources in_gib(WastedResources waste) {
  waste.memory = in_gib(waste.memory);
  return waste;
}

const CellText whole = decimals(0, 1, "?"), tenths = decimals(1, 1, "?");

/// What is lost with some count of instances: three columns in text, an object in JSON.
void add_lost(Columns<WasteRow>& columns, std::string_view key, WastedResources WasteRow::*lost) {
  const auto add = [&](std::string_view heading, auto part, const CellText& cell) {
    columns.emplace_back(
        text_only, heading, [=](const WasteRow& row) { return row.*lost.*part; }, cell);
  };
  add("SMs lost", &WastedResources::sms, whole);
  add("%", &WastedResources::sms_percent, tenths);
  add("GiB lost", &WastedResources::memory, tenths);
  columns.emplace_back(key, json_only, [=](const WasteRow& row) { return to_json(row.*lost); });
}

/// Of rows with memory in GiB.
Columns<WasteRow> row_columns() {
  Columns<WasteRow> columns = {
      {"profile", "profile", &WasteRow::profile},
      {"sms", "SMs", &WasteRow::sms, whole},
      {"memory", "GiB", &WasteRow::memory, tenths},
      {"max_instances", json_only, &WasteRow::achievable_instances},
      {"instances_assumed_by_print", "printed", &WasteRow::printed_instances}};
  add_lost(columns, "as_printed", &WasteRow::as_printed);
  columns.emplace_back(text_only, "achievable", &WasteRow::achievable_instances);
  add_lost(columns, "with_max_instances", &WasteRow::achievable);
  return columns;
}

/// "132 SMs and 94.5 GiB that its largest instance can use"
std::string has(const GpuTotals& gib) {
  return fmt::format("{} SMs, and {} GiB that its largest instance can use",
                     whole(as_json(gib.sms)), tenths(as_json(gib.memory)));
}

std::string lost_sms(const WastedResources& waste) {
  return fmt::format("lost: {} SMs ({} %)", whole(as_json(waste.sms)),
                     tenths(as_json(waste.sms_percent)));
}

Result<int> show_paper(bool json) {
  if (json) {
    print(published_waste_json());
    return 0;
  }
  say("Taming GPU Underutilization, Table II: {}\n\n", has(published_totals()));
  say("{}\nprinted: instances by slices, as the paper's figures have it; achievable: as many as "
      "can "
      "exist.\n",
      text_rows(row_columns(), published_waste_table()));
  return 0;
}

Result<int> show_input(const WasteCommandOptions& options) {
  const auto text = read_text(options.input);
  if (!text) return std::unexpected(text.error());
  const auto question = parse_waste_question(*text, shown(options.input, 200));
  if (!question) return std::unexpected(question.error());
  if (!*question) return show_paper(options.json);
  const WastedResources result = wasted_resources((*question)->gpu, (*question)->instances);
  if (options.json) {
    print(to_json(result));
    return 0;
  }
  Table table({"instances", "SMs", "memory"});
  for (const InstanceCount& each : (*question)->instances)
    table.add({fmt::format("{}", each.count), fmt::format("{}", each.sms.value_or(0)),
               fmt::format("{}", each.memory.value_or(0))});
  say("{}{}, memory {}\n", table.text(), lost_sms(result),
      decimals(3, 1, "?")(as_json(result.memory)));
  return 0;
}

Json model_json(const Geometry& geometry, const GpuTotals& totals) {
  return {{"model", geometry.model().key},
          {"profiles", geometry.profile_names()},
          {"gpu_sms", as_json(totals.sms)},
          {"gpu_memory", as_json(in_gib(totals.memory))}};
}

Result<int> show_table(const Geometry& geometry, bool json) {
  const GpuTotals totals = totals_of(geometry.model());
  std::vector<WasteRow> rows = waste_table(geometry);
  for (WasteRow& row : rows) {
    row.memory = in_gib(row.memory);
    row.as_printed = in_gib(row.as_printed);
    row.achievable = in_gib(row.achievable);
  }
  if (!json) {
    say("{}: {}\n\n{}", geometry.model().key, has({totals.sms, in_gib(totals.memory)}),
        text_rows(row_columns(), rows));
    return 0;
  }
  Json answer = model_json(geometry, totals);
  answer["rows"] = json_rows(row_columns(), rows);
  print(answer);
  return 0;
}

Result<int> show_layout(const Geometry& geometry, const std::string& layout, bool json) {
  const auto written = parse_layout(layout, geometry);
  if (!written) return std::unexpected(written.error());
  if (const Verdict verdict = geometry.judge(*written); verdict.illegal) {
    const auto& [profile, start] = (*written)[verdict.culprit];
    return fail(
        ErrorKind::bad_input, "LAYOUT",
        fmt::format("{}@{} cannot be there: {}", profile->name, start, name(*verdict.illegal)),
        fmt::format("`cleave layout {}` says what can", geometry.model().key));
  }
  const GpuTotals totals = totals_of(geometry.model());
  const auto counts = counts_of(*written);
  const WastedResources result = in_gib(wasted_resources(totals, counts));
  if (json) {
    Json answer = model_json(geometry, totals);
    answer["layout"] = layout;
    answer.update(to_json(result));
    print(answer);
    return 0;
  }
  say("{}: {}\n\n", geometry.model().key, has({totals.sms, in_gib(totals.memory)}));
  Table table({"instance", "SMs", "GiB"});
  for (std::size_t i = 0; i < counts.size(); ++i)
    table.add({fmt::format("{}@{}", (*written)[i].profile->name, (*written)[i].start),
               whole(as_json(counts[i].sms)), tenths(as_json(in_gib(counts[i].memory)))});
  say("{}{}, {} GiB\n", table.text(), lost_sms(result), tenths(as_json(result.memory)));
  return 0;
}

Result<int> waste_command(const WasteCommandOptions& options) {
  const int asked =
      (options.model.empty() ? 0 : 1) + (options.input.empty() ? 0 : 1) + (options.paper ? 1 : 0);
  if (asked != 1) return fail(ErrorKind::bad_usage, "", "give one of MODEL, --input and --paper");
  if (options.paper) return show_paper(options.json);
  if (!options.input.empty()) return show_input(options);
  const auto chosen = choose_profiles(options.model, options.profiles);
  if (!chosen) return std::unexpected(chosen.error());
  const Geometry geometry(*chosen->model, chosen->profiles);
  return options.layout ? show_layout(geometry, *options.layout, options.json)
                        : show_table(geometry, options.json);
}

}  // namespace

void add_waste(CommandLine& program, Run& run) {
  const auto [command, options] = add_command(
      program, run, "waste", "Show the processors and memory of a GPU that no instance can use",
      "cleave waste H100-96GB-GH200 4g.48gb@0,3g.48gb@4", waste_command);
  command->add_option("MODEL", options.model, "Model key or the driver's name for it");
  command->add_option("LAYOUT", options.layout,
                      "profile@start, separated by commas; by default each profile alone");
  command
      ->add_option(
          "--input", options.input,
          "A file {\"gpu_sms\", \"gpu_memory\", \"instances\": [{\"sms\", \"memory\", \"count\"}]}")
      ->check(not_empty());
  command->add_flag("--paper", options.paper, "Compute Table II of the Taming paper again");
  add_profiles(*command, options.profiles);
  add_json(*command, options.json);
}

}  // namespace cleave::cli
