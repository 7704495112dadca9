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

struct CompletionTimeCommandOptions {
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

Json errors_json(const TimeErrors& errors) {
  return {{"median", errors.median}, {"p90", errors.p90}};
}

/// A column of errors: an object in JSON, "median / 90th percentile" in text.
template <class Row>
Column<Row> errors_column(std::string_view key, std::string_view heading, TimeErrors Row::*errors) {
  return {key, heading, [errors](const Row& row) { return errors_json(row.*errors); },
          [errors](const Row& row) { return errors_text(row.*errors); }};
}

using H = HeldOutResult;
const Columns<H> held_out_columns = {
    {"held_out", "held out", &H::what},
    {"rows", "rows", &H::rows},
    errors_column("trees", "trees", &H::trees),
    errors_column("linear", "linear", &H::linear),
    errors_column("nearest", "nearest", &H::nearest),
    {text_only, "gain",
     [](const H& row) { return fmt::format("{:.1f}x", row.linear.median / row.trees.median); }},
    {"answered", "answered", &H::answered,
     [](const H& row) { return share_text(row.answered, row.rows); }},
    {"answered_trees", "of these",
     [](const H& row) { return row.answered_trees ? errors_json(*row.answered_trees) : Json(); },
     [](const H& row) { return row.answered_trees ? errors_text(*row.answered_trees) : "-"; }},
    {"covered", "within", &H::covered,
     [](const H& row) { return share_text(row.covered, row.answered); }},
    {"width", "upper / lower", &H::width, decimals(2)}};

const Columns<FormResult> form_columns = {
    {"form", "learnt", [](const FormResult& row) { return name(row.form); }},
    errors_column("random", "random 80/20", &FormResult::random),
    errors_column("by_model", "leave one model out", &FormResult::by_model)};

const Columns<SlicesResult> slices_columns = {
    {"slices", "slices", &SlicesResult::slices},
    {"answered", "answered", &SlicesResult::answered},
    {"covered", "within", &SlicesResult::covered,
     [](const SlicesResult& row) { return share_text(row.covered, row.answered); }},
    {"width", "upper / lower", &SlicesResult::width, decimals(2)}};

void print_text(const CompletionTimeStudy& study) {
  fmt::print("{} rows; {} more did not fit, {} have no time on the whole GPU\n", study.rows,
             study.did_not_fit, study.no_whole);
  fmt::print(
      "errors in %, median / 90th percentile, over all rows held out; gain: linear over trees, "
      "medians\n");
  fmt::print("answered: not refused; within: of those, inside their interval of {:g} %\n\n",
             100 * study.level);
  fmt::print("All rows\n\n{}\n", text_rows(held_out_columns, study.all));
  fmt::print("Without the rows of the whole GPU, whose time is a feature\n\n{}\n",
             text_rows(held_out_columns, study.without_whole));
  fmt::print("Each model left out, without the rows of the whole GPU\n\n{}\n",
             text_rows(held_out_columns, study.models));
  fmt::print("What the trees learn, without the rows of the whole GPU\n\n{}",
             text_rows(form_columns, study.forms));
  fmt::print("\nIntervals by slices, random 80/20, all rows\n\n{}",
             text_rows(slices_columns, study.by_slices));
}

void print_json(const CompletionTimeStudy& study) {
  print(Json{{"rows", study.rows},
             {"did_not_fit", study.did_not_fit},
             {"no_whole", study.no_whole},
             {"level", study.level},
             {"all", json_rows(held_out_columns, study.all)},
             {"without_whole", json_rows(held_out_columns, study.without_whole)},
             {"models", json_rows(held_out_columns, study.models)},
             {"forms", json_rows(form_columns, study.forms)},
             {"by_slices", json_rows(slices_columns, study.by_slices)}});
}

Result<int> completion_time(const CompletionTimeCommandOptions& options) {
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
  const auto [command, options] = add_command(
      reproduce, run, "completion-time",
      "Completion times as in Dyna-P, 3.1.2, on the inference that ParvaGPU measured",
      "cleave reproduce completion-time --data inference_profiles.csv", completion_time);
  command->add_option("--data", options.data, "inference_profiles.csv of ParvaGPU's measurements")
      ->required();
  command->add_option("--seed", options.seed, "Seed of the splits and the trees")
      ->check(whole_number(0))
      ->default_str("1");
  add_json(*command, options.json);
}

}  // namespace cleave::cli
