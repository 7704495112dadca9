#include "simulate/traces/trace_rows.hpp"

#include "base/clock_text.hpp"
#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

double hours(double gpus, double seconds) {
  return gpus * seconds / 3600;
}

}  // namespace

std::int64_t Cells::whole(std::string_view cell, std::string_view name, std::int64_t least,
                          std::int64_t most) {
  const auto value = parse_integer(trimmed(cell));
  if (value && *value >= least && *value <= most) return *value;
  refuse(fmt::format("{} is '{}', expected a whole number from {} to {}", name, shown(cell), least,
                     most));
  return least;
}

double Cells::seconds(std::string_view cell, std::string_view name, std::string_view what) {
  const auto value = parse_number(trimmed(cell));
  if (value && *value >= 0 && *value <= in_seconds(longest_duration)) return *value;
  refuse(fmt::format("{} is '{}', expected {}", name, shown(cell), what));
  return 0;
}

std::optional<double> Cells::seconds_if(std::string_view cell, std::string_view name) {
  if (trimmed(cell).empty()) return std::nullopt;
  return seconds(cell, name);
}

double Cells::clock(std::string_view cell, std::string_view name) {
  if (const auto time = parse_clock(trimmed(cell))) return time->seconds;
  refuse(fmt::format("{} is '{}', expected a time like 2024-01-31 12:00:00", name, shown(cell)));
  return 0;
}

void Cells::refuse(std::string message, std::string remedy) {
  if (!error) error = Error{ErrorKind::bad_input, place_, std::move(message), std::move(remedy)};
}

Result<void> find_columns(const CsvReader& csv,
                          std::initializer_list<std::pair<std::string_view, std::size_t*>> wanted,
                          const std::string& remedy) {
  for (const auto& [name, where] : wanted) {
    const auto found = csv.column(name);
    if (!found) {
      Error error = found.error();
      error.remedy = remedy;
      return std::unexpected(std::move(error));
    }
    *where = *found;
  }
  return {};
}

Lines::Lines(std::string_view text, std::string place)
    : rest_(without_byte_order_mark(text)), place_(std::move(place)) {}

Result<bool> Lines::next(std::string_view& line) {
  while (!rest_.empty()) {
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++line_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) continue;
    if (!valid_utf8(line))
      return fail(ErrorKind::bad_input, place(), "the line is not UTF-8 text",
                  "convert the file to UTF-8");
    return true;
  }
  return false;
}

std::string Lines::place() const {
  return fmt::format("{}:{}", place_, line_);
}

Result<Instant> arrival_at(double seconds, const TraceOptions& options, const std::string& place) {
  const auto after = duration_from_seconds(seconds / options.compress.value());
  if (!after) return fail_at(place, after.error());
  return Instant{} + *after;
}

Result<void> Intake::take(TakenRecord record) {
  const auto arrival = arrival_at(record.after, *options_, *place_);
  const auto duration = duration_from_seconds(record.seconds);
  if (!arrival) return fail_at(*place_, arrival.error());
  if (!duration) return fail_at(*place_, duration.error());
  Job job;
  job.id = std::move(record.id);
  job.arrival = *arrival;
  job.duration = *duration;
  job.request = workload_->intern(record.request);
  job.speed = workload_->intern(record.speed);
  job.details = record.details;
  workload_->jobs.push_back(std::move(job));
  count(hours(record.gpus, record.seconds));
  return {};
}

void Intake::leave_out(const std::string& reason, double gpus, double seconds) {
  auto& counts = workload_->left_out;
  auto found = std::ranges::find(counts, reason, &ReasonCount::reason);
  if (found == counts.end()) found = counts.insert(counts.end(), {reason, 0});
  ++found->count;
  found->gpu_hours += hours(gpus, seconds);
  count(hours(gpus, seconds));
}

void Intake::count(double gpu_hours) {
  ++workload_->read;
  workload_->gpu_hours_read += gpu_hours;
}

std::optional<std::string> left_out_for_places(std::int64_t places, const TraceOptions& options) {
  if (places > 1 && options.several == SeveralGpus::left_out) return "several GPUs";
  if (places > most_places) return fmt::format("more than {} GPUs", most_places);
  return std::nullopt;
}

Request request_of_several(Request one, std::int64_t places, Together together,
                           const TraceOptions& options) {
  if (places == 1) return one;
  const auto* const share = std::get_if<ByShare>(&one.wanted);
  if (share != nullptr && share->thousandths == whole_gpu_share &&
      options.several == SeveralGpus::gpus)
    one.wanted = WholeGpu{};
  one.places = static_cast<std::uint32_t>(places);
  one.together = together;
  return one;
}

SpeedModel as_recorded() {
  SpeedModel speed;
  speed.flat = true;
  return speed;
}

void note_options(Workload& workload, std::string_view format, const TraceOptions& options,
                  std::initializer_list<std::pair<std::string, std::string>> own) {
  workload.options = {{"format", std::string(format)}, {"compress", options.compress.decimal()}};
  for (const auto& [key, value] : own) workload.options[key] = value;
  if (options.several != SeveralGpus::gpus)
    workload.options["several"] = words_of_several[static_cast<std::size_t>(options.several)];
  if (options.limit) workload.options["limit"] = fmt::format("{}", *options.limit);
}

}  // namespace cleave
