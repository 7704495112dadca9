#include "simulate/gpu_times.hpp"

#include <optional>

#include "base/format.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

std::optional<Instant> moment(std::string_view text) {
  const auto number = parse_number(text);
  if (!number || *number < 0) return std::nullopt;
  const auto since = duration_from_seconds(*number);
  return since ? std::optional(Instant{} + *since) : std::nullopt;
}

}  // namespace

Result<GpuTime> parse_gpu_time(std::string_view text, const FleetFile& fleet,
                               const std::string& place, std::string_view what) {
  const std::size_t at = text.rfind('@');
  const std::size_t dash = text.rfind('-');
  if (at == std::string_view::npos || dash == std::string_view::npos || dash < at)
    return fail(ErrorKind::bad_usage, place, fmt::format("this is not {}", what),
                "write GPU@FROM-UNTIL with seconds, such as n0/0@600-900");
  const auto gpu = std::ranges::find(fleet.gpus, text.substr(0, at), &GpuEntry::name);
  if (gpu == fleet.gpus.end())
    return fail(ErrorKind::bad_usage, place,
                fmt::format("the fleet has no GPU '{}'", shown(text.substr(0, at))),
                "GPUs of a fleet in short are named n0/0, n0/1, ...");
  const auto from = moment(text.substr(at + 1, dash - at - 1)),
             until = moment(text.substr(dash + 1));
  if (!from || !until || *until <= *from)
    return fail(ErrorKind::bad_usage, place,
                fmt::format("the times of {} are not seconds, the first before the second", what),
                "write GPU@FROM-UNTIL, such as n0/0@600-900");
  return GpuTime{static_cast<GpuId>(gpu - fleet.gpus.begin()), *from, *until};
}

std::string text_of(const GpuTime& time, const FleetFile& fleet) {
  return fmt::format("{}@{}-{}", fleet.gpus[index(time.gpu)].name,
                     in_seconds(time.from.time_since_epoch()),
                     in_seconds(time.until.time_since_epoch()));
}

const GpuEntry* overlapping(std::vector<GpuTime> times, const FleetFile& fleet, bool touching) {
  std::ranges::sort(times, {}, [](const GpuTime& time) { return std::pair(time.gpu, time.from); });
  for (std::size_t i = 1; i < times.size(); ++i) {
    const GpuTime &before = times[i - 1], &after = times[i];
    if (after.gpu == before.gpu &&
        (after.from < before.until || (touching && after.from == before.until)))
      return &fleet.gpus[index(after.gpu)];
  }
  return nullptr;
}

}  // namespace cleave
