// `cleave reproduce taming`: the claims of that paper beside what comes out here.

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/columns.hpp"
#include "study/reproduce/page_command.hpp"
#include "study/reproduce/reproduce_taming.hpp"

namespace cleave::cli {

namespace {

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

Json study_json(const TamingReproduction& reproduction) {
  return {{"claims", json_rows(claim_columns, taming_claims(reproduction))},
          {"outside", outside_json(reproduction)},
          {"rewards", json_rows(reward_columns, reproduction.rewards)}};
}

std::string study_text(const TamingReproduction& reproduction) {
  return fmt::format("{}\nFigure 8's choices, by the form of the reward\n\n{}",
                     text_rows(claim_columns, taming_claims(reproduction)),
                     text_rows(reward_columns, reproduction.rewards));
}

Result<int> taming(const PageOptions& options) {
  return run_page<TamingReproduction>(
      options, {.make = reproduce_taming,
                .files =
                    [](const TamingReproduction& reproduction) {
                      return PageFiles{{"taming.md", taming_page(reproduction)}};
                    },
                .json = study_json,
                .text = study_text});
}

}  // namespace

void add_reproduce_taming(CommandLine& reproduce, Run& run) {
  const auto [command, options] =
      add_command(reproduce, run, "taming",
                  "Taming GPU Underutilization via Static Partitioning, sections III to VI",
                  "cleave reproduce taming --write build/pages", taming);
  add_page_options(*command, options, "the page");
}

}  // namespace cleave::cli
