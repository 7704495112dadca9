// `cleave reproduce co-runs`: what sources measured of jobs that share a GPU, beside the simulator.

#include <algorithm>
#include <optional>

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/columns.hpp"
#include "cli/command.hpp"
#include "cli/table.hpp"
#include "study/reproduce/coruns.hpp"
#include "study/reproduce/score_columns.hpp"

namespace cleave::cli {

namespace {

struct CorunsCommandOptions {
  std::string data;
  bool json = false;
};

std::string number(double value) {
  return fmt::format("{:.3g}", value);
}

// Figures.

/// One line of the table.
struct Line {
  const CorunExperiment* experiment;
  const CorunFigure* figure;

  [[nodiscard]] std::string text(double value) const {
    return fmt::format("{:.{}f}", value, figure->digits);
  }
};

std::string measured(const Line& line) {
  const Stated& stated = line.figure->measured;
  if (!stated.least) return "at most " + line.text(*stated.most);
  if (!stated.most) return "at least " + line.text(*stated.least);
  const std::string least = line.text(*stated.least), most = line.text(*stated.most);
  return least == most ? least : least + " to " + most;
}

std::string off(const Line& line) {
  const double share = line.figure->measured.off(line.figure->predicted);
  return share == 0 ? "0" : fmt::format("{:+.1f}", 100 * share);
}

bool within(const CorunFigure& figure) {
  return figure.measured.within(figure.least, figure.most);
}

const Columns<Line> line_columns = {
    {"", "experiment", [](const Line& line) { return line.experiment->name; }},
    {"", "figure", [](const Line& line) { return line.figure->name; }},
    {"", "measured", measured},
    {"", "Cleave", [](const Line& line) { return line.text(line.figure->predicted); }},
    {"", "off, %", off},
    {"", "least", [](const Line& line) { return line.text(line.figure->least); }},
    {"", "most", [](const Line& line) { return line.text(line.figure->most); }},
    {"", "agrees", [](const Line& line) { return within(*line.figure) ? "yes" : "no"; }}};

// What was given and what is open: once where several experiments share it.

/// Lines of text, each once, under the names of the experiments that share it.
class SharedText {
 public:
  void add(const std::string& text, const std::string& experiment) {
    auto found = std::ranges::find(entries_, text, &Entry::text);
    if (found == entries_.end()) found = entries_.insert(entries_.end(), Entry{text, {}});
    found->experiments.push_back(experiment);
  }
  /// In the order of each heading's first line.
  void print() const {
    std::vector<std::vector<std::string>> headings;
    for (const Entry& each : entries_) {
      if (std::ranges::find(headings, each.experiments) != headings.end()) continue;
      headings.push_back(each.experiments);
      fmt::print("  {}\n", fmt::join(each.experiments, ", "));
      for (const Entry& other : entries_)
        if (other.experiments == each.experiments) fmt::print("{}\n", other.text);
    }
  }

