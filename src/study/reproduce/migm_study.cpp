#include "study/reproduce/migm_study.hpp"

#include "base/format.hpp"
#include "physics/power.hpp"

namespace cleave {

std::vector<OpenInput> power_inputs() {
  return {{"draw of work",
           {0, 0.1, 0.3, 0.57},
           2,
           "of what the simulated board has above idle, 350 W; 0.57 is the paper's board, 250 W "
           "([simulated-world.md](../simulated-world.md#power))"},
          {"idle power", {1, 2}, 0, "times the idle power without contexts; published, 1 to 2"},
          open_choice("drawn by", {"slices", "work"}, 0,
                      "a job draws by the slices that it holds, as simulated, or its work takes "
                      "the same energy wherever it runs")};
}

double energy_of(const RunSummary& run, const RunSummary& full, std::string_view model,
                 std::span<const double> power) {
  const double idle_w = in_watts(gpu_power(**find_gpu_model(model)).idle);
  const RunSummary& drawn = power[2] > 0 ? full : run;
  const double above = drawn.energy_j.value_or(0) - idle_w * in_seconds(drawn.makespan);
  return power[1] * idle_w * in_seconds(run.makespan) + power[0] * above;
}

PairedRun migm_run(std::string workload, std::string scheduler) {
  PairedRun run{"1xA100-40GB", std::move(workload), std::move(scheduler)};
  run.power = true;
  run.profiles = "five";
  return run;
}

Result<std::vector<double>> compare_runs(PairedRuns& runs, const PairedRun& one,
                                         const PairedRun& other, const CompareRuns& compare) {
  const auto a = runs.of(one), b = runs.of(other);
  if (!a) return std::unexpected(a.error());
  if (!b) return std::unexpected(b.error());
  std::vector<double> values;
  for (std::size_t i = 0; i < (*a)->size(); ++i) {
    if ((**a)[i].finished != (**b)[i].finished)
      return fail(ErrorKind::internal, one.workload,
                  fmt::format("{} finished {} jobs and {} {}", one.scheduler, (**a)[i].finished,
                              other.scheduler, (**b)[i].finished));
    values.push_back(compare((**a)[i], (**b)[i]));
  }
  return values;
}

double times_faster(const RunSummary& one, const RunSummary& other) {
  return in_seconds(other.makespan) / in_seconds(one.makespan);
}

double per_cent_faster(const RunSummary& one, const RunSummary& other) {
  return 100 * (times_faster(one, other) - 1);
}

std::vector<double> by_seed(const std::vector<double>& one, const std::vector<double>& other,
                            double (*join)(double, double)) {
  std::vector<double> values;
  for (std::size_t i = 0; i < one.size(); ++i) values.push_back(join(one[i], other[i]));
  return values;
}

Result<MigmStudy> reproduce_migm(std::size_t seeds) {
  PairedRuns runs(seeds);
  MigmStudy study;
  study.seeds = seeds;
  for (const auto each : {migm_tight_fit, migm_homogeneous, migm_needleman_wunsch,
                          migm_heterogeneous, migm_trainings, migm_growing, migm_alarms}) {
    auto experiment = each(runs);
    if (!experiment) return std::unexpected(experiment.error());
    study.experiments.push_back(std::move(*experiment));
  }
  return study;
}

}  // namespace cleave
