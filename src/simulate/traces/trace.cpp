#include "simulate/traces/trace.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/read_limits.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"
#include "simulate/traces/alibaba2023.hpp"
#include "simulate/traces/alibaba2025.hpp"
#include "simulate/traces/alibaba2026.hpp"
#include "simulate/traces/miso_trace.hpp"
#include "simulate/traces/philly.hpp"
#include "simulate/traces/sacct.hpp"
#include "simulate/traces/swf.hpp"

namespace cleave {

namespace {

constexpr TraceFormat table[] = {
    {.name = "alibaba2023",
     .summary = "Alibaba cluster-trace-gpu-v2023, openb_pod_list_*.csv",
     .read = read_alibaba2023,
     .options = "rule several application"},
    {.name = "alibaba2025",
     .summary = "Alibaba cluster-trace-gpu-v2025, disaggregated_DLRM_trace.csv",
     .read = read_alibaba2025,
     .options = "rule several application"},
    {.name = "alibaba2026",
     .summary = "Alibaba cluster-trace-v2026-GenAI, lora_request_trace.csv",
     .read = read_alibaba2026,
     .options = ""},
    {.name = "philly",
     .summary = "Microsoft Philly as in Pollux's philly.csv",
     .read = read_philly,
     .options = "rule several shares application"},
    {.name = "miso",
     .summary = "the 100 jobs of MISO's experiment, jobs_100.csv",
     .read = read_miso,
     .options = "gap"},
    {.name = "sacct",
     .summary = "Slurm, what sacct -P prints with AllocTRES",
     .read = read_sacct,
     .options = "rule several sizes dcgm application"},
    {.name = "swf",
     .summary = "Standard Workload Format",
     .read = read_swf,
     .options = "rule several processors-per-gpu application"},
};

}  // namespace

bool TraceFormat::has_option(std::string_view option) const {
  const auto own = split(options, ' ');
  return option == "compress" || option == "limit" || std::ranges::find(own, option) != own.end();
}

std::span<const TraceFormat> trace_formats() {
  return table;
}

Result<const TraceFormat*> trace_format(std::string_view spec) {
  const std::size_t colon = spec.find(':');
  const auto format = std::ranges::find(table, spec.substr(0, colon), &TraceFormat::name);
  if (colon != std::string_view::npos && format != std::end(table)) return format;
  const auto known =
      names_of(table, [](const TraceFormat& other) { return fmt::format("{}:FILE", other.name); });
  return fail(ErrorKind::bad_usage, "--trace",
              fmt::format("'{}' does not name a trace format", shown(spec)),
              fmt::format("write {}", any_of(known)));
}

Result<Workload> read_trace(std::string_view spec, const TraceOptions& options) {
  const auto format = trace_format(spec);
  if (!format) return std::unexpected(format.error());
  const std::string path(spec.substr((*format)->name.size() + 1));
  if (path.empty())
    return fail(ErrorKind::bad_usage, "--trace", "no file is named",
                fmt::format("write {}:FILE", (*format)->name));
  const auto text = read_text(path, trace_limits);
  if (!text) return std::unexpected(text.error());
  auto workload = (*format)->read(*text, shown(path, 200), options);
  if (workload && options.bad_lines != nullptr && options.bad_lines->count > 0)
    workload->notes["bad_lines"] = options.bad_lines->count;
  return workload;
}

}  // namespace cleave
