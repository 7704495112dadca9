// The co-runs of *Taming GPU Underutilization*: the applications of which its text states a figure,
// seven at a time by each of its schemes of sharing.

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>

#include "base/format.hpp"
#include "physics/slice_law.hpp"
#include "simulate/generate/taming_applications.hpp"
#include "study/reproduce/corun_runs.hpp"
#include "study/reproduce/coruns.hpp"

namespace cleave {

namespace {

constexpr int seven = 7;

/// How seven jobs share the GPU.
enum class Scheme : std::uint8_t { serial, instances, compute_instances, mps, time_slicing };

struct SchemeRow {
  std::string name, brief;
  std::string_view scheduler;
};

/// By scheme.
const std::array<SchemeRow, 5>& schemes() {
  static const std::array<SchemeRow, 5> all = {
      {{"serial", "serial", "full-gpu"},
       {"7 x 1g", "1g",
        "static:layout=1g.12gb@0+1g.12gb@1+1g.12gb@2+1g.12gb@3+1g.12gb@4+1g.12gb@5+1g.12gb@6"},
       {"7 x 1c.7g", "1c.7g", "static:layout=7g.96gb@0;sharing=compute-instances;sharers=7"},
       {"MPS 7 x 13 %", "MPS", "static:layout=7g.96gb@0;sharing=mps;sharers=7;percent=13"},
       {"time slicing", "time slicing", "static:layout=7g.96gb@0;sharing=time-slicing;sharers=7"}}};
  return all;
}

const SchemeRow& row_of(Scheme scheme) {
  return schemes()[static_cast<std::size_t>(scheme)];
}

constexpr double job_s = 100;  // of a job alone: only ratios are compared

const GpuModel& gh200() {
  return **find_gpu_model(taming_gpu);
}

/// How GPU-bound work slows on 1g.
enum class Slows { law, sms, memory };

/// The GPU-bound part of a job that keeps the whole GPU busy for this share of its time.
double bound_of_busy(double busy, Slows slows) {
  const double share = std::min(busy, 0.999);
  if (slows != Slows::law) return share;
  const double power = std::pow(share, job_overlap);
  return bound_part(std::pow(power / (1 - power), 1 / job_overlap));
}

CorunJob taming_job(Slows slows, double bound, double kappa) {
  CorunJob job{{}, "", job_s};
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
enum class Of { gain, energy, least_energy, peak, clock };

/// One application, and what the text states of it.
struct TamingCorun {
  std::string name;
  OpenInput load;         // its GPU-bound part; or what it draws alone, in watts
  bool by_power = false;  // the latter
  OpenInput kappa;
  struct Figure {
    Of of;
    Stated measured;
    Scheme scheme = Scheme::instances, over = Scheme::serial;  // of gain and energy
    std::string_view word = {};                                // what our bounds stand for
  };
  std::vector<Figure> figures;
  bool fastest_on_instances = true;  // faster there than on compute instances and under MPS
};

/// The GPU-bound part of an application of the table.
OpenInput bound_input(std::string_view application) {
  const TamingScaling& scaling = taming_application(application).scaling;
  return {"GPU-bound part", scaling.bound, scaling.usual, scaling.why};
}

OpenInput usual_kappa() {
  return {
      "power factor", {0, 1, 1.15}, 1, "no job's is known; 1.15 fits the heaviest (same paper)"};
}

/// As much more throughput as SM occupancy, which rises when seven share the GPU.
constexpr Stated nekrs_occupancy = {nekrs_shared / nekrs_alone_too, nekrs_shared / nekrs_alone};
/// Bandwidth that seven of llama3 use in %: as much as their throughput, if equal work moves equal
/// bytes.
constexpr double llama_slicing = 35, llama_mps = 52, llama_instances = 58;

Stated same(double value) {
  return {value, value};
}

std::vector<TamingCorun> taming_rows() {
  const Stated slightly_less{0.95, 1};
  return {
      {.name = "NekRS",
       .load = bound_input("nekrs"),
       .kappa = usual_kappa(),
       .figures = {{Of::gain, {2.4, 2.4}},
                   {Of::energy, {.most = 0.5}},
                   {Of::gain, nekrs_occupancy, Scheme::mps},
                   {Of::gain, nekrs_occupancy, Scheme::time_slicing}},
       .fastest_on_instances = false},
      {.name = "FAISS",
       .load = bound_input("faiss"),
       .kappa = usual_kappa(),
       .figures = {{Of::gain, {2.5, 2.5}}, {Of::energy, {.most = 0.9}}}},
      {.name = "Qiskit",
       .load = bound_input("qiskit"),
       .kappa = {"power factor",
                 {1, 1.06, 1.15},
                 0,
                 "1 just reaches the cap; 1.06 to 1.15 fit its clocks (same paper)"},
       .figures = {{Of::gain, slightly_less},
                   {.of = Of::energy, .measured = {0.95, 1.05}, .word = "comparable"},
                   {Of::clock, {1815.0 / 1980, 1815.0 / 1980}},
                   {Of::peak, {670, 670}}},
       .fastest_on_instances = false},
      {.name = "hotspot",
       .load = bound_input("hotspot"),
       .kappa = usual_kappa(),
       .figures = {{Of::gain, slightly_less}, {Of::energy, {.least = 1}}}},
      {.name = "LAMMPS",
       .load = bound_input("lammps"),
       .kappa = usual_kappa(),
       .figures = {{Of::energy, {0.9, 0.9}}, {Of::gain, {0.5, 0.5}, Scheme::time_slicing}}},
      {.name = "llmc_shakespeare",
       .load = bound_input("llmc-shakespeare"),
       .kappa = usual_kappa(),
       .figures = {{Of::energy, {.least = 1}}}},
      {.name = "LLM training",
       .load = {"draws alone, W", {500, 575, 650}, 1, "stated as a range (same paper)"},
       .by_power = true,
       .kappa = {"power factor", {1, 1.15}, 0, "no job's is known"},
       .figures = {{Of::peak, {.least = 700}}}},
      {.name = "llama3",
       .load = bound_input("llama3"),
       .kappa = usual_kappa(),
       .figures = {{Of::gain, same(llama_mps / llama_instances), Scheme::mps, Scheme::instances},
                   {Of::gain, same(llama_slicing / llama_instances), Scheme::time_slicing,
                    Scheme::instances}}},
  };
}

/// What the text says of every application: orderings.
std::vector<TamingCorun::Figure> orderings(const TamingCorun& application) {
  const Stated above_one{.least = 1}, below_one{.most = 1};
  const Stated faster = application.fastest_on_instances ? above_one : below_one;
  return {{Of::gain, faster, Scheme::instances, Scheme::compute_instances},
          {Of::gain, faster, Scheme::instances, Scheme::mps},
          {Of::least_energy, below_one}};
}

std::string gain_name(const TamingCorun::Figure& figure) {
  if (figure.over != Scheme::serial)
    return fmt::format("{} over {}", row_of(figure.scheme).brief, row_of(figure.over).brief);
  if (figure.scheme == Scheme::instances) return "throughput gain";
  return fmt::format("gain of {}", row_of(figure.scheme).brief);
}

CorunFigure figure_of(const TamingCorun::Figure& each) {
  switch (each.of) {
    case Of::gain:
      return {.name = gain_name(each), .measured = each.measured};
    case Of::energy:
      return {.name = "energy, of serial", .measured = each.measured};
    case Of::least_energy:
      return {.name = "energy, of least other", .measured = each.measured};
    case Of::peak:
      return {.name = "peak of 7 x 1g, W", .measured = each.measured, .digits = 0};
    case Of::clock:
      break;
  }
  return {.name = "clock on whole GPU", .measured = each.measured};
}

/// The figures that are printed by scheme.
std::vector<TamingCorun::Figure> by_scheme(Of of) {
  std::vector<TamingCorun::Figure> figures;
  for (const Scheme scheme :
       {Scheme::instances, Scheme::compute_instances, Scheme::mps, Scheme::time_slicing})
    figures.push_back({of, {}, scheme});
  return figures;
}

/// Adds the orderings, and what is printed by scheme.
void complete(TamingCorun& application, CorunExperiment& experiment) {
  std::ranges::move(orderings(application), std::back_inserter(application.figures));
  for (const auto& each : application.figures) {
    experiment.figures.push_back(figure_of(each));
    experiment.figures.back().word = each.word;
  }
  for (const Of of : {Of::gain, Of::energy})
    for (const auto& each : by_scheme(of)) {
      application.figures.push_back(each);
      experiment.figures.push_back(
          {.name = row_of(each.scheme).name,
           .table = of == Of::gain ? "throughput gain" : "energy, of serial"});
    }
}

CorunExperiment experiment_of(const TamingCorun& application) {
  return {.name = application.name,
          .source = "Taming GPU Underutilization, V",
          .known = "seven jobs, one after another on the whole GPU and by each scheme of sharing",
          .inputs =
              {open_choice("GPU-bound work slows by", {"law", "SMs", "memory slices"}, 0,
                           "the law's 7.2 on 1g is a rule fitted to A100s; SMs say 8.25, memory 8"),
               application.load,
               application.kappa,
               {"beta", {0.7, 1, 1.6}, 1, "clocks follow power^(1/beta); measurements disagree"},
               {"idle-factor", {1, 2}, 0, "no capture of an idle GH200, none with contexts open"},
               {"switch-cost",
                {0, 0.1, most_switch_cost},
                1,
                "SM occupancy: Qiskit and hotspot hardly lose by time slicing, LAMMPS halves (same "
                "paper)"},
               open_choice("others run in a job's fixed part", {"no", "yes"}, 1,
                           "under time slicing; not stated")},
          .figures = {}};
}

/// The runs of one application, each once for all combinations of the open inputs that it depends
/// on.
class TamingRuns {
 public:
  explicit TamingRuns(TamingCorun application) : application_(std::move(application)) {}

  Result<std::vector<double>> figures(std::span<const double> inputs) {
    inputs_.assign(inputs.begin(), inputs.end());
    options_ = {};
    options_.reconfiguration = Duration::zero();
    options_.world.power = {.idle_factor = inputs[4], .beta = inputs[3]};
    options_.world.sharing = {.switch_cost = inputs[5], .fixed_holds = inputs[6] == 0};
    std::vector<double> all;
    for (const auto& each : application_.figures) {
      const auto value = figure(each);
      if (!value) return std::unexpected(value.error());
      all.push_back(*value);
    }
    return all;
  }

 private:
  Result<double> figure(const TamingCorun::Figure& each) {
    if (each.of == Of::clock) return clock();
    if (each.of == Of::least_energy) return least_energy();
    const auto here = run(each.scheme), other = run(each.over);
    if (!here) return std::unexpected(here.error());
    if (!other) return std::unexpected(other.error());
    if (each.of == Of::gain) return other->makespan_s / here->makespan_s;
    return each.of == Of::energy ? here->energy_j / other->energy_j : here->peak_w;
  }

  /// Of seven instances, relative to the least of the other schemes.
  Result<double> least_energy() {
    const auto instances = run(Scheme::instances);
    if (!instances) return std::unexpected(instances.error());
    double most = 0;
    for (const Scheme scheme : {Scheme::compute_instances, Scheme::mps, Scheme::time_slicing}) {
      const auto other = run(scheme);
      if (!other) return std::unexpected(other.error());
      most = std::max(most, instances->energy_j / other->energy_j);
    }
    return most;
  }

  Result<CorunOutcome> run(Scheme scheme) {
    std::vector<double> depends = inputs_;
    if (scheme != Scheme::time_slicing) depends.resize(depends.size() - 2);
    const auto known = runs_.find({scheme, depends});
    if (known != runs_.end()) return known->second;
    auto outcome =
        run_jobs(taming_gpu, row_of(scheme).scheduler, equal_jobs(seven, job(slows())), options_);
    if (outcome) runs_[{scheme, depends}] = *outcome;
    return outcome;
  }

  [[nodiscard]] Slows slows() const { return static_cast<Slows>(static_cast<int>(inputs_[0])); }

  [[nodiscard]] CorunJob job(Slows slows) const {
    return taming_job(slows, bound(slows), inputs_[2]);
  }

  [[nodiscard]] double bound(Slows slows) const {
    const double load = inputs_[1], kappa = inputs_[2];
    if (!application_.by_power) return load;
    const PowerBounds bounds = power_bounds(gh200(), options_.world.power);
    return bound_of_busy((load - in_watts(bounds.idle)) / (in_watts(bounds.span) * kappa), slows);
  }

  /// From how much the cap slows work that is all compute.
  Result<double> clock() {
    SimulationOptions without = options_;
    without.world.has_power = false;
    const CorunJob one = job(Slows::law);
    const auto capped = run_jobs(taming_gpu, "full-gpu", {one}, options_);
    if (!capped) return std::unexpected(capped.error());
    const auto free = run_jobs(taming_gpu, "full-gpu", {one}, without);
    if (!free) return std::unexpected(free.error());
    return free->makespan_s / capped->makespan_s;
  }

  TamingCorun application_;
  std::vector<double> inputs_;
  SimulationOptions options_;
  std::map<std::pair<Scheme, std::vector<double>>, CorunOutcome> runs_;
};

}  // namespace

std::vector<CorunModel> taming_models() {
  std::vector<CorunModel> models;
  for (TamingCorun& application : taming_rows()) {
    CorunExperiment experiment = experiment_of(application);
    complete(application, experiment);
    auto runs = std::make_shared<TamingRuns>(std::move(application));
    models.push_back({std::move(experiment),
                      [runs](std::span<const double> inputs) { return runs->figures(inputs); }});
  }
  return models;
}

Result<std::vector<CorunExperiment>> taming_coruns() {
  std::vector<CorunExperiment> experiments;
  for (CorunModel& model : taming_models()) {
    const auto done = predict(model.experiment, model.figures);
    if (!done) return std::unexpected(done.error());
    experiments.push_back(std::move(model.experiment));
  }
  return experiments;
}

}  // namespace cleave
