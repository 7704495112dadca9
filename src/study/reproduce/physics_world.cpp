// V7 to V9: creating and destroying instances, instances side by side, energy.

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "base/format.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "physics/power.hpp"
#include "physics/reconfiguration.hpp"
#include "physics/speed_law.hpp"
#include "study/reproduce/reproduce_physics.hpp"

namespace cleave {

namespace {

std::vector<MeasuredLayout> measured_layouts(const std::vector<LayoutRow>& rows, bool create) {
  std::vector<MeasuredLayout> layouts;
  for (const LayoutRow& row : rows)
    if (row.create == create) layouts.push_back({row.instances, row.memory_slices, row.median_ms});
  return layouts;
}

/// The line base + slope N through layouts of at least `least` instances.
double line_at(const std::vector<MeasuredLayout>& layouts, int least, int instances) {
  double count = 0, n = 0, nn = 0, t = 0, nt = 0;
  for (const MeasuredLayout& each : layouts) {
    if (each.instances < least) continue;
    ++count;
    n += each.instances;
    nn += static_cast<double>(each.instances) * each.instances;
    t += each.ms;
    nt += each.instances * each.ms;
  }
  const double slope = (count * nt - n * t) / (count * nn - n * n);
  return (t - slope * n) / count + slope * instances;
}

struct LayoutScores {
  std::vector<Prediction> law, line, line_from_two, constant;
  std::vector<ReconfigurationLaw> fits;
};

LayoutScores without_each_count(const std::vector<MeasuredLayout>& layouts) {
  LayoutScores scores;
  std::set<int> counts;
  for (const MeasuredLayout& each : layouts) counts.insert(each.instances);
  for (const int held_out : counts) {
    std::vector<MeasuredLayout> others = layouts;
    std::erase_if(others, [&](const MeasuredLayout& each) { return each.instances == held_out; });
    const auto law = fit_reconfiguration(others);
    if (!law) continue;
    if (held_out > 1) scores.fits.push_back(*law);
    double mean = 0;
    for (const MeasuredLayout& each : others) mean += each.ms / static_cast<double>(others.size());
    for (const MeasuredLayout& each : layouts) {
      if (each.instances != held_out) continue;
      scores.line.push_back({"", line_at(others, 1, held_out), each.ms});
      if (held_out < 2) continue;
      scores.law.push_back({"", reconfiguration_ms(*law, held_out, each.memory_slices), each.ms});
      scores.line_from_two.push_back({"", line_at(others, 2, held_out), each.ms});
      scores.constant.push_back({"", mean, each.ms});
    }
  }
  return scores;
}

struct NamedTerm {
  std::string name;
  double ReconfigurationLaw::*value;
};
const std::array<NamedTerm, 3> terms = {{{"base, ms", &ReconfigurationLaw::base_ms},
                                         {"per instance, ms", &ReconfigurationLaw::per_instance_ms},
                                         {"per slice, ms", &ReconfigurationLaw::per_slice_ms}}};

void study_layout(PhysicsCheck& check, std::vector<PhysicsConstant>& constants,
                  const std::vector<LayoutRow>& rows, bool create) {
  const auto layouts = measured_layouts(rows, create);
  const LayoutScores scores = without_each_count(layouts);
  const auto fitted = fit_reconfiguration(layouts);
  if (scores.law.empty() || !fitted) {
    check.missing = "the layouts do not determine the law";
    return;
  }
  check.scores = {score_of("a + b N + c S", scores.law),
                  score_of("a + b N, from 2 instances", scores.line_from_two),
                  score_of("a + b N, all, 7g too", scores.line),
                  score_of("constant", scores.constant)};
  const ReconfigurationLaw& shipped = create ? create_law : destroy_law;
  for (const NamedTerm& term : terms) {
    PhysicsConstant each{create ? "create" : "destroy", term.name,           shipped.*term.value,
                         (*fitted).*term.value,         shipped.*term.value, shipped.*term.value};
    each.least = each.most = scores.fits.front().*term.value;
    for (const ReconfigurationLaw& fit : scores.fits) {
      each.least = std::min(each.least, fit.*term.value);
      each.most = std::max(each.most, fit.*term.value);
    }
    constants.push_back(each);
  }
}

/// "3g+3g (3g)": the instance in parentheses, measured while all of the layout run.
struct StreamSetting {
  std::string_view instance;
  bool compute_instances;
};
std::optional<StreamSetting> side_by_side(std::string_view setting) {
  const std::size_t open = setting.find(" (");
  if (open == std::string_view::npos || !setting.ends_with(')')) return std::nullopt;
  const std::string_view instance = setting.substr(open + 2, setting.size() - open - 3);
  return StreamSetting{instance, instance.ends_with('c')};
}

void study_stream(PhysicsCheck& check, const std::vector<StreamRow>& rows) {
  std::vector<Prediction> instances, compute;
  for (const StreamRow& row : rows) {
    const auto setting = side_by_side(row.setting);
    if (!setting) continue;
    const std::string alone = std::string(setting->instance) + " isolated";
    for (const StreamRow& other : rows)
      if (other.setting == alone && other.kernel == row.kernel)
        (setting->compute_instances ? compute : instances)
            .push_back({row.kernel, other.median_s, row.median_s});
  }
  if (instances.empty()) {
    check.missing = "no row has instances side by side";
    return;
  }
  check.scores = {score_of("as alone", instances),
                  score_of("compute instances of one 7g, as alone (not claimed)", compute)};
}

void study_resnet(PhysicsCheck& check, const std::vector<CorunRow>& rows) {
  const auto alone = std::ranges::find(rows, 1, &CorunRow::instances);
  std::vector<Prediction> beside;
  for (const CorunRow& row : rows)
    if (alone != rows.end() && row.instances > 1)
      beside.push_back({row.profile, alone->median_s, row.median_s});
  if (beside.empty()) {
    check.missing = "no row has instances side by side, or none is alone";
    return;
  }
  check.scores = {score_of("as alone", beside)};
}

/// Jobs one after another on the whole GPU, and on the instances of a layout.
struct EnergyMix {
  double serial_j = 0, shared_j = 0, serial_s = 0, shared_s = 0;
  double idle_share = 0;  // of the serial energy
  bool sums_exact = true, under_cap = true;
};

/// What a job draws on a slice: as its share of compute slices, or so that its energy is constant.
enum class ShareOf { slices, constant_energy };

class EnergyStudy {
 public:
  EnergyStudy(std::uint64_t seed, ShareOf share)
      : random_(seed), share_(share), gpu_(*find_gpu_model("A100-40GB")) {}

