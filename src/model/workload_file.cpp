#include "model/workload_file.hpp"

#include <algorithm>
#include <array>

#include "base/csv.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/json_line.hpp"
#include "base/text.hpp"
#include "model/job_fields.hpp"
#include "model/workload/job_reader.hpp"

namespace cleave {

namespace {

Result<Workload> finished(Workload workload, const std::string& place) {
  if (workload.jobs.empty())
    return fail(ErrorKind::bad_input, place, "the workload has no jobs", "is it the right file?");
  workload.sort();
  return workload;
}

Result<Workload> parse_lines(std::string_view text, const std::string& place,
                             const JobSizers& sizers) {
  std::optional<Error> error;
  JobReader reader(error, sizers);
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (trimmed(line).empty()) continue;
    const std::string here = fmt::format("{}:{}", place, number);
    auto document = parse_json_line(line, here);
    if (!document) {
      // A file whose first line is not a whole object is another kind of file.
      if (reader.workload.jobs.empty() && !trimmed(line).ends_with('}'))
        document.error().remedy = "a workload is CSV with a header, or one JSON object a line";
      return std::unexpected(document.error());
    }
    reader.read(*document, here);
    if (error) return std::unexpected(*error);
  }
  return finished(std::move(reader.workload), place);
}

/// A cell as JSON: columns of text stay text, others are numbers, true, false or objects.
Json cell_value(std::string_view column, const std::string& cell) {
  constexpr std::array texts = {
      "id",          "name",     "profile", "shape",   "precision", "reference_model",
      "application", "progress", "user",    "account", "together",  "share_rule"};
  if (std::ranges::find(texts, column) != texts.end()) return cell;
  auto value = parse_json(cell, "cell");
  return value ? *value : Json(cell);
}

/// What no workload has is said at the header, not at the first job.
Result<void> check_columns(const CsvReader& csv, const std::string& place) {
  std::vector<std::string> known;
  for (const JobField& field : job_fields())
    for (const std::string_view key : {field.workload, field.submission})
      if (!key.empty()) known.emplace_back(key);
  for (const std::string& column : csv.columns()) {
    const std::string_view key = trimmed(column);
    if (key.starts_with("x-") || std::ranges::find(known, key) != known.end()) continue;
    const auto near = nearest(key, known);
    return fail(
        ErrorKind::bad_input, fmt::format("{}:1", place),
        fmt::format("unknown column '{}'", shown(key)),
        fmt::format("{}a column of your own is called x-{}",
                    near ? fmt::format("did you mean '{}'? Otherwise, ", *near) : "", shown(key)));
  }
  return {};
}

Result<Workload> parse_table(std::string_view text, const std::string& place,
                             const JobSizers& sizers) {
  auto csv = CsvReader::open(text, place);
  if (!csv) return std::unexpected(csv.error());
  if (std::ranges::none_of(csv->columns(), [](const auto& name) { return trimmed(name) == "id"; }))
    return fail(ErrorKind::bad_input, fmt::format("{}:1", place),
                "this is not a workload: its first line names no column 'id'",
                "write CSV with a header, or one JSON object a line");
  if (const auto known = check_columns(*csv, place); !known) return std::unexpected(known.error());
  std::optional<Error> error;
  JobReader reader(error, sizers);
  std::vector<std::string> cells;
  while (true) {
    const auto more = csv->next(cells);
    if (!more) return std::unexpected(more.error());
    if (!*more) break;
    Json row = Json::object();
    for (std::size_t i = 0; i < cells.size(); ++i)
      if (!trimmed(cells[i]).empty())
        row[std::string(trimmed(csv->columns()[i]))] =
            cell_value(trimmed(csv->columns()[i]), std::string(trimmed(cells[i])));
    reader.read(row, csv->place());
    if (error) return std::unexpected(*error);
  }
  return finished(std::move(reader.workload), place);
}

}  // namespace

Result<Workload> parse_workload(std::string_view text, const std::string& place,
                                const ModelSizer& sizer, const KernelSizer& kernels) {
  const std::string_view content = without_byte_order_mark(text);
  if (trimmed(content).empty())
    return fail(ErrorKind::bad_input, place, "the file is empty",
                "a workload is CSV with a header, or one JSON object a line");
  if (trimmed(content).starts_with('['))
    return fail(ErrorKind::bad_input, place, "this is one JSON list",
                "write one JSON object a line, without a list around them");
  const JobSizers sizers{sizer, kernels};
  return trimmed(content).starts_with('{') ? parse_lines(content, place, sizers)
                                           : parse_table(content, place, sizers);
}

}  // namespace cleave
