// Figures 5, 6 and 8 of *An Online Fragmentation-Aware Scheduler*: what single jobs and instances
// do in a run.

#include <algorithm>
#include <map>

#include "base/format.hpp"
#include "graph/state_graph.hpp"
#include "simulate/generate/generate.hpp"
#include "simulate/simulator.hpp"
#include "study/reproduce/reproduce_online.hpp"

namespace cleave {

namespace {

constexpr std::string_view profiles[] = {"1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb"};
constexpr std::size_t profile_count = std::size(profiles);

std::size_t place_of(std::string_view profile) {
  return static_cast<std::size_t>(std::ranges::find(profiles, profile) - std::begin(profiles));
}

/// Follows instances, jobs and fragmentation of a run.
class Watch final : public RunObserver {
 public:
  Watch(const FleetFile& fleet, const Workload& workload)
      : workload_(&workload),
        graph_(StateGraph::of(fleet.geometries[0].model(),
                              ProfileChoice().on(fleet.geometries[0].model()))),
        held_(fleet.gpus.size()),
        seat_(workload.jobs.size()) {
    for (const std::string_view name : profiles) series.profiles.emplace_back(name);
    series.desired.resize(profile_count);
    series.actual.resize(profile_count);
  }

  void on(const RunEvent& event) override {
    const double at = in_seconds(event.at - Instant{});
    if (at > now_) settle(at);
    switch (event.kind) {
      case RunEvent::Kind::submitted:
        ++desired_[wanted(*event.job)];
        break;
      case RunEvent::Kind::created:
        ++actual_[profile_at(*event.placement)];
        break;
      case RunEvent::Kind::destroyed:
        --actual_[profile_at(*event.placement)];
        break;
      case RunEvent::Kind::started:
        take(*event.job, *event.gpu, *event.placement);
        break;
      case RunEvent::Kind::migrated:
        if (!moved_) before_moves_ = fragmentation();
        moved_ = true;
        release(*event.job);
        take(*event.job, *event.gpu, *event.placement);
        series.migrations.push_back(at);
        after_moves_ = fragmentation();
        break;
      case RunEvent::Kind::finished:
        release(*event.job);
        --desired_[wanted(*event.job)];
        break;
      default:
        break;
    }
  }

  void finish() {
    settle(now_);
    series.kept_idle = now_ > 0 ? idle_ / now_ : 0;
  }

  OnlineSeries series;

 private:
  struct Seat {
    GpuId gpu{};
    PlacementId placement = 0;
  };

  [[nodiscard]] std::size_t wanted(JobId job) const {
    const Request& request = workload_->requests[workload_->jobs[index(job)].request];
    return place_of(std::get<ByProfile>(request.wanted).profile);
  }
  [[nodiscard]] std::size_t profile_at(PlacementId placement) const {
    return place_of(graph_->geometry()[placement].profile->name);
  }
  void take(JobId job, GpuId gpu, PlacementId placement) {
    seat_[index(job)] = {gpu, placement};
    held_[index(gpu)].insert(placement);
  }
  void release(JobId job) {
    const Seat& seat = seat_[index(job)];
    held_[index(seat.gpu)].erase(seat.placement);
  }
  [[nodiscard]] double fragmentation() const {
    double sum = 0;
    for (const PlacementSet held : held_) sum += graph_->cost(graph_->find(held)).ratio().value();
    return sum / static_cast<double>(held_.size());
  }

  /// All that was decided at the instant before `next` has been told.
  void settle(double next) {
    for (std::size_t p = 0; p < profile_count; ++p) {
      series.desired[p].emplace_back(now_, desired_[p]);
      series.actual[p].emplace_back(now_, actual_[p]);
      idle_ += std::max(0, actual_[p] - desired_[p]) * (next - now_);
    }
    series.fragmentation.emplace_back(now_, fragmentation());
    if (moved_) {
      series.falls += after_moves_ < before_moves_ ? 1 : 0;
      series.rises += after_moves_ > before_moves_ ? 1 : 0;
    }
    moved_ = false;
    now_ = next;
  }

