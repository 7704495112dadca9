// `cleave workload from FORMAT:FILE`: a trace as a workload file. `cleave workload info`: how many
// jobs a workload or a trace has, of how many GPUs or instances, and their GPU-hours.

#include <bit>
#include <map>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/read_limits.hpp"
#include "base/read_text.hpp"
#include "base/tell.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/forecast/model_input.hpp"
#include "cli/table.hpp"
#include "cli/trace_arguments.hpp"
#include "model/run_summary.hpp"
#include "model/workload_file.hpp"

namespace cleave::cli {

namespace {

struct Source {
  std::string name;
  TraceArguments trace_options;
  std::uint64_t seed = 1;
  bool json = false;
};

void add_source(CommandLine& command, Source& source, const std::string& help) {
  command.add_option("SOURCE", source.name, help)->required();
  source.trace_options.add(command);
  command.add_option("--seed", source.seed, "Seed of what traces draw")
      ->check(whole_number(0))
      ->default_str("1");
}

Result<Workload> read_trace_of(const Source& source) {
  BadLines bad;
  const auto options = source.trace_options.read(source.name, source.seed, bad);
  if (!options) return std::unexpected(options.error());
  auto workload = read_trace(source.name, *options);
  report(bad);
  return workload;
}

Result<int> write_workload(const Source& source) {
  const auto workload = read_trace_of(source);
  if (!workload) return std::unexpected(workload.error());
  fmt::print("{}", workload_text(*workload));
  tell("{}", trace_text(*workload));
  return 0;
}

/// A trace by its format's name, or else a workload file.
Result<Workload> read_source(const Source& source) {
  if (trace_format(source.name)) return read_trace_of(source);
  if (const auto none = source.trace_options.without_trace(); !none)
    return std::unexpected(none.error());
  const auto text = read_text(source.name, trace_limits);
  if (!text) return std::unexpected(text.error());
  // What kernels need depends on a fleet; nothing here does.
  BadLines bad;
  auto workload = parse_workload(
      *text, source.name == "-" ? "standard input" : shown(source.name, 200),
      model_sizer(source.name), [](const KernelUse&) { return ComputeSlices{0}; },
      source.trace_options.skip_bad_lines ? &bad : nullptr);
  report(bad);
  return workload;
}

/// Jobs of similar width.
struct Width {
  std::size_t jobs = 0;
  double gpu_hours = 0;
};

/// By the least power of two that is not below the number of places.
std::map<std::uint32_t, Width> widths_of(const Workload& workload) {
  std::map<std::uint32_t, Width> widths;
  for (const Job& job : workload.jobs) {
    Width& width = widths[std::bit_ceil(workload.requests[job.request].places)];
    ++width.jobs;
    width.gpu_hours += workload.gpu_hours_of(job);
  }
  return widths;
}

/// The least number of places in a row of widths.
std::uint32_t least_of(std::uint32_t most) {
  return most / 2 + 1;
}

Json info_json(const Workload& workload) {
  double hours = 0, left_out = 0;
  Json rows = Json::array();
  for (const auto& [most, width] : widths_of(workload)) {
    hours += width.gpu_hours;
    rows.push_back({{"least", least_of(most)},
                    {"most", most},
                    {"jobs", width.jobs},
                    {"gpu_hours", width.gpu_hours}});
  }
  for (const ReasonCount& entry : workload.left_out) left_out += entry.gpu_hours;
  Json json{{"jobs", workload.jobs.size()}, {"read", workload.read}};
  json["left_out"] = to_json(workload.left_out);
  for (const auto& [key, value] : workload.options) json["trace"][key] = value;
  for (const auto& [key, value] : workload.notes) json[key] = value;
  const bool of_trace = !workload.options.empty();
  json["gpu_hours"] = {{"read", of_trace ? workload.gpu_hours_read : hours},
                       {"left_out", left_out},
                       {"jobs", hours}};
  json["places"] = rows;
  return json;
}

std::string info_text(const Workload& workload) {
  Table table({"GPUs or instances", "jobs", "GPU-hours"});
  Width all;
  for (const auto& [most, width] : widths_of(workload)) {
    const std::uint32_t least = least_of(most);
    table.add({least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most),
               fmt::format("{}", width.jobs), fmt::format("{:.1f}", width.gpu_hours)});
    all.jobs += width.jobs;
    all.gpu_hours += width.gpu_hours;
  }
  table.add({"all", fmt::format("{}", all.jobs), fmt::format("{:.1f}", all.gpu_hours)});
  return trace_text(workload) + table.text();
}

Result<int> show_info(const Source& source) {
  const auto workload = read_source(source);
  if (!workload) return std::unexpected(workload.error());
  if (source.json)
    print(info_json(*workload));
  else
    fmt::print("{}", info_text(*workload));
  return 0;
}

}  // namespace

AddCommand add_workload_from, add_workload_info;

void add_workload_from(CommandLine& workload, Run& run) {
  const auto [command, source] =
      add_command(workload, run, "from",
                  "Write a trace as a workload: JSON lines on standard output, and on standard "
                  "error what was read and left out",
                  "cleave workload from sacct:log.txt > jobs.jsonl", write_workload);
  add_source(*command, source, fmt::format("A trace: {}; gzip or not", any_of(trace_forms())));
}

void add_workload_info(CommandLine& workload, Run& run) {
  const auto [command, source] =
      add_command(workload, run, "info",
                  "Count the jobs of a workload file or a trace, their GPUs or instances and their "
                  "GPU-hours",
                  "cleave workload info swf:log.swf --processors-per-gpu 7", show_info);
  add_source(*command, source,
             "A workload file, - for standard input, or a trace as in `cleave workload from`");
  add_json(*command, source.json);
}

}  // namespace cleave::cli
