#include "study/reproduce/reproduce_completion_time.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>

#include "base/csv.hpp"
#include "forecast/time/held_out_times.hpp"
#include "simulate/traces/trace_rows.hpp"

namespace cleave {

namespace {

constexpr std::int64_t whole_slices = 7;
constexpr int random_parts = 5;  // of which each is a fifth: 80/20

struct ParvaRow {
  std::string model;
  std::int64_t slices = 0, batch = 0, processes = 0;
  double seconds = 0;  // 0: did not fit

  [[nodiscard]] auto job() const { return std::tuple(model, batch, processes); }
};

struct Columns {
  std::size_t model, slices, batch, processes, throughput;
};

Result<ParvaRow> read_row(const std::vector<std::string>& cells, const Columns& columns,
                          const std::string& place) {
  Cells in(place);
  ParvaRow row;
  row.model = cells[columns.model];
  if (row.model.empty()) in.refuse("the row names no model");
  row.slices = in.whole(cells[columns.slices], "mig_gpcs", 1, whole_slices);
  row.batch = in.whole(cells[columns.batch], "batch_size", 1, 1'000'000);
  row.processes = in.whole(cells[columns.processes], "mps_processes", 1, 1000);
  const double throughput =
      in.seconds(cells[columns.throughput], "throughput_rps_per_process", "requests a second");
  if (in.error) return std::unexpected(*in.error);
  row.seconds = throughput > 0 ? static_cast<double>(row.batch) / throughput : 0;
  return row;
}

/// The numbers of the rows that `wanted` takes.
std::vector<std::size_t> rows_where(const MeasuredJobs& jobs,
                                    const std::function<bool(std::size_t)>& wanted) {
  std::vector<std::size_t> rows;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (wanted(i)) rows.push_back(i);
  return rows;
}

/// What was found of rows held out, before it is summed up.
struct Tally {
  std::vector<double> trees, linear, nearest, answered, widths;
  std::size_t covered = 0;
  struct Interval {
    double slices, width;
    bool holds;
  };
  std::vector<Interval> intervals;  // of the rows answered

