// `cleave reproduce migm`: the evaluation of that paper again, with its claims beside what comes
// out over all that it leaves open.

#include "base/format.hpp"
#include "base/json.hpp"
#include "study/reproduce/claim_columns.hpp"
#include "study/reproduce/migm_study.hpp"
#include "study/reproduce/page_command.hpp"

namespace cleave::cli {

namespace {

struct MigmCommandOptions : PageOptions {
  std::size_t seeds = 30;
};

Json study_json(const MigmStudy& study) {
  Json experiments = Json::array();
  for (const SweptExperiment& each : study.experiments)
    experiments.push_back(experiment_json(each));
  return {{"seeds", study.seeds}, {"experiments", experiments}};
}

Result<int> migm(const MigmCommandOptions& options) {
  return run_page<MigmStudy>(
      options,
      {.make = [&] { return reproduce_migm(options.seeds); },
       .files =
           [](const MigmStudy& study) {
             return PageFiles{{"migm.md", migm_page(study)}};
           },
       .json = study_json,
       .text = [](const MigmStudy& study) { return experiments_text(study.experiments); }});
}

}  // namespace

void add_reproduce_migm(CommandLine& reproduce, Run& run) {
  const auto [command, options] = add_command(
      reproduce, run, "migm", "MIGM, section 5: its claims over all that the paper leaves open",
      "cleave reproduce migm --seeds 6", migm);
  add_seeds(*command, options.seeds, 1, "every run");
  add_page_options(*command, options, "the page");
}

}  // namespace cleave::cli
