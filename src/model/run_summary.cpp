#include "model/run_summary.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <tuple>
#include <type_traits>
#include <utility>

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

constexpr std::size_t buckets = 4096;

/// The value that this percentage of `values` do not exceed, for each of these. All values are
/// first counted in buckets between the least and the greatest: to bring a million into order, even
/// in part, takes longer than anything else that is done at the end of a run.
template <class Value, std::size_t count>
std::array<Value, count> at_least(const std::vector<Value>& values,
                                  const std::array<std::size_t, count>& percentages) {
  const auto [least, greatest] = std::ranges::minmax(values);
  const auto number = [](auto value) {
    if constexpr (std::is_same_v<Value, Duration>)
      return static_cast<double>(value.count());
    else
      return value;
  };
  const double width = number(greatest - least);
  const double scale = width > 0 ? (buckets - 1) / width : 0;
  // Never less for a greater value, as products are rounded.
  const auto bucket_of = [&](Value value) {
    return static_cast<std::size_t>(number(value - least) * scale);
  };
  std::vector<std::size_t> counts(buckets + 1);
  for (const Value value : values) ++counts[bucket_of(value)];
  std::array<Value, count> found;
  std::size_t bucket = 0, before = 0, gathered = SIZE_MAX;  // before: values below the bucket
  std::vector<Value> there;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t rank =
        std::max<std::size_t>((percentages[i] * values.size() + 99) / 100, 1) - 1;  // rounded up
    for (; before + counts[bucket] <= rank; ++bucket) before += counts[bucket];
    if (std::exchange(gathered, bucket) != bucket) {
      there.clear();
      std::ranges::copy_if(values, std::back_inserter(there),
                           [&](Value value) { return bucket_of(value) == bucket; });
    }
    const auto at = there.begin() + static_cast<std::ptrdiff_t>(rank - before);
    std::nth_element(there.begin(), at, there.end());
    found[i] = *at;
  }
  return found;
}

}  // namespace

Distribution Distribution::of(const std::vector<Duration>& values) {
  Distribution distribution;
  distribution.count = values.size();
  if (values.empty()) return distribution;
  distribution.mean = mean_of(values);
  const auto found = at_least(values, std::to_array<std::size_t>({50, 95, 98, 99, 100}));
  std::tie(distribution.p50, distribution.p95, distribution.p98, distribution.p99,
           distribution.max) = std::tuple_cat(found);
  return distribution;
}

Ratios Ratios::of(const std::vector<double>& values) {
  Ratios ratios;
  ratios.count = values.size();
  if (values.empty()) return ratios;
  double sum = 0;
  for (const double value : values) sum += value;
  ratios.mean = sum / static_cast<double>(values.size());
  const auto found = at_least(values, std::to_array<std::size_t>({95, 99, 100}));
  std::tie(ratios.p95, ratios.p99, ratios.max) = std::tuple_cat(found);
  return ratios;
}

double bounded_slowdown(Duration turnaround, Duration shortest) {
  return std::max(1.0, in_seconds(turnaround) / in_seconds(std::max(shortest, slowdown_bound)));
}

