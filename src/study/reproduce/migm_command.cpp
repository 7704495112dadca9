// `cleave reproduce migm`: the evaluation of that paper again, with its claims beside what comes
// out over all that it leaves open.

#include <filesystem>

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/command.hpp"
#include "study/reproduce/claim_columns.hpp"
#include "study/reproduce/migm_study.hpp"

namespace cleave::cli {

namespace {

struct Options {
  std::size_t seeds = 30;
  std::string folder;
  bool json = false;
};

Result<int> migm(const Options& options) {
  const auto study = reproduce_migm(options.seeds);
  if (!study) return std::unexpected(study.error());
  if (!options.folder.empty()) {
    std::error_code failed;
    std::filesystem::create_directories(options.folder, failed);
    const auto file = std::filesystem::path(options.folder) / "migm.md";
    if (const auto written = write_whole(file.string(), migm_page(*study)); !written)
      return std::unexpected(written.error());
  }
  if (options.json) {
    Json experiments = Json::array();
    for (const SweptExperiment& each : study->experiments)
      experiments.push_back(experiment_json(each));
    print(Json{{"seeds", study->seeds}, {"experiments", experiments}});
    return 0;
  }
  for (const SweptExperiment& each : study->experiments)
    fmt::print("{}\n\n{}\n", each.name, experiment_text(each));
  return 0;
}

}  // namespace

void add_reproduce_migm(CommandLine& reproduce, Run& run) {
  const auto [command, options] = add_command(
      reproduce, run, "migm", "MIGM, section 5: its claims over all that the paper leaves open",
      "cleave reproduce migm --seeds 6", migm);
  command->add_option("--seeds", options.seeds, "Seeds 1, 2, ... of every run")
      ->check(Check::range(1, 10000))
      ->default_str("30");
  command->add_option("--write", options.folder, "Folder for the page")->check(not_empty());
  add_json(*command, options.json);
}

}  // namespace cleave::cli
