// Operations of module `schemes`: schemes A and B of MIGM and the sequential baseline, run by the
// product's own engine in its own simulator.

#include <algorithm>

#include "answer.hpp"
#include "input.hpp"
#include "operations.hpp"
#include "simulate/simulator.hpp"

namespace cleave::cases::schemes {

namespace {

constexpr std::int64_t second = 1'000'000'000;

/// Exact, since the inputs are decimals of at most nine digits.
Json time(Duration duration) {
  return rational(Ratio(duration.count(), second));
}

/// The demand is in the GB of profile names; the request is the memory that programs can use on the
/// smallest such profile. A demand beyond the largest profile stays beyond it.
MiB demand(const Geometry& geometry, double gb) {
  std::optional<MiB> least;
  for (const Profile* profile : geometry.profile_list())
    if (profile->attribute == Attribute::none && profile->name_gb() >= gb && profile->usable &&
        (!least || *profile->usable < *least))
      least = *profile->usable;
  return least.value_or(MiB{geometry.model().largest().usable->value + 1});
}

/// A run's schedule as written in the cases.
class Schedule final : public RunObserver {
 public:
  explicit Schedule(const Workload& workload, const Geometry& geometry)
      : workload_(&workload), geometry_(&geometry), begins_(workload.jobs.size()) {}

  void on(const RunEvent& event) override {
    if (event.kind == RunEvent::Kind::started) begins_[index(*event.job)] = *event.until;
    if (event.kind != RunEvent::Kind::finished) return;
    const PlacementId whole = geometry_->of_profile(largest()).first();
    const Placement& where = (*geometry_)[event.placement.value_or(whole)];
    const Instant begin = begins_[index(*event.job)];
    rows_.push_back({begin,
                     where.start,
                     {{"id", workload_->jobs[index(*event.job)].id},
                      {"profile", where.profile->name},
                      {"slice", where.start},
                      {"start", time(begin - Instant{})},
                      {"end", time(event.at - Instant{})}}});
  }

  Json json() {
    std::ranges::sort(rows_, {}, [](const Row& row) { return std::pair(row.begin, row.slice); });
    Json list = Json::array();
    for (const Row& row : rows_) list.push_back(row.json);
    return list;
  }

 private:
  struct Row {
    Instant begin;
    int slice;
    Json json;
  };
  [[nodiscard]] int largest() const {
    return static_cast<int>(&geometry_->model().largest() - geometry_->model().profiles.data());
  }

  const Workload* workload_;
  const Geometry* geometry_;
  std::vector<Instant> begins_;
  std::vector<Row> rows_;
};

/// `time`: a number, or one for each profile.
void read_times(JsonReader& in, Job& job, SpeedModel& speed, const Geometry& geometry) {
  if (auto table = in.has_object("time") ? in.object_if("time") : std::nullopt) {
    const std::string largest(geometry.model().largest().name);
    std::map<std::string, Duration, std::less<>> times;
    for (const Profile* profile : geometry.profile_list())
      if (table->has(profile->name))
        times[std::string(profile->name)] = table->seconds_if(profile->name).value_or(Duration{1});
    if (!times.contains(largest)) {
      in.refuse("time", "the largest profile has no time");
      return;
    }
    job.duration = times[largest];
    speed.table.emplace();
    for (const auto& [profile, takes] : times)
      speed.table->emplace(
          profile, static_cast<double>(job.duration.count()) / static_cast<double>(takes.count()));
    speed.table->emplace(mig_off, 1.0);
  } else {
    job.duration = in.seconds_if("time").value_or(Duration::zero());
    speed.flat = true;
  }
}

std::optional<Workload> read_workload(JsonReader& in, const Geometry& geometry) {
  Workload workload;
  for (JsonReader& each : in.objects("jobs")) {
    Job job;
    SpeedModel speed;
    job.id = each.text("id");
    read_times(each, job, speed, geometry);
    job.request = workload.intern(
        Request{BySize{demand(geometry, each.number_if("memory").value_or(0)), {}}, {}});
    job.speed = workload.intern(speed);
    workload.jobs.push_back(std::move(job));
  }
  return workload;
}

Json run(JsonReader& in, const std::string& scheduler) {
  const auto graph = read_device(in);
  if (graph == nullptr) return {};
  const Geometry& geometry = graph->geometry();
  const auto workload = read_workload(in, geometry);
  SimulationOptions options;
  options.reconfiguration = in.seconds_if("reconfig").value_or(Duration::zero());
  const bool whole = scheduler == "full-gpu";
  if (!workload) return {};
  FleetFile fleet;
  fleet.geometries.push_back(geometry);
  fleet.gpus.push_back({"gpu", 0, {}});
  Schedule schedule(*workload, geometry);
  options.observer = &schedule;
  const auto spec = parse_scheduler(scheduler);
  const auto summary = simulate(fleet, *workload, *spec, options);
  if (!summary) {
    in.refuse("", summary.error().text());
    return {};
  }
  return {{"schedule", schedule.json()},
          {"makespan", time(summary->makespan)},
          {"reconfigurations", whole ? 0 : summary->reconfigurations}};
}

}  // namespace

Json scheme_a(JsonReader& in) {
  const auto split = in.text_if("split");
  return run(in, split && *split == "equal" ? "scheme-a:shares=equal" : "scheme-a");
}

Json scheme_b(JsonReader& in) {
  return run(in, "scheme-b");
}

Json baseline(JsonReader& in) {
  return run(in, "full-gpu");
}

}  // namespace cleave::cases::schemes
