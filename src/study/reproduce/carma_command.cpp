// `cleave reproduce carma`: forecasts of memory beside the training tasks that CARMA measured.

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"
#include "cli/columns.hpp"
#include "cli/command.hpp"
#include "study/reproduce/carma_memory.hpp"

namespace cleave::cli {

namespace {

struct CarmaCommandOptions {
  std::string tasks, reading = "scripts";
  bool json = false;
};

constexpr std::uint64_t most_copies_shown = 5;

/// How many forecasts land with other numbers of copies.
Result<std::vector<std::size_t>> landed_by_copies(const std::string& text, const std::string& place,
                                                  CarmaReading reading) {
  std::vector<std::size_t> landed;
  for (std::uint64_t copies = 0; copies <= most_copies_shown; ++copies) {
    const auto report = carma_memory(text, place, reading, copies);
    if (!report) return std::unexpected(report.error());
    landed.push_back(report->landed());
  }
  return landed;
}

std::string verdict(const CarmaReport& report, const CarmaTask& task) {
  if (task.chosen == nullptr) return "none holds it";
  const int above = report.sizes_above(task);
  if (above == 0) return "right";
  return above == 1 ? "next larger" : above > 1 ? "larger" : "too small";
}

Json profile_json(const Profile* profile) {
  return profile == nullptr ? Json(nullptr) : Json(profile->name);
}

/// Of the tasks with a forecast.
Columns<CarmaTask> forecast_columns(const CarmaReport& report) {
  using T = CarmaTask;
  return {
      {"task", "task", &T::model},
      {"batch", "batch", [](const T& task) { return task.batch > 0 ? Json(task.batch) : Json(); },
       [](const T& task) { return fmt::format("{}", task.batch); }},
      {text_only, "read as", &T::network},
      {"measured_mib", "measured", &T::measured_mib, decimals(0)},
      {"network", json_only, &T::network},
      {"forecast_mib", "forecast", &T::forecast},
      {"error", "error", &T::error,
       [](const T& task) { return fmt::format("{:+.1f} %", 100 * task.error()); }},
      {"right", "right", [](const T& task) { return profile_json(task.right); }, or_word("none")},
      {"chosen", "chosen", [](const T& task) { return profile_json(task.chosen); },
       or_word("none")},
      {"verdict", " ", [&report](const T& task) { return verdict(report, task); }}};
}

/// Of those without one.
const Columns<CarmaTask> lacking_columns = {
    {"task", "task without a forecast", &CarmaTask::model},
    {"batch", json_only,
     [](const CarmaTask& task) { return task.batch > 0 ? Json(task.batch) : Json(); }},
    {"measured_mib", "measured", &CarmaTask::measured_mib, decimals(0)},
    {"lacking", "what is lacking", &CarmaTask::lacking}};

void print_carma(const CarmaReport& report, const std::vector<std::size_t>& landed) {
  std::vector<CarmaTask> with, without;
  for (const CarmaTask& task : report.tasks)
    (task.lacking.empty() ? with : without).push_back(task);
  fmt::print("{}\n{} of {} forecasts land on the right {} profile or the next larger\n",
             text_rows(forecast_columns(report), with), report.landed(), report.forecasts(),
             report.gpu->key);
  fmt::print("with 0 to {} copies of the largest layer's input and output: {}\n\n{}",
             most_copies_shown, fmt::join(landed, ", "), text_rows(lacking_columns, without));
}

Json carma_json(const CarmaReport& report, const std::vector<std::size_t>& landed) {
  Json tasks = Json::array();
  for (const CarmaTask& task : report.tasks)
    tasks.push_back(
        json_row(task.lacking.empty() ? forecast_columns(report) : lacking_columns, task));
  return {{"model", report.gpu->key},
          {"tasks", tasks},
          {"forecasts", report.forecasts()},
          {"landed", report.landed()},
          {"landed_by_copies", landed}};
}

Result<int> carma(const CarmaCommandOptions& options) {
  const auto text = read_text(options.tasks);
  if (!text) return std::unexpected(text.error());
  const std::string place = shown(options.tasks, 200);
  const CarmaReading reading =
      options.reading == "names" ? CarmaReading::names : CarmaReading::scripts;
  const auto report = carma_memory(*text, place, reading);
  if (!report) return std::unexpected(report.error());
  const auto landed = landed_by_copies(*text, place, reading);
  if (!landed) return std::unexpected(landed.error());
  if (options.json)
    print(carma_json(*report, *landed));
  else
    print_carma(*report, *landed);
  return 0;
}

}  // namespace

void add_reproduce_carma(CommandLine& reproduce, Run& run) {
  const auto [command, options] = add_command(
      reproduce, run, "carma", "Forecasts of memory compared with the tasks that CARMA measured",
      "cleave reproduce carma --tasks training_tasks.csv", carma);
  command
      ->add_option("--tasks", options.tasks,
                   "CSV with the columns model, batch_size, max_memory_mib")
      ->required();
  command
      ->add_option(
          "--reading", options.reading,
          "How to read what the tasks train: from their published scripts or from their names")
      ->check(Check::one_of({"scripts", "names"}))
      ->default_str("scripts");
  add_json(*command, options.json);
}

}  // namespace cleave::cli
