#include "engine/schedulers/partition_choice.hpp"

#include <algorithm>
#include <cmath>

#include "base/random.hpp"

namespace cleave {

namespace {

/// Profiles that hold the request, small ones first.
std::vector<int> partitions(const Geometry& geometry, const ResolvedRequest& request,
                            std::size_t kind) {
  const bool named = std::holds_alternative<ByProfile>(request.request.wanted);
  const PlacementSet allowed = named ? request.candidates[kind] : request.holds[kind];
  std::vector<int> profiles;
  for (const PlacementId p : allowed)
    if (profiles.empty() || profiles.back() != geometry[p].profile_index)
      profiles.push_back(geometry[p].profile_index);
  std::ranges::stable_sort(profiles, {}, [&](int i) {
    const Profile& profile = geometry.model().profiles[static_cast<std::size_t>(i)];
    return std::pair(profile.compute, profile.memory);
  });
  return profiles;
}

}  // namespace

PartitionChooser::PartitionChooser(const SchedulerSetup& setup, const PartitionOptions& options)
    : setup_(setup), options_(options), rows_(setup.fleet.graphs().size()) {
  if (setup.facts == nullptr) return;
  for (const BatchRow& row : setup.facts->batch_rows()) {
    const GpuModel& model = setup.fleet.graphs()[row.kind]->geometry().model();
    rows_[row.kind].add(row.application, model.profiles[static_cast<std::size_t>(row.profile)].name,
                        {row.batch, row.latency_s, row.throughput_per_s});
  }
}

std::vector<PartitionPlan> PartitionChooser::plan(JobId job, RequestId request, Instant now) const {
  std::optional<Duration> left;
  if (setup_.facts != nullptr)
    if (const auto deadline = setup_.facts->deadline(job)) left = *deadline - now;
  std::vector<PartitionPlan> plans;
  for (std::size_t kind = 0; kind < rows_.size(); ++kind)
    plans.push_back(plan_on(kind, job, setup_.requests[request], left, now));
  return plans;
}

std::optional<Duration> PartitionChooser::predicted(JobId job, std::size_t kind,
                                                    int profile) const {
  if (setup_.facts == nullptr) return std::nullopt;
  const auto time = setup_.facts->time_on(job, kind, profile);
  if (!time || options_.time_error == 0) return time;
  const auto draw = kind * 64 + static_cast<std::uint64_t>(profile);
  const double error = options_.time_error * (2 * uniform_of(options_.seed, index(job), draw) - 1);
  return std::max(Duration{1},
                  Duration{std::llround(static_cast<double>(time->count()) * (1 + error))});
}

PartitionPlan PartitionChooser::plan_on(std::size_t kind, JobId job, const ResolvedRequest& request,
                                        std::optional<Duration> left, Instant now) const {
  const Geometry& geometry = setup_.fleet.graphs()[kind]->geometry();
  const std::vector<int> all = partitions(geometry, request, kind);
  if (all.empty()) return {};
  std::vector<int> in_time;
  for (const int profile : all) {
    const auto jct = predicted(job, kind, profile);
    const Duration margin{std::llround(options_.weighing.margin * 1e9)};
    if (!left || !jct || *jct + margin <= *left) in_time.push_back(profile);
  }
  PartitionPlan plan;
  plan.profile = in_time.empty() ? all.back() : choose(kind, job, in_time);
  plan.jct = predicted(job, kind, plan.profile);
  if (left && plan.jct && !in_time.empty())
    plan.until = now + *left - *plan.jct - Duration{std::llround(options_.weighing.margin * 1e9)};

  const GpuModel& model = geometry.model();
  const int largest = static_cast<int>(&model.largest() - model.profiles.data());
  const auto full = predicted(job, kind, largest);
  const Profile& chosen = model.profiles[static_cast<std::size_t>(plan.profile)];
  const double share = static_cast<double>(std::max(1, chosen.compute.value)) / model.compute.value;
  const double relative =
      full && plan.jct && plan.jct->count() > 0
          ? static_cast<double>(full->count()) / static_cast<double>(plan.jct->count())
          : share;
  // Times are whole nanoseconds: nine digits keep equally fast jobs equal.
  plan.relative = std::max(1e-9, std::round(relative * 1e9) / 1e9);
  return plan;
}

int PartitionChooser::choose(std::size_t kind, JobId job, const std::vector<int>& profiles) const {
  if (setup_.facts == nullptr) return profiles.front();
  const std::string* application = setup_.facts->application(job);
  const auto batch = setup_.facts->batch(job);
  if (application == nullptr || !batch) return profiles.front();
  const GpuModel& model = setup_.fleet.graphs()[kind]->geometry().model();
  std::vector<PartitionOption<double>> table;
  for (const int i : profiles) {
    const Profile& profile = model.profiles[static_cast<std::size_t>(i)];
    table.push_back({std::string(profile.name), std::max(1, profile.compute.value), 0});
  }
  const double fits = 0;  // that it fits is settled before
  const BatchJob<double> wanted{*application, *batch, std::span(&fits, 1), std::nullopt};
  const auto choice =
      choose_partition<double>(rows_[kind], table, wanted, options_.weighing).choice;
  return choice ? profiles[*choice] : profiles.front();
}

}  // namespace cleave
