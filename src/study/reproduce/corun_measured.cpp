// STREAM and ResNet-50 on GPU instances side by side, from the measurements of gpuless-thesis.

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include "base/format.hpp"
#include "base/text.hpp"
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
          .known = "each kernel's medians on GPU instances alone; compute instances are left out",
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
  if (resnet.skipped.empty())
    if (auto done = study_resnet(resnet, data.resnet.rows); !done)
      return std::unexpected(done.error());
  return std::vector<CorunExperiment>{std::move(stream), std::move(resnet)};
}

}  // namespace cleave
