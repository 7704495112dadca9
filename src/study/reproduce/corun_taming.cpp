// The co-runs of *Taming GPU Underutilization*: the applications of which its text states a figure.

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "physics/slice_law.hpp"
#include "study/reproduce/corun_runs.hpp"
#include "study/reproduce/coruns.hpp"

namespace cleave {

namespace {

constexpr int seven = 7;

constexpr std::string_view taming_gpu = "H100-96GB-GH200";
constexpr std::string_view taming_layout =
    "static:layout=1g.12gb@0+1g.12gb@1+1g.12gb@2+1g.12gb@3+1g.12gb@4+1g.12gb@5+1g.12gb@6";
constexpr double job_s = 100;  // of a job alone: only ratios are compared

const GpuModel& gh200() {
  return **find_gpu_model(taming_gpu);
}

/// How GPU-bound work slows on 1g.
enum class Slows { law, sms, memory };

double bound_part(double ratio) {
  return ratio / (1 + ratio);
}

/// The GPU-bound part of a job of which seven on 1g do `gain` times the work of one on the whole
/// GPU, by the law.
double bound_of_gain(double gain) {
  const double h =
      gpu_bound_time(gh200(), *std::ranges::find(gh200().profiles, "1g.12gb", &Profile::name));
  const double q = std::pow(seven / gain, job_overlap);
  return bound_part(std::pow((q - 1) / (std::pow(h, job_overlap) - q), 1 / job_overlap));
}

/// The GPU-bound part of a job that keeps the whole GPU busy for this share of its time.
double bound_of_busy(double busy, Slows slows) {
  const double share = std::min(busy, 0.999);
  if (slows != Slows::law) return share;
  const double power = std::pow(share, job_overlap);
  return bound_part(std::pow(power / (1 - power), 1 / job_overlap));
}

CorunJob taming_job(Slows slows, double bound, double kappa) {
  CorunJob job{{}, "1g.12gb", job_s};
  job.speed.kappa = kappa;
  if (slows == Slows::law) {
    job.speed.law = SliceLaw{1 - bound, bound};
    return job;
  }
  Phases phases;
  phases.cpu = *duration_from_seconds(job_s * (1 - bound));
  (slows == Slows::sms ? phases.compute : phases.bandwidth) = *duration_from_seconds(job_s * bound);
  job.speed.phases = phases;
  return job;
}

/// What is predicted of an application.
enum class Of { gain, energy, peak, clock };

/// One application, and what the text states of it.
struct TamingApplication {
  std::string name;
  OpenInput load;         // its GPU-bound part; or what it draws alone, in watts
  bool by_power = false;  // the latter
  OpenInput kappa;
  struct Figure {
    Of of;
    Stated measured;
  };
  std::vector<Figure> figures;
};

const std::string class_one =
    "the text says that its speed follows the size of a slice (same paper)";

OpenInput bound_input(std::vector<double> values, std::size_t usual, std::string why) {
  return {"GPU-bound part", std::move(values), usual, std::move(why)};
}

OpenInput usual_kappa() {
  return {
      "power factor", {0, 1, 1.15}, 1, "no job's is known; 1.15 fits the heaviest (same paper)"};
}

/// SM occupancy of NekRS rises from 12 % (13.5 % in V-A) to 25 % when seven share the GPU: as much
/// as its throughput, if equal work keeps equal numbers of warps for equal times.
constexpr double nekrs_shared = 25, nekrs_alone = 12, nekrs_alone_too = 13.5;

std::vector<TamingApplication> taming_applications() {
  const double nekrs = bound_of_gain(nekrs_shared / nekrs_alone);
  const Stated slightly_less{0.95, 1};
  return {
      {.name = "NekRS",
       .load = bound_input({nekrs, bound_of_gain(nekrs_shared / nekrs_alone_too)}, 0,
                           "from SM occupancy, 12 or 13.5 % alone and 25 % shared (same paper)"),
       .kappa = usual_kappa(),
       .figures = {{Of::gain, {2.4, 2.4}}, {Of::energy, {.most = 0.5}}}},
      {.name = "FAISS",
       .load = bound_input({0, nekrs, 1}, 1, "not stated; NekRS is in the same class of scaling"),
       .kappa = usual_kappa(),
       .figures = {{Of::gain, {2.5, 2.5}}, {Of::energy, {.most = 0.9}}}},
      {.name = "Qiskit",
       .load = bound_input({0.9, 1}, 1, class_one),
       .kappa = {"power factor",
                 {1, 1.06, 1.15},
                 0,
                 "1 just reaches the cap; 1.06 to 1.15 fit its clocks (same paper)"},
       .figures = {{Of::gain, slightly_less},
                   {Of::energy, {0.95, 1.05}},
                   {Of::clock, {1815.0 / 1980, 1815.0 / 1980}},
                   {Of::peak, {670, 670}}}},
      {.name = "hotspot",
       .load = bound_input({0.9, 1}, 1, class_one),
       .kappa = usual_kappa(),
       .figures = {{Of::gain, slightly_less}, {Of::energy, {.least = 1}}}},
      {.name = "LAMMPS",
       .load = bound_input({0.8, 1}, 1, class_one),
       .kappa = usual_kappa(),
       .figures = {{Of::energy, {0.9, 0.9}}}},
      {.name = "llmc_shakespeare",
       .load = bound_input({0.8, 1}, 1, class_one),
       .kappa = usual_kappa(),
       .figures = {{Of::energy, {.least = 1}}}},
      {.name = "LLM training",
       .load = {"draws alone, W", {500, 575, 650}, 1, "stated as a range (same paper)"},
       .by_power = true,
       .kappa = {"power factor", {1, 1.15}, 0, "no job's is known"},
       .figures = {{Of::peak, {.least = 700}}}},
  };
}

CorunFigure figure_of(const TamingApplication::Figure& each) {
  switch (each.of) {
    case Of::gain:
      return {.name = "throughput gain", .measured = each.measured};
    case Of::energy:
      return {.name = "energy, of serial", .measured = each.measured};
    case Of::peak:
      return {.name = "peak of 7 x 1g, W", .measured = each.measured, .digits = 0};
    case Of::clock:
      break;
  }
  return {.name = "clock on whole GPU", .measured = each.measured};
}

CorunExperiment experiment_of(const TamingApplication& application) {
  CorunExperiment experiment{
      .name = application.name,
      .source = "Taming GPU Underutilization, V",
      .known = "seven jobs, one after another on the whole GPU and on 7 x 1g",
      .inputs =
          {open_choice("GPU-bound work slows by", {"law", "SMs", "memory slices"}, 0,
                       "the law's 7.2 on 1g is a rule fitted to A100s; SMs say 8.25, memory 8"),
           application.load,
           application.kappa,
           {"beta", {0.7, 1, 1.6}, 1, "clocks follow power^(1/beta); measurements disagree"},
           {"idle-factor", {1, 2}, 0, "no capture of an idle GH200, none with contexts open"}},
      .figures = {}};
  for (const auto& each : application.figures) experiment.figures.push_back(figure_of(each));
  return experiment;
}

/// The runs of one application with one value of each open input.
class TamingRuns {
 public:
  TamingRuns(const TamingApplication& application, std::span<const double> inputs)
      : slows_(static_cast<Slows>(static_cast<int>(inputs[0]))), kappa_(inputs[2]) {
    options_.reconfiguration = Duration::zero();
    options_.world.power = {.idle_factor = inputs[4], .beta = inputs[3]};
    load_ = inputs[1];
    by_power_ = application.by_power;
  }

