#include "forecast/time/measured_jobs.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/csv.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

std::optional<std::size_t> MeasuredJobs::feature(std::string_view name) const {
  const auto found = std::ranges::find(features, name);
  if (found == features.end()) return std::nullopt;
  return static_cast<std::size_t>(found - features.begin());
}

std::size_t MeasuredJobs::missing(std::size_t feature) const {
  std::size_t count = 0;
  for (std::size_t i = 0; i < size(); ++i) count += std::isnan(rows[i][feature]) ? 1 : 0;
  return count;
}

MeasuredJobs MeasuredJobs::part(std::span<const std::size_t> which) const {
  MeasuredJobs some;
  some.features = features;
  some.rows.width = rows.width;
  for (const std::size_t i : which) {
    some.rows.add(rows[i]);
    some.seconds.push_back(seconds[i]);
    if (!groups.empty()) some.groups.push_back(groups[i]);
  }
  return some;
}

namespace {

Result<double> number_in(std::string_view cell, std::string_view column, const std::string& place) {
  const auto number = parse_number(trimmed(cell));
  if (!number)
    return fail(ErrorKind::bad_input, place,
                fmt::format("{} is not a number: '{}'", shown(column), shown(cell)),
                "correct the line or remove it");
  if (std::abs(*number) > largest_number)
    return fail(ErrorKind::bad_input, place,
                fmt::format("{} is beyond {:g}: '{}'", shown(column), largest_number, shown(cell)));
  return *number;
}

/// Which columns of the file hold what.
struct Columns {
  std::size_t target = 0;
  std::optional<std::size_t> group;
  std::vector<std::size_t> features;
};

Result<std::size_t> column_of(const CsvReader& csv, std::string_view name, std::string_view what) {
  const auto found = csv.column(name);
  if (found) return found;
  Error error = found.error();
  error.message = fmt::format("there is no column '{}' for {}", shown(name), what);
  error.remedy = suggestion(
      shown(name), names_of(csv.columns(), [](const auto& column) { return shown(column); }));
  return std::unexpected(std::move(error));
}

/// `first` has the first non-empty cell of each column, which tells whether the column holds
/// numbers.
Result<Columns> choose_columns(const CsvReader& csv, const std::vector<std::string>& first,
                               const MeasuredJobsOptions& options, MeasuredJobs& jobs) {
  Columns columns;
  const auto target = column_of(csv, options.target, "the time");
  if (!target) return std::unexpected(target.error());
  columns.target = *target;
  if (!options.group.empty()) {
    const auto group = column_of(csv, options.group, "the groups");
    if (!group) return std::unexpected(group.error());
    columns.group = *group;
  }
  for (const std::string& name : options.features) {
    const auto feature = column_of(csv, name, "a feature");
    if (!feature) return std::unexpected(feature.error());
    if (first[*feature].empty())
      return fail(ErrorKind::bad_input, csv.place(),
                  fmt::format("the column '{}' is empty", shown(name)));
    columns.features.push_back(*feature);
  }
  for (std::size_t i = 0; options.features.empty() && i < first.size(); ++i) {
    if (i == columns.target || i == columns.group) continue;
    if (parse_number(trimmed(first[i])))
      columns.features.push_back(i);
    else
      jobs.passed_over.push_back(csv.columns()[i]);
  }
  for (const std::size_t i : columns.features) {
    if (!fit_for_a_name(csv.columns()[i]))
      return fail(ErrorKind::bad_input, csv.place(),
                  fmt::format("column {} has no fit name", i + 1));
    if (i == columns.target)
      return fail(ErrorKind::bad_usage, "", "the time itself cannot be a feature",
                  "name another column with --features");
    if (std::ranges::count(columns.features, i) > 1)
      return fail(ErrorKind::bad_usage, "",
                  fmt::format("the feature '{}' was given twice", csv.columns()[i]),
                  "name each feature once");
    jobs.features.push_back(csv.columns()[i]);
  }
  if (columns.features.empty())
    return fail(ErrorKind::bad_input, csv.place(), "no column holds numbers to learn from");
  return columns;
}

Result<void> add_row(const std::vector<std::string>& cells, const Columns& columns,
                     const std::string& place, const MeasuredJobsOptions& options,
                     MeasuredJobs& jobs) {
  if (trimmed(cells[columns.target]).empty()) {
    ++jobs.left_out;
    return {};
  }
  const auto seconds = number_in(cells[columns.target], options.target, place);
  if (!seconds) return std::unexpected(seconds.error());
  if (!(*seconds >= 1e-12))
    return fail(ErrorKind::bad_input, place,
                fmt::format("{} is {}, which is not a time a job can take", shown(options.target),
                            *seconds),
                "leave the cell empty where a job did not run");
  std::vector<double> row;
  for (std::size_t i = 0; i < columns.features.size(); ++i) {
    if (trimmed(cells[columns.features[i]]).empty()) {
      row.push_back(std::numeric_limits<double>::quiet_NaN());
      continue;
    }
    const auto number = number_in(cells[columns.features[i]], jobs.features[i], place);
    if (!number) return std::unexpected(number.error());
    row.push_back(*number);
  }
  jobs.rows.add(row);
  jobs.seconds.push_back(*seconds);
  if (columns.group) jobs.groups.push_back(cells[*columns.group]);
  return {};
}

/// The first non-empty cell of each column. Lines that are not rows are passed over where `skips`.
Result<std::vector<std::string>> first_cells(std::string_view text, const std::string& place,
                                             bool skips) {
  auto csv = CsvReader::open(text, place);
  if (!csv) return std::unexpected(csv.error());
  std::vector<std::string> first(csv->columns().size());
  for (std::vector<std::string> cells;;) {
    const auto more = csv->next(cells);
    if (!more && skips) continue;
    if (!more) return std::unexpected(more.error());
    if (!*more) return first;
    bool all = true;
    for (std::size_t i = 0; i < first.size(); ++i) {
      if (first[i].empty()) first[i] = trimmed(cells[i]);
      all = all && !first[i].empty();
    }
    if (all) return first;
  }
}

}  // namespace

