#include "study/reproduce/memory_alarms.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "forecast/memory/memory_series.hpp"
#include "simulate/generate/generate.hpp"
#include "simulate/memory_truth.hpp"

namespace cleave {

namespace {

void count(const GrowthSeries& series, const Watched& watched, double share, AlarmCounts& counts) {
  const double capacity = static_cast<double>(series.peak().value) / share;
  const auto beyond = [&](MiB size) { return static_cast<double>(size.value) > capacity; };
  const auto end = static_cast<std::ptrdiff_t>(series.reports.size());
  const auto lost =
      std::ranges::find_if(series.reports, beyond, &MemoryReport::held) - series.reports.begin();
  const auto alarm =
      std::ranges::find_if(watched.said,
                           [&](const auto& said) { return said && beyond(said->at_least); }) -
      watched.said.begin();
  ++counts.jobs;
  if (lost < too_soon) {
    ++counts.at_once;
    return;
  }
  if (alarm < std::min(lost, end)) ++counts.restarted;
  if (lost < end && alarm + 1 <= (lost + 1) / 2) ++counts.caught;
}

/// What the workload's first job reports while it runs.
std::vector<MemoryReport> reports_of(const Workload& workload, std::uint64_t seed) {
  const MemoryTruth truth(workload, seed);
  const std::int64_t all = truth.iterations(workload.jobs.front());
  std::vector<MemoryReport> reports;
  for (std::int64_t i = 1; i <= all; ++i) reports.push_back(truth.report(0, i));
  return reports;
}

}  // namespace

Result<std::vector<AlarmCurve>> alarm_curves(const AlarmOptions& options,
                                             const ServingFacts& facts) {
  std::vector<AlarmCurve> curves;
  for (const std::string& spec : options.forecasters) {
    const auto forecaster = make_forecaster(spec);
    if (!forecaster) return std::unexpected(forecaster.error());
    for (const GrowthShape& shape : growth_shapes()) {
      if (shape.needs_facts && (facts.models.empty() || facts.traces.empty())) continue;
      AlarmCurve curve{spec, std::string(shape.name), {}};
      for (std::size_t job = 0; job < options.jobs; ++job) {
        const GrowthSeries series = shape.make(facts, options.seed * 1'000'003 + job);
        const Watched watched = watch(forecaster->get(), series.reports, {});
        for (std::size_t i = 0; i < peak_shares.size(); ++i)
          count(series, watched, peak_shares[i], curve.at[i]);
      }
      curves.push_back(std::move(curve));
    }
  }
  return curves;
}

AlarmCurve pooled(const std::vector<AlarmCurve>& curves, std::string_view forecaster) {
  AlarmCurve all{std::string(forecaster), "all that grow", {}};
  for (const AlarmCurve& curve : curves) {
    if (curve.forecaster != forecaster || curve.shape == "server" || curve.shape == "level")
      continue;
    for (std::size_t i = 0; i < peak_shares.size(); ++i) {
      all.at[i].jobs += curve.at[i].jobs;
      all.at[i].at_once += curve.at[i].at_once;
      all.at[i].restarted += curve.at[i].restarted;
      all.at[i].caught += curve.at[i].caught;
    }
  }
  return all;
}

Result<std::vector<PaperAlarm>> paper_alarms(int noise_mib, std::uint64_t seeds) {
  struct Case {
    const char* workload;
    MiB capacity;
    PaperAlarm printed;
  };
  const Case cases[] = {
      {"qwen2", MiB{9984}, {"Qwen2-7B", 94, 6, {}}},
      {"llama3", MiB{9984}, {"Llama-3", 72, 6, {}}},
      {"flan-t5-train", MiB{4864}, {"FLAN-T5 training", 41, 31, {}}},
      {"flan-t5", MiB{4864}, {"FLAN-T5 inference", 27, 21, {}}},
  };
  auto forecaster = make_forecaster("trend");
  if (!forecaster) return std::unexpected(forecaster.error());
  std::vector<PaperAlarm> alarms;
  for (const Case& each : cases) {
    PaperAlarm alarm = each.printed;
    alarm.worst = 0;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      const auto workload =
          generate_workload(fmt::format("{}:noise={}", each.workload, noise_mib), seed);
      if (!workload) return std::unexpected(workload.error());
      const auto series = reports_of(*workload, seed);
      const Watched watched = watch(forecaster->get(), series, each.capacity);
      if (!watched.restarted() || !alarm.worst)
        alarm.worst.reset();
      else
        alarm.worst = std::max(*alarm.worst, series[*watched.alarm].iteration);
    }
    alarms.push_back(alarm);
  }
  return alarms;
}

}  // namespace cleave
