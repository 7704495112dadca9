#include "simulate/traces/philly.hpp"

#include <array>

#include "base/format.hpp"
#include "base/random.hpp"
#include "simulate/traces/trace_details.hpp"
#include "simulate/traces/trace_rows.hpp"

namespace cleave {

namespace {

struct PhillyRecord {
  double submitted = 0, seconds = 0;
  std::int64_t gpus = 0;
  std::string application;
};

struct PhillyColumns {
  std::size_t timestamp, duration, num_gpus;
};

/// Pods of Alibaba's openb_pod_list_default.csv with num_gpu 1 and gpu_milli below 1000.
struct SharingPods {
  int thousandths;
  double pods;
};
constexpr SharingPods sharing_pods[] = {
    {50, 7},    {110, 24},  {140, 1},  {160, 74}, {220, 62},  {230, 140},  {270, 4},
    {290, 1},   {320, 328}, {330, 7},  {350, 6},  {370, 47},  {440, 2},    {460, 128},
    {470, 750}, {480, 19},  {550, 72}, {590, 75}, {650, 253}, {810, 1078},
};

class ShareDraw {
 public:
  explicit ShareDraw(const TraceOptions& options) : shares_(options.shares), random_(options.seed) {
    for (std::size_t i = 0; i < weights_.size(); ++i) weights_[i] = sharing_pods[i].pods;
  }
  int next() {
    if (shares_ == Shares::whole) return whole_gpu_share;
    return sharing_pods[random_.weighted(weights_)].thousandths;
  }

 private:
  Shares shares_;
  Random random_;
  std::array<double, std::size(sharing_pods)> weights_{};
};

Result<PhillyRecord> read_record(const std::vector<std::string>& row, const PhillyColumns& columns,
                                 const std::string& place) {
  Cells cells(place);
  PhillyRecord record;
  record.submitted = cells.clock(row[columns.timestamp], "timestamp");
  record.seconds = cells.seconds(row[columns.duration], "duration", "seconds");
  record.gpus = cells.whole(row[columns.num_gpus], "num_gpus", 0, 100000);
  if (cells.error) return std::unexpected(*cells.error);
  return record;
}

std::optional<std::string> left_out_because(const PhillyRecord& record,
                                            const TraceOptions& options) {
  if (const auto reason = left_out_for_places(record.gpus, options)) return reason;
  if (record.seconds <= 0) return "no run time";
  return std::nullopt;
}

}  // namespace

Result<Workload> read_philly(std::string_view text, const std::string& place,
                             const TraceOptions& options) {
  auto csv = CsvReader::open(text, place);
  if (!csv) return std::unexpected(csv.error());
  PhillyColumns columns{};
  const auto found = find_columns(*csv,
                                  {{"timestamp", &columns.timestamp},
                                   {"duration", &columns.duration},
                                   {"num_gpus", &columns.num_gpus}},
                                  "philly.csv of Pollux's simulator is needed");
  if (!found) return std::unexpected(found.error());
  const auto naming = NamingColumns::of(options, {}, column_finder(*csv), place);
  if (!naming) return std::unexpected(naming.error());

  Workload workload;
  std::vector<PhillyRecord> records;
  workload.notes["no_gpu"] = 0;
  std::vector<std::string> row;
  const auto read = each_row(
      options, [&] { return csv->next(row); },
      [&]() -> Result<void> {
        auto record = read_record(row, columns, csv->place());
        if (!record) return std::unexpected(record.error());
        record->application = naming->name_in(row);
        if (record->gpus == 0) {
          ++workload.notes["no_gpu"];
        } else {
          records.push_back(*std::move(record));
        }
        return {};
      });
  if (!read) return std::unexpected(read.error());
  if (records.empty())
    return fail(ErrorKind::bad_input, place, "the trace has no job that uses a GPU");
  order(records, &PhillyRecord::submitted, options);

  Intake intake(workload, options, place);
  TraceDetails details(workload);
  ShareDraw shares(options);
  for (std::size_t i = 0; i < records.size(); ++i) {
    const PhillyRecord& record = records[i];
    const auto gpus = static_cast<double>(record.gpus);
    if (const auto reason = left_out_because(record, options)) {
      intake.leave_out(*reason, gpus, record.seconds);
      continue;
    }
    const int share = record.gpus == 1 ? shares.next() : whole_gpu_share;
    const Request each{ByShare{share, options.rule}, {}};
    const auto taken =
        intake.take({.id = fmt::format("philly-{:06}", i + 1),
                     .after = record.submitted - records.front().submitted,
                     .seconds = record.seconds,
                     .gpus = gpus,
                     .request = request_of_several(each, record.gpus, Together::anywhere, options),
                     .speed = as_recorded(),
                     .details = details.of({.application = record.application})});
    if (!taken) return std::unexpected(taken.error());
  }
  note_options(workload, "philly", options,
               {{"rule", std::string(name(options.rule))},
                {"shares", options.shares == Shares::whole ? "whole" : "alibaba"}});
  details.note(*naming);
  if (options.shares != Shares::whole) workload.options["seed"] = fmt::format("{}", options.seed);
  return workload;
}

}  // namespace cleave
