// The four workloads of the online paper (V-A2, table II): tasks of language-model queries that
// arrive at four A100-40GB in a Poisson process. The number of tasks, the queries of a task, the
// tokens and the speeds are open (docs/workloads.md).

#include <algorithm>
#include <array>
#include <cmath>

#include "base/csv.hpp"
#include "base/format.hpp"
#include "base/read_limits.hpp"
#include "base/read_text.hpp"
#include "base/text.hpp"
#include "model/gpu_model.hpp"
#include "simulate/generate/generate.hpp"
#include "simulate/generate/generate_parts.hpp"

namespace cleave {

namespace {

/// A language model in half precision: its weights are read once for every output token.
struct Model {
  std::string_view name;
  double weights_mib;
  std::array<std::string_view, 2> profiles;  // on which the paper runs it
};
constexpr std::array<Model, 4> models = {{{"opt-6.7b", 12'700, {"1g.5gb", "2g.10gb"}},
                                          {"bloom-1b7", 3'290, {"1g.5gb", "2g.10gb"}},
                                          {"opt-13b", 24'500, {"3g.20gb", "4g.20gb"}},
                                          {"bloom-7b1", 13'480, {"3g.20gb", "4g.20gb"}}}};

/// Most tokens that a query of a trace may have in or out.
constexpr std::int64_t most_tokens = 1'000'000'000;

struct Query {
  std::int64_t request, response;
  [[nodiscard]] std::int64_t length() const { return request + response; }
};

struct OnlineSetting {
  std::int64_t jobs, queries, longest;
  double gap_s;
  double request_median, request_sigma, response_median, response_sigma;
  double bandwidth_gib, link_gib, overhead_s, reserve_mib;
  bool only_long, shares_link;
  std::string trace;
};

constexpr std::array<OptionRow, 16> options_for(std::string_view gap, std::string_view length) {
  return {
      {{"jobs", "COUNT", "200", "how many tasks"},
       {"gap", "NUMBER", gap, "mean time between arrivals"},
       {"unit", "s|ms|min", "s", "unit of `gap`, which the paper does not say"},
       {"length", "all|long", length, "queries from all, or from the upper half by length"},
       {"queries", "COUNT", "4", "queries of a task"},
       {"request-median", "NUMBER", "300", "median of a request's tokens, log-normal"},
       {"request-sigma", "NUMBER", "1.1", "standard deviation of their logarithm"},
       {"response-median", "NUMBER", "115", "median of a response's tokens, log-normal"},
       {"response-sigma", "NUMBER", "1", "standard deviation of their logarithm"},
       {"longest", "COUNT", "4096", "queries with more tokens are outliers and drawn again"},
       {"bandwidth", "NUMBER", "1290", "GiB/s at which the whole GPU reads its memory"},
       {"link", "NUMBER", "22", "GiB/s at which weights that do not fit come from the host"},
       {"overhead-ms", "NUMBER", "20", "time of a pass through the model that no slice changes"},
       {"reserve", "MIB", "1024", "memory of an instance that weights cannot have"},
       {"trace", "FILE", "none",
        "lengths of queries from this CSV, with the columns of BurstGPT or of Azure's traces, in "
        "place of log-normal ones"},
       {"shared", "on|off", "off",
        "on: weights on the host cross the link at each pass, with those of all jobs on the GPU"}}};
}
constexpr auto normal_25_options = options_for("25", "all");
constexpr auto long_25_options = options_for("25", "long");
constexpr auto normal_50_options = options_for("50", "all");
constexpr auto long_50_options = options_for("50", "long");

Result<OnlineSetting> setting(const OptionTexts& options) {
  OptionReader in(options);
  OnlineSetting all{};
  all.jobs = in.count("jobs", 1, most_jobs);
  const std::string& unit = in.text("unit");
  all.gap_s = in.number("gap", 0, 1e6) * (unit == "ms" ? 0.001 : unit == "min" ? 60 : 1);
  if (all.gap_s * static_cast<double>(all.jobs) > longest_arrivals_s)
    in.refuse("gap", "with this many jobs the arrivals take years");
  all.only_long = in.text("length") == "long";
  all.queries = in.count("queries", 1, 10'000);
  all.request_median = in.number("request-median", 1, 1e6);
  all.request_sigma = in.number("request-sigma", 0, 5);
  all.response_median = in.number("response-median", 1, 1e6);
  all.response_sigma = in.number("response-sigma", 0, 5);
  all.longest = in.count("longest", 2, 10'000'000);
  // Otherwise nearly every query would be an outlier.
  if (static_cast<double>(all.longest) < all.request_median + all.response_median + 1)
    in.refuse("longest", "it is not above the medians of request and response together");
  all.bandwidth_gib = in.number("bandwidth", 1, 1e6);
  all.link_gib = in.number("link", 0.01, 1e6);
  all.overhead_s = in.number("overhead-ms", 0, 1e6) / 1000;
  all.reserve_mib = in.number("reserve", 0, 40'000);
  all.trace = in.text("trace");
  all.shares_link = in.is("shared", "on");
  if (in.error()) return std::unexpected(*in.error());
  return all;
}

/// The columns of a trace of queries: tokens in and out.
constexpr std::array<std::string_view, 2> trace_columns[] = {
    {"Request tokens", "Response tokens"},  // BurstGPT
    {"ContextTokens", "GeneratedTokens"}};  // Azure's traces of 2023 and 2024

/// The queries of a public trace, without those that failed, which have no response, and without
/// outliers.
Result<std::vector<Query>> queries_of_trace(const OnlineSetting& setting) {
  const auto text = read_text(setting.trace, trace_limits);
  if (!text) return std::unexpected(text.error());
  auto csv = CsvReader::open(*text, shown(setting.trace, 200));
  if (!csv) return std::unexpected(csv.error());
  const auto known = std::ranges::find_if(
      trace_columns, [&](const auto& names) { return csv->column(names[0]).has_value(); });
  const auto& names = known == std::end(trace_columns) ? trace_columns[0] : *known;
  const auto request = csv->column(names[0]), response = csv->column(names[1]);
  if (!request) return std::unexpected(request.error());
  if (!response) return std::unexpected(response.error());
  std::vector<Query> pool;
  std::vector<std::string> cells;
  while (true) {
    const auto more = csv->next(cells);
    if (!more) return std::unexpected(more.error());
    if (!*more) break;
    const auto in = parse_integer(cells[*request]), out = parse_integer(cells[*response]);
    if (!in || !out || *in < 0 || *out < 0 || *in > most_tokens || *out > most_tokens)
      return fail(ErrorKind::bad_input, csv->place(),
                  fmt::format("'{}' and '{}' are not numbers of tokens", shown(cells[*request]),
                              shown(cells[*response])),
                  "give whole numbers of zero or more");
    if (*out > 0 && *in + *out <= setting.longest) pool.push_back({*in, *out});
  }
  if (pool.empty())
    return fail(ErrorKind::bad_input, shown(setting.trace, 200),
                "no query of the trace has a response and at most `longest` tokens",
                "give another trace, or a greater `longest`");
  return pool;
}

/// A synthetic trace of queries, with enough draws that its upper half by length is stable.
std::vector<Query> drawn_queries(const OnlineSetting& setting, Random& random) {
  constexpr std::size_t size = 4000;
  std::vector<Query> pool;
  const auto tokens = [&](double median, double sigma) {
    return std::llround(std::clamp(draw_log_normal(random, median, sigma), 1.0, 1e9));
  };
  while (pool.size() < size) {
    const auto request = tokens(setting.request_median, setting.request_sigma);
    const auto response = tokens(setting.response_median, setting.response_sigma);
    if (request + response <= setting.longest) pool.push_back({request, response});
  }
  return pool;
}

/// What the queries of tasks are drawn from.
Result<std::vector<Query>> query_pool(const OnlineSetting& setting, Random& random) {
  auto pool = setting.trace == "none" ? drawn_queries(setting, random) : queries_of_trace(setting);
  if (!pool || !setting.only_long) return pool;
  std::ranges::stable_sort(*pool, {}, &Query::length);
  pool->erase(pool->begin(), pool->begin() + static_cast<std::ptrdiff_t>(pool->size() / 2));
  return pool;
}

double offloaded_mib(const Model& model, const Profile& profile, const OnlineSetting& setting) {
  const double room =
      std::max(0.0, static_cast<double>(profile.usable->value) - setting.reserve_mib);
  return std::max(0.0, model.weights_mib - room);
}

/// One pass through the model, which makes one token: resident weights are read from the instance's
/// memory at its share of the bandwidth, the others come over the link.
double pass_s(const Model& model, const Profile& profile, const OnlineSetting& setting) {
  const double offloaded = offloaded_mib(model, profile, setting);
  const double share = profile.memory.value / 8.0;
  return setting.overhead_s +
         (model.weights_mib - offloaded) / 1024 / (setting.bandwidth_gib * share) +
         offloaded / 1024 / setting.link_gib;
}

/// Tokens of a request count as this many passes, since they go through the model together.
constexpr double request_token = 0.02;

/// The queries of one task, as a model sees them.
struct Task {
  double passes = 0;
  std::int64_t output = 0;  // tokens
};
Task draw_task(const OnlineSetting& setting, const std::vector<Query>& pool, Random& random) {
  Task task;
  for (std::int64_t q = 0; q < setting.queries; ++q) {
    const Query& query = pool[random.below(pool.size())];
    task.passes +=
        static_cast<double>(query.response) + request_token * static_cast<double>(query.request);
    task.output += query.response;
  }
  return task;
}

/// What of a task is on the host, all of which crosses the link at every pass.
std::optional<Offload> offload_of(const JobDetails& details, const Job& job, const Profile& profile,
                                  const OnlineSetting& setting) {
  if (!details.offload || !setting.shares_link) return std::nullopt;
  return Offload{*profile.usable + *details.offload, *details.offload,
                 *details.offload_touches / in_seconds(job.duration)};
}

Result<Workload> tasks(std::uint64_t seed, const OptionTexts& options) {
  const auto chosen = setting(options);
  if (!chosen) return std::unexpected(chosen.error());
  const GpuModel& gpu = **find_gpu_model("A100-40GB");
  Random random(seed);
  const auto pool = query_pool(*chosen, random);
  if (!pool) return std::unexpected(pool.error());
  WorkloadMaker maker;
  double now = 0;
  for (std::int64_t i = 0; i < chosen->jobs; ++i) {
    const Model& model = models[random.below(models.size())];
    const Profile& profile = *gpu.find(model.profiles[random.below(2)]);
    const Task task = draw_task(*chosen, *pool, random);
    const auto pass = [&](const Profile& on) { return pass_s(model, on, *chosen); };
    JobDetails details;
    details.application = model.name;
    details.movable = true;
    details.output_tokens = task.output;
    if (const double offloaded = offloaded_mib(model, profile, *chosen); offloaded > 0) {
      details.offload = MiB{static_cast<std::int64_t>(std::ceil(offloaded))};
      if (chosen->shares_link) details.offload_touches = task.passes;
    }
    Job job;
    job.id = fmt::format("{}-{:03}", model.name, i);
    job.arrival = Instant{} + std::chrono::milliseconds{std::llround(now * 1000)};
    job.duration = whole_ms(task.passes * pass(gpu.largest()));
    const auto offload = offload_of(details, job, profile, *chosen);
    // Offloading lets a model run on any profile.
    maker.add(std::move(job), ByProfile{std::string(profile.name)},
              speeds_from_times(gpu, MiB{0}, pass), details, 0, offload);
    now += random.exponential(chosen->gap_s);
  }
  return maker.done();
}

constexpr std::string_view source = "An Online Fragmentation-Aware Scheduler, V-A2, table II";
constexpr std::string_view fleet = "4xA100-40GB";
constexpr GeneratorRow online_generator_rows[] = {
    {.name = "normal-25",
     .summary = "language-model tasks, mean gap 25, queries of all lengths",
     .source = source,
     .fleet = fleet,
     .options = normal_25_options,
     .make = tasks},
    {.name = "long-25",
     .summary = "language-model tasks, mean gap 25, queries from the longer half",
     .source = source,
     .fleet = fleet,
     .options = long_25_options,
     .make = tasks},
    {.name = "normal-50",
     .summary = "language-model tasks, mean gap 50, queries of all lengths",
     .source = source,
     .fleet = fleet,
     .options = normal_50_options,
     .make = tasks},
    {.name = "long-50",
     .summary = "language-model tasks, mean gap 50, queries from the longer half",
     .source = source,
     .fleet = fleet,
     .options = long_50_options,
     .make = tasks},
};

}  // namespace

std::span<const GeneratorRow> online_generators() {
  return online_generator_rows;
}

}  // namespace cleave
