// `cleave reproduce dyna-p`: the evaluation of that paper again, with its claims beside what comes
// out over all that it leaves open.

#include "base/format.hpp"
#include "base/json.hpp"
#include "study/reproduce/claim_columns.hpp"
#include "study/reproduce/dyna_p_study.hpp"
#include "study/reproduce/page_command.hpp"

namespace cleave::cli {

namespace {

struct DynaPCommandOptions : PageOptions {
  std::size_t seeds = 30, cluster_jobs = 5000;
};

Json study_json(const DynaPStudy& study) {
  Json experiments = Json::array(), changes = Json::array();
  for (const SweptExperiment& each : study.experiments)
    experiments.push_back(experiment_json(each));
  for (const ChangeTable& table : study.changes) {
    Json rows = Json::array();
    for (const ChangeRow& row : table.rows)
      rows.push_back({{"scheduler", row.scheduler},
                      {"turnaround", spread_json(row.turnaround)},
                      {"makespan", spread_json(row.makespan)},
                      {"deadline_misses", spread_json(row.misses)},
                      {"reconfigurations", spread_json(row.reconfigurations)},
                      {"restarts", spread_json(row.restarts)}});
    changes.push_back({{"fleet", table.fleet}, {"workload", table.workload}, {"rows", rows}});
  }
  return {{"seeds", study.seeds}, {"experiments", experiments}, {"changes", changes}};
}

Result<int> dyna_p(const DynaPCommandOptions& options) {
  return run_page<DynaPStudy>(
      options,
      {.make = [&] { return reproduce_dyna_p(options.seeds, options.cluster_jobs); },
       .files =
           [](const DynaPStudy& study) {
             return PageFiles{{"dyna-p.md", dyna_p_page(study)}};
           },
       .json = study_json,
       .text = [](const DynaPStudy& study) { return experiments_text(study.experiments); }});
}

}  // namespace

void add_reproduce_dyna_p(CommandLine& reproduce, Run& run) {
  const auto [command, options] = add_command(
      reproduce, run, "dyna-p", "Dyna-P, section 4: its claims over all that the paper leaves open",
      "cleave reproduce dyna-p --seeds 6 --cluster-jobs 500", dyna_p);
  add_seeds(*command, options.seeds, 1, "every run");
  command->add_option("--cluster-jobs", options.cluster_jobs, "Jobs on the cluster")
      ->check(Check::range(1, 100000))
      ->default_str("5000");
  add_page_options(*command, options, "the page");
}

}  // namespace cleave::cli
