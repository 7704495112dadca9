#include "simulate/traces/swf.hpp"

#include <unordered_set>

#include "base/format.hpp"
#include "base/text.hpp"
#include "simulate/traces/trace_details.hpp"
#include "simulate/traces/trace_rows.hpp"

namespace cleave {

namespace {

constexpr std::size_t fields = 18;
constexpr std::int64_t most_processors = 1'000'000'000;

enum Status : std::int64_t { failed = 0, first_part = 2, last_part = 4, cancelled = 5 };

struct SwfRecord {
  std::int64_t number = 0, processors = 0, status = 0;
  double submitted = 0, seconds = 0;
  std::string application;
};

std::vector<std::string_view> words(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view spaces = " \t";
  for (std::size_t at = line.find_first_not_of(spaces); at != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(spaces, at), line.size());
    words.push_back(line.substr(at, end - at));
    at = line.find_first_not_of(spaces, end);
  }
  return words;
}

/// Fields that may name an application: each a number, or -1 where it is unknown.
constexpr std::pair<std::string_view, std::size_t> naming_fields[] = {
    {"user", 11}, {"group", 12}, {"executable", 13}};

/// As the columns of a row: "executable-7".
std::vector<std::string> named_fields(const std::vector<std::string_view>& cells) {
  std::vector<std::string> row;
  for (const auto& [name, field] : naming_fields)
    row.push_back(cells[field].starts_with('-') ? "" : fmt::format("{}-{}", name, cells[field]));
  return row;
}

Result<NamingColumns> naming_of(const TraceOptions& options, const std::string& place) {
  constexpr std::string_view usual[] = {"executable"};
  const auto find = [](std::string_view name) -> std::optional<std::size_t> {
    const auto* const found =
        std::ranges::find(naming_fields, name, &std::pair<std::string_view, std::size_t>::first);
    if (found == std::end(naming_fields)) return std::nullopt;
    return static_cast<std::size_t>(found - std::begin(naming_fields));
  };
  return NamingColumns::of(options, usual, find, place);
}

Result<SwfRecord> read_record(std::string_view line, const NamingColumns& naming,
                              const std::string& place) {
  const auto cells = words(line);
  if (cells.size() != fields)
    return fail(ErrorKind::bad_input, place,
                fmt::format("the line has {} fields, the format {}", cells.size(), fields),
                "the line may be torn");
  Cells check(place);
  for (std::size_t i = 0; i < fields; ++i)
    if (!parse_number(cells[i]))
      check.refuse(fmt::format("field {} is '{}', expected a number", i + 1, shown(cells[i])));
  SwfRecord record;
  record.number = check.whole(cells[0], "job number (field 1)", 0, INT64_MAX);
  record.submitted = check.seconds(cells[1], "submit time (field 2)");
  const bool ran = parse_number(cells[3]).value_or(0) > 0;
  if (ran) record.seconds = check.seconds(cells[3], "run time (field 4)", "seconds");
  const std::int64_t allocated =
      check.whole(cells[4], "allocated processors (field 5)", -1, most_processors);
  const std::int64_t requested =
      check.whole(cells[7], "requested processors (field 8)", -1, most_processors);
  record.processors = allocated > 0 ? allocated : requested;
  record.status = check.whole(cells[10], "status (field 11)", -1, 5);
  if (check.error) return std::unexpected(*check.error);
  record.application = naming.name_in(named_fields(cells));
  return record;
}

bool part_of_a_job(const SwfRecord& record) {
  return record.status >= first_part && record.status <= last_part;
}

/// As many as have these processors.
std::int64_t gpus_for(std::int64_t processors, const TraceOptions& options) {
  return (processors - 1) / options.processors_per_gpu + 1;
}

std::optional<std::string> left_out_because(const SwfRecord& record, const TraceOptions& options) {
  if (part_of_a_job(record)) return "part of a job";
  if (record.seconds <= 0) return record.status == cancelled ? "never started" : "no run time";
  if (record.processors <= 0) return "processors unknown";
  return left_out_for_places(gpus_for(record.processors, options), options);
}

/// Rounded down to a thousandth, at least one; several GPUs are whole ones.
int thousandths(std::int64_t processors, std::int64_t per_gpu) {
  const std::int64_t of_one = std::min(processors, per_gpu);
  return static_cast<int>(std::max<std::int64_t>(1, whole_gpu_share * of_one / per_gpu));
}

Result<std::vector<SwfRecord>> read_records(std::string_view text, const std::string& place,
                                            const NamingColumns& naming,
                                            const TraceOptions& options) {
  Lines lines(text, place);
  std::vector<SwfRecord> records;
  std::unordered_set<std::int64_t> numbers;
  std::string_view line;
  const auto read = each_row(
      options, [&] { return lines.next(line); },
      [&]() -> Result<void> {
        if (trimmed(line).empty() || trimmed(line).front() == ';') return {};
        auto record = read_record(line, naming, lines.place());
        if (!record) return std::unexpected(record.error());
        if (!part_of_a_job(*record) && !numbers.insert(record->number).second)
          return fail(ErrorKind::bad_input, lines.place(),
                      fmt::format("there are two jobs numbered {}", record->number),
                      "remove one of the two");
        records.push_back(*std::move(record));
        return {};
      });
  if (!read) return std::unexpected(read.error());
  return records;
}

}  // namespace

Result<Workload> read_swf(std::string_view text, const std::string& place,
                          const TraceOptions& options) {
  const auto naming = naming_of(options, place);
  if (!naming) return std::unexpected(naming.error());
  auto records = read_records(text, place, *naming, options);
  if (!records) return std::unexpected(records.error());
  if (records->empty()) return fail(ErrorKind::bad_input, place, "the trace has no jobs");
  order(*records, &SwfRecord::submitted, options);

  Workload workload;
  Intake intake(workload, options, place);
  TraceDetails details(workload);
  for (const SwfRecord& record : *records) {
    const double gpus = static_cast<double>(std::max<std::int64_t>(0, record.processors)) /
                        static_cast<double>(options.processors_per_gpu);
    if (const auto reason = left_out_because(record, options)) {
      intake.leave_out(*reason, gpus, record.seconds);
      continue;
    }
    if (record.status == failed) ++workload.notes["state_failed"];
    if (record.status == cancelled) ++workload.notes["state_cancelled"];
    const Request each{
        ByShare{thousandths(record.processors, options.processors_per_gpu), options.rule}, {}};
    const auto taken =
        intake.take({.id = fmt::format("swf-{}", record.number),
                     .after = record.submitted - records->front().submitted,
                     .seconds = record.seconds,
                     .gpus = gpus,
                     .request = request_of_several(each, gpus_for(record.processors, options),
                                                   Together::anywhere, options),
                     .speed = as_recorded(),
                     .details = details.of({.application = record.application})});
    if (!taken) return std::unexpected(taken.error());
  }
  note_options(workload, "swf", options,
               {{"rule", std::string(name(options.rule))},
                {"processors_per_gpu", fmt::format("{}", options.processors_per_gpu)}});
  details.note(*naming);
  return workload;
}

}  // namespace cleave
