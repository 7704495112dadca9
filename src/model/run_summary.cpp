#include "model/run_summary.hpp"

#include <algorithm>

#include "base/json.hpp"

namespace cleave {

namespace {

/// The exact mean, rounded down. Durations must not be negative; their sum may exceed the range of
/// a Duration.
Duration mean_of(const std::vector<Duration>& values) {
  constexpr std::int64_t second = 1'000'000'000;
  const auto count = static_cast<std::int64_t>(values.size());
  std::int64_t seconds = 0, rest = 0;
  for (const Duration value : values) {
    seconds += value.count() / second;
    rest += value.count() % second;
  }
  return Duration{seconds / count * second + (seconds % count * second + rest) / count};
}

}  // namespace

Distribution Distribution::of(std::vector<Duration>& values) {
  Distribution distribution;
  distribution.count = values.size();
  if (values.empty()) return distribution;
  distribution.mean = mean_of(values);
  // Values before the last percentile are at most as great as those after it.
  auto begin = values.begin();
  const auto at_least = [&](std::size_t percent) {
    const std::size_t rank = (percent * values.size() + 99) / 100;  // rounded up
    const auto at =
        values.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(rank, 1) - 1);
    std::nth_element(begin, at, values.end());
    begin = at;
    return *at;
  };
  distribution.p50 = at_least(50);
  distribution.p95 = at_least(95);
  distribution.p98 = at_least(98);
  distribution.p99 = at_least(99);
  distribution.max = *std::max_element(begin, values.end());
  return distribution;
}

namespace {

Json to_json(const Distribution& d) {
  if (d.count == 0)
    return {{"mean", nullptr}, {"p50", nullptr}, {"p95", nullptr},
            {"p98", nullptr},  {"p99", nullptr}, {"max", nullptr}};
  return {{"mean", in_seconds(d.mean)}, {"p50", in_seconds(d.p50)}, {"p95", in_seconds(d.p95)},
          {"p98", in_seconds(d.p98)},   {"p99", in_seconds(d.p99)}, {"max", in_seconds(d.max)}};
}

Json to_json(const std::vector<ReasonCount>& counts) {
  Json list = Json::array();
  for (const ReasonCount& entry : counts)
    list.push_back({{"reason", entry.reason}, {"count", entry.count}});
  return list;
}

template <class Value>
Json or_null(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

Json to_json(const RunSummary& s) {
  Json json{{"scheduler", s.scheduler}, {"seed", s.seed}, {"profiles", s.profiles}};
  for (const auto& [key, value] : s.workload) json["trace"][key] = value;
  json["read"] = s.read;
  json["left_out"] = to_json(s.left_out);
  for (const auto& [key, value] : s.notes) json[key] = value;
  json["jobs"] = s.jobs;
  json["finished"] = s.finished;
  json["failed"] = s.failed;
  json["rejected"] = s.rejected;
  json["waiting"] = s.waiting;
  json["rejections"] = to_json(s.rejections);
  const double seconds = in_seconds(s.makespan);
  json["makespan_s"] = seconds;
  json["throughput_jobs_per_s"] =
      seconds > 0 ? Json(static_cast<double>(s.finished) / seconds) : Json(nullptr);
  json["wait_s"] = to_json(s.wait);
  json["turnaround_s"] = to_json(s.turnaround);
  json["execution_s"] = to_json(s.execution);
  json["system_throughput"] = s.system_throughput;
  json["memory_allocated_utilization"] = s.memory_allocated_utilization;
  json["memory_used_utilization"] = or_null(s.memory_used_utilization);
  json["compute_utilization"] = s.compute_utilization;
  json["fragmentation_mean"] = s.fragmentation_mean;
  json["energy_j"] = or_null(s.energy_j);
  json["creates"] = s.creates;
  json["destroys"] = s.destroys;
  json["migrations"] = s.migrations;
  json["oom_restarts"] = s.oom_restarts;
  json["early_restarts"] = s.early_restarts;
  json["restarts"] = s.restarts;
  json["checkpoints"] = s.checkpoints;
  json["reconfigurations"] = s.reconfigurations;
  json["gpu_losses"] = s.gpu_losses;
  json["evictions"] = s.evictions;
  json["deadline_misses"] = s.deadline_misses;
  json["events"] = s.events;
  json["speeds_inferred"] = s.speeds_inferred;
  return json;
}

}  // namespace cleave
