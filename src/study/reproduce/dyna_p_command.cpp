// `cleave reproduce dyna-p`: the evaluation of that paper again, with its claims beside what comes
// out over all that it leaves open.

#include <filesystem>

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/command.hpp"
#include "study/reproduce/claim_columns.hpp"
#include "study/reproduce/dyna_p_study.hpp"

namespace cleave::cli {

namespace {

struct Options {
  std::size_t seeds = 30, cluster_jobs = 5000;
  std::string folder;
  bool json = false;
};

void print_json(const DynaPStudy& study) {
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
  print(Json{{"seeds", study.seeds}, {"experiments", experiments}, {"changes", changes}});
}

Result<int> dyna_p(const Options& options) {
  const auto study = reproduce_dyna_p(options.seeds, options.cluster_jobs);
  if (!study) return std::unexpected(study.error());
  if (!options.folder.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(options.folder, failed);
    const auto file = std::filesystem::path(options.folder) / "dyna-p.md";
    if (const auto written = write_whole(file.string(), dyna_p_page(*study)); !written)
      return std::unexpected(written.error());
  }
  if (options.json) {
    print_json(*study);
    return 0;
  }
  for (const SweptExperiment& each : study->experiments)
    fmt::print("{}\n\n{}\n", each.name, experiment_text(each));
  return 0;
}

}  // namespace

void add_reproduce_dyna_p(CommandLine& reproduce, Run& run) {
  const auto [command, options] = add_command(
      reproduce, run, "dyna-p", "Dyna-P, section 4: its claims over all that the paper leaves open",
      "cleave reproduce dyna-p --seeds 6 --cluster-jobs 500", dyna_p);
  command->add_option("--seeds", options.seeds, "Seeds 1, 2, ... of every run")
      ->check(Check::range(1, 10000))
      ->default_str("30");
  command->add_option("--cluster-jobs", options.cluster_jobs, "Jobs on the cluster")
      ->check(Check::range(1, 100000))
      ->default_str("5000");
  command->add_option("--write", options.folder, "Folder for the page")->check(not_empty());
  add_json(*command, options.json);
}

}  // namespace cleave::cli
