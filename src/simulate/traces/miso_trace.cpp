#include "simulate/traces/miso_trace.hpp"

#include <unordered_set>

#include "base/format.hpp"
#include "base/random.hpp"
#include "physics/measured_speeds.hpp"
#include "simulate/traces/trace_rows.hpp"

namespace cleave {

namespace {

struct MisoRecord {
  std::int64_t number = 0, batch = 0, iterations = 0;
  std::string model;
  double seconds = 0;
};

struct MisoColumns {
  std::size_t job, model, batch, runtime, iterations;
};

Result<MisoRecord> read_record(const std::vector<std::string>& row, const MisoColumns& columns,
                               const std::string& place) {
  Cells cells(place);
  MisoRecord record;
  record.number = cells.whole(row[columns.job], "job", 0, 1'000'000'000);
  record.model = row[columns.model];
  if (record.model.empty()) cells.refuse("the job has no model");
  record.batch = cells.whole(row[columns.batch], "batch_size", 1, 1'000'000);
  record.seconds = cells.seconds(row[columns.runtime], "runtime_on_full_gpu_s", "seconds");
  record.iterations = cells.whole(row[columns.iterations], "iterations", 1, 1'000'000'000'000);
  if (!cells.error && record.seconds <= 0) cells.refuse("runtime_on_full_gpu_s is 0");
  if (cells.error) return std::unexpected(*cells.error);
  return record;
}

Result<std::vector<MisoRecord>> read_records(std::string_view text, const std::string& place,
                                             const TraceOptions& options) {
  auto csv = CsvReader::open(text, place);
  if (!csv) return std::unexpected(csv.error());
  MisoColumns columns{};
  const auto found = find_columns(*csv,
                                  {{"job", &columns.job},
                                   {"model", &columns.model},
                                   {"batch_size", &columns.batch},
                                   {"runtime_on_full_gpu_s", &columns.runtime},
                                   {"iterations", &columns.iterations}},
                                  "the jobs of MISO's experiment are needed, jobs_100.csv");
  if (!found) return std::unexpected(found.error());
  std::vector<MisoRecord> records;
  std::unordered_set<std::int64_t> numbers;
  std::vector<std::string> row;
  const auto read = each_row(
      options, [&] { return csv->next(row); },
      [&]() -> Result<void> {
        auto record = read_record(row, columns, csv->place());
        if (!record) return std::unexpected(record.error());
        if (!numbers.insert(record->number).second)
          return fail(ErrorKind::bad_input, csv->place(),
                      fmt::format("there are two jobs numbered {}", record->number),
                      "remove one of the two");
        records.push_back(std::move(*record));
        return {};
      });
  if (!read) return std::unexpected(read.error());
  return records;
}

/// The profiles on which the job ran, with its speeds.
std::pair<Request, SpeedModel> as_measured(const MeasuredSpeed& measured) {
  Request request{Unknown{}, std::vector<std::string>{}};
  for (const auto& [profile, speed] : measured.speeds) request.fits->push_back(profile);
  SpeedModel model;
  model.table = measured.speeds;
  return {std::move(request), std::move(model)};
}

JobDetails details_of(const MisoRecord& record, Duration duration) {
  JobDetails details;
  details.application = record.model;
  details.batch = record.batch;
  details.latency = duration / record.iterations;
  return details;
}

}  // namespace

Result<Workload> read_miso(std::string_view text, const std::string& place,
                           const TraceOptions& options) {
  auto records = read_records(text, place, options);
  if (!records) return std::unexpected(records.error());
  if (records->empty()) return fail(ErrorKind::bad_input, place, "the trace has no jobs");
  if (options.limit && records->size() > *options.limit) records->resize(*options.limit);

  Workload workload;
  Intake intake(workload, options, place);
  workload.notes["speeds_unreliable"] = 0;
  Random random(options.seed);
  double now = 0;
  for (const MisoRecord& record : *records) {
    const double arrives = now;
    // Also for jobs that are left out, so that the others keep their arrivals.
    now += random.exponential(in_seconds(options.gap));
    const MeasuredSpeed* measured =
        find_measured(MeasuredSet::miso, record.model, static_cast<int>(record.batch));
    if (measured == nullptr) {
      intake.leave_out("speeds not measured", 1, record.seconds);
      continue;
    }
    const auto duration = duration_from_seconds(record.seconds);
    if (!duration) return fail_at(place, duration.error());
    workload.notes["speeds_unreliable"] += record.model == "deepspeech2" ? 1 : 0;
    auto [request, speed] = as_measured(*measured);
    const auto details = static_cast<std::uint32_t>(workload.details.size());
    workload.details.push_back(details_of(record, *duration));
    const auto taken = intake.take({.id = fmt::format("miso-{:03}", record.number),
                                    .after = arrives,
                                    .seconds = record.seconds,
                                    .gpus = 1,
                                    .request = std::move(request),
                                    .speed = std::move(speed),
                                    .details = details});
    if (!taken) return std::unexpected(taken.error());
  }
  note_options(workload, "miso", options,
               {{"gap_s", fmt::format("{}", in_seconds(options.gap))},
                {"seed", fmt::format("{}", options.seed)}});
  return workload;
}

}  // namespace cleave
