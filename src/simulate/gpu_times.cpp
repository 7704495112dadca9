#include "simulate/gpu_times.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "base/format.hpp"
#include "base/human_time.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

std::optional<Instant> moment(std::string_view text) {
  const auto since = parse_human(text);
  return since ? std::optional(Instant{} + *since) : std::nullopt;
}

/// "600-900", "1h-1h30m", "1-12:00:00-2-00:00:00": days have a dash of their own, so every way to
/// part the text is tried.
std::vector<std::pair<Instant, Instant>> spans(std::string_view text) {
  std::vector<std::pair<Instant, Instant>> all;
  for (std::size_t dash = text.find('-'); dash != text.npos; dash = text.find('-', dash + 1))
    if (const auto from = moment(text.substr(0, dash)), until = moment(text.substr(dash + 1));
        from && until && *from < *until)
      all.emplace_back(*from, *until);
  return all;
}

}  // namespace

Result<GpuTime> parse_gpu_time(std::string_view text, const FleetFile& fleet,
                               const std::string& place, std::string_view what) {
  const std::size_t at = text.rfind('@');
  if (at == std::string_view::npos || !text.substr(at).contains('-'))
    return fail(ErrorKind::bad_usage, place, fmt::format("this is not {}", what),
                "write GPU@FROM-UNTIL with times, such as n0/0@600-900 or n0/0@1h-1h30m");
  const auto gpu = std::ranges::find(fleet.gpus, text.substr(0, at), &GpuEntry::name);
  if (gpu == fleet.gpus.end())
    return fail(ErrorKind::bad_usage, place,
                fmt::format("the fleet has no GPU '{}'", shown(text.substr(0, at))),
                "GPUs of a fleet in short are named n0/0, n0/1, ...");
  const auto meant = spans(text.substr(at + 1));
  if (meant.empty())
    return fail(ErrorKind::bad_usage, place,
                fmt::format("the times of {} are not two times, the first before the second", what),
                "write GPU@FROM-UNTIL, such as n0/0@600-900 or n0/0@1h-1h30m");
  if (meant.size() > 1)
    return fail(ErrorKind::bad_usage, place, "its days could begin in two ways",
                "write them with units, such as n0/0@1d12h-2d");
  return GpuTime{static_cast<GpuId>(gpu - fleet.gpus.begin()), meant[0].first, meant[0].second};
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
