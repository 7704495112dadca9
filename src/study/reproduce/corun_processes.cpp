// Inference by several processes in one instance, as ParvaGPU measured it under MPS: each process
// is a job of the simulator that is known from two profiles, where it ran alone.

#include <algorithm>
#include <array>
#include <map>

#include "base/format.hpp"
#include "physics/speed_law.hpp"
#include "study/reproduce/corun_runs.hpp"
#include "study/reproduce/coruns.hpp"

namespace cleave {

namespace {

constexpr std::string_view gpu_name = "A100-80GB";
constexpr double batches = 10'000;   // that each job runs, so that times are not rounded
constexpr double other_overlap = 6;  // of one job; the law of batches has 5.95

const GpuModel& a100() {
  return **find_gpu_model(gpu_name);
}

/// What a user of Cleave can know of a job: its law, from two profiles.
std::optional<SliceLaw> law_of(const JobTimes& job, double overlap) {
  const std::size_t smallest = job.smallest();
  if (smallest >= a100_whole || job.seconds[a100_whole] == 0) return std::nullopt;
  const std::array<KnownTime, 2> known = {
      {{gpu_bound_time(a100(), a100_profile(a100(), smallest)), job.seconds[smallest]},
       {1, job.seconds[a100_whole]}}};
  const auto fitted = fit_slice_law(known, overlap);
  if (!fitted) return std::nullopt;
  return fitted->law;
}

/// The time of a batch of one of `processes` equal jobs on one instance of this size.
Result<double> time_beside_others(const SliceLaw& law, std::size_t size, int processes) {
  CorunJob job;
  job.speed.law = law;
  job.seconds = batches * joined_time(law.fixed, law.bound, 1, law.overlap);
  SimulationOptions options;
  options.reconfiguration = Duration::zero();
  options.world.has_power = false;
  const auto run = run_jobs(gpu_name,
                            fmt::format("static:layout={}@0;sharing=mps;sharers={}",
                                        a100_profile(a100(), size).name, processes),
                            equal_jobs(processes, job), options);
  if (!run) return std::unexpected(run.error());
  const double longest = std::ranges::max(run->execution_s);
  if (run->makespan_s > longest)
    return fail(ErrorKind::internal, "processes", "its jobs did not run side by side");
  return longest / batches;
}

/// Predictions of all rows, by method.
struct Methods {
  std::vector<Prediction> usual, other, equal, lazy;
};

CorunExperiment processes_experiment(const std::string& missing) {
  return {
      .name = "2 to 5 processes",
      .source = "ParvaGPU, inference_profiles.csv",
      .known =
          "one process alone on 7g and the smallest profile; what others add was fitted to these "
          "rows",
      .skipped = missing};
}

}  // namespace

Result<CorunExperiment> process_coruns(const PhysicsData& data) {
  CorunExperiment experiment = processes_experiment(data.inference.missing);
  if (!experiment.skipped.empty()) return experiment;
  std::map<std::pair<std::string, int>, JobTimes> alone;
  for (JobTimes& job : jobs_of(data.inference.rows)) alone[{job.model, job.batch}] = std::move(job);
  Methods methods;
  for (const InferenceRow& row : data.inference.rows) {
    const auto known = alone.find({row.model, row.batch});
    if (row.processes < 2 || row.seconds == 0 || known == alone.end()) continue;
    const auto usual = law_of(known->second, job_overlap);
    const auto other = law_of(known->second, other_overlap);
    const double one = known->second.seconds[row.size];
    if (!usual || !other || one == 0) continue;
    const auto beside = time_beside_others(*usual, row.size, row.processes);
    const auto beside_with_other = time_beside_others(*other, row.size, row.processes);
    for (const auto* each : {&beside, &beside_with_other})
      if (!*each) return std::unexpected(each->error());
    methods.usual.push_back({row.model, *beside, row.seconds});
    methods.other.push_back({row.model, *beside_with_other, row.seconds});
    methods.equal.push_back({row.model, row.processes * one, row.seconds});
    methods.lazy.push_back({row.model, one, row.seconds});
  }
  if (methods.usual.empty())
    experiment.skipped = "no row has several processes whose batch ran on 7g and a smaller profile";
  else
    experiment.scores = {
        score_of(fmt::format("simulated, p = {}", job_overlap), methods.usual),
        score_of(fmt::format("simulated, p = {}", other_overlap), methods.other),
        score_of("equal sharing: n times the time of 1 on that profile", methods.equal),
        score_of("no interference: the time of 1 on that profile", methods.lazy)};
  return experiment;
}

}  // namespace cleave
