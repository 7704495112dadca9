#include "engine/schedulers/partition_choice.hpp"

#include <algorithm>
#include <cmath>

#include "base/random.hpp"

namespace cleave {

namespace {

/// Profiles that hold the request and have room, small ones first.
std::vector<int> profiles_for(const Geometry& geometry, const ResolvedRequest& request,
                              std::size_t kind, PlacementSet room) {
  const bool named = std::holds_alternative<ByProfile>(request.request.wanted);
  const PlacementSet all = named ? request.candidates[kind] : request.holds[kind];
  std::vector<int> profiles;
  for (const PlacementId p : all.meets(room) ? all& room : all)
    if (profiles.empty() || profiles.back() != geometry[p].profile_index)
      profiles.push_back(geometry[p].profile_index);
  std::ranges::stable_sort(profiles, {}, [&](int i) {
    const Profile& profile = geometry.model().profiles[static_cast<std::size_t>(i)];
    return std::pair(profile.compute, profile.memory);
  });
  return profiles;
}

double share_of(const GpuModel& model, int profile) {
  const int slices = model.profiles[static_cast<std::size_t>(profile)].compute.value;
  return static_cast<double>(std::max(1, slices)) / model.compute.value;
}

}  // namespace

PartitionChooser::PartitionChooser(const SchedulerSetup& setup, const PartitionOptions& options)
    : setup_(setup), options_(options), rows_(setup.fleet.graphs().size()) {
  for (const auto& graph : setup.fleet.graphs()) room_.push_back(graph->geometry().all());
  if (setup.facts == nullptr) return;
  for (const BatchRow& row : setup.facts->batch_rows()) {
    const GpuModel& model = setup.fleet.graphs()[row.kind]->geometry().model();
    rows_[row.kind].add(row.application, model.profiles[static_cast<std::size_t>(row.profile)].name,
                        {row.batch, row.latency_s, row.throughput_per_s});
  }
}

std::optional<Duration> PartitionChooser::predicted(JobId job, std::size_t kind,
                                                    int profile) const {
  if (setup_.facts == nullptr) return std::nullopt;
  const auto time = setup_.facts->time_on(job, kind, profile);
  if (!time || options_.time_error == 0 || setup_.facts->predicts()) return time;
  const auto draw = kind * 64 + static_cast<std::uint64_t>(profile);
  const double error = options_.time_error * (2 * uniform_of(options_.seed, index(job), draw) - 1);
  return std::max(Duration{1},
                  Duration{std::llround(static_cast<double>(time->count()) * (1 + error))});
}

std::optional<Duration> PartitionChooser::left(JobId job, Instant now) const {
  if (setup_.facts == nullptr) return std::nullopt;
  const auto deadline = setup_.facts->deadline(job);
  if (!deadline) return std::nullopt;
  return *deadline - now - Duration{std::llround(options_.weighing.margin * 1e9)};
}

bool PartitionChooser::in_time(JobId job, std::size_t kind, int profile,
                               std::optional<Duration> left) const {
  const auto jct = predicted(job, kind, profile);
  return !left || !jct || *jct <= *left;
}

bool PartitionChooser::runs_on(std::size_t kind, RequestId request) const {
  const ResolvedRequest& resolved = setup_.requests[request];
  const bool named = std::holds_alternative<ByProfile>(resolved.request.wanted);
  return !(named ? resolved.candidates[kind] : resolved.holds[kind]).empty();
}

std::vector<int> PartitionChooser::partitions(std::size_t kind, JobId job, RequestId request,
                                              Instant now) const {
  std::vector<int> all = profiles_for(setup_.fleet.graphs()[kind]->geometry(),
                                      setup_.requests[request], kind, room_[kind]);
  const auto time = left(job, now);
  const auto late = [&](int profile) { return !in_time(job, kind, profile, time); };
  if (!std::ranges::all_of(all, late)) std::erase_if(all, late);
  return all;
}

PartitionPlan PartitionChooser::plan_among(std::size_t kind, JobId job,
                                           const std::vector<int>& partitions, Instant now,
                                           const SliceDemand& demand) const {
  PartitionPlan plan;
  plan.profile = options_.priced ? choose_priced(kind, job, partitions, demand)
                                 : choose(kind, job, partitions);
  plan.jct = predicted(job, kind, plan.profile);
  const auto time = left(job, now);
  if (time && plan.jct && *plan.jct <= *time) plan.until = now + *time - *plan.jct;

  const int largest = static_cast<int>(&model(kind).largest() - model(kind).profiles.data());
  const auto full = predicted(job, kind, largest);
  const double relative =
      full && plan.jct && plan.jct->count() > 0
          ? static_cast<double>(full->count()) / static_cast<double>(plan.jct->count())
          : share_of(model(kind), plan.profile);
  // Times are whole nanoseconds: nine digits keep equally fast jobs equal.
  plan.relative = std::max(1e-9, std::round(relative * 1e9) / 1e9);
  return plan;
}

int PartitionChooser::choose(std::size_t kind, JobId job, const std::vector<int>& profiles) const {
  if (setup_.facts == nullptr) return profiles.front();
  const std::string* application = setup_.facts->application(job);
  const auto batch = setup_.facts->batch(job);
  if (application == nullptr || !batch) return profiles.front();
  std::vector<PartitionOption<double>> table;
  for (const int i : profiles) {
    const Profile& profile = model(kind).profiles[static_cast<std::size_t>(i)];
    table.push_back({std::string(profile.name), std::max(1, profile.compute.value), 0});
  }
  const double fits = 0;  // that it fits is settled before
  const BatchJob<double> wanted{*application, *batch, std::span(&fits, 1), std::nullopt};
  const auto choice =
      choose_partition<double>(rows_[kind], table, wanted, options_.weighing).choice;
  return choice ? profiles[*choice] : profiles.front();
}

/// The job's times on the whole GPU, first, and on these: as measured of its batch, else as
/// predicted of itself. Where it has no time on the whole GPU, the least of the others.
std::optional<std::vector<double>> PartitionChooser::times(std::size_t kind, JobId job,
                                                           const std::vector<int>& profiles) const {
  const GpuModel& gpu = model(kind);
  const auto largest = static_cast<int>(&gpu.largest() - gpu.profiles.data());
  const std::string* application = setup_.facts->application(job);
  const auto batch = setup_.facts->batch(job);
  const auto measured = [&](int profile) -> std::optional<double> {
    if (application == nullptr || !batch) return std::nullopt;
    const auto* row = rows_[kind].find(
        *application, gpu.profiles[static_cast<std::size_t>(profile)].name, *batch);
    return row == nullptr ? std::nullopt : std::optional(row->latency);
  };
  const auto expected = [&](int profile) -> std::optional<double> {
    const auto jct = predicted(job, kind, profile);
    return jct ? std::optional(in_seconds(*jct)) : std::nullopt;
  };
  const auto all_by = [&](const auto& time) -> std::optional<std::vector<double>> {
    std::vector<double> all{0};
    for (const int profile : profiles) {
      const auto at = time(profile);
      if (!at || *at <= 0) return std::nullopt;
      all.push_back(*at);
    }
    const auto whole = time(largest);
    all[0] = whole && *whole > 0 ? *whole : *std::min_element(all.begin() + 1, all.end());
    return all;
  };
  auto found = all_by(measured);
  return found ? found : all_by(expected);
}

int PartitionChooser::choose_priced(std::size_t kind, JobId job, const std::vector<int>& profiles,
                                    const SliceDemand& demand) const {
  if (setup_.facts == nullptr) return profiles.front();
  const auto time = times(kind, job, profiles);
  if (!time) return profiles.front();
  const double lambda = options_.weighing.lambda;
  int best = profiles.front();
  std::optional<double> most;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const double longer = (*time)[i + 1] / (*time)[0];
    const auto held = predicted(job, kind, profiles[i]);
    const double price = demand.price(held ? in_seconds(*held) : 0);
    const double weight = lambda * (1 - longer) + (1 - lambda) * (1 / longer - 1) -
                          price * share_of(model(kind), profiles[i]) * longer;
    if (most && !clearly_greater(weight, *most)) continue;  // small ones first
    best = profiles[i];
    most = weight;
  }
  return best;
}

}  // namespace cleave
