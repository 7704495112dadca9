// The workloads of Dyna-P's evaluation (4): inference jobs of five small language models in
// batches, on A30s, and 5,000 of them on 160 A100s with the run times of Alibaba's trace.
// Latencies, deadlines and arrivals are left open by the paper (docs/workloads.md).

#include <algorithm>
#include <array>
#include <cmath>

#include "base/format.hpp"
#include "model/gpu_model.hpp"
#include "physics/batch_law.hpp"
#include "physics/slice_law.hpp"
#include "simulate/generate/generate.hpp"
#include "simulate/generate/generate_parts.hpp"

namespace cleave {

namespace {

/// Table 2's models. Latencies and memory are invented, in the order of the models' sizes, such
/// that the two statements of 2.1 and 2.2 hold: batches stop paying beyond some size on every
/// slice, and Phi-1 does not run on the smallest one with its largest batch.
struct Application {
  std::string_view name;
  BatchLaw a30;  // ms on the whole A30
  std::int64_t memory_mib, memory_per_sample_mib;
};
constexpr std::array<Application, 5> applications = {
    {{"distilgpt", {250, 10, 6, 0.5}, 700, 8},
     {"codegen", {450, 25, 14, 0.5}, 1300, 16},
     {"flan-t5-large", {600, 40, 22, 0.5}, 1900, 24},
     {"codellama", {750, 55, 32, 0.5}, 2400, 36},
     {"phi-1", {900, 70, 42, 0.5}, 2900, 56}}};

/// A GPU of the evaluation. The GPU-bound part of a latency is in inverse proportion to the memory
/// bandwidth; the fixed part is the same on both.
struct EvaluationGpu {
  std::string_view model;
  double bandwidth;  // GB/s, of NVIDIA's data sheets
};
constexpr EvaluationGpu a30 = {"A30-24GB", 933.1}, a100 = {"A100-40GB", 1555};

MiB memory_of(const Application& application, std::int64_t batch) {
  return MiB{application.memory_mib + application.memory_per_sample_mib * batch};
}

/// Options of all these generators.
struct DynaPSetting {
  const GpuModel* gpu;
  double against_a30;  // GPU-bound time, relative to that on an A30
  std::int64_t jobs;
  std::vector<std::int64_t> batches;
  double scale, least_slack, most_slack;
};

constexpr OptionRow jobs_row(std::string_view jobs) {
  return {"jobs", "COUNT", jobs, "how many jobs"};
}
constexpr OptionRow smallest_row(std::string_view batch) {
  return {"smallest-batch", "COUNT", batch,
          "least batch; batches are powers of two, equally likely"};
}
constexpr OptionRow largest_row(std::string_view batch) {
  return {"largest-batch", "COUNT", batch, "largest batch, at most 64"};
}
constexpr OptionRow scale_row = {"scale", "NUMBER", "1", "all latencies times this"};
constexpr OptionRow least_slack_row = {
    "least-slack", "NUMBER", "3",
    "smallest deadline, as a multiple of the run time on the whole GPU"};
constexpr OptionRow most_slack_row = {"most-slack", "NUMBER", "10",
                                      "largest deadline, likewise; drawn evenly between the two"};

DynaPSetting read_setting(OptionReader& in, const EvaluationGpu& gpu) {
  DynaPSetting setting{};
  setting.gpu = *find_gpu_model(gpu.model);
  setting.against_a30 = a30.bandwidth / gpu.bandwidth;
  setting.jobs = in.count("jobs", 1, most_jobs);
  const auto smallest = in.count("smallest-batch", 1, 64);
  const auto largest = in.count("largest-batch", 1, 64);
  for (std::int64_t batch = 1; batch <= 64; batch *= 2)
    if (batch >= smallest && batch <= largest) setting.batches.push_back(batch);
  if (setting.batches.empty())
    in.refuse("smallest-batch", "no power of two lies between it and largest-batch");
  setting.scale = in.number("scale", 1e-3, 1e3);
  setting.least_slack = in.number("least-slack", 0.01, 1e6);
  setting.most_slack = in.number("most-slack", 0.01, 1e6);
  if (setting.most_slack < setting.least_slack) in.refuse("most-slack", "it is below least-slack");
  return setting;
}

double latency_s(const Application& application, std::int64_t batch, const DynaPSetting& setting,
                 const Profile& profile) {
  return setting.scale / 1000 *
         batch_time(application.a30, static_cast<double>(batch),
                    gpu_bound_time(*setting.gpu, profile) * setting.against_a30);
}

/// One job: as many batches as come nearest to the run time `wanted_s` at this latency.
struct Drawn {
  const Application* application;
  double arrival_s;
};
template <class Batches>
void add_job(WorkloadMaker& maker, const DynaPSetting& setting, const Drawn& drawn,
             std::int64_t number, Random& random, Batches&& batches_of) {
  const Application& application = *drawn.application;
  const std::int64_t batch = setting.batches[random.below(setting.batches.size())];
  const auto time = [&](const Profile& profile) {
    return latency_s(application, batch, setting, profile);
  };
  const double latency = in_seconds(whole_ms(time(setting.gpu->largest())));
  const double seconds = latency * batches_of(latency);
  const double slack =
      setting.least_slack + (setting.most_slack - setting.least_slack) * random.uniform();
  JobDetails details;
  details.application = application.name;
  details.batch = batch;
  details.latency = whole_ms(latency);
  details.deadline = whole_ms(seconds * slack);
  details.restartable = true;
  Job job;
  job.id = fmt::format("{}-b{}-{:04}", application.name, batch, number);
  job.arrival = Instant{} + std::chrono::milliseconds{std::llround(drawn.arrival_s * 1000)};
  job.duration = whole_ms(seconds);
  maker.add(std::move(job), Unknown{},
            speeds_from_times(*setting.gpu, memory_of(application, batch), time), details);
}

// ---- On A30s ----

constexpr std::array<OptionRow, 9> a30_options(std::string_view jobs, std::string_view smallest,
                                               std::string_view largest, std::string_view gap) {
  return {
      {jobs_row(jobs),
       smallest_row(smallest),
       largest_row(largest),
       {"gap", "NUMBER", gap, "mean seconds between arrivals, a Poisson process; 0: all at once"},
       {"least-runs", "COUNT", "20", "batches that a job runs, at least"},
       {"most-runs", "COUNT", "100", "and at most, drawn evenly over the logarithm"},
       scale_row,
       least_slack_row,
       most_slack_row}};
}
constexpr auto fifty_options = a30_options("50", "1", "64", "10");
constexpr auto small_options = a30_options("10", "1", "8", "5");
constexpr auto large_options = a30_options("10", "32", "64", "5");
constexpr auto concurrent_options = a30_options("4", "1", "64", "0");

Result<Workload> on_a30(std::uint64_t seed, const OptionTexts& options) {
  OptionReader in(options);
  const DynaPSetting setting = read_setting(in, a30);
  const double gap = in.number("gap", 0, 1e6);
  if (gap * static_cast<double>(setting.jobs) > longest_arrivals_s)
    in.refuse("gap", "with this many jobs the arrivals take years");
  const auto least = in.count("least-runs", 1, 1'000'000);
  const auto most = in.count("most-runs", 1, 1'000'000);
  if (most < least) in.refuse("most-runs", "it is below least-runs");
  if (in.error()) return std::unexpected(*in.error());
  Random random(seed);
  WorkloadMaker maker;
  double now = 0;
  for (std::int64_t i = 0; i < setting.jobs; ++i) {
    const Application& application = applications[random.below(applications.size())];
    add_job(maker, setting, {&application, now}, i, random, [&](double) {
      return std::round(
          draw_log_uniform(random, static_cast<double>(least), static_cast<double>(most)));
    });
    now += random.exponential(gap);
  }
  return maker.done();
}

// ---- On A100s ----

// Fitted to Alibaba's cluster-trace-gpu-v2023, openb_pod_list_default: the 6,099 pods of one GPU
// that ended before the trace did. Mean and standard deviation are those of the logarithm of their
// run times in seconds; the distribution functions differ by at most 0.042, and the trace's tail is
// heavier. Its shares of a GPU, in bins up to 1/7, 2/7, 3/7, 4/7 and above, give the frequency of
// each model, the smallest model for the smallest share: for pods that share a GPU, and for all
// pods.
constexpr std::array<double, 5> shared_weights = {0.010, 0.089, 0.135, 0.262, 0.504};
constexpr std::array<double, 5> all_weights = {0.004, 0.037, 0.057, 0.110, 0.792};
constexpr std::array<double, 5> even_weights = {1, 1, 1, 1, 1};

constexpr std::array<OptionRow, 11> cluster_options = {
    {jobs_row("5000"),
     smallest_row("1"),
     largest_row("64"),
     {"rate", "NUMBER", "1000", "arrivals an hour, a Poisson process"},
     {"median-s", "NUMBER", "678", "median run time on the whole GPU, log-normal"},
     {"sigma", "NUMBER", "1.82", "standard deviation of its logarithm"},
     {"longest-s", "NUMBER", "86400", "longer run times are cut to this"},
     {"shares", "shared|all|even", "shared",
      "how often each model occurs: as shares of pods below one GPU, of all pods, or evenly"},
     scale_row,
     least_slack_row,
     most_slack_row}};

Result<Workload> on_cluster(std::uint64_t seed, const OptionTexts& options) {
  OptionReader in(options);
  const DynaPSetting setting = read_setting(in, a100);
  const double rate = in.number("rate", 1e-3, 1e9);
  if (3600 / rate * static_cast<double>(setting.jobs) > longest_arrivals_s)
    in.refuse("rate", "with this many jobs the arrivals take years");
  const double median = in.number("median-s", 1e-3, 1e7);
  const double sigma = in.number("sigma", 0, 5);
  const double longest = in.number("longest-s", 1e-3, 1e8);
  if (in.error()) return std::unexpected(*in.error());
  const std::string& shares = in.text("shares");
  const auto& weights = shares == "shared" ? shared_weights
                        : shares == "all"  ? all_weights
                                           : even_weights;
  Random random(seed);
  WorkloadMaker maker;
  double now = 0;
  for (std::int64_t i = 0; i < setting.jobs; ++i) {
    const Application& application = applications[random.weighted(weights)];
    add_job(maker, setting, {&application, now}, i, random, [&](double latency) {
      const double seconds = std::min(longest, draw_log_normal(random, median, sigma));
      return std::max(1.0, std::round(seconds / latency));
    });
    now += random.exponential(3600 / rate);
  }
  return maker.done();
}

constexpr GeneratorRow dyna_p_generator_rows[] = {
    {.name = "dyna-p-50",
     .summary = "50 inference jobs of small language models, batches 1 to 64",
     .source = "Dyna-P, 4, table 2",
     .fleet = "2xA30-24GB",
     .options = fifty_options,
     .make = on_a30},
    {.name = "dyna-p-small",
     .summary = "10 inference jobs, batches 1 to 8",
     .source = "Dyna-P, 4.2",
     .fleet = "1xA30-24GB",
     .options = small_options,
     .make = on_a30},
    {.name = "dyna-p-large",
     .summary = "10 inference jobs, batches 32 and 64",
     .source = "Dyna-P, 4.2",
     .fleet = "1xA30-24GB",
     .options = large_options,
     .make = on_a30},
    {.name = "dyna-p-concurrent",
     .summary = "inference jobs all at once; raise `jobs`",
     .source = "Dyna-P, 4.3",
     .fleet = "1xA30-24GB",
     .options = concurrent_options,
     .make = on_a30},
    {.name = "dyna-p-5000",
     .summary = "5,000 inference jobs with the run times of Alibaba's trace; raise `rate`",
     .source = "Dyna-P, 4.3",
     .fleet = "160xA100-40GB",
     .options = cluster_options,
     .make = on_cluster},
};

}  // namespace

std::span<const GeneratorRow> dyna_p_generators() {
  return dyna_p_generator_rows;
}

}  // namespace cleave