  EnergyMix mix() {
    constexpr std::array<std::array<std::size_t, 7>, 4> layouts = {{{0, 0, 0, 0, 0, 0, 0},
                                                                    {1, 1, 1, 0, 9, 9, 9},
                                                                    {2, 2, 9, 9, 9, 9, 9},
                                                                    {3, 1, 0, 9, 9, 9, 9}}};
    slices_.clear();
    for (const std::size_t size : layouts[random_.below(layouts.size())])
      if (size < a100_sizes) slices_.push_back(size);
    const std::vector<SliceLaw> jobs = some_jobs();
    EnergyMix mix;
    for (const SliceLaw& job : jobs) {
      const double time = time_on(job, 1);
      mix.serial_s += time;
      mix.serial_j += time * draw({load(job, a100_whole)}, mix);
    }
    mix.idle_share = in_watts(gpu_power(*gpu_).idle) * mix.serial_s / mix.serial_j;
    run_shared(jobs, mix);
    return mix;
  }

 private:
  /// Saturated, launch-bound and between.
  std::vector<SliceLaw> some_jobs() {
    std::vector<SliceLaw> jobs;
    for (std::uint64_t i = 20 + random_.below(40); i > 0; --i) {
      const double scale = 1 + 99 * random_.uniform(), floor = random_.uniform();
      jobs.push_back({scale * floor, scale * (1 - floor)});
    }
    return jobs;
  }

  [[nodiscard]] double bound_time(std::size_t size) const {
    return gpu_bound_time(*gpu_, a100_profile(*gpu_, size));
  }

  [[nodiscard]] InstanceLoad load(const SliceLaw& job, std::size_t size) const {
    const double h = bound_time(size);
    const double slices = static_cast<double>(a100_compute[size]) / a100_compute[a100_whole];
    // A kappa of 0.9 keeps the sum of shares 1 / h below the cap.
    return {share_ == ShareOf::slices ? slices : 1 / h, job.bound * h / time_on(job, h), 0.9};
  }

