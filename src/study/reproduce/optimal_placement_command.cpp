// `cleave reproduce optimal-placement`: the evaluation of that paper again, with its claims beside
// our figures.

#include <array>

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/columns.hpp"
#include "study/reproduce/page_command.hpp"
#include "study/reproduce/reproduce_optimal_placement.hpp"

namespace cleave::cli {

namespace {

struct OptimalPlacementCommandOptions : PageOptions {
  std::size_t cases = 100;
};

const Columns<PaperClaim> claim_columns = {
    {"section", "section", &PaperClaim::section}, {"claim", "claim", &PaperClaim::claim},
    {"paper", "paper", &PaperClaim::paper},       {"ours", "here", &PaperClaim::ours},
    {"verdict", " ", &PaperClaim::verdict},  // no heading
    {"why", json_only, &PaperClaim::why}};

Json by_key(const std::array<double, table3_metrics>& values) {
  Json json = Json::object();
  for (std::size_t i = 0; i < table3_metrics; ++i) json[std::string(table3()[i].key)] = values[i];
  return json;
}

Json choices_json(const Reproduction& reproduction) {
  Json list = Json::array();
  for (const OpenChoice& choice : reproduction.choices) {
    Json sizes = Json::array();
    for (std::size_t i = 0; i < choice.pending.size(); ++i) {
      Json size = {{"gpus", reproduction.options.gpus[i]}};
      for (std::size_t m = 0; m < compared_methods.size(); ++m)
        size[std::string(compared_methods[m])] = choice.pending[i][m];
      sizes.push_back(std::move(size));
    }
    list.push_back({{"scattered", choice.drawn.scattered},
                    {"pass_target", choice.drawn.pass_target},
                    {"pass_sixty", choice.drawn.pass_sixty},
                    {"media", choice.drawn.media},
                    {"preferred", choice.drawn.preferred},
                    {"kept", choice.kept()},
                    {"pending_cases", std::move(sizes)},
                    {"from_paper", choice.from_paper}});
  }
  return list;
}

Json study_json(const Reproduction& reproduction) {
  Json results = Json::array();
  for (const UseCaseFigures& figures : reproduction.figures) {
    Json methods = Json::array();
    for (const MethodFigures& method : figures.methods)
      methods.push_back({{"method", method.method},
                         {"mean", by_key(method.mean)},
                         {"normalised", by_key(method.normalised)},
                         {"pending_cases", method.pending_cases},
                         {"sequential_cases", method.sequential_cases},
                         {"proven", method.proven}});
    results.push_back(
        {{"problem", name(figures.problem)}, {"gpus", figures.gpus}, {"methods", methods}});
  }
  return {{"cases", reproduction.options.cases},
          {"results", results},
          {"open_choices", choices_json(reproduction)},
          {"claims", json_rows(claim_columns, claims(reproduction))}};
}

std::string choices_text(const Reproduction& reproduction) {
  Table table(choices_header(reproduction));
  for (auto& row : choices_rows(reproduction)) table.add(std::move(row));
  return fmt::format(
      "What the open choices do: deployments that leave work pending, of {}\n\n{}\n{}\n\n",
      reproduction.options.cases, table.text(), choices_remark(reproduction));
}

std::string study_text(const Reproduction& reproduction) {
  std::string text;
  for (const UseCaseFigures& figures : reproduction.figures) {
    std::vector<std::string> header = {"mean (of highest)"};
    for (const MethodFigures& method : figures.methods) header.push_back(method.method);
    Table table(header);
    for (std::size_t i = 0; i < table3_metrics; ++i) {
      std::vector<std::string> row = {std::string(table3()[i].title)};
      for (const MethodFigures& method : figures.methods)
        row.push_back(fmt::format("{:.2f} ({:.2f})", method.mean[i], method.normalised[i]));
      table.add(std::move(row));
    }
    std::vector<std::string> pending = {"cases with pending work"};
    for (const MethodFigures& method : figures.methods)
      pending.push_back(fmt::format("{}", method.pending_cases));
    table.add(std::move(pending));
    text += fmt::format("{}, {} GPUs, {} cases\n\n{}\n", name(figures.problem), figures.gpus,
                        reproduction.options.cases, table.text());
  }
  return text + choices_text(reproduction) + text_rows(claim_columns, claims(reproduction));
}

PageFiles files_of(const Reproduction& reproduction) {
  PageFiles files;
  for (const ProblemKind problem :
       {ProblemKind::deploy, ProblemKind::compact, ProblemKind::reconfigure})
    files.emplace_back(figure_file(problem), figure_svg(reproduction, problem));
  files.emplace_back("optimal-placement.md", page(reproduction));
  return files;
}

Result<int> optimal_placement(const OptimalPlacementCommandOptions& options) {
  ReproductionOptions wanted;
  wanted.cases = options.cases;
  return run_page<Reproduction>(options,
                                {.make = [&] { return reproduce_optimal_placement(wanted); },
                                 .files = files_of,
                                 .json = study_json,
                                 .text = study_text});
}

}  // namespace

void add_reproduce_optimal_placement(CommandLine& reproduce, Run& run) {
  const auto [command, options] =
      add_command(reproduce, run, "optimal-placement",
                  "Optimal Workload Placement on Multi-Instance GPUs, section 5",
                  "cleave reproduce optimal-placement --cases 10", optimal_placement);
  command->add_option("--cases", options.cases, "Test cases of each size, seeds 1, 2, ...")
      ->check(Check::range(1, 1000000))
      ->default_str("100");
  add_page_options(*command, options, "the page and its figures");
}

}  // namespace cleave::cli
