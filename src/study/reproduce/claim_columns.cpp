#include "study/reproduce/claim_columns.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/columns.hpp"

namespace cleave::cli {

Json spread_json(const SeedSpread& spread) {
  return {{"median", spread.median}, {"low", spread.low}, {"high", spread.high}};
}

namespace {

/// One line of the table.
struct Line {
  const SweptExperiment* experiment;
  const SweptClaim* claim;

  [[nodiscard]] std::string text(double value) const {
    return fmt::format("{:.{}f}", value, claim->digits);
  }
};

const Columns<Line> columns = {
    {"section", "section", [](const Line& line) { return line.claim->section; }},
    {"claim", "claim", [](const Line& line) { return line.claim->claim; }},
    {"paper", "paper", [](const Line& line) { return line.claim->paper; },
     [](const Line& line) { return paper_text(*line.claim); }},
    {"stated", json_only,
     [](const Line& line) {
       return Json{{"least", as_json(line.claim->stated.least)},
                   {"most", as_json(line.claim->stated.most)}};
     }},
    {"usual", "here", [](const Line& line) { return spread_json(line.claim->usual); },
     [](const Line& line) { return line.text(line.claim->usual.median); }},
    {"least", "least", [](const Line& line) { return line.claim->least; },
     [](const Line& line) { return line.text(line.claim->least); }},
    {"most", "most", [](const Line& line) { return line.claim->most; },
     [](const Line& line) { return line.text(line.claim->most); }},
    {"verdict", " ", [](const Line& line) { return line.claim->verdict(); }},  // no heading
    {"nearest", json_only, [](const Line& line) { return line.claim->nearest; }},
    {"at", json_only,
     [](const Line& line) { return inputs_text(*line.experiment, line.claim->at); }},
    {"why", json_only, [](const Line& line) { return line.claim->why; }}};

std::vector<Line> lines_of(const SweptExperiment& experiment) {
  std::vector<Line> lines;
  for (const SweptClaim& claim : experiment.claims) lines.push_back({&experiment, &claim});
  return lines;
}

}  // namespace

Json experiment_json(const SweptExperiment& each) {
  Json inputs = Json::array();
  for (const OpenInput& input : each.inputs) {
    Json values = input.words.empty() ? Json(input.values) : Json(input.words);
    Json usual = values[input.usual];
    inputs.push_back(
        {{"name", input.name}, {"usual", usual}, {"values", values}, {"why", input.why}});
  }
  return {{"name", each.name},
          {"known", each.known},
          {"inputs", inputs},
          {"claims", json_rows(columns, lines_of(each))}};
}

std::string experiments_text(const std::vector<SweptExperiment>& experiments) {
  std::string text;
  for (const SweptExperiment& each : experiments)
    text += fmt::format("{}\n\n{}\n", each.name, text_rows(columns, lines_of(each)));
  return text;
}

}  // namespace cleave::cli
