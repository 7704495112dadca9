// `cleave waste`: the processors and the memory that no instance has, for each profile alone, for a
// layout, or for any mix of instances; and the Taming paper's Table II.

#include "forecast/choice/choice_file.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/table.hpp"
#include "model/layout_text.hpp"

namespace cleave::cli {

namespace {

struct Options {
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

std::string number(std::optional<double> value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "?";
}

Json number_json(std::optional<double> value) {
  return value ? Json(*value) : Json();
}

std::vector<std::string> waste_cells(int count, const WastedResources& waste) {
  return {fmt::format("{}", count), number(waste.sms, 0), number(waste.sms_percent, 1),
          number(waste.memory, 1)};
}

/// Rows with memory in GiB.
void print_rows(const std::vector<WasteRow>& rows) {
  Table table({"profile", "SMs", "GiB", "printed", "SMs lost", "%", "GiB lost", "achievable",
               "SMs lost", "%", "GiB lost"});
  for (const WasteRow& row : rows) {
    std::vector<std::string> cells = {row.profile, number(row.sms, 0), number(row.memory, 1)};
    for (const std::string& cell : waste_cells(row.printed_instances, row.as_printed))
      cells.push_back(cell);
    for (const std::string& cell : waste_cells(row.achievable_instances, row.achievable))
      cells.push_back(cell);
    table.add(std::move(cells));
  }
  fmt::print("{}", table.text());
}

/// "132 SMs and 94.5 GiB that its largest instance can use"
std::string has(const GpuTotals& gib) {
  return fmt::format("{} SMs, and {} GiB that its largest instance can use", number(gib.sms, 0),
                     number(gib.memory, 1));
}

void print_sums(const WastedResources& gib) {
  fmt::print("lost: {} SMs ({} %), {} GiB\n", number(gib.sms, 0), number(gib.sms_percent, 1),
             number(gib.memory, 1));
}

Result<int> show_paper(bool json) {
  if (json) {
    print(published_waste_json());
    return 0;
  }
  fmt::print("Taming GPU Underutilization, Table II: {}\n\n", has(published_totals()));
  print_rows(published_waste_table());
  fmt::print(
      "\nprinted: instances by slices, as the paper's figures have it; achievable: as many as can "
      "exist.\n");
  return 0;
}

Result<int> show_input(const Options& options) {
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
  fmt::print("{}lost: {} SMs ({} %), memory {}\n", table.text(), number(result.sms, 0),
             number(result.sms_percent, 1), number(result.memory, 3));
  return 0;
}

Json model_json(const Geometry& geometry, const GpuTotals& totals) {
  return {{"model", geometry.model().key},
          {"profiles", geometry.profile_names()},
          {"gpu_sms", number_json(totals.sms)},
          {"gpu_memory", number_json(in_gib(totals.memory))}};
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
    fmt::print("{}: {}\n\n", geometry.model().key, has({totals.sms, in_gib(totals.memory)}));
    print_rows(rows);
    return 0;
  }
  Json answer = model_json(geometry, totals);
  answer["rows"] = Json::array();
  for (const WasteRow& row : rows)
    answer["rows"].push_back({{"profile", row.profile},
                              {"sms", number_json(row.sms)},
                              {"memory", number_json(row.memory)},
                              {"max_instances", row.achievable_instances},
                              {"instances_assumed_by_print", row.printed_instances},
                              {"as_printed", to_json(row.as_printed)},
                              {"with_max_instances", to_json(row.achievable)}});
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
  fmt::print("{}: {}\n\n", geometry.model().key, has({totals.sms, in_gib(totals.memory)}));
  Table table({"instance", "SMs", "GiB"});
  for (std::size_t i = 0; i < counts.size(); ++i)
    table.add({fmt::format("{}@{}", (*written)[i].profile->name, (*written)[i].start),
               number(counts[i].sms, 0), number(in_gib(counts[i].memory), 1)});
  fmt::print("{}", table.text());
  print_sums(result);
  return 0;
}

Result<int> waste_command(const Options& options) {
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
  auto options = std::make_shared<Options>();
  CommandLine* command = add_command(
      program, "waste", "Show the processors and memory of a GPU that no instance can use",
      "cleave waste H100-96GB-GH200 4g.48gb@0,3g.48gb@4");
  command->add_option("MODEL", options->model, "Model key or the driver's name for it");
  command->add_option("LAYOUT", options->layout,
                      "profile@start, separated by commas; by default each profile alone");
  command
      ->add_option(
          "--input", options->input,
          "A file {\"gpu_sms\", \"gpu_memory\", \"instances\": [{\"sms\", \"memory\", \"count\"}]}")
      ->check(not_empty());
  command->add_flag("--paper", options->paper, "Compute Table II of the Taming paper again");
  add_profiles(*command, options->profiles);
  add_json(*command, options->json);
  command->callback([options, &run] { run = [options] { return waste_command(*options); }; });
}

}  // namespace cleave::cli
