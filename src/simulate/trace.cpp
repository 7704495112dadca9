#include "simulate/trace.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/text.hpp"
#include "simulate/alibaba2023.hpp"
#include "simulate/read_text.hpp"

namespace cleave {

namespace {

constexpr TraceFormat table[] = {
    {"alibaba2023", "Alibaba cluster-trace-gpu-v2023, openb_pod_list_*.csv", read_alibaba2023},
};

}  // namespace

std::span<const TraceFormat> trace_formats() {
  return table;
}

Result<Workload> read_trace(std::string_view spec, const TraceOptions& options) {
  const std::size_t colon = spec.find(':');
  const std::string_view name = spec.substr(0, colon);
  const auto format = std::ranges::find(table, name, &TraceFormat::name);
  if (colon == std::string_view::npos || format == std::end(table)) {
    std::vector<std::string> known;
    for (const TraceFormat& other : table) known.push_back(fmt::format("{}:FILE", other.name));
    return fail(ErrorKind::bad_usage, "--trace",
                fmt::format("'{}' does not name a trace format", shown(spec)),
                fmt::format("write {}", any_of(known)));
  }
  const std::string path(spec.substr(colon + 1));
  if (path.empty())
    return fail(ErrorKind::bad_usage, "--trace", "no file is named", fmt::format("write {}:FILE", name));
  const auto text = read_text(path);
  if (!text) return std::unexpected(text.error());
  return format->read(*text, shown(path, 200), options);
}

}  // namespace cleave
