#include "cli/compare/sweep.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/ratio.hpp"
#include "base/text.hpp"

namespace cleave::cli {

namespace {

const std::vector<std::string> options = {"compress", "gpus"};

std::unexpected<Error> wrong(const std::string& what, const std::string& remedy) {
  return fail(ErrorKind::bad_usage, "--sweep", what, remedy);
}

Result<void> check(const std::string& option, const std::string& value) {
  if (option == "compress") {
    const auto factor = Ratio::parse(value);
    if (!factor || factor->numerator() <= 0)
      return wrong(fmt::format("'{}' is not a positive number", shown(value)),
                   "write compress=5,10,20");
  } else if (const auto gpus = parse_integer(value); !gpus || *gpus < 1) {
    return wrong(fmt::format("'{}' is not a number of GPUs", shown(value)), "write gpus=2,4,8");
  }
  return {};
}

}  // namespace

Result<Sweep> parse_sweep(std::string_view text) {
  Sweep sweep;
  if (text.empty()) return sweep;
  const std::size_t equals = std::min(text.find('='), text.size());
  sweep.option = std::string(trimmed(text.substr(0, equals)));
  if (std::ranges::find(options, sweep.option) == options.end())
    return wrong(fmt::format("'{}' cannot be swept", shown(sweep.option)),
                 fmt::format("{} can: compress=5,10,20", any_of(options)));
  for (const std::string_view part : split(text.substr(std::min(equals + 1, text.size())), ',')) {
    const std::string value(trimmed(part));
    if (const auto good = check(sweep.option, value); !good) return std::unexpected(good.error());
    if (std::ranges::find(sweep.values, value) != sweep.values.end())
      return wrong(fmt::format("{} is there twice", value), "name each value once");
    sweep.values.push_back(value);
  }
  constexpr std::size_t most = 100;
  if (sweep.values.size() > most) return wrong(fmt::format("more than {} values", most), "");
  return sweep;
}

Result<std::string> with_gpus(const std::string& fleet, std::int64_t gpus) {
  const auto parts = split(fleet, 'x');
  const auto first = parts.size() > 1 ? parse_integer(parts[0]) : std::nullopt;
  if (!first || fleet.contains(','))
    return wrong("gpus needs a fleet of one model, in short", "write --fleet 4xA100-40GB");
  const std::string rest = fleet.substr(parts[0].size() + 1);
  const auto each = parts.size() > 2 ? parse_integer(parts[1]) : std::nullopt;
  if (!each) return fmt::format("{}x{}", gpus, rest);
  if (*each < 1 || gpus % *each != 0)
    return wrong(fmt::format("{} GPUs are not whole nodes of {}", gpus, *each),
                 "name multiples, or a fleet without nodes, like 4xA100-40GB");
  return fmt::format("{}x{}", gpus / *each, rest);
}

Result<RunArguments> with_value(const Sweep& sweep, const std::string& value,
                                RunArguments arguments) {
  for (const std::string* read : {&arguments.workload, &arguments.fleet})
    if (*read == "-")
      return wrong("standard input can be read only once", "name a file instead of -");
  if (sweep.option == "gpus") {
    auto fleet = with_gpus(arguments.fleet, parse_integer(value).value_or(0));
    if (!fleet) return std::unexpected(fleet.error());
    arguments.fleet = *std::move(fleet);
  } else {
    if (arguments.trace_options.compress != "1")
      return wrong("--compress is what is swept", "leave one of the two out");
    if (!arguments.trace.empty()) arguments.trace_options.compress = value;
  }
  return arguments;
}

Result<void> compress_arrivals(Workload& workload, double factor) {
  if (!workload.services.empty())
    return wrong("services have loads by the hour, which cannot be compressed",
                 "sweep gpus instead");
  for (Job& job : workload.jobs) {
    const auto after = duration_from_seconds(in_seconds(job.arrival - Instant{}) / factor);
    if (!after) return fail_at("--sweep", after.error());
    job.arrival = Instant{} + *after;
  }
  return {};
}

}  // namespace cleave::cli
