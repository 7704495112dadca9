#include "simulate/faults.hpp"

#include "base/format.hpp"
#include "base/human_time.hpp"
#include "base/options.hpp"
#include "base/text.hpp"
#include "simulate/gpu_times.hpp"

namespace cleave {

namespace {

constexpr OptionRow fault_rows[] = {
    {"mtbf", "TIME", "", "mean time between two losses of one GPU"},
    {"repair", "TIME", "1h", "mean time until a lost GPU returns"},
    {"job-failure", "SHARE", "0", "share of the jobs whose process fails"},
};

Result<Duration> time_of(const std::string& text, const char* name) {
  const auto time = parse_human(text);
  if (!time) return fail_at(name, time.error());
  if (*time == Duration::zero())
    return fail(ErrorKind::bad_usage, name, fmt::format("'{}' is no time at all", shown(text)),
                "give more than 0, such as 30s, 1h30m or 2d");
  return time;
}

}  // namespace

Result<FaultPlan> parse_faults(std::string_view text) {
  const std::string place = fmt::format("--faults {}", shown(text));
  const auto given = options_of(fmt::format("faults:{}", text), place);
  if (!given) return std::unexpected(given.error());
  const auto options = complete(*given, fault_rows, "--faults");
  if (!options) return std::unexpected(options.error());
  FaultPlan plan;
  if (given->empty())
    return fail(ErrorKind::bad_usage, place, "nothing is said",
                "write mtbf=TIME;repair=TIME;job-failure=SHARE");
  if (given->contains("repair") && !given->contains("mtbf"))
    return fail(ErrorKind::bad_usage, place, "repair belongs to mtbf", "give mtbf=TIME too");
  if (const std::string& mtbf = options->at("mtbf"); !mtbf.empty()) {
    const auto time = time_of(mtbf, "mtbf");
    if (!time) return fail_at(place, time.error());
    plan.between_losses = *time;
  }
  const auto repair = time_of(options->at("repair"), "repair");
  if (!repair) return fail_at(place, repair.error());
  plan.repair = *repair;
  OptionReader in(*options);
  plan.job_failure = in.number("job-failure", 0, 1);
  if (in.error()) return fail_at(place, *in.error());
  return plan;
}

Result<Outage> parse_outage(std::string_view text, const FleetFile& fleet) {
  const auto time =
      parse_gpu_time(text, fleet, fmt::format("--outage {}", shown(text)), "an outage");
  if (!time) return std::unexpected(time.error());
  return Outage{time->gpu, time->from, time->until};
}

Result<void> check_outages(const FaultPlan& plan, const FleetFile& fleet) {
  std::vector<GpuTime> times;
  for (const Outage& outage : plan.outages)
    times.push_back({outage.gpu, outage.from, outage.until});
  if (const GpuEntry* both = overlapping(std::move(times), fleet, true))
    return fail(ErrorKind::bad_usage, "--outage", fmt::format("two outages of {} meet", both->name),
                "make one of them");
  if (!plan.outages.empty() && plan.between_losses)
    return fail(ErrorKind::bad_usage, "--outage", "outages are said one by one and drawn with mtbf",
                "give one of the two");
  return {};
}

}  // namespace cleave