  Result<double> figure(Of of) {
    const auto job = taming_job(slows_, bound(slows_), kappa_);
    if (of == Of::clock) return clock();
    const auto serial = run_jobs(taming_gpu, "full-gpu", equal_jobs(seven, job), options_);
    if (!serial) return std::unexpected(serial.error());
    const auto shared = run_jobs(taming_gpu, taming_layout, equal_jobs(seven, job), options_);
    if (!shared) return std::unexpected(shared.error());
    if (of == Of::gain) return serial->makespan_s / shared->makespan_s;
    return of == Of::energy ? shared->energy_j / serial->energy_j : shared->peak_w;
  }

 private:
  [[nodiscard]] double bound(Slows slows) const {
    if (!by_power_) return load_;
    const PowerBounds bounds = power_bounds(gh200(), options_.world.power);
    return bound_of_busy((load_ - in_watts(bounds.idle)) / (in_watts(bounds.span) * kappa_), slows);
  }

  /// From how much the cap slows work that is all compute.
  Result<double> clock() {
    SimulationOptions without = options_;
    without.world.has_power = false;
    const auto job = taming_job(Slows::law, bound(Slows::law), kappa_);
    const auto capped = run_jobs(taming_gpu, "full-gpu", {job}, options_);
    if (!capped) return std::unexpected(capped.error());
    const auto free = run_jobs(taming_gpu, "full-gpu", {job}, without);
    if (!free) return std::unexpected(free.error());
    return free->makespan_s / capped->makespan_s;
  }

  SimulationOptions options_;
  Slows slows_;
  double load_ = 0, kappa_;
  bool by_power_ = false;
};

}  // namespace

Result<std::vector<CorunExperiment>> taming_coruns() {
  std::vector<CorunExperiment> experiments;
  for (const TamingApplication& application : taming_applications()) {
    CorunExperiment& experiment = experiments.emplace_back(experiment_of(application));
    const auto done =
        predict(experiment, [&](std::span<const double> inputs) -> Result<std::vector<double>> {
          TamingRuns runs(application, inputs);
          std::vector<double> figures;
          for (const auto& each : application.figures) {
            const auto figure = runs.figure(each.of);
            if (!figure) return std::unexpected(figure.error());
            figures.push_back(*figure);
          }
          return figures;
        });
    if (!done) return std::unexpected(done.error());
  }
  return experiments;
}

}  // namespace cleave
