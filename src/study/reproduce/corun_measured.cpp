// STREAM and ResNet-50 on GPU instances side by side, and STREAM on compute instances, from the
// measurements of gpuless-thesis.

#include <algorithm>
#include <array>
#include <map>
#include <ranges>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "physics/instance_sharing.hpp"
#include "study/reproduce/corun_runs.hpp"
#include "study/reproduce/coruns.hpp"

namespace cleave {

namespace {

constexpr std::string_view gpu_name = "A100-40GB";
constexpr double minute_s = 60;  // what every job takes alone, so that all overlap to the end

const GpuModel& a100() {
  return **find_gpu_model(gpu_name);
}

/// The plain profile of "2g" or "2g.10gb"; null for what is none.
const Profile* profile_of(std::string_view text) {
  for (std::size_t size = 0; size < a100_sizes; ++size)
    if (text.substr(0, text.find('.')) == a100_names[size]) return &a100_profile(a100(), size);
  return nullptr;
}

/// "1g+2g+4g": its profiles, the largest first; empty for what is none.
std::vector<const Profile*> profiles_of(std::string_view layout) {
  std::vector<const Profile*> profiles;
  for (const std::string_view each : split(layout, '+')) {
    profiles.push_back(profile_of(each));
    if (profiles.back() == nullptr) return {};
  }
  std::ranges::stable_sort(profiles, std::ranges::greater{},
                           [](const Profile* profile) { return profile->compute.value; });
  return profiles;
}

/// Times, or speeds, by profile.
using ByProfileName = std::map<std::string, double>;

/// Runs one job on every instance of the layout. Returns the time of the slowest, of that alone;
/// `speeds` are those alone, 1 where there is none.
Result<double> longest_beside(std::string_view layout, const SpeedModel& speed,
                              const ByProfileName& speeds, const WorldTerms& world) {
  std::vector<CorunJob> jobs;
  for (const Profile* profile : profiles_of(layout)) {
    const auto known = speeds.find(std::string(profile->name));
    jobs.push_back({speed, std::string(profile->name),
                    minute_s * (known == speeds.end() ? 1 : known->second)});
  }
  SimulationOptions options;
  options.reconfiguration = Duration::zero();
  options.world = world;
  const auto run = run_jobs(gpu_name, "online", jobs, options);
  if (!run) return std::unexpected(run.error());
  const double slowest = std::ranges::max(run->execution_s);
  if (run->makespan_s > slowest)
    return fail(ErrorKind::internal, shown(layout, 200), "its jobs did not run side by side");
  return slowest / minute_s;
}

// STREAM.

/// A layout whose instances ran STREAM side by side.
struct StreamLayout {
  std::map<std::string, ByProfileName> kernels;  // of those that were measured there
  Stated measured;                               // time beside others, of that alone
};

void include(Stated& stated, double value) {
  stated.least = std::min(stated.least.value_or(value), value);
  stated.most = std::max(stated.most.value_or(value), value);
}

std::map<std::string, StreamLayout> stream_layouts(const std::vector<StreamRow>& rows) {
  std::map<std::string, ByProfileName> alone;  // by kernel
  for (const StreamRow& row : rows)
    if (row.setting.ends_with(" isolated"))
      if (const Profile* profile = profile_of(row.setting.substr(0, row.setting.find(' '))))
        alone[row.kernel][std::string(profile->name)] = row.median_s;
  std::map<std::string, StreamLayout> layouts;
  for (const StreamRow& row : rows) {
    const std::size_t open = row.setting.find(" (");
    if (open == std::string::npos || !row.setting.ends_with(')')) continue;
    const std::string layout = row.setting.substr(0, open);
    const Profile* profile =
        profile_of(std::string_view(row.setting).substr(open + 2, row.setting.size() - open - 3));
    if (profile == nullptr || profiles_of(layout).empty()) continue;
    const ByProfileName& times = alone[row.kernel];
    const auto known = times.find(std::string(profile->name));
    if (known == times.end()) continue;
    layouts[layout].kernels[row.kernel] = times;
    include(layouts[layout].measured, row.median_s / known->second);
  }
  return layouts;
}

CorunFigure beside_figure(std::string name, Stated measured) {
  return {.name = std::move(name), .measured = measured, .digits = 3};
}

CorunExperiment stream_experiment(const std::string& missing) {
  return {.name = "STREAM",
          .source = "gpuless-thesis, stream_bandwidth.csv",
          .known = "each kernel's medians on GPU instances alone",
          .inputs = {{"power factor", {0, 1, 1.15}, 1, "no job's is known"},
                     {"beta",
                      {0.7, 1, 1.6},
                      1,
                      "clocks follow power^(1/beta); what speed tables hold counts as compute"}},
          .skipped = missing};
}

Result<void> study_stream(CorunExperiment& experiment, const std::vector<StreamRow>& rows) {
  const auto layouts = stream_layouts(rows);
  for (const auto& [layout, each] : layouts)
    experiment.figures.push_back(beside_figure(fmt::format("{}, of alone", layout), each.measured));
  if (layouts.empty()) {
    experiment.skipped = "no row has GPU instances side by side";
    return {};
  }
  const auto figures = [&](std::span<const double> inputs) -> Result<std::vector<double>> {
    WorldTerms world;
    world.power.beta = inputs[1];
    std::vector<double> most;
    for (const auto& [layout, each] : layouts) {
      double slowest = 0;
      for (const auto& [kernel, times] : each.kernels) {
        // Relative to the fastest: only the layout's own profiles matter.
        const double whole = std::ranges::min(times | std::views::values);
        ByProfileName speeds;
        for (const auto& [profile, seconds] : times) speeds[profile] = whole / seconds;
        SpeedModel speed;
        speed.table = SpeedTable(speeds.begin(), speeds.end());
        speed.kappa = inputs[0];
        const auto longer = longest_beside(layout, speed, speeds, world);
        if (!longer) return std::unexpected(longer.error());
        slowest = std::max(slowest, *longer);
      }
      most.push_back(slowest);
    }
    return most;
  };
  return predict(experiment, figures);
}

// STREAM on compute instances of the whole GPU.

CorunExperiment compute_experiment(const std::string& missing) {
  return {.name = "STREAM, 1c and 3c",
          .source = "gpuless-thesis, stream_bandwidth.csv",
          .known = "bound by bandwidth; what 1c and 3c reach of it alone was set from these rows",
          .inputs = {{"share of launches",
                      {0, 0.01},
                      0,
                      "not stated; kernels take 1.6 ms or more, a launch takes microseconds"}},
          .skipped = missing};
}

/// The times of each kernel in a setting, relative to those in another.
Stated relative_times(const std::vector<StreamRow>& rows, std::string_view setting,
                      std::string_view reference) {
  Stated stated;
  for (const StreamRow& row : rows)
    for (const StreamRow& other : rows)
      if (row.setting == setting && other.setting == reference && row.kernel == other.kernel)
        include(stated, row.median_s / other.median_s);
  return stated;
}

/// A job that has one of `parts` compute instances, and the whole GPU's bandwidth for itself.
Result<double> time_in_compute_instance(int parts, double launches) {
  CorunJob job{{}, "", minute_s};
  Phases phases;
  phases.cpu = *duration_from_seconds(minute_s * launches);
  phases.bandwidth = *duration_from_seconds(minute_s * (1 - launches));
  job.speed.phases = phases;
  SimulationOptions options;
  options.reconfiguration = Duration::zero();
  options.world.has_power = false;
  const auto run = run_jobs(
      gpu_name, fmt::format("static:layout=7g.40gb@0;sharing=compute-instances;sharers={}", parts),
      {job}, options);
  if (!run) return std::unexpected(run.error());
  return run->makespan_s / minute_s;
}

/// The times on 1c and on 3c while 1c+3c+3c are in use, relative to the whole GPU. No scheduler
/// makes unlike compute instances, so the law is asked itself.
std::array<double, 2> times_of_three(double launches) {
  std::array<SharingJob, 3> jobs;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const double part = (i == 0 ? 1 : 3) / 7.0;
    jobs[i] = {.fixed = launches,
               .bandwidth = 1 - launches,
               .part = part,
               .reach = bandwidth_reach(part, 1, 1)};
  }
  std::array<double, 3> times{};
  times_together(SharingMode::compute_instances, {}, jobs, times);
  return {times[0], times[1]};
}

Result<void> study_compute_instances(CorunExperiment& experiment,
                                     const std::vector<StreamRow>& rows) {
  const Stated one = relative_times(rows, "1c isolated", "7g isolated");
  const Stated three = relative_times(rows, "3c isolated", "7g isolated");
  const Stated one_beside = relative_times(rows, "1c+3c+3c (1c)", "1c isolated");
  const Stated three_beside = relative_times(rows, "1c+3c+3c (3c)", "3c isolated");
  if (!one.least || !three.least || !one_beside.least || !three_beside.least) {
    experiment.skipped = "no row has compute instances alone and side by side";
    return {};
  }
  // The jobs did not overlap all the time: while they did, each took at least as long.
  experiment.figures = {beside_figure("1c alone, of whole GPU", one),
                        beside_figure("3c alone, of whole GPU", three),
                        beside_figure("1c+3c+3c (1c), of alone", {.least = one_beside.most}),
                        beside_figure("1c+3c+3c (3c), of alone", {.least = three_beside.most})};
  const auto figures = [](std::span<const double> inputs) -> Result<std::vector<double>> {
    const double launches = inputs[0];
    const auto one_alone = time_in_compute_instance(7, launches);
    const auto three_alone = time_in_compute_instance(2, launches);
    for (const auto* each : {&one_alone, &three_alone})
      if (!*each) return std::unexpected(each->error());
    const auto [one_of_three, three_of_three] = times_of_three(launches);
    return std::vector<double>{*one_alone, *three_alone, one_of_three / *one_alone,
                               three_of_three / *three_alone};
  };
  return predict(experiment, figures);
}

// ResNet-50.

CorunExperiment resnet_experiment(const std::string& missing) {
  return {.name = "ResNet-50",
          .source = "gpuless-thesis, resnet50_corun_per_layout.csv",
          .known = "batch 1: the median of one instance alone; no profile changes it",
          .inputs = {{"share of transfers",
                      {0, 0.0016},
                      1,
                      "not stated; an image of 602 kB takes 25 us of 16 ms at the link's rate"},
                     open_link()},
          .skipped = missing};
}

/// Layouts with the same number of instances.
struct ResnetLayouts {
  std::set<std::string> layouts;
  Stated measured;
};

Result<void> study_resnet(CorunExperiment& experiment, const std::vector<CorunRow>& rows) {
  const auto alone = std::ranges::find(rows, 1, &CorunRow::instances);
  std::map<int, ResnetLayouts> by_count;
  for (const CorunRow& row : rows) {
    if (alone == rows.end() || row.instances < 2 || profiles_of(row.layout).empty()) continue;
    by_count[row.instances].layouts.insert(row.layout);
    include(by_count[row.instances].measured, row.median_s / alone->median_s);
  }
  for (const auto& [count, each] : by_count)
    experiment.figures.push_back(
        beside_figure(fmt::format("{} at once, of alone", count), each.measured));
  if (by_count.empty()) {
    experiment.skipped = "no row has instances side by side, or none is alone";
    return {};
  }
  const auto figures = [&](std::span<const double> inputs) -> Result<std::vector<double>> {
    // Launches take its time: no profile changes it.
    SpeedModel speed;
    speed.law = SliceLaw{1, 0};
    speed.transfer_share = inputs[0];
    WorldTerms world;
    world.link = link_of(inputs[1]);
    std::vector<double> most;
    for (const auto& [count, each] : by_count) {
      double slowest = 0;
      for (const std::string& layout : each.layouts) {
        const auto longer = longest_beside(layout, speed, {}, world);
        if (!longer) return std::unexpected(longer.error());
        slowest = std::max(slowest, *longer);
      }
      most.push_back(slowest);
    }
    return most;
  };
  return predict(experiment, figures);
}

}  // namespace

Result<std::vector<CorunExperiment>> measured_coruns(const PhysicsData& data) {
  CorunExperiment stream = stream_experiment(data.stream.missing);
  CorunExperiment resnet = resnet_experiment(data.resnet.missing);
  if (stream.skipped.empty())
    if (auto done = study_stream(stream, data.stream.rows); !done)
      return std::unexpected(done.error());
  CorunExperiment compute = compute_experiment(data.stream.missing);
  if (compute.skipped.empty())
    if (auto done = study_compute_instances(compute, data.stream.rows); !done)
      return std::unexpected(done.error());
  if (resnet.skipped.empty())
    if (auto done = study_resnet(resnet, data.resnet.rows); !done)
      return std::unexpected(done.error());
  return std::vector<CorunExperiment>{std::move(stream), std::move(compute), std::move(resnet)};
}

}  // namespace cleave
