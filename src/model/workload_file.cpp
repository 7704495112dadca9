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

Result<Workload> finished(JobReader&& reader, const std::string& place, const BadLines* bad) {
  auto workload = std::move(reader).finish(place);
  if (!workload) return workload;
  if (workload->jobs.empty())
    return fail(ErrorKind::bad_input, place, "the workload has no jobs", "is it the right file?");
  if (bad != nullptr && bad->count > 0) workload->notes["bad_lines"] = bad->count;
  workload->sort();
  return workload;
}

Result<Workload> parse_lines(std::string_view text, const std::string& place,
                             const JobSizers& sizers, BadLines* bad) {
  JobReader reader(sizers);
  std::size_t number = 0;
  for (std::size_t next = 0; next < text.size();) {
    const std::size_t end = std::min(text.find('\n', next), text.size());
    const std::string_view line = text.substr(next, end - next);
    next = end + 1;
    ++number;
    if (reader.read_alike(line)) continue;
    if (trimmed(line).empty()) continue;
    const std::string here = fmt::format("{}:{}", place, number);
    auto document = parse_json_line(line, here);
    // A file whose first line is not a whole object is another kind of file.
    if (!document && reader.is_empty() && !trimmed(line).ends_with('}'))
      document.error().remedy = "a workload is CSV with a header, or one JSON object a line";
    const auto read =
        document ? reader.read(*document, here) : Result<void>(std::unexpected(document.error()));
    if (read) {
      reader.remember(line);
      continue;
    }
    if (const auto passed = pass_over(bad, read.error()); !passed)
      return std::unexpected(passed.error());
  }
  return finished(std::move(reader), place, bad);
}

/// A cell as JSON: columns of text stay text, others are numbers, true, false or objects.
Json cell_value(std::string_view column, const std::string& cell) {
  constexpr std::array texts = {
      "id",       "name", "profile", "shape",    "precision",  "reference_model", "application",
      "progress", "user", "account", "together", "share_rule", "array",           "task_of"};
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

/// Without the cells that are empty.
Json row_of(const CsvReader& csv, const std::vector<std::string>& cells) {
  Json row = Json::object();
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const std::string_view column = trimmed(csv.columns()[i]), cell = trimmed(cells[i]);
    if (!cell.empty()) row[std::string(column)] = cell_value(column, std::string(cell));
  }
  return row;
}

Result<Workload> parse_table(std::string_view text, const std::string& place,
                             const JobSizers& sizers, BadLines* bad) {
  auto csv = CsvReader::open(text, place);
  if (!csv) return std::unexpected(csv.error());
  if (std::ranges::none_of(csv->columns(), [](const auto& name) { return trimmed(name) == "id"; }))
    return fail(ErrorKind::bad_input, fmt::format("{}:1", place),
                "this is not a workload: its first line names no column 'id'",
                "write CSV with a header, or one JSON object a line");
  if (const auto known = check_columns(*csv, place); !known) return std::unexpected(known.error());
  JobReader reader(sizers);
  std::vector<std::string> cells;
  while (true) {
    const auto more = csv->next(cells);
    if (more && !*more) break;
    const auto read = more ? reader.read(row_of(*csv, cells), csv->place())
                           : Result<void>(std::unexpected(more.error()));
    if (read) continue;
    if (const auto passed = pass_over(bad, read.error()); !passed)
      return std::unexpected(passed.error());
  }
  return finished(std::move(reader), place, bad);
}

}  // namespace

Result<Workload> parse_workload(std::string_view text, const std::string& place,
                                const ModelSizer& sizer, const KernelSizer& kernels,
                                BadLines* bad) {
  const std::string_view content = without_byte_order_mark(text);
  if (trimmed(content).empty())
    return fail(ErrorKind::bad_input, place, "the file is empty",
                "a workload is CSV with a header, or one JSON object a line");
  if (trimmed(content).starts_with('['))
    return fail(ErrorKind::bad_input, place, "this is one JSON list",
                "write one JSON object a line, without a list around them");
  const JobSizers sizers{sizer, kernels};
  return trimmed(content).starts_with('{') ? parse_lines(content, place, sizers, bad)
                                           : parse_table(content, place, sizers, bad);
}

}  // namespace cleave
