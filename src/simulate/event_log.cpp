#include "simulate/event_log.hpp"

#include <iterator>

#include "base/format.hpp"
#include "base/json.hpp"

namespace cleave {

namespace {

/// Exact to the nanosecond, without zeros at the end: a double would lose digits of a long run.
void append_seconds(fmt::memory_buffer& line, Instant at) {
  const std::int64_t all = at.time_since_epoch().count();
  const auto size = all < 0 ? 0 - static_cast<std::uint64_t>(all) : static_cast<std::uint64_t>(all);
  fmt::format_to(std::back_inserter(line), "{}{}", all < 0 ? "-" : "", size / 1'000'000'000);
  std::uint64_t rest = size % 1'000'000'000;
  if (rest == 0) return;
  int digits = 9;
  for (; rest % 10 == 0; rest /= 10) --digits;
  fmt::format_to(std::back_inserter(line), ".{:0{}}", rest, digits);
}

std::string as_json(const std::string& text) {
  return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

EventLog::EventLog(const FleetFile& fleet, const Workload& workload, std::ostream& out)
    : fleet_(&fleet), out_(&out) {
  for (const Job& job : workload.jobs) job_names_.push_back(as_json(job.id));
  for (const GpuEntry& gpu : fleet.gpus) gpu_names_.push_back(as_json(gpu.name));
}

void EventLog::on(const RunEvent& event) {
  fmt::memory_buffer line;
  const auto end = std::back_inserter(line);
  fmt::format_to(end, R"({{"at_s": )");
  append_seconds(line, event.at);
  fmt::format_to(end, R"(, "event": "{}")", name(event.kind));
  if (event.job) fmt::format_to(end, R"(, "job": {})", job_names_[index(*event.job)]);
  if (event.rank) fmt::format_to(end, R"(, "rank": {})", *event.rank);
  if (event.gpu) fmt::format_to(end, R"(, "gpu": {})", gpu_names_[index(*event.gpu)]);
  if (event.gpu && event.placement) {
    const Geometry& geometry = fleet_->geometries[fleet_->gpus[index(*event.gpu)].geometry];
    const Placement& where = geometry[*event.placement];
    fmt::format_to(end, R"(, "profile": "{}", "start": {})", where.profile->name, where.start);
  }
  if (event.share) {
    fmt::format_to(end, R"(, "sharing": "{}")", name(event.share->mode));
    if (event.share->part > 0) fmt::format_to(end, R"(, "part": {})", event.share->part);
  }
  if (event.memory) fmt::format_to(end, R"(, "memory_mib": {})", event.memory->value);
  if (event.until) {
    fmt::format_to(end, R"(, "until_s": )");
    append_seconds(line, *event.until);
  }
  fmt::format_to(end, "}}\n");
  out_->write(line.data(), static_cast<std::streamsize>(line.size()));
}

}  // namespace cleave