  const Workload* workload_;
  std::shared_ptr<const StateGraph> graph_;
  std::vector<PlacementSet> held_;
  std::vector<Seat> seat_;
  std::array<int, profile_count> desired_{}, actual_{};
  double now_ = 0, idle_ = 0, before_moves_ = 0, after_moves_ = 0;
  bool moved_ = false;
};

/// Methods of figure 5 that are described closely enough; nothing moves, so that only where tasks
/// are placed differs.
struct MethodRow {
  std::string_view name, spec;
};
constexpr MethodRow methods[] = {
    {"online", "online:threshold=tasks;migration=off"},
    {"first-fit", "online:policy=first-fit;migration=off"},
    {"rules of Optimal Placement", "online:policy=preference;migration=off"}};

/// Compute slices that all jobs hold if all run.
int slices_of(const Workload& workload) {
  const GpuModel& model = **find_gpu_model("A100-40GB");
  int slices = 0;
  for (const Job& job : workload.jobs) {
    const auto& wanted = std::get<ByProfile>(workload.requests[job.request].wanted);
    slices += model.find(wanted.profile)->compute.value;
  }
  return slices;
}

/// Workloads whose tasks hold less than three quarters of the GPUs together.
Result<std::vector<Workload>> workloads_at_once(const OnlineInputs& inputs, std::size_t tasks,
                                                std::size_t seeds) {
  std::vector<Workload> workloads;
  const std::string spec = online_generator("normal-25", inputs, tasks, 0);
  for (std::uint64_t seed = 1; workloads.size() < seeds && seed < 100 * seeds; ++seed) {
    auto workload = generate_workload(spec, seed);
    if (!workload) return std::unexpected(workload.error());
    if (slices_of(*workload) < 21) workloads.push_back(std::move(*workload));
  }
  return workloads;
}

/// Times per output token under one method: by model the sums over tasks and how many those are,
/// and the mean of each workload.
struct TokenTimes {
  std::map<std::string, std::pair<double, std::size_t>> by_model;
  std::vector<double> by_workload;
};

Result<TokenTimes> token_times(const FleetFile& fleet, const std::vector<Workload>& workloads,
                               std::string_view spec, LinkSharing link) {
  const auto scheduler = parse_scheduler(spec);
  if (!scheduler) return std::unexpected(scheduler.error());
  TokenTimes times;
  for (const Workload& workload : workloads) {
    std::vector<JobOutcome> outcomes;
    SimulationOptions options;
    options.world.link = link;
    options.world.has_power = false;
    options.outcomes = &outcomes;
    const auto summary = simulate(fleet, workload, *scheduler, options);
    if (!summary) return std::unexpected(summary.error());
    times.by_workload.push_back(summary->time_per_output_token_s.value_or(0));
    for (std::size_t job = 0; job < outcomes.size(); ++job) {
      const JobDetails& details = *workload.details_of(workload.jobs[job]);
      auto& [sum, count] = times.by_model[*details.application];
      sum += in_seconds(outcomes[job].execution) / static_cast<double>(*details.output_tokens);
      ++count;
    }
  }
  return times;
}

}  // namespace

Result<OnlineSeries> online_series(const OnlinePoint& point, std::size_t jobs) {
  const auto fleet = parse_fleet_in_short("4xA100-40GB", ProfileChoice());
  if (!fleet) return std::unexpected(fleet.error());
  const auto workload =
      generate_workload(online_generator("normal-25", point.inputs, jobs, 25 * point.unit_s), 1);
  if (!workload) return std::unexpected(workload.error());
  const auto scheduler = parse_scheduler("online");
  if (!scheduler) return std::unexpected(scheduler.error());
  Watch watch(*fleet, *workload);
  SimulationOptions options;
  options.world.link = point.inputs.link;
  options.observer = &watch;
  const auto summary = simulate(*fleet, *workload, *scheduler, options);
  if (!summary) return std::unexpected(summary.error());
  watch.finish();
  return std::move(watch.series);
}

Result<ConcurrentTokens> concurrent_tokens(const OnlineInputs& inputs, std::size_t seeds) {
  const auto fleet = parse_fleet_in_short("4xA100-40GB", ProfileChoice());
  if (!fleet) return std::unexpected(fleet.error());
  ConcurrentTokens result;
  result.models = {"bloom-1b7", "opt-6.7b", "bloom-7b1", "opt-13b"};
  result.tasks = {1, 2, 4, 6, 8};
  for (const MethodRow& method : methods) result.methods.emplace_back(method.name);
  for (const std::size_t tasks : result.tasks) {
    const auto workloads = workloads_at_once(inputs, tasks, seeds);
    if (!workloads) return std::unexpected(workloads.error());
    auto& of_tasks = result.token_s.emplace_back();
    std::vector<std::vector<double>> means;
    for (const MethodRow& method : methods) {
      const auto times = token_times(*fleet, *workloads, method.spec, inputs.link);
      if (!times) return std::unexpected(times.error());
      auto& of_method = of_tasks.emplace_back();
      for (const std::string& model : result.models) {
        const auto found = times->by_model.find(model);
        of_method.push_back(found == times->by_model.end()
                                ? 0
                                : found->second.first / static_cast<double>(found->second.second));
      }
      means.push_back(times->by_workload);
    }
    result.against.clear();
    for (std::size_t m = 1; m < means.size(); ++m)
      result.against.push_back(paired_change(means[0], means[m]));
  }
  return result;
}

}  // namespace cleave
