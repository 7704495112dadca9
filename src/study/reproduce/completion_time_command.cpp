// `cleave reproduce completion-time`: completion times learnt from ParvaGPU's profiles, beside two
// plain ways.

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"
#include "cli/columns.hpp"
#include "cli/command.hpp"
#include "study/reproduce/reproduce_completion_time.hpp"

namespace cleave::cli {

namespace {

struct Options {
  std::string data;
  std::uint64_t seed = 1;
  bool json = false;
};

std::string errors_text(const TimeErrors& errors) {
  return fmt::format("{:.1f} / {:.0f}", 100 * errors.median, 100 * errors.p90);
}

std::string share_text(std::size_t part, std::size_t all) {
  return all == 0
             ? "-"
             : fmt::format("{:.0f} %", 100 * static_cast<double>(part) / static_cast<double>(all));
}

void print_results(const std::vector<HeldOutResult>& results) {
  Table table({"held out", "rows", "trees", "linear", "nearest", "gain", "answered", "of these",
               "within", "upper / lower"});
  for (const HeldOutResult& result : results)
    table.add({result.what, fmt::format("{}", result.rows), errors_text(result.trees),
               errors_text(result.linear), errors_text(result.nearest),
               fmt::format("{:.1f}x", result.linear.median / result.trees.median),
               share_text(result.answered, result.rows),
               result.answered_trees ? errors_text(*result.answered_trees) : "-",
               share_text(result.covered, result.answered), fmt::format("{:.2f}", result.width)});
  fmt::print("{}\n", table.text());
}

void print_text(const CompletionTimeStudy& study) {
  fmt::print("{} rows; {} more did not fit, {} have no time on the whole GPU\n", study.rows,
             study.did_not_fit, study.no_whole);
  fmt::print(
      "errors in %, median / 90th percentile, over all rows held out; gain: linear over trees, "
      "medians\n");
  fmt::print("answered: not refused; within: of those, inside their interval of {:g} %\n\n",
             100 * study.level);
  fmt::print("All rows\n\n");
  print_results(study.all);
  fmt::print("Without the rows of the whole GPU, whose time is a feature\n\n");
  print_results(study.without_whole);
  fmt::print("Each model left out, without the rows of the whole GPU\n\n");
  print_results(study.models);
  Table forms({"learnt", "random 80/20", "leave one model out"});
  for (const FormResult& form : study.forms)
    forms.add({std::string(name(form.form)), errors_text(form.random), errors_text(form.by_model)});
  fmt::print("What the trees learn, without the rows of the whole GPU\n\n{}", forms.text());
  Table slices({"slices", "answered", "within", "upper / lower"});
  for (const SlicesResult& each : study.by_slices)
    slices.add({fmt::format("{}", each.slices), fmt::format("{}", each.answered),
                share_text(each.covered, each.answered), fmt::format("{:.2f}", each.width)});
  fmt::print("\nIntervals by slices, random 80/20, all rows\n\n{}", slices.text());
}

Json errors_json(const TimeErrors& errors) {
  return {{"median", errors.median}, {"p90", errors.p90}};
}

Json results_json(const std::vector<HeldOutResult>& results) {
  Json list = Json::array();
  for (const HeldOutResult& result : results)
    list.push_back(
        {{"held_out", result.what},
         {"rows", result.rows},
         {"trees", errors_json(result.trees)},
         {"linear", errors_json(result.linear)},
         {"nearest", errors_json(result.nearest)},
         {"answered", result.answered},
         {"answered_trees", result.answered_trees ? errors_json(*result.answered_trees) : Json()},
         {"covered", result.covered},
         {"width", result.width}});
  return list;
}

void print_json(const CompletionTimeStudy& study) {
  Json forms = Json::array();
  for (const FormResult& form : study.forms)
    forms.push_back({{"form", name(form.form)},
                     {"random", errors_json(form.random)},
                     {"by_model", errors_json(form.by_model)}});
  Json slices = Json::array();
  for (const SlicesResult& each : study.by_slices)
    slices.push_back({{"slices", each.slices},
                      {"answered", each.answered},
                      {"covered", each.covered},
                      {"width", each.width}});
  print(Json{{"rows", study.rows},
             {"did_not_fit", study.did_not_fit},
             {"no_whole", study.no_whole},
             {"level", study.level},
             {"all", results_json(study.all)},
             {"without_whole", results_json(study.without_whole)},
             {"models", results_json(study.models)},
             {"forms", forms},
             {"by_slices", slices}});
}

Result<int> completion_time(const Options& options) {
  const auto text = read_text(options.data);
  if (!text) return std::unexpected(text.error());
  const auto measured = read_parva_jobs(*text, shown(options.data, 200));
  if (!measured) return std::unexpected(measured.error());
  const auto study = reproduce_completion_time(*measured, parva_options(options.seed));
  if (!study) return fail_at(shown(options.data, 200), study.error());
  if (options.json)
    print_json(*study);
  else
    print_text(*study);
  return 0;
}

}  // namespace

void add_reproduce_completion_time(CommandLine& reproduce, Run& run) {
  auto options = std::make_shared<Options>();
  CommandLine* command =
      add_command(reproduce, "completion-time",
                  "Completion times as in Dyna-P, 3.1.2, on the inference that ParvaGPU measured",
                  "cleave reproduce completion-time --data inference_profiles.csv");
  command->add_option("--data", options->data, "inference_profiles.csv of ParvaGPU's measurements")
      ->required();
  command->add_option("--seed", options->seed, "Seed of the splits and the trees")
      ->check(whole_number(0))
      ->default_str("1");
  add_json(*command, options->json);
  command->callback([options, &run] { run = [options] { return completion_time(*options); }; });
}

}  // namespace cleave::cli