 private:
  struct Entry {
    std::string text;
    std::vector<std::string> experiments;
  };
  std::vector<Entry> entries_;
};

std::string input_text(const OpenInput& input) {
  if (input.words.empty())
    return fmt::format("    {}: {}, from {} to {}\n      {}", input.name,
                       number(input.values[input.usual]), number(input.values.front()),
                       number(input.values.back()), input.why);
  std::vector<std::string> others = input.words;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(input.usual));
  return fmt::format("    {}: {}, or {}\n      {}", input.name, input.words[input.usual],
                     fmt::join(others, ", "), input.why);
}

/// The figures that have this table: a row for each experiment, a column for each name.
std::string by_name(const std::vector<CorunExperiment>& experiments, const std::string& title) {
  std::optional<Table> table;
  for (const CorunExperiment& experiment : experiments) {
    std::vector<std::string> names = {"experiment"}, row = {experiment.name};
    for (const CorunFigure& figure : experiment.figures) {
      if (figure.table != title) continue;
      const auto text = [&](double value) { return Line{&experiment, &figure}.text(value); };
      names.push_back(figure.name);
      row.push_back(fmt::format("{} ({} to {})", text(figure.predicted), text(figure.least),
                                text(figure.most)));
    }
    if (row.size() < 2) continue;
    if (!table) table.emplace(names);
    table->add(row);
  }
  return table ? table->text() : "";
}

void print_tables(const std::vector<CorunExperiment>& experiments) {
  std::vector<std::string> titles;
  for (const CorunExperiment& experiment : experiments)
    for (const CorunFigure& figure : experiment.figures)
      if (!figure.table.empty() && std::ranges::find(titles, figure.table) == titles.end())
        titles.push_back(figure.table);
  for (const std::string& title : titles)
    fmt::print("Predicted: {}, with least and most\n{}\n", title, by_name(experiments, title));
}

void print_scores(const std::vector<CorunExperiment>& experiments) {
  for (const CorunExperiment& experiment : experiments)
    if (!experiment.scores.empty())
      fmt::print("{}: |predicted speed / measured speed - 1| in %\n{}\n", experiment.name,
                 text_rows(score_columns, experiment.scores));
}

void print_text(const std::vector<CorunExperiment>& experiments) {
  fmt::print(
      "What was measured of jobs that share a GPU, and what the simulator makes of it: with the "
      "usual\ninputs, how far that is off, and the least and most over all open inputs, in every "
      "combination.\nof serial: relative to one after another; of alone: time beside others / time "
      "alone\n1g over MPS: throughput of seven jobs on 1g each, relative to that of seven under "
      "MPS\n\n");
  std::vector<Line> lines;
  for (const CorunExperiment& experiment : experiments)
    for (const CorunFigure& figure : experiment.figures)
      if (figure.table.empty()) lines.push_back({&experiment, &figure});
  fmt::print("{}\n", text_rows(line_columns, lines));
  for (const CorunExperiment& experiment : experiments)
    if (!experiment.skipped.empty())
      fmt::print("{}: skipped, {}\n\n", experiment.name, experiment.skipped);
  print_tables(experiments);
  print_scores(experiments);
  fmt::print("Known to the simulator\n");
  SharedText known, open;
  for (const CorunExperiment& experiment : experiments) {
    if (!experiment.skipped.empty()) continue;
    known.add(fmt::format("    {}\n      {}", experiment.known, experiment.source),
              experiment.name);
    for (const OpenInput& input : experiment.inputs) open.add(input_text(input), experiment.name);
  }
  known.print();
  fmt::print("\nOpen inputs, usual value first\n");
  open.print();
}

// JSON.

/// Where something is stated.
template <class Value>
std::optional<Value> compared(const CorunFigure& figure, Value value) {
  return figure.measured.anything() ? std::optional(value) : std::nullopt;
}

const Columns<CorunFigure> figure_columns = {
    {"name", "",
     [](const CorunFigure& figure) {
       return figure.table.empty() ? figure.name : fmt::format("{}, {}", figure.table, figure.name);
     }},
    {"measured", "",
     [](const CorunFigure& figure) {
       return Json{{"least", as_json(figure.measured.least)},
                   {"most", as_json(figure.measured.most)}};
     }},
    {"predicted", "", &CorunFigure::predicted},
    {"off", "",
     [](const CorunFigure& figure) {
       return compared(figure, figure.measured.off(figure.predicted));
     }},
    {"least", "", &CorunFigure::least},
    {"most", "", &CorunFigure::most},
    {"agrees", "", [](const CorunFigure& figure) { return compared(figure, within(figure)); }}};

Json input_json(const OpenInput& input) {
  Json json{{"name", input.name}, {"why", input.why}};
  if (input.words.empty()) {
    json["usual"] = input.values[input.usual];
    json["values"] = input.values;
  } else {
    json["usual"] = input.words[input.usual];
    json["values"] = input.words;
  }
  return json;
}

Json report_json(const std::vector<CorunExperiment>& experiments) {
  Json all = Json::array();
  for (const CorunExperiment& experiment : experiments) {
    Json inputs = Json::array();
    for (const OpenInput& input : experiment.inputs) inputs.push_back(input_json(input));
    all.push_back({{"name", experiment.name},
                   {"source", experiment.source},
                   {"known", experiment.known},
                   {"figures", json_rows(figure_columns, experiment.figures)},
                   {"inputs", inputs}});
    if (!experiment.scores.empty())
      all.back()["scores"] = json_rows(score_columns, experiment.scores);
    if (!experiment.skipped.empty()) all.back()["skipped"] = experiment.skipped;
  }
  return {{"experiments", all}};
}

Result<PhysicsData> data_of(const std::string& folder) {
  if (!folder.empty()) return read_physics_data(folder);
  PhysicsData data;
  data.stream.missing = data.resnet.missing = data.inference.missing = "because it needs --data";
  return data;
}

Result<int> coruns(const CorunsCommandOptions& options) {
  const auto data = data_of(options.data);
  if (!data) return std::unexpected(data.error());
  auto experiments = needleman_wunsch();
  if (!experiments) return std::unexpected(experiments.error());
  for (auto more : {taming_coruns(), measured_coruns(*data)}) {
    if (!more) return std::unexpected(more.error());
    std::ranges::move(*more, std::back_inserter(*experiments));
  }
  auto processes = process_coruns(*data);
  if (!processes) return std::unexpected(processes.error());
  experiments->push_back(std::move(*processes));
  if (options.json)
    print(report_json(*experiments));
  else
    print_text(*experiments);
  return 0;
}

}  // namespace

void add_reproduce_coruns(CommandLine& reproduce, Run& run) {
  const auto [command, options] = add_command(
      reproduce, run, "co-runs",
      "Jobs side by side, as papers measured them and as the simulator has them, with the range of "
      "what the papers leave open",
      "cleave reproduce co-runs --data DIR", coruns);
  command->add_option("--data", options.data,
                      "Folder with mig-reconfig-a100-40gb, for STREAM and ResNet-50, and "
                      "mig-parvagpu-a100-80gb, for processes under MPS; the papers' co-runs need "
                      "none");
  add_json(*command, options.json);
}

}  // namespace cleave::cli