  [[nodiscard]] double draw(const std::vector<InstanceLoad>& loads, EnergyMix& mix) const {
    const PowerSplit power = power_of(*gpu_, loads);
    Milliwatts sum = power.idle;
    for (const Milliwatts each : power.instances) sum += each;
    mix.sums_exact = mix.sums_exact && sum == power.total;
    mix.under_cap = mix.under_cap && power.total <= gpu_power(*gpu_).cap;
    return in_watts(power.total);
  }

  /// The next job goes to the instance that is free first.
  void run_shared(const std::vector<SliceLaw>& jobs, EnergyMix& mix) const {
    struct Running {
      double end = 0;
      InstanceLoad load{0, 0, 0};
    };
    std::vector<Running> instances(slices_.size());
    double now = 0;
    const auto until = [&](double then) {
      std::vector<InstanceLoad> loads;
      for (const Running& each : instances)
        if (each.end > now) loads.push_back(each.load);
      mix.shared_j += (then - now) * draw(loads, mix);
      now = then;
    };
    std::size_t next = 0;
    while (true) {
      for (std::size_t i = 0; i < instances.size() && next < jobs.size(); ++i) {
        if (instances[i].end > now) continue;
        const SliceLaw& job = jobs[next++];
        instances[i] = {now + time_on(job, bound_time(slices_[i])), load(job, slices_[i])};
      }
      double end = 0;
      for (const Running& each : instances)
        if (each.end > now && (end == 0 || each.end < end)) end = each.end;
      if (end == 0) break;
      until(end);
    }
    mix.shared_s = now;
  }

  Random random_;
  ShareOf share_;
  const GpuModel* gpu_;
  std::vector<std::size_t> slices_;
};

}  // namespace

LayoutStudy study_layouts(const PhysicsData& data) {
  LayoutStudy study;
  for (const bool create : {true, false}) {
    PhysicsCheck& check = create ? study.create : study.destroy;
    check = check_of(
        "V7",
        fmt::format("{} all instances of a layout, medians", create ? "creating" : "destroying"),
        "layouts with other numbers of instances", {.worst = 0.025}, data.layouts.missing);
    if (check.missing.empty()) study_layout(check, study.constants, data.layouts.rows, create);
  }
  return study;
}

CorunStudy study_coruns(const PhysicsData& data) {
  CorunStudy study;
  study.stream = check_of("V8", "STREAM on GPU instances side by side", "the same instance alone",
                          {.worst = 0.005}, data.stream.missing);
  study.resnet =
      check_of("V8", "ResNet-50, batch 1, on GPU instances side by side",
               "one instance alone, of the same series", {.worst = 0.03}, data.resnet.missing);
  if (study.stream.missing.empty()) study_stream(study.stream, data.stream.rows);
  if (study.resnet.missing.empty()) study_resnet(study.resnet, data.resnet.rows);
  return study;
}

PhysicsCheck study_energy(std::uint64_t seed) {
  PhysicsCheck check = check_of(
      "V9", "energy of jobs that share, relative to one after another (an identity)",
      "1 - r0 (1 - 1 / gain)", {.worst = 0.05, .also = "power never above the cap, sums exact"});
  constexpr int mixes = 200;
  std::vector<Prediction> fixed;
  for (const ShareOf share : {ShareOf::constant_energy, ShareOf::slices}) {
    EnergyStudy study(seed, share);
    std::vector<Prediction> law;
    for (int i = 0; i < mixes; ++i) {
      const EnergyMix mix = study.mix();
      const double gain = mix.serial_s / mix.shared_s, ratio = mix.shared_j / mix.serial_j;
      law.push_back({"", 1 - mix.idle_share * (1 - 1 / gain), ratio});
      if (share == ShareOf::slices) fixed.push_back({"", 1 / gain, ratio});
      check.also_met = check.also_met && mix.sums_exact && mix.under_cap;
    }
    check.scores.push_back(score_of(share == ShareOf::slices ? "jobs draw by their compute slices"
                                                             : "dynamic energy of a job constant",
                                    law));
  }
  check.scores.push_back(score_of("fixed power while the GPU is busy", fixed));
  return check;
}

}  // namespace cleave
