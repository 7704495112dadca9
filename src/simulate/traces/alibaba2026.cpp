#include "simulate/traces/alibaba2026.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/csv.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "model/workload_file.hpp"
#include "simulate/traces/trace_rows.hpp"

namespace cleave {

namespace {

constexpr double hour_s = 3600;
constexpr double most_replicas = 1000;

struct Request26 {
  double at = 0, seconds = 0;
  std::string model;
};

/// The requests for one base model.
struct Demand {
  std::map<std::int64_t, std::size_t> by_hour;
  std::size_t requests = 0;
  double seconds = 0;  // that they took
};

struct RequestColumns {
  std::size_t created, status, seconds, model;
};

/// The requests that succeeded; others are counted in the notes.
Result<std::vector<Request26>> read_requests(std::string_view text, const std::string& place,
                                             const TraceOptions& options,
                                             std::map<std::string, std::size_t>& notes) {
  auto csv = CsvReader::open(text, place);
  if (!csv) return std::unexpected(csv.error());
  RequestColumns columns{};
  const auto found = find_columns(*csv,
                                  {{"gmt_create", &columns.created},
                                   {"predict_status", &columns.status},
                                   {"exec_time_seconds", &columns.seconds},
                                   {"checkpoint_model_version_id", &columns.model}},
                                  "lora_request_trace.csv is needed");
  if (!found) return std::unexpected(found.error());
  std::vector<Request26> requests;
  std::vector<std::string> row;
  const auto read = each_row(
      options, [&] { return csv->next(row); },
      [&]() -> Result<void> {
        Cells cells(csv->place());
        if (trimmed(row[columns.status]) != "SUCCEED") {
          ++notes["requests_unserved"];
          return {};
        }
        Request26 request;
        request.at = cells.clock(row[columns.created], "gmt_create");
        request.seconds = cells.seconds(row[columns.seconds], "exec_time_seconds", "seconds");
        request.model = trimmed(row[columns.model]);
        if (!fit_for_a_name(request.model) || request.model.size() > 200)
          cells.refuse("the request has no checkpoint_model_version_id");
        if (!cells.error && request.seconds <= 0) cells.refuse("the request took no time");
        if (cells.error) return std::unexpected(*cells.error);
        requests.push_back(std::move(request));
        return {};
      });
  if (!read) return std::unexpected(read.error());
  return requests;
}

std::map<std::string, Demand> demand_of(const std::vector<Request26>& requests) {
  std::map<std::string, Demand> by_model;
  const double first = requests.front().at;
  for (const Request26& request : requests) {
    Demand& demand = by_model[request.model];
    ++demand.by_hour[static_cast<std::int64_t>((request.at - first) / hour_s)];
    ++demand.requests;
    demand.seconds += request.seconds;
  }
  return by_model;
}

/// The service as a line of a workload file.
Json service_of(const std::string& model, const Demand& demand, std::int64_t hours,
                const TraceOptions& options) {
  const double faster = options.compress.value();
  const double served = static_cast<double>(demand.requests) / demand.seconds;
  std::size_t busiest = 0;
  for (const auto& [hour, count] : demand.by_hour) busiest = std::max(busiest, count);
  const double needed = faster * static_cast<double>(busiest) / hour_s / served / genai_most_busy;
  Json load = Json::array();
  const auto begin = [&](std::int64_t hour, std::size_t count) {
    load.push_back({{"from_s", static_cast<double>(hour) * hour_s / faster},
                    {"requests_per_s", faster * static_cast<double>(count) / hour_s}});
  };
  std::int64_t until = -1;  // the hour that begins after the last one with requests
  for (const auto& [hour, count] : demand.by_hour) {
    if (until >= 0 && hour > until) begin(until, 0);
    begin(hour, count);
    until = hour + 1;
  }
  if (until < hours) begin(until, 0);
  return {
      {"id", model},
      {"memory_mib", genai_replica_memory.value},
      {"duration_s", static_cast<double>(hours) * hour_s / faster},
      {"service",
       {{"replicas", static_cast<std::int64_t>(std::clamp(std::ceil(needed), 1.0, most_replicas))},
        {"served_per_s", served},
        {"load", load}}}};
}

}  // namespace

Result<Workload> read_alibaba2026(std::string_view text, const std::string& place,
                                  const TraceOptions& options) {
  std::map<std::string, std::size_t> notes = {{"requests_unserved", 0}};
  auto requests = read_requests(text, place, options, notes);
  if (!requests) return std::unexpected(requests.error());
  if (requests->empty())
    return fail(ErrorKind::bad_input, place, "the trace has no request that was served",
                "their predict_status is SUCCEED");
  order(*requests, &Request26::at, options);
  const double span = requests->back().at - requests->front().at;
  const std::int64_t hours = 1 + static_cast<std::int64_t>(span / hour_s);
  if (const auto end = arrival_at(static_cast<double>(hours) * hour_s, options, place); !end)
    return std::unexpected(end.error());
  std::string lines;
  for (const auto& [model, demand] : demand_of(*requests)) {
    lines += service_of(model, demand, hours, options).dump();
    lines += '\n';
  }
  auto workload = parse_workload(lines, place);
  if (!workload) return workload;
  workload->notes = std::move(notes);
  workload->notes["requests"] = requests->size();
  note_options(*workload, "alibaba2026", options,
               {{"memory_mib", fmt::format("{}", genai_replica_memory.value)},
                {"most_busy", fmt::format("{}", genai_most_busy)}});
  return workload;
}

}  // namespace cleave