  [[nodiscard]] HeldOutResult result(std::string what) const {
    HeldOutResult result;
    result.what = std::move(what);
    result.rows = trees.size();
    result.trees = time_errors(trees);
    result.linear = time_errors(linear);
    result.nearest = time_errors(nearest);
    result.answered = answered.size();
    result.covered = covered;
    if (answered.empty()) return result;
    result.answered_trees = time_errors(answered);
    result.width = time_errors(widths).median;
    return result;
  }
  void add(const Tally& other) {
    for (const auto list :
         {&Tally::trees, &Tally::linear, &Tally::nearest, &Tally::answered, &Tally::widths})
      (this->*list).insert((this->*list).end(), (other.*list).begin(), (other.*list).end());
    covered += other.covered;
    intervals.insert(intervals.end(), other.intervals.begin(), other.intervals.end());
  }
};

/// Trains on the rows that are not of `part` and asks for those that are.
Result<Tally> hold_out(const MeasuredJobs& jobs, const std::vector<std::size_t>& part_of,
                       std::size_t part, const CompletionTimeOptions& options) {
  const MeasuredJobs seen =
      jobs.part(rows_where(jobs, [&](std::size_t i) { return part_of[i] != part; }));
  const auto model = CompletionTime::train(seen, "time_s", options);
  if (!model) return std::unexpected(model.error());
  const auto linear =
      LinearInSlices::make(seen, options.slices, options.whole, options.whole_slices);
  if (!linear) return std::unexpected(linear.error());
  const NearestMeasuredJob nearest(seen);
  Tally tally;
  for (const std::size_t i :
       rows_where(jobs, [&](std::size_t row) { return part_of[row] == part; })) {
    const auto row = jobs.rows[i];
    const double measured = jobs.seconds[i];
    const auto off = [&](double predicted) { return std::abs(predicted / measured - 1); };
    tally.trees.push_back(off(model->seconds(row)));
    tally.linear.push_back(off(linear->seconds(row)));
    tally.nearest.push_back(off(nearest.seconds(row)));
    const auto forecast = model->forecast(row);
    if (!forecast) continue;
    tally.answered.push_back(tally.trees.back());
    tally.widths.push_back(forecast->upper / forecast->lower);
    const bool holds = forecast->lower <= measured && measured <= forecast->upper;
    tally.covered += holds ? 1 : 0;
    tally.intervals.push_back({row[*jobs.feature(options.slices)], tally.widths.back(), holds});
  }
  return tally;
}

/// Every part in turn.
Result<std::vector<Tally>> hold_out_each(const MeasuredJobs& jobs,
                                         const std::vector<std::size_t>& part_of,
                                         const CompletionTimeOptions& options) {
  std::vector<Tally> tallies;
  for (std::size_t part = 0; part <= std::ranges::max(part_of); ++part) {
    auto tally = hold_out(jobs, part_of, part, options);
    if (!tally) return std::unexpected(tally.error());
    tallies.push_back(std::move(*tally));
  }
  return tallies;
}

HeldOutResult summed(const std::vector<Tally>& tallies, std::string what) {
  Tally all;
  for (const Tally& each : tallies) all.add(each);
  return all.result(std::move(what));
}

std::vector<SlicesResult> by_slices(const std::vector<Tally>& tallies) {
  std::map<std::int64_t, std::vector<Tally::Interval>> sorted;
  for (const Tally& tally : tallies)
    for (const auto& each : tally.intervals) sorted[std::llround(each.slices)].push_back(each);
  std::vector<SlicesResult> results;
  for (const auto& [slices, intervals] : sorted) {
    SlicesResult result{slices, intervals.size(), 0, 0};
    std::vector<double> widths;
    for (const auto& each : intervals) {
      result.covered += each.holds ? 1 : 0;
      widths.push_back(each.width);
    }
    result.width = time_errors(std::move(widths)).median;
    results.push_back(result);
  }
  return results;
}

/// The models in the order of the file, and which each row is of.
struct Models {
  std::vector<std::string> names;
  std::vector<std::size_t> of;

