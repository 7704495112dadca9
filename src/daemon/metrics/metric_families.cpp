#include "daemon/metrics/metric_families.hpp"

#include <prometheus/text_serializer.h>

#include <cassert>
#include <sstream>

#include "base/format.hpp"
#include "base/text.hpp"
#include "daemon/metrics/metric_table.hpp"

namespace cleave {

namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;

prometheus::MetricType type_of(MetricKind kind) {
  switch (kind) {
    case MetricKind::gauge:
      return prometheus::MetricType::Gauge;
    case MetricKind::counter:
      return prometheus::MetricType::Counter;
    case MetricKind::histogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

ClientMetric::Histogram histogram_of(const TimeCounts& times) {
  ClientMetric::Histogram histogram;
  histogram.sample_count = times.count();
  histogram.sample_sum = times.sum_s();
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < times.bounds_s().size(); ++i)
    histogram.bucket.push_back({sum += times.counts()[i], times.bounds_s()[i]});
  return histogram;
}

/// Families being filled, each from its row of the table.
class Families {
 public:
  Families() {
    for (const MetricRow& row : metric_rows())
      all_.push_back({std::string(row.name), std::string(row.help), type_of(row.kind), {}});
  }
  /// `values`: of the labels, in the order of the row.
  void add(std::string_view name, std::vector<std::string> values, double value) {
    ClientMetric& metric = series(name, std::move(values));
    metric.gauge.value = value;
    metric.counter.value = value;
  }
  void add(std::string_view name, std::vector<std::string> values, std::int64_t value) {
    add(name, std::move(values), static_cast<double>(value));
  }
  void add(std::string_view name, std::vector<std::string> values, bool value) {
    add(name, std::move(values), value ? 1.0 : 0.0);
  }
  void add(std::string_view name, std::vector<std::string> values, const TimeCounts& times) {
    series(name, std::move(values)).histogram = histogram_of(times);
  }
  /// A series for each word.
  void add_words(std::string_view name, const std::vector<std::string>& before,
                 std::span<const std::string_view> words, std::span<const std::int64_t> counts) {
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::vector<std::string> values = before;
      values.emplace_back(words[i]);
      add(name, std::move(values), counts[i]);
    }
  }
  [[nodiscard]] std::vector<MetricFamily> take() {
    std::erase_if(all_, [](const MetricFamily& each) { return each.metric.empty(); });
    return std::move(all_);
  }

 private:
  ClientMetric& series(std::string_view name, std::vector<std::string> values) {
    const MetricRow& row = metric_row(name);
    ClientMetric& metric =
        all_[static_cast<std::size_t>(&row - metric_rows().data())].metric.emplace_back();
    if (row.labels.empty()) return metric;
    const auto labels = split(row.labels, ' ');
    assert(labels.size() == values.size());
    for (std::size_t i = 0; i < labels.size(); ++i)
      metric.label.push_back({std::string(labels[i]), std::move(values[i])});
    return metric;
  }

  std::vector<MetricFamily> all_;
};

void add_gpu(Families& to, const GpuFigures& gpu) {
  const std::string index = fmt::format("{}", gpu.index);
  to.add("cleave_gpu_info", {index, gpu.uuid, gpu.model}, true);
  to.add("cleave_gpu_ready", {index}, gpu.standing == GpuStanding::ready);
  to.add("cleave_gpu_conditions", {index}, gpu.conditions);
  to.add_words("cleave_memory_slices", {index}, slice_use_names, gpu.memory_slices);
  to.add_words("cleave_compute_slices", {index}, slice_use_names, gpu.compute_slices);
  for (const RoomFigures& room : gpu.room) {
    to.add("cleave_free_placements", {index, room.profile, "size"}, room.by_size);
    to.add("cleave_free_placements", {index, room.profile, "position"}, room.by_position);
  }
  to.add("cleave_fragmentation_ratio", {index}, gpu.fragmentation);
  if (gpu.power_w) to.add("cleave_gpu_power_watts", {index}, *gpu.power_w);
  if (gpu.energy_j) to.add("cleave_gpu_energy_joules_total", {index}, *gpu.energy_j);
  if (gpu.utilisation) to.add("cleave_gpu_utilization_ratio", {index}, *gpu.utilisation);
  for (const InstanceFigures& each : gpu.instances)
    if (each.gpu_instance)
      to.add("cleave_instance_info",
             {gpu.uuid, fmt::format("{}", *each.gpu_instance), index, each.profile,
              each.job == 0 ? "" : fmt::format("{}", each.job)},
             true);
}

void add_gpus(Families& to, const NodeFigures& node) {
  std::array<std::int64_t, gpu_standing_names.size()> standings{};
  std::map<std::string, std::array<std::int64_t, instance_standing_names.size()>> instances;
  for (const GpuFigures& gpu : node.gpus) {
    ++standings[static_cast<std::size_t>(gpu.standing)];
    for (const RoomFigures& room : gpu.room) instances[room.profile];
    for (const InstanceFigures& each : gpu.instances)
      ++instances[each.profile][static_cast<std::size_t>(each.standing)];
    add_gpu(to, gpu);
    const auto energy = node.tally.energy.find(gpu.uuid);
    for (std::size_t i = 0; i < use_kind_names.size(); ++i)
      to.add("cleave_energy_joules_total",
             {fmt::format("{}", gpu.index), std::string(use_kind_names[i])},
             energy == node.tally.energy.end() ? 0 : static_cast<double>(energy->second[i]) / 1000);
  }
  to.add_words("cleave_gpus", {}, gpu_standing_names, standings);
  for (const auto& [profile, counts] : instances)
    to.add_words("cleave_instances", {profile}, instance_standing_names, counts);
}

void add_changes(Families& to, const std::string& change, const ChangeTally& tally) {
  to.add("cleave_instance_changes_total", {change, "done"}, tally.done);
  to.add("cleave_instance_changes_total", {change, "refused"}, tally.refused);
  to.add("cleave_instance_change_duration_seconds", {change}, tally.took);
}

void add_jobs(Families& to, const NodeFigures& node) {
  const Tally& tally = node.tally;
  constexpr auto last_open = static_cast<std::size_t>(JobState::stopping);
  const std::span states(job_state_names);
  to.add_words("cleave_jobs", {}, states.first(last_open + 1), node.jobs);
  to.add_words("cleave_queue_jobs", {}, wait_reason_names, node.waiting);
  to.add("cleave_jobs_submitted_total", {}, tally.submitted);
  to.add_words("cleave_jobs_ended_total", {}, states.subspan(last_open + 1),
               std::span(tally.jobs_ended).subspan(last_open + 1));
  to.add("cleave_job_wait_seconds", {}, tally.waited);
  to.add("cleave_job_turnaround_seconds", {}, tally.turnaround);
  to.add("cleave_attempts_begun_total", {}, tally.attempts_begun);
  to.add_words("cleave_attempts_ended_total", {}, attempt_end_names, tally.attempts_ended);
  const auto ended = [&](AttemptEnd end) {
    return tally.attempts_ended[static_cast<std::size_t>(end)];
  };
  to.add("cleave_job_restarts_total", {"memory"}, ended(AttemptEnd::out_of_memory));
  to.add("cleave_job_restarts_total", {"early"}, ended(AttemptEnd::early_restart));
  to.add("cleave_job_moves_total", {}, tally.moves);
  add_changes(to, "create", tally.created);
  add_changes(to, "destroy", tally.destroyed);
}

void add_plans(Families& to, const NodeFigures& node) {
  if (node.plan_moves) to.add_words("cleave_plan_moves", {}, move_phase_names, *node.plan_moves);
  constexpr auto first_final = static_cast<std::size_t>(PlanState::finished);
  to.add_words("cleave_plans_ended_total", {}, std::span(plan_state_names).subspan(first_final),
               std::span(node.tally.plans_ended).subspan(first_final));
}

void add_daemon(Families& to, const NodeFigures& node, const DaemonFigures& daemon) {
  to.add("cleave_decision_duration_seconds", {}, node.decisions);
  to.add("cleave_store_write_duration_seconds", {}, node.writes);
  to.add("cleave_store_write_failures_total", {}, node.failed_writes);
  to.add("cleave_store_writable", {}, node.store_writes);
  to.add("cleave_store_size_bytes", {}, daemon.store_bytes);
  // The store's comes first; where jobs' folders lie beside it they are one.
  for (std::size_t i = 0; i < node.disks.size(); ++i)
    to.add("cleave_disk_free_bytes", {i == 0 ? "store" : "jobs"}, node.disks[i].free_bytes);
  to.add("cleave_paused", {}, node.paused);
  to.add("cleave_troubles", {}, node.troubles);
  to.add("cleave_scheduler_info", {node.scheduler}, true);
  to.add("cleave_build_info", {daemon.version, daemon.simulated ? "true" : "false"}, true);
  to.add("process_start_time_seconds", {}, in_seconds(daemon.started.time_since_epoch()));
  if (daemon.resident_bytes) to.add("process_resident_memory_bytes", {}, *daemon.resident_bytes);
}

}  // namespace

std::vector<MetricFamily> metric_families(const NodeFigures& node, const DaemonFigures& daemon) {
  Families families;
  add_gpus(families, node);
  add_jobs(families, node);
  add_plans(families, node);
  add_daemon(families, node, daemon);
  return families.take();
}

std::string metrics_text(const std::vector<MetricFamily>& families) {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  return std::move(text).str();
}

}  // namespace cleave
