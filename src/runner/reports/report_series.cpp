#include "runner/reports/report_series.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"

namespace cleave {

namespace {

constexpr std::int64_t most = std::int64_t{1} << 53;

std::string series_key(const ReportPart& part) {
  return fmt::format("{}_mib", part.name);
}

}  // namespace

void ReportSeries::add(const MemoryReport& report) {
  const auto stays = [&](const NumberedReport& each) { return (each.sequence - 1) % stride_ == 0; };
  if (!kept_.empty() && !stays(kept_.back())) kept_.pop_back();
  if (kept_.size() == capacity) {
    stride_ *= 2;
    std::erase_if(kept_, [&](const NumberedReport& each) { return !stays(each); });
  }
  kept_.push_back({++last_, report});
}

std::span<const NumberedReport> ReportSeries::after(std::int64_t sequence) const {
  const auto first = std::ranges::upper_bound(kept_, sequence, {}, &NumberedReport::sequence);
  return {first, kept_.end()};
}

bool ReportRate::take(Clock::time_point now) {
  left_ =
      std::min(at_once, left_ + std::chrono::duration<double>(now - filled_).count() * per_second);
  filled_ = now;
  if (left_ < 1) return false;
  left_ -= 1;
  return true;
}

ReportRate::Clock::time_point ReportRate::next() const {
  const std::chrono::duration<double> wait(std::max(0.0, 1 - left_) / per_second);
  return filled_ + std::chrono::duration_cast<Clock::duration>(wait) + std::chrono::milliseconds(1);
}

Json to_json(std::span<const NumberedReport> reports) {
  Json list = Json::array();
  for (const auto& [sequence, report] : reports) {
    Json one;
    one["sequence"] = sequence;
    one["iteration"] = report.iteration;
    if (report.iterations) one["iterations"] = *report.iterations;
    one["requested_mib"] = report.requested.value;
    one["allocated_mib"] = report.allocated.value;
    for (const ReportPart& part : report_parts)
      if (const auto size = report.*part.size) one[series_key(part)] = size->value;
    list.push_back(std::move(one));
  }
  return list;
}

Json to_json(const OutOfMemorySeen& seen) {
  Json text;
  text["framework"] = seen.framework;
  if (seen.requested) text["requested_mib"] = seen.requested->value;
  return text;
}

std::vector<NumberedReport> read_reports(JsonReader& in, std::string_view key) {
  std::vector<NumberedReport> reports;
  for (JsonReader& one : in.objects(key)) {
    NumberedReport each;
    each.sequence = one.integer("sequence", 1, most);
    each.report.iteration = one.integer("iteration", 1, most);
    each.report.iterations = one.integer_if("iterations", 1, most);
    each.report.requested = MiB{one.integer("requested_mib", 0, most)};
    each.report.allocated = MiB{one.integer("allocated_mib", 0, most)};
    for (const ReportPart& part : report_parts)
      if (const auto size = one.integer_if(series_key(part), 0, most))
        each.report.*part.size = MiB{*size};
    one.done();
    reports.push_back(each);
  }
  return reports;
}

}  // namespace cleave