  explicit Models(const MeasuredJobs& jobs) {
    for (const std::string& model : jobs.groups) {
      const auto found = std::ranges::find(names, model);
      of.push_back(static_cast<std::size_t>(found - names.begin()));
      if (found == names.end()) names.push_back(model);
    }
  }
};

/// Random parts, then models; the models one by one go into `models`, the random parts' intervals
/// by slices into `slices`.
Result<std::vector<HeldOutResult>> both_ways(const MeasuredJobs& jobs,
                                             const CompletionTimeOptions& options,
                                             std::vector<HeldOutResult>* models,
                                             std::vector<SlicesResult>* slices) {
  MeasuredJobs single = jobs;
  single.groups.clear();
  const std::uint64_t seed = options.boosting.seed;
  const auto random =
      hold_out_each(single, HeldOutTimes::deal(single, random_parts, seed + 1), options);
  if (!random) return std::unexpected(random.error());
  const Models of(jobs);
  const auto by_model = hold_out_each(jobs, of.of, options);
  if (!by_model) return std::unexpected(by_model.error());
  if (slices != nullptr) *slices = by_slices(*random);
  if (models != nullptr)
    for (std::size_t m = 0; m < of.names.size(); ++m)
      models->push_back((*by_model)[m].result(of.names[m]));
  return std::vector{summed(*random, "random 80/20"), summed(*by_model, "leave one model out")};
}

Result<TimeErrors> errors_of(const MeasuredJobs& jobs, const CompletionTimeOptions& options) {
  const auto times = HeldOutTimes::of(jobs, options);
  if (!times) return std::unexpected(times.error());
  std::vector<double> errors;
  for (const HeldOutTime& time : *times) errors.push_back(std::abs(time.trees / time.measured - 1));
  return time_errors(std::move(errors));
}

Result<std::vector<FormResult>> compare_forms(const MeasuredJobs& jobs,
                                              const CompletionTimeOptions& given) {
  MeasuredJobs single = jobs;
  single.groups.clear();
  std::vector<FormResult> results;
  for (const TimeForm form : {TimeForm::seconds, TimeForm::log, TimeForm::ratio}) {
    CompletionTimeOptions options = given;
    options.form = form;
    options.folds = random_parts;
    const auto random = errors_of(single, options);
    options.folds = static_cast<int>(Models(jobs).names.size());
    const auto by_model = errors_of(jobs, options);
    if (!random || !by_model) return std::unexpected((random ? by_model : random).error());
    results.push_back({form, *random, *by_model});
  }
  return results;
}

}  // namespace

Result<ParvaJobs> read_parva_jobs(std::string_view text, const std::string& place) {
  auto csv = CsvReader::open(text, place);
  if (!csv) return std::unexpected(csv.error());
  Columns columns{};
  const auto found = find_columns(*csv,
                                  {{"model", &columns.model},
                                   {"mig_gpcs", &columns.slices},
                                   {"batch_size", &columns.batch},
                                   {"mps_processes", &columns.processes},
                                   {"throughput_rps_per_process", &columns.throughput}},
                                  "ParvaGPU's profiles are needed, inference_profiles.csv");
  if (!found) return std::unexpected(found.error());
  std::vector<ParvaRow> rows;
  std::map<std::tuple<std::string, std::int64_t, std::int64_t>, double> whole;
  for (std::vector<std::string> cells;;) {
    const auto more = csv->next(cells);
    if (!more) return std::unexpected(more.error());
    if (!*more) break;
    auto row = read_row(cells, columns, csv->place());
    if (!row) return std::unexpected(row.error());
    if (row->slices == whole_slices && row->seconds > 0) whole[row->job()] = row->seconds;
    rows.push_back(std::move(*row));
  }
  ParvaJobs read;
  read.jobs.features = {"batch", "processes", "slices", "whole_s"};
  read.jobs.rows.width = read.jobs.features.size();
  for (const ParvaRow& row : rows) {
    const auto on_whole = whole.find(row.job());
    if (row.seconds <= 0 || on_whole == whole.end()) {
      ++(row.seconds <= 0 ? read.did_not_fit : read.no_whole);
      continue;
    }
    read.jobs.rows.add(std::vector{static_cast<double>(row.batch),
                                   static_cast<double>(row.processes),
                                   static_cast<double>(row.slices), on_whole->second});
    read.jobs.seconds.push_back(row.seconds);
    read.jobs.groups.push_back(row.model);
  }
  if (read.jobs.size() == 0)
    return fail(ErrorKind::bad_input, place, "no row has a time on the whole GPU");
  return read;
}

CompletionTimeOptions parva_options(std::uint64_t seed) {
  CompletionTimeOptions options;
  options.form = TimeForm::ratio;
  options.whole = "whole_s";
  options.slices = "slices";
  options.whole_slices = whole_slices;
  options.boosting.seed = seed;
  return options;
}

Result<CompletionTimeStudy> reproduce_completion_time(const ParvaJobs& measured,
                                                      const CompletionTimeOptions& options) {
  const MeasuredJobs& jobs = measured.jobs;
  const std::size_t slices = *jobs.feature("slices");
  const MeasuredJobs parts = jobs.part(rows_where(jobs, [&](std::size_t i) {
    return jobs.rows[i][slices] < static_cast<double>(whole_slices);
  }));
  CompletionTimeStudy study;
  study.rows = jobs.size();
  study.did_not_fit = measured.did_not_fit;
  study.no_whole = measured.no_whole;
  study.level = options.level;
  auto all = both_ways(jobs, options, nullptr, &study.by_slices);
  if (!all) return std::unexpected(all.error());
  study.all = std::move(*all);
  auto without = both_ways(parts, options, &study.models, nullptr);
  if (!without) return std::unexpected(without.error());
  study.without_whole = std::move(*without);
  auto forms = compare_forms(parts, options);
  if (!forms) return std::unexpected(forms.error());
  study.forms = std::move(*forms);
  return study;
}

}  // namespace cleave
