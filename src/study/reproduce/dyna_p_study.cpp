#include "study/reproduce/dyna_p_study.hpp"

namespace cleave {

OpenInput open_checkpoint() {
  return {"checkpoint", {0, 30, 60}, 1, "seconds that MISO takes to write and restore one"};
}

OpenInput open_jct() {
  return open_choice("JCT", {"turnaround", "execution"}, 0,
                     "\"the time taken to complete individual inference jobs\": with or without "
                     "the wait");
}

const Distribution& jct_of(const RunSummary& run, double input) {
  return input == 0 ? run.turnaround : run.execution;
}

Result<DynaPStudy> reproduce_dyna_p(std::size_t seeds, std::size_t cluster_jobs) {
  PairedRuns runs(seeds);
  DynaPStudy study;
  study.seeds = seeds;
  for (const auto each : {dyna_p_configurations, dyna_p_example, dyna_p_fifty, dyna_p_power,
                          dyna_p_batches, dyna_p_concurrency}) {
    auto experiment = each(runs);
    if (!experiment) return std::unexpected(experiment.error());
    study.experiments.push_back(std::move(*experiment));
  }
  auto cluster = dyna_p_cluster(runs, cluster_jobs);
  if (!cluster) return std::unexpected(cluster.error());
  study.experiments.push_back(std::move(*cluster));
  auto changes = dyna_p_changes(runs);
  if (!changes) return std::unexpected(changes.error());
  study.changes = std::move(*changes);
  return study;
}

}  // namespace cleave
