// `cleave forecast memory`: what a job's memory reports let one expect of its peak, drawn.

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"
#include "cli/command.hpp"
#include "cli/forecast/chart.hpp"
#include "cli/table.hpp"
#include "cli/trace_arguments.hpp"
#include "forecast/memory/growth_laws.hpp"
#include "forecast/memory/memory_series.hpp"
#include "forecast/memory/trend_options.hpp"

namespace cleave::cli {

namespace {

constexpr std::int64_t default_horizon = 1000;  // as the forecasters' own

/// The options of a forecaster that `make_forecaster` took, with their defaults.
OptionTexts options_in(const std::string& spec) {
  const std::string_view name = std::string_view(spec).substr(0, spec.find(':'));
  for (const ForecasterRow& row : forecasters())
    if (row.name == name)
      return complete(options_of(spec, "").value_or(OptionTexts{}), row.options, name)
          .value_or(OptionTexts{});
  return {};
}

struct ForecastMemoryCommandOptions {
  std::string series, capacity, forecaster = "trend";
  std::optional<std::int64_t> iterations;
  bool json = false, skip_bad_lines = false;
};

struct MemoryAnswer {
  MemorySeries series;
  Watched watched;
  std::optional<MiB> capacity;
  MiB context;            // of reports that leave it out
  std::int64_t last = 0;  // iteration for which the peak is forecast
  std::optional<ExpectedPeak> peak;
};

std::string gib(double mib) {
  return fmt::format("{:.2f} GiB", mib / 1024);
}
std::string gib(MiB size) {
  return gib(static_cast<double>(size.value));
}

/// "iteration 6 of 100"
std::string at(const MemoryAnswer& answer, std::size_t report) {
  return fmt::format("iteration {}", answer.series.reports[report].iteration);
}

/// Everything that the job held, with the context that the forecaster was told.
MiB held(const MemoryAnswer& answer, const MemoryReport& report) {
  return report.context ? report.held() : report.held() + answer.context;
}

/// The fitted line and its interval, which `trend` alone has: in physical memory, over what the
/// reuse leaves.
void draw_trend(const MemoryAnswer& answer, const OptionTexts& texts, Chart& chart) {
  const auto options = read_trend_options(texts);
  if (!options) return;
  TrendForecast forecast(*options);
  for (const MemoryReport& report : answer.series.reports) {
    forecast.add(report.iteration, static_cast<double>(report.requested.value),
                 static_cast<double>(report.allocated.value));
    if (report.context) forecast.set_constant(static_cast<double>(report.constant().value));
  }
  if (forecast.count() < options->least_samples) return;
  const auto physical = [&](double x, double margin) {
    const double inverse = forecast.inverse().at(x);
    return inverse > 0 ? (forecast.requested().at(x) + margin) / inverse + forecast.constant() : -1;
  };
  const auto last = static_cast<double>(answer.last);
  chart.curve(
      0, last, [&](double x) { return physical(x, forecast.margin(x)); }, '.');
  chart.curve(
      0, last, [&](double x) { return physical(x, -forecast.margin(x)); }, '.');
  chart.curve(
      0, last, [&](double x) { return physical(x, 0); }, '-');
}

/// Where the laws of growth see the highest value so far at any later time: between these lies four
/// fifths.
void draw_laws(const MemoryAnswer& answer, Chart& chart) {
  SeriesDigest digest;
  for (const MemoryReport& report : answer.series.reports)
    digest.add(static_cast<double>(report.iteration), static_cast<double>(report.held().value));
  if (digest.points().size() < GrowthLaws::fewest_points) return;
  const auto last = static_cast<double>(answer.last);
  const auto now = static_cast<double>(answer.series.reports.back().iteration);
  const GrowthLaws laws(digest, last);
  for (const auto& [share, mark] : {std::pair{0.1, '.'}, {0.9, '.'}, {0.5, '-'}})
    chart.curve(
        now, last, [&](double x) { return laws.peak(x).quantile(share); }, mark);
}

void draw(const MemoryAnswer& answer, const std::string& forecaster) {
  double most = answer.capacity ? static_cast<double>(answer.capacity->value) : 0;
  for (const MemoryReport& report : answer.series.reports)
    most = std::max(most, static_cast<double>(held(answer, report).value));
  if (answer.peak)
    most = std::max(most, std::min(2 * most, static_cast<double>(answer.peak->to_ask_for.value)));
  Chart chart(static_cast<double>(answer.last), most * 1.1);
  if (answer.capacity)
    chart.curve(
        0, static_cast<double>(answer.last),
        [&](double) { return static_cast<double>(answer.capacity->value); }, '=');
  const std::string_view name = std::string_view(forecaster).substr(0, forecaster.find(':'));
  bool fit = true;
  if (name == "trend") {
    draw_trend(answer, options_in(forecaster), chart);
  } else if (name == "laws") {
    draw_laws(answer, chart);
  } else {
    fit = false;
  }
  for (const MemoryReport& report : answer.series.reports)
    chart.point(static_cast<double>(report.iteration),
                static_cast<double>(held(answer, report).value), '*');
  fmt::print("{}", chart.text([](double y) { return fmt::format("{:.1f} GiB", y / 1024); }));
  fmt::print("* reported{}{}\n\n",
             !fit              ? ""
             : name == "trend" ? "   - fit   . its interval"
                               : "   - median   . a tenth lies beyond",
             answer.capacity ? "   = capacity" : "");
}

std::string verdict(const MemoryAnswer& answer, const std::string& forecaster) {
  const Watched& watched = answer.watched;
  if (forecaster == "none") return "No forecast: the forecaster 'none' makes none.\n";
  if (!answer.peak && !watched.spoke)
    return fmt::format("No forecast: {} samples are too few, or they do not agree yet.\n",
                       answer.series.reports.size());
  std::string text;
  if (answer.peak)
    text +=
        answer.peak->at_least == answer.peak->to_ask_for
            ? fmt::format("Peak until iteration {}: {}\n", answer.last, gib(answer.peak->at_least))
            : fmt::format("Soon at least {}; until iteration {} at most {}\n",
                          gib(answer.peak->at_least), answer.last, gib(answer.peak->to_ask_for));
  else
    text += "The last forecasts do not agree.\n";
  text += fmt::format("First forecast that counts: {}\n", at(answer, *watched.spoke));
  return text;
}

void print_text(const MemoryAnswer& answer, const std::string& forecaster) {
  draw(answer, forecaster);
  fmt::print("{}{}, forecaster {}\n", counted(answer.series.reports.size(), "sample"),
             answer.series.missing > 0 ? fmt::format(", {} missing", answer.series.missing) : "",
             forecaster);
  fmt::print("{}", verdict(answer, forecaster));
  if (!answer.capacity) return;
  const Watched& watched = answer.watched;
  if (watched.restarted())
    fmt::print("Restart early, with {}: the peak is beyond {} ({})\n",
               gib(watched.said[*watched.alarm]->to_ask_for), gib(*answer.capacity),
               at(answer, *watched.alarm));
  else
    fmt::print("No early restart: no forecast was beyond {} in time\n", gib(*answer.capacity));
  if (watched.overflow)
    fmt::print("Out of memory: {}{}\n", at(answer, *watched.overflow),
               watched.restarted()
                   ? fmt::format(", {} iterations after the alarm",
                                 answer.series.reports[*watched.overflow].iteration -
                                     answer.series.reports[*watched.alarm].iteration)
                   : "");
}

void print_json(const MemoryAnswer& answer, const std::string& forecaster) {
  const auto iteration = [&](const std::optional<std::size_t>& report) {
    return report ? Json(answer.series.reports[*report].iteration) : Json();
  };
  const auto peak = [](const std::optional<ExpectedPeak>& said) {
    return said ? Json{{"at_least_mib", said->at_least.value},
                       {"to_ask_for_mib", said->to_ask_for.value}}
                : Json();
  };
  Json forecasts = Json::array();
  for (std::size_t i = 0; i < answer.watched.said.size(); ++i)
    forecasts.push_back({{"iteration", answer.series.reports[i].iteration},
                         {"allocated_mib", answer.series.reports[i].allocated.value},
                         {"held_mib", held(answer, answer.series.reports[i]).value},
                         {"peak", peak(answer.watched.said[i])}});
  print(Json{{"forecaster", forecaster},
             {"samples", answer.series.reports.size()},
             {"missing", answer.series.missing},
             {"iterations", answer.last},
             {"capacity_mib", answer.capacity ? Json(answer.capacity->value) : Json()},
             {"peak", peak(answer.peak)},
             {"spoke_at", iteration(answer.watched.spoke)},
             {"alarm_at", iteration(answer.watched.alarm)},
             {"overflow_at", iteration(answer.watched.overflow)},
             {"restarted_early", answer.watched.restarted()},
             {"forecasts", forecasts}});
}

Result<int> forecast_memory(const ForecastMemoryCommandOptions& options) {
  MemoryAnswer answer;
  if (!options.capacity.empty()) {
    const auto capacity = parse_size(options.capacity);
    if (!capacity) return fail_at("--capacity", capacity.error());
    answer.capacity = *capacity;
  }
  const auto forecaster = make_forecaster(options.forecaster);
  if (!forecaster) return std::unexpected(forecaster.error());
  const auto text = read_text(options.series);
  if (!text) return std::unexpected(text.error());
  BadLines bad;
  auto series = read_memory_series(*text, options.series, options.iterations,
                                   options.skip_bad_lines ? &bad : nullptr);
  report(bad);
  if (!series) return std::unexpected(series.error());
  if (series->reports.empty())
    return fail(ErrorKind::bad_input, options.series, "it has no samples", "give at least one row");
  answer.series = std::move(*series);
  const OptionTexts texts = options_in(options.forecaster);
  if (const auto context = texts.find("context"); context != texts.end())
    answer.context = parse_size(context->second).value_or(MiB{0});
  answer.watched = watch(forecaster->get(), answer.series.reports, answer.capacity, answer.context);
  answer.peak = answer.watched.said.back();
  const auto horizon = texts.find("horizon");
  const std::int64_t ahead = horizon == texts.end()
                                 ? default_horizon
                                 : parse_integer(horizon->second).value_or(default_horizon);
  answer.last = options.iterations.value_or(answer.series.reports.back().iteration + ahead);
  if (options.json)
    print_json(answer, options.forecaster);
  else
    print_text(answer, options.forecaster);
  return 0;
}

}  // namespace

void add_forecast_memory(CommandLine& forecast, Run& run) {
  const auto [command, options] = add_command(
      forecast, run, "memory", "Forecast the peak memory of a job from its reports so far",
      "cleave forecast memory --series examples/series/growing-context.csv "
      "--iterations 120 --capacity 10GiB",
      forecast_memory);
  command
      ->add_option(
          "--series", options.series,
          "CSV with the columns iteration, requested_mib, allocated_mib, and context_mib if the "
          "context is not in the third; - reads standard input")
      ->required()
      ->check(not_empty());
  command
      ->add_option("--iterations", options.iterations,
                   "Number of iterations of the whole job; by default the reports plus the "
                   "forecaster's horizon")
      ->check(whole_number(1));
  command
      ->add_option("--capacity", options.capacity, "Memory of the instance, such as 9728 or 9.5GiB")
      ->check(not_empty());
  command
      ->add_option("--forecaster", options.forecaster,
                   "NAME[:key=value;...]; listed by `cleave forecasters`")
      ->default_str("trend");
  add_skip_bad_lines(*command, options.skip_bad_lines);
  add_json(*command, options.json);
}

}  // namespace cleave::cli