namespace {

Json to_json(const Ratios& r) {
  if (r.count == 0)
    return {{"mean", nullptr}, {"p95", nullptr}, {"p99", nullptr}, {"max", nullptr}};
  return {{"mean", r.mean}, {"p95", r.p95}, {"p99", r.p99}, {"max", r.max}};
}

Json to_json(const Distribution& d) {
  if (d.count == 0)
    return {{"mean", nullptr}, {"p50", nullptr}, {"p95", nullptr},
            {"p98", nullptr},  {"p99", nullptr}, {"max", nullptr}};
  return {{"mean", in_seconds(d.mean)}, {"p50", in_seconds(d.p50)}, {"p95", in_seconds(d.p95)},
          {"p98", in_seconds(d.p98)},   {"p99", in_seconds(d.p99)}, {"max", in_seconds(d.max)}};
}

Json to_json(const GpuHours& hours) {
  return {{"read", hours.read},     {"left_out", hours.left_out}, {"finished", hours.finished},
          {"failed", hours.failed}, {"rejected", hours.rejected}, {"waiting", hours.waiting}};
}

Json to_json(const std::vector<ServiceSummary>& services) {
  Json list = Json::array();
  for (const ServiceSummary& each : services)
    list.push_back({{"id", each.id},
                    {"replicas", each.replicas},
                    {"time_s", in_seconds(each.time)},
                    {"on_target_s", in_seconds(each.on_target)},
                    {"longest_off_target_s", in_seconds(each.longest_off)}});
  return list;
}

std::optional<double> throughput(const RunSummary& run) {
  const double seconds = in_seconds(run.makespan);
  return seconds > 0 ? std::optional(static_cast<double>(run.finished) / seconds) : std::nullopt;
}

std::optional<double> service_on_target(const RunSummary& run) {
  double time = 0, on_target = 0;
  for (const ServiceSummary& each : run.services) {
    time += in_seconds(each.time);
    on_target += in_seconds(each.on_target);
  }
  return time > 0 ? std::optional(on_target / time) : std::nullopt;
}

std::optional<double> service_off_target_max(const RunSummary& run) {
  std::optional<double> longest;
  for (const ServiceSummary& each : run.services)
    longest = std::max(longest, std::optional(in_seconds(each.longest_off)));
  return longest;
}

using S = RunSummary;
constexpr RunFigure rows[] = {
    {.name = "jobs", .unit = "job", .help = "jobs read and not left out", .value = &S::jobs},
    {.name = "finished",
     .unit = "job",
     .help = "jobs that finished",
     .value = &S::finished,
     .compared = Compared::yes,
     .place = 200,
     .line = "jobs",
     .words = "{n} finished"},
    {.name = "failed",
     .unit = "job",
     .help = "jobs that failed",
     .value = &S::failed,
     .compared = Compared::yes,
     .place = 210,
     .line = "jobs",
     .words = "{n} failed"},
    {.name = "rejected",
     .unit = "job",
     .help = "jobs that fit on no GPU of the fleet",
     .value = &S::rejected,
     .compared = Compared::yes,
     .place = 220,
     .line = "jobs",
     .words = "{n} rejected"},
    {.name = "waiting",
     .unit = "job",
     .help = "jobs still waiting when the run ends",
     .value = &S::waiting,
     .compared = Compared::yes,
     .place = 230,
     .line = "jobs",
     .words = "{n} waiting"},
    {.name = "rejections",
     .unit = "job",
     .help = "rejected jobs by reason",
     .value = &S::rejections},
    {.name = "makespan_s",
     .unit = "s",
     .help = "from the first arrival to the last end",
     .value = &S::makespan,
     .compared = Compared::with_same_jobs,
     .place = 10,
     .line = "makespan",
     .words = "{n}"},
    {.name = "throughput_jobs_per_s",
     .unit = "jobs/s",
     .help = "finished jobs over the makespan",
     .value = throughput,
     .compared = Compared::with_same_jobs,
     .place = 15,
     .line = "makespan",
     .words = "{n}",
     .optional = true},
    {.name = "wait_s",
     .unit = "s",
     .help = "from arrival to end without execution",
     .value = &S::wait,
     .compared = Compared::yes,
     .place = 20,
     .line = "wait",
     .words = "{n}"},
    {.name = "several_wait_mean_s",
     .unit = "s",
     .help = "the same of jobs of several GPUs or instances, the mean",
     .value = &S::several_wait_mean_s,
     .compared = Compared::yes,
     .place = 22,
     .line = "wait",
     .words = "of jobs of several places mean {n}",
     .optional = true},
    {.name = "turnaround_s",
     .unit = "s",
     .help = "from arrival to end",
     .value = &S::turnaround,
     .compared = Compared::yes,
     .place = 30,
     .line = "turnaround",
     .words = "{n}"},
    {.name = "execution_s",
     .unit = "s",
     .help = "time of all processes of a job",
     .value = &S::execution,
     .compared = Compared::yes,
     .place = 40,
     .line = "execution",
     .words = "{n}"},
    {.name = "bounded_slowdown",
     .unit = "ratio",
     .help = "turnaround over the job's shortest run time on the fleet, which counts as at least "
             "10 s; at least 1",
     .value = &S::slowdown,
     .compared = Compared::yes,
     .place = 42,
     .line = "slowdown",
     .words = "{n}",
     .optional = true},
    {.name = "first_wait_max_s",
     .unit = "s",
     .help = "longest wait for the first start, of jobs that never start until the end of the run",
     .value = &S::first_wait_max,
     .compared = Compared::yes,
     .place = 25},
    {.name = "time_per_output_token_s",
     .unit = "s",
     .help = "execution over output tokens, the mean of jobs that say how many they make",
     .value = &S::time_per_output_token_s,
     .compared = Compared::yes,
     .place = 45},
    {.name = "system_throughput",
     .unit = "1",
     .help = "Dyna-P, equation 5: mean over time and GPUs",
     .value = &S::system_throughput,
     .compared = Compared::yes,
     .place = 60},
    {.name = "memory_allocated_utilization",
     .unit = "%",
     .help = "share of memory slices held over time",
     .value = &S::memory_allocated_utilization,
     .compared = Compared::yes,
     .place = 55,
     .line = "held",
     .words = "{n} of memory"},
    {.name = "memory_used_utilization",
     .unit = "%",
     .help = "share of memory that jobs use, where it is known of all",
     .value = &S::memory_used_utilization,
     .compared = Compared::yes,
     .place = 57},
    {.name = "compute_utilization",
     .unit = "%",
     .help = "share of compute slices held over time",
     .value = &S::compute_utilization,
     .compared = Compared::yes,
     .place = 50,
     .line = "held",
     .words = "{n} of compute"},
    {.name = "fragmentation_mean",
     .unit = "1",
     .help = "fragmentation, mean over time and GPUs",
     .value = &S::fragmentation_mean,
     .compared = Compared::yes,
     .place = 70,
     .line = "fragmentation",
     .words = "{n} on average"},
    {.name = "energy_j",
     .unit = "J",
     .help = "energy of the fleet: jobs and idle GPUs; watts are a scenario, not a prediction",
     .value = &S::energy_j,
     .compared = Compared::with_same_jobs,
     .place = 72,
     .line = "energy",
     .words = "{n}"},
    {.name = "job_energy_j",
     .unit = "J",
     .help = "the part of it that jobs draw",
     .value = &S::job_energy_j,
     .place = 73,
     .line = "energy",
     .words = "{n} by jobs"},
    {.name = "idle_energy_j",
     .unit = "J",
     .help = "the part of it that GPUs draw without work",
     .value = &S::idle_energy_j},
    {.name = "sampled_energy_j",
     .unit = "J",
     .help = "what a power meter that polls would have added up (--sample)",
     .value = &S::sampled_energy_j},
    {.name = "power_mean_w",
     .unit = "W",
     .help = "power of the fleet, mean over time",
     .value = &S::power_mean_w,
     .place = 74,
     .line = "energy",
     .words = "{n} on average"},
    {.name = "power_peak_w",
     .unit = "W",
     .help = "highest power of the fleet at any time",
     .value = &S::power_peak_w,
     .place = 75,
     .line = "energy",
     .words = "{n} at most"},
    {.name = "predictions",
     .unit = "job",
     .help = "jobs whose time was predicted from --profiles-repository or --time-model, and that "
             "ran from beginning to end on one instance",
     .value = &S::predictions,
     .place = 1,
     .line = "predicted",
     .words = "{counted}",
     .optional = true},
    {.name = "prediction_error_median",
     .unit = "%",
     .help = "how far predicted times were off, median",
     .value = &S::prediction_error_median,
     .place = 2,
     .line = "predicted",
     .words = "off by {n} at the median",
     .optional = true},
    {.name = "prediction_error_p90",
     .unit = "%",
     .help = "how far predicted times were off, 90th percentile",
     .value = &S::prediction_error_p90,
     .place = 3,
     .line = "predicted",
     .words = "by {n} at the 90th percentile",
     .optional = true},
    {.name = "creates",
     .unit = "instance",
     .help = "GPU instances created",
     .value = &S::creates,
     .compared = Compared::yes,
     .place = 80,
     .line = "instances",
     .words = "{n} created"},
    {.name = "destroys",
     .unit = "instance",
     .help = "GPU instances destroyed",
     .value = &S::destroys,
     .place = 85,
     .line = "instances",
     .words = "{n} destroyed"},
    {.name = "migrations",
     .unit = "migration",
     .help = "jobs moved while they ran",
     .value = &S::migrations,
     .compared = Compared::yes,
     .place = 100,
     .line = "changes",
     .words = "{counted}",
     .optional = true},
    {.name = "oom_restarts",
     .unit = "time",
     .help = "jobs that ran out of memory",
     .value = &S::oom_restarts,
     .compared = Compared::yes,
     .place = 130,
     .line = "memory",
     .words = "out of memory {counted}",
     .optional = true},
    {.name = "early_restarts",
     .unit = "restart",
     .help = "jobs restarted on a forecast, before they ran out of memory",
     .value = &S::early_restarts,
     .compared = Compared::yes,
     .place = 140,
     .line = "memory",
     .words = "{counted} on a forecast",
     .optional = true},
    {.name = "offloads",
     .unit = "start",
     .help = "starts of jobs with part of their memory on the host",
     .value = &S::offloads,
     .compared = Compared::yes,
     .place = 105,
     .line = "memory",
     .words = "{counted} with offload",
     .optional = true},
    {.name = "restarts",
     .unit = "restart",
     .help = "jobs stopped by the scheduler, to start again",
     .value = &S::restarts,
     .compared = Compared::yes,
     .place = 110,
     .line = "changes",
     .words = "{counted}",
     .optional = true},
    {.name = "checkpoints",
     .unit = "checkpoint",
     .help = "jobs stopped by the scheduler, to resume later",
     .value = &S::checkpoints,
     .compared = Compared::yes,
     .place = 120,
     .line = "changes",
     .words = "{counted}",
     .optional = true},
    {.name = "compactions",
     .unit = "plan",
     .help = "plans by the policy that makes room for jobs that wait",
     .value = &S::compactions,
     .place = 176,
     .line = "compaction",
     .words = "{counted}",
     .optional = true},
    {.name = "compaction_moves",
     .unit = "move",
     .help = "jobs moved by those plans",
     .value = &S::compaction_moves,
     .place = 177,
     .line = "compaction",
     .words = "{counted}",
     .optional = true},
    {.name = "compactions_served",
     .unit = "job",
     .help = "plans after which the job for which room was made had its place",
     .value = &S::compactions_served,
     .place = 178,
     .line = "compaction",
     .words = "{counted} served",
     .optional = true},
    {.name = "disruptions_mean",
     .unit = "ratio",
     .help = "how often a job was moved, stopped, checkpointed or ran out of memory, mean over "
             "jobs that started",
     .value = &S::disruptions_mean,
     .compared = Compared::yes,
     .place = 141},
    {.name = "disruptions_max",
     .unit = "time",
     .help = "the same, the most of one job",
     .value = &S::disruptions_max,
     .compared = Compared::yes,
     .place = 142},
    {.name = "shared_starts",
     .unit = "start",
     .help = "starts of jobs on instances that others may share",
     .value = &S::shared_starts},
    {.name = "reconfigurations",
     .unit = "reconfiguration",
     .help = "changes of a GPU's instances",
     .value = &S::reconfigurations,
     .compared = Compared::yes,
     .place = 90,
     .line = "changes",
     .words = "{counted}",
     .optional = true},
    {.name = "creation_overhead_s",
     .unit = "s",
     .help = "time of jobs while their instance is made",
     .value = &S::creation_s,
     .compared = Compared::with_same_jobs,
     .place = 170,
     .line = "overheads",
     .words = "{n} until instances are made",
     .optional = true},
    {.name = "process_start_overhead_s",
     .unit = "s",
     .help = "time of jobs from the start of a process to its first progress",
     .value = &S::process_start_s,
     .compared = Compared::with_same_jobs,
     .place = 171,
     .line = "overheads",
     .words = "{n} starting processes",
     .optional = true},
    {.name = "checkpoint_overhead_s",
     .unit = "s",
     .help = "time of jobs while a checkpoint is written",
     .value = &S::checkpoint_s,
     .compared = Compared::with_same_jobs,
     .place = 172,
     .line = "overheads",
     .words = "{n} writing checkpoints",
     .optional = true},
    {.name = "restore_overhead_s",
     .unit = "s",
     .help = "time of jobs while a checkpoint is read",
     .value = &S::restore_s,
     .compared = Compared::with_same_jobs,
     .place = 173,
     .line = "overheads",
     .words = "{n} reading them",
     .optional = true},
    {.name = "lost_work_s",
     .unit = "s",
     .help = "time of jobs whose result was lost: they began again, or failed",
     .value = &S::lost_work_s,
     .compared = Compared::with_same_jobs,
     .place = 174,
     .line = "overheads",
     .words = "{n} of lost work",
     .optional = true},
    {.name = "waiting_s",
     .unit = "s",
     .help = "time of finished jobs without a place",
     .value = &S::waiting_s,
     .compared = Compared::with_same_jobs,
     .place = 175,
     .line = "overheads",
     .words = "{n} waiting",
     .optional = true},
    {.name = "stopping_reconfigurations",
     .unit = "reconfiguration",
     .help = "those of them for which jobs on the GPU had to stop",
     .value = &S::stopping_reconfigurations,
     .compared = Compared::yes,
     .place = 95,
     .line = "changes",
     .words = "{n} of them stopped jobs",
     .optional = true},
    {.name = "gpu_losses",
     .unit = "time",
     .help = "losses of GPUs",
     .value = &S::gpu_losses,
     .place = 145,
     .line = "faults",
     .words = "GPUs lost {counted}",
     .optional = true},
    {.name = "evictions",
     .unit = "job",
     .help = "jobs that lost their GPU",
     .value = &S::evictions,
     .compared = Compared::yes,
     .place = 150,
     .line = "faults",
     .words = "{counted} evicted",
     .optional = true},
    {.name = "deadline_misses",
     .unit = "job",
     .help = "jobs with a deadline that ended after it, or never",
     .value = &S::deadline_misses,
     .compared = Compared::yes,
     .place = 160,
     .line = "deadlines",
     .words = "{n} missed",
     .optional = true},
    {.name = "service_on_target",
     .unit = "%",
     .help = "share of the time from arrival to end in which services kept their target, of all "
             "services together",
     .value = service_on_target,
     .compared = Compared::yes,
     .place = 161,
     .line = "services",
     .words = "on target {n} of the time",
     .optional = true},
    {.name = "service_off_target_max_s",
     .unit = "s",
     .help = "longest time without a break in which a service missed its target",
     .value = service_off_target_max,
     .compared = Compared::yes,
     .place = 162,
     .line = "services",
     .words = "off it for {n} at the longest",
     .optional = true},
    {.name = "leases",
     .unit = "lease",
     .help = "leases read and not left out",
     .value = &S::leases,
     .place = 163,
     .line = "leases",
     .words = "{counted}",
     .optional = true},
    {.name = "leases_in_time",
     .unit = "%",
     .help = "share of the leases that say within what time they should start that did",
     .value = &S::leases_in_time,
     .compared = Compared::yes,
     .place = 164,
     .line = "leases",
     .words = "{n} in time",
     .optional = true},
    {.name = "lease_wait_s",
     .unit = "s",
     .help = "from the arrival of a lease until it can be used, or to the end of the run",
     .value = &S::lease_wait,
     .compared = Compared::yes,
     .place = 165,
     .line = "lease wait",
     .words = "{n}",
     .optional = true},
    {.name = "leases_promised",
     .unit = "lease",
     .help = "leases that waited and were told when their place will be free",
     .value = &S::leases_promised,
     .place = 166,
     .line = "leases",
     .words = "{n} promised a time",
     .optional = true},
    {.name = "lease_late_max_s",
     .unit = "s",
     .help = "longest time from the promised start of a lease to its place",
     .value = &S::lease_late_max_s,
     .compared = Compared::yes,
     .place = 167,
     .line = "leases",
     .words = "late by {n} at the most",
     .optional = true},
    {.name = "lease_given_back_slice_h",
     .unit = "1",
     .help = "compute slices that idle leases gave back, times hours",
     .value = &S::lease_given_back_slice_h,
     .compared = Compared::yes,
     .place = 168,
     .line = "leases",
     .words = "{n} slice-hours given back",
     .optional = true},
    {.name = "events", .unit = "event", .help = "arrivals and ends of jobs", .value = &S::events},
    {.name = "speeds_inferred",
     .unit = "job",
     .help = "jobs whose speed came from compute slices, without SM counts",
     .value = &S::speeds_inferred},
};

Json to_json(std::size_t count) {
  return count;
}
Json to_json(double value) {
  return value;
}
Json to_json(Duration duration) {
  return in_seconds(duration);
}
Json to_json(std::optional<double> value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

Json to_json(const std::vector<ReasonCount>& counts) {
  Json list = Json::array();
  for (const ReasonCount& entry : counts) {
    Json row{{"reason", entry.reason}, {"count", entry.count}};
    if (entry.gpu_hours > 0) row["gpu_hours"] = entry.gpu_hours;
    list.push_back(std::move(row));
  }
  return list;
}

std::span<const RunFigure> run_figures() {
  return rows;
}

Json to_json(const RunSummary& s) {
  Json json{{"scheduler", s.scheduler}, {"seed", s.seed}, {"profiles", s.profiles}};
  for (const auto& [key, value] : s.workload) json["trace"][key] = value;
  json["read"] = s.read;
  json["left_out"] = to_json(s.left_out);
  if (s.gpu_hours.read > 0) json["gpu_hours"] = to_json(s.gpu_hours);
  for (const auto& [key, value] : s.notes) json[key] = value;
  if (!s.services.empty()) json["services"] = to_json(s.services);
  for (const RunFigure& figure : run_figures())
    json[std::string(figure.name)] =
        std::visit([&](auto value) { return to_json(std::invoke(value, s)); }, figure.value);
  return json;
}

}  // namespace cleave
