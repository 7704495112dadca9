#include "forecast/memory/memory_series.hpp"

#include <cmath>

#include "base/csv.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr double most_mib = 1e12;
constexpr std::int64_t most_iterations = 1'000'000'000'000;

Result<MiB> read_mib(const std::string& cell, const std::string& place, std::string_view column) {
  const auto value = parse_number(cell);
  if (!value || !(*value >= 0 && *value <= most_mib))
    return fail(ErrorKind::bad_input, place,
                fmt::format("{} '{}' is not a size in MiB", column, shown(cell)),
                "give a number, or leave the cell empty where the sample is missing");
  return MiB{std::llround(*value)};
}

/// The columns of the parts that a series may have.
struct PartColumns {
  explicit PartColumns(const CsvReader& csv) {
    for (const ReportPart& part : report_parts)
      if (const auto at = csv.column(fmt::format("{}_mib", part.name)))
        columns.push_back({&part, *at});
  }

  /// An empty cell: the part is not known.
  [[nodiscard]] Result<void> read(const std::vector<std::string>& cells, const std::string& place,
                                  MemoryReport& report) const {
    for (const auto& [part, at] : columns) {
      if (cells[at].empty()) continue;
      const auto size = read_mib(cells[at], place, fmt::format("{}_mib", part->name));
      if (!size) return std::unexpected(size.error());
      report.*part->size = *size;
    }
    return {};
  }

  std::vector<std::pair<const ReportPart*, std::size_t>> columns;
};

/// Where the values of a row stand.
struct SeriesColumns {
  std::size_t iteration, requested, allocated;
  PartColumns parts;
};

/// Adds what the row reports, or counts that it reports nothing.
Result<void> add_row(const std::vector<std::string>& cells, const SeriesColumns& columns,
                     const std::string& place, std::optional<std::int64_t> iterations,
                     MemorySeries& series) {
  const auto number = parse_integer(cells[columns.iteration]);
  if (!number || *number < 1 || *number > most_iterations)
    return fail(ErrorKind::bad_input, place,
                fmt::format("'{}' is not an iteration", shown(cells[columns.iteration])),
                "count them from 1, to 1,000,000,000,000 at most");
  const std::int64_t before = series.reports.empty() ? 0 : series.reports.back().iteration;
  if (*number <= before)
    return fail(ErrorKind::bad_input, place,
                fmt::format("iteration {} comes after iteration {}", *number, before),
                "sort the rows by iteration, each once");
  if (cells[columns.requested].empty() || cells[columns.allocated].empty()) {
    ++series.missing;
    return {};
  }
  if (iterations && *number > *iterations)
    return fail(ErrorKind::bad_input, place,
                fmt::format("iteration {} comes after the last one, {}", *number, *iterations),
                "give the number of iterations of the whole job");
  const auto asked = read_mib(cells[columns.requested], place, "requested_mib");
  if (!asked) return std::unexpected(asked.error());
  const auto held = read_mib(cells[columns.allocated], place, "allocated_mib");
  if (!held) return std::unexpected(held.error());
  MemoryReport report{*number, iterations, *asked, *held};
  if (const auto read = columns.parts.read(cells, place, report); !read) return read;
  series.reports.push_back(report);
  return {};
}

}  // namespace

Result<MemorySeries> read_memory_series(std::string_view text, const std::string& place,
                                        std::optional<std::int64_t> iterations,
                                        BadLines* bad_lines) {
  auto csv = CsvReader::open(text, place);
  if (!csv) return std::unexpected(csv.error());
  const auto iteration = csv->column("iteration"), requested = csv->column("requested_mib"),
             allocated = csv->column("allocated_mib");
  for (const auto* column : {&iteration, &requested, &allocated})
    if (!*column) return std::unexpected(column->error());
  const SeriesColumns columns{*iteration, *requested, *allocated, PartColumns(*csv)};
  MemorySeries series;
  for (std::vector<std::string> cells;;) {
    const auto more = csv->next(cells);
    if (more && !*more) return series;
    const auto added = more ? add_row(cells, columns, csv->place(), iterations, series)
                            : Result<void>(std::unexpected(more.error()));
    if (!added)
      if (const auto passed = pass_over(bad_lines, added.error()); !passed)
        return std::unexpected(passed.error());
  }
}

Watched watch(Forecaster* forecaster, const std::vector<MemoryReport>& reports,
              std::optional<MiB> capacity, MiB context) {
  constexpr JobId job{0};
  Watched watched;
  for (std::size_t i = 0; i < reports.size(); ++i) {
    const auto peak = forecaster != nullptr ? forecaster->report(job, reports[i]) : std::nullopt;
    watched.said.push_back(peak);
    if (peak && !watched.spoke) watched.spoke = i;
    if (!capacity) continue;
    if (peak && !watched.alarm && peak->at_least > *capacity) watched.alarm = i;
    const MiB held = reports[i].context ? reports[i].held() : reports[i].held() + context;
    if (!watched.overflow && held > *capacity) watched.overflow = i;
  }
  if (forecaster != nullptr) forecaster->forget(job);
  return watched;
}

}  // namespace cleave
