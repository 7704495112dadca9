#include "simulate/faults.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/options.hpp"
#include "base/text.hpp"

namespace cleave {

namespace {

constexpr OptionRow rows[] = {
    {"mtbf", "SECONDS", "", "mean time between two losses of one GPU"},
    {"repair", "SECONDS", "3600", "mean time until a lost GPU returns"},
    {"job-failure", "SHARE", "0", "share of the jobs whose process fails"},
};

Result<Duration> positive_seconds(const std::string& text, const char* name) {
  const auto number = parse_number(text);
  auto duration = number ? duration_from_seconds(*number) : Result<Duration>{Duration::zero()};
  if (!number || !duration || *duration <= Duration::zero())
    return fail(ErrorKind::bad_usage, name, fmt::format("'{}' is not a time", shown(text)),
                "give seconds, more than 0");
  return duration;
}

}  // namespace

Result<FaultPlan> parse_faults(std::string_view text) {
  const std::string place = fmt::format("--faults {}", shown(text));
  const auto given = options_of(fmt::format("faults:{}", text), place);
  if (!given) return std::unexpected(given.error());
  const auto options = complete(*given, rows, "--faults");
  if (!options) return std::unexpected(options.error());
  FaultPlan plan;
  if (given->empty())
    return fail(ErrorKind::bad_usage, place, "nothing is said",
                "write mtbf=SECONDS;repair=SECONDS;job-failure=SHARE");
  if (given->contains("repair") && !given->contains("mtbf"))
    return fail(ErrorKind::bad_usage, place, "repair belongs to mtbf", "give mtbf=SECONDS too");
  if (const std::string& mtbf = options->at("mtbf"); !mtbf.empty()) {
    const auto time = positive_seconds(mtbf, "mtbf");
    if (!time) return fail_at(place, time.error());
    plan.between_losses = *time;
  }
  const auto repair = positive_seconds(options->at("repair"), "repair");
  if (!repair) return fail_at(place, repair.error());
  plan.repair = *repair;
  OptionReader in(*options);
  plan.job_failure = in.number("job-failure", 0, 1);
  if (in.error()) return fail_at(place, *in.error());
  return plan;
}

Result<Outage> parse_outage(std::string_view text, const FleetFile& fleet) {
  const std::string place = fmt::format("--outage {}", shown(text));
  const std::size_t at = text.rfind('@');
  const std::size_t dash = text.rfind('-');
  if (at == std::string_view::npos || dash == std::string_view::npos || dash < at)
    return fail(ErrorKind::bad_usage, place, "this is not an outage",
                "write GPU@FROM-UNTIL with seconds, such as n0/0@600-900");
  const auto gpu = std::ranges::find(fleet.gpus, text.substr(0, at), &GpuEntry::name);
  if (gpu == fleet.gpus.end())
    return fail(ErrorKind::bad_usage, place,
                fmt::format("the fleet has no GPU '{}'", shown(text.substr(0, at))),
                "GPUs of a fleet in short are named n0/0, n0/1, ...");
  const auto seconds = [](std::string_view part) -> std::optional<Duration> {
    const auto number = parse_number(part);
    if (!number || *number < 0) return std::nullopt;
    const auto duration = duration_from_seconds(*number);
    return duration ? std::optional(*duration) : std::nullopt;
  };
  const auto from = seconds(text.substr(at + 1, dash - at - 1)),
             until = seconds(text.substr(dash + 1));
  if (!from || !until || *until <= *from)
    return fail(ErrorKind::bad_usage, place,
                "the times of an outage are not seconds, the first before the second",
                "write GPU@FROM-UNTIL, such as n0/0@600-900");
  return Outage{static_cast<GpuId>(gpu - fleet.gpus.begin()), Instant{} + *from,
                Instant{} + *until};
}

Result<void> check_outages(const FaultPlan& plan, const FleetFile& fleet) {
  std::vector<Outage> sorted = plan.outages;
  std::ranges::sort(sorted, {}, [](const Outage& o) { return std::pair(o.gpu, o.from); });
  for (std::size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i].gpu == sorted[i - 1].gpu && sorted[i].from <= sorted[i - 1].until)
      return fail(ErrorKind::bad_usage, "--outage",
                  fmt::format("two outages of {} meet", fleet.gpus[index(sorted[i].gpu)].name),
                  "make one of them");
  if (!sorted.empty() && plan.between_losses)
    return fail(ErrorKind::bad_usage, "--outage", "outages are said one by one and drawn with mtbf",
                "give one of the two");
  return {};
}

}  // namespace cleave
