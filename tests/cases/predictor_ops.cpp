// Operations of module `predictor`: lines by least squares, the peak they predict, and a job's run
// with the forecast.

#include "base/format.hpp"
#include "forecast/memory/trend_forecast.hpp"
#include "operations.hpp"

namespace cleave::cases::predictor {

namespace {

struct Series {
  std::vector<double> requested, ratio;
  std::int64_t total = 0;
  TrendOptions options;
};

template <class Value>
Value one_of(JsonReader& in, std::string_view key, Value otherwise,
             std::initializer_list<std::pair<std::string_view, Value>> values) {
  const auto text = in.text_if(key);
  if (!text) return otherwise;
  for (const auto& [name, value] : values)
    if (*text == name) return value;
  in.refuse(key, fmt::format("there is no {} '{}'", key, *text));
  return otherwise;
}

std::optional<Series> read_series(JsonReader& in) {
  Series series;
  series.requested = in.number_list("requested");
  series.ratio = in.number_list("ratio");
  series.total = in.integer("total", 1, 1'000'000'000);
  if (series.requested.size() != series.ratio.size()) {
    in.refuse("ratio", "there must be as many as of `requested`");
    return std::nullopt;
  }
  TrendOptions& options = series.options;
  options.divisor = static_cast<int>(in.integer_if("k", 0, 2).value_or(2));
  options.z = in.integer_if("sides", 1, 2).value_or(2) == 1 ? one_sided_99 : two_sided_99;
  options.inverse = one_of(in, "mode", TrendOptions::Inverse::mean,
                           {{"mean", TrendOptions::Inverse::mean},
                            {"lower", TrendOptions::Inverse::lower},
                            {"upper", TrendOptions::Inverse::upper}});
  options.agreement = in.number_if("eps").value_or(options.agreement);
  options.agreements = static_cast<int>(in.integer_if("window", 1, 1000).value_or(3));
  options.least_samples = static_cast<int>(in.integer_if("min_points", 1, 1000).value_or(3));
  options.overhead = in.number_if("overhead").value_or(0);
  return series;
}

Json or_null(const std::optional<std::int64_t>& value) {
  return value ? Json(*value) : Json();
}

Json or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json();
}

/// The scheduler's reaction to the first prediction that counts and is too large.
struct Restart {
  std::int64_t at = 0;
  double peak = 0;
};

/// The smallest profile with this much memory.
Json profile_for(const std::vector<std::pair<std::string, double>>& profiles, double peak) {
  const std::pair<std::string, double>* best = nullptr;
  for (const auto& profile : profiles)
    if (profile.second >= peak && (best == nullptr || profile.second < best->second))
      best = &profile;
  return best != nullptr ? Json(best->first) : Json();
}

std::vector<std::pair<std::string, double>> read_profiles(JsonReader& in) {
  std::vector<std::pair<std::string, double>> profiles;
  for (JsonReader& each : in.objects("profiles")) {
    const std::string name = each.text("name");
    profiles.emplace_back(name, each.number_if("memory").value_or(0));
  }
  return profiles;
}

}  // namespace

Json fit(JsonReader& in) {
  const std::vector<double> values = in.number_list("values");
  const auto k = static_cast<int>(in.integer_if("k", 0, 2).value_or(2));
  LineFit line;
  for (const double value : values) line.add(static_cast<double>(line.count() + 1), value);
  return {{"intercept", line.intercept()}, {"slope", line.slope()},
          {"sigma", line.spread(k)},       {"sigma_k0", line.spread(0)},
          {"sigma_k1", line.spread(1)},    {"sigma_k2", line.spread(2)}};
}

Json predict(JsonReader& in) {
  auto series = read_series(in);
  if (!series) return {};
  series->options.least_samples = 1;
  TrendForecast forecast(series->options);
  for (std::size_t i = 0; i < series->requested.size(); ++i)
    forecast.add(static_cast<std::int64_t>(i) + 1, series->requested[i],
                 series->requested[i] * series->ratio[i]);
  const auto& prediction = forecast.predict(series->total);
  if (!prediction) {
    const auto last = static_cast<double>(series->total);
    return {{"default",
             {{"requested", forecast.requested().at(last) + forecast.margin(last)},
              {"inverse", forecast.inverse().at(last)},
              {"peak", nullptr}}}};
  }
  return {{"default",
           {{"requested", prediction->requested},
            {"inverse", prediction->inverse},
            {"peak", prediction->peak}}}};
}

Json run(JsonReader& in) {
  const auto series = read_series(in);
  const double capacity = in.number_if("capacity").value_or(0);
  const auto profiles = read_profiles(in);
  if (!series) return {};
  TrendForecast forecast(series->options);
  Json predictions = Json::array();
  std::optional<std::int64_t> converged_at, overflow_at;
  std::optional<Restart> restart;
  for (std::size_t i = 0; i < series->requested.size(); ++i) {
    const auto n = static_cast<std::int64_t>(i) + 1;
    const double physical = series->requested[i] * series->ratio[i];
    if (!overflow_at && physical + series->options.overhead > capacity) overflow_at = n;
    forecast.add(n, series->requested[i], physical);
    if (n < series->options.least_samples) continue;
    const auto& prediction = forecast.predict(series->total);
    predictions.push_back({{"n", n},
                           {"peak", prediction ? Json(prediction->peak) : Json()},
                           {"change", or_null(forecast.change())},
                           {"converged", forecast.converged()}});
    if (forecast.converged() && !converged_at) converged_at = n;
    if (!restart && forecast.peak() && *forecast.peak() > capacity) restart = {n, *forecast.peak()};
  }
  const bool early = restart && (!overflow_at || restart->at < *overflow_at);
  return {{"predictions", predictions},
          {"converged_at", or_null(converged_at)},
          {"overflow_at", or_null(overflow_at)},
          {"restart_at", restart ? Json(restart->at) : Json()},
          {"restart_on", restart ? profile_for(profiles, restart->peak) : Json()},
          {"early", early},
          {"iterations_saved", early && overflow_at ? Json(*overflow_at - restart->at) : Json()}};
}

}  // namespace cleave::cases::predictor
