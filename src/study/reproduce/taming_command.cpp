// `cleave reproduce taming`: the claims of that paper beside what comes out here.

#include <filesystem>

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/columns.hpp"
#include "cli/command.hpp"
#include "study/reproduce/reproduce_taming.hpp"

namespace cleave::cli {

namespace {

struct Options {
  std::string folder;
  bool json = false;
};

const Columns<TamingClaim> claim_columns = {
    {"section", "section", &TamingClaim::section}, {"claim", "claim", &TamingClaim::claim},
    {"paper", "paper", &TamingClaim::paper},       {"here", "here", &TamingClaim::here},
    {"range", "range", &TamingClaim::range},       {"verdict", "verdict", &TamingClaim::verdict},
    {"why", json_only, &TamingClaim::why}};

const Columns<RewardCount> reward_columns = {
    {"application", "application", &RewardCount::application},
    {"form", "form", [](const RewardCount& count) { return name(count.form); }},
    {"combinations", "combinations", &RewardCount::combinations},
    {"at_zero", "at alpha 0", &RewardCount::at_zero},
    {"between", "and between", &RewardCount::between},
    {"as_paper", "and at most 1", &RewardCount::as_paper}};

Json outside_json(const TamingReproduction& reproduction) {
  Json list = Json::array();
  for (const OutsideFigure& each : reproduction.outside) {
    Json needed = Json::array();
    for (const NeededValue& value : each.needed)
      needed.push_back(
          {{"input", value.input}, {"value", value.value}, {"others_usual", value.others_usual}});
    list.push_back({{"experiment", each.experiment},
                    {"figure", each.figure},
                    {"nearest", each.nearest},
                    {"paper_over_nearest", each.factor},
                    {"needed", std::move(needed)}});
  }
  return list;
}

Result<void> write_page(const TamingReproduction& reproduction, const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  return write_whole((std::filesystem::path(folder) / "taming.md").string(),
                     taming_page(reproduction));
}

Result<int> taming(const Options& options) {
  const auto reproduction = reproduce_taming();
  if (!reproduction) return std::unexpected(reproduction.error());
  if (!options.folder.empty())
    if (const auto written = write_page(*reproduction, options.folder); !written)
      return std::unexpected(written.error());
  if (options.json) {
    print(Json{{"claims", json_rows(claim_columns, taming_claims(*reproduction))},
               {"outside", outside_json(*reproduction)},
               {"rewards", json_rows(reward_columns, reproduction->rewards)}});
  } else {
    fmt::print("{}\nFigure 8's choices, by the form of the reward\n\n{}",
               text_rows(claim_columns, taming_claims(*reproduction)),
               text_rows(reward_columns, reproduction->rewards));
  }
  return 0;
}

}  // namespace

void add_reproduce_taming(CommandLine& reproduce, Run& run) {
  const auto [command, options] =
      add_command(reproduce, run, "taming",
                  "Taming GPU Underutilization via Static Partitioning, sections III to VI",
                  "cleave reproduce taming --write build/pages", taming);
  command->add_option("--write", options.folder, "Folder for the page")->check(not_empty());
  add_json(*command, options.json);
}

}  // namespace cleave::cli