Result<MeasuredJobs> read_measured_jobs(std::string_view text, const std::string& place,
                                        const MeasuredJobsOptions& options) {
  auto csv = CsvReader::open(text, place);
  if (!csv) return std::unexpected(csv.error());
  const auto first = first_cells(text, place, options.bad_lines != nullptr);
  if (!first) return std::unexpected(first.error());
  MeasuredJobs jobs;
  std::optional<Columns> columns;
  for (std::vector<std::string> cells;;) {
    const auto more = csv->next(cells);
    if (!more) {
      if (const auto passed = pass_over(options.bad_lines, more.error()); !passed)
        return std::unexpected(passed.error());
      continue;
    }
    if (!*more) break;
    if (!columns) {
      const auto chosen = choose_columns(*csv, *first, options, jobs);
      if (!chosen) return std::unexpected(chosen.error());
      columns = *chosen;
      jobs.rows.width = jobs.features.size();
    }
    if (const auto added = add_row(cells, *columns, csv->place(), options, jobs); !added)
      if (const auto passed = pass_over(options.bad_lines, added.error()); !passed)
        return std::unexpected(passed.error());
  }
  if (jobs.size() == 0)
    return fail(ErrorKind::bad_input, place,
                fmt::format("no row has a time in the column '{}'", shown(options.target)));
  return jobs;
}

namespace {

/// Which columns of a row are asked for.
struct AskedColumns {
  std::vector<std::size_t> columns;
  std::span<const std::string> features, may_miss;
};

Result<AskedJob> asked_job(const std::vector<std::string>& cells, const AskedColumns& asked,
                           std::string place) {
  AskedJob job;
  job.place = std::move(place);
  for (std::size_t i = 0; i < asked.columns.size(); ++i) {
    const std::string& name = asked.features[i];
    const std::string& cell = cells[asked.columns[i]];
    if (trimmed(cell).empty()) {
      if (std::ranges::find(asked.may_miss, name) != asked.may_miss.end())
        job.row.push_back(std::numeric_limits<double>::quiet_NaN());
      else if (job.missing.empty())
        job.missing = fmt::format("{} is missing", shown(name));
      continue;
    }
    const auto number = number_in(cell, name, job.place);
    if (!number) return std::unexpected(number.error());
    job.row.push_back(*number);
  }
  if (!job.missing.empty()) job.row.clear();
  return job;
}

}  // namespace

Result<std::vector<AskedJob>> read_asked_jobs(std::string_view text, const std::string& place,
                                              std::span<const std::string> features,
                                              std::span<const std::string> may_miss,
                                              BadLines* bad_lines) {
  auto csv = CsvReader::open(text, place);
  if (!csv) return std::unexpected(csv.error());
  AskedColumns asked{{}, features, may_miss};
  for (const std::string& name : features) {
    const auto found = column_of(*csv, name, "a feature of the model");
    if (!found) return std::unexpected(found.error());
    asked.columns.push_back(*found);
  }
  std::vector<AskedJob> jobs;
  for (std::vector<std::string> cells;;) {
    const auto more = csv->next(cells);
    if (more && !*more) return jobs;
    auto job = more ? asked_job(cells, asked, csv->place())
                    : Result<AskedJob>(std::unexpected(more.error()));
    if (job)
      jobs.push_back(*std::move(job));
    else if (const auto passed = pass_over(bad_lines, job.error()); !passed)
      return std::unexpected(passed.error());
  }
}

}  // namespace cleave
