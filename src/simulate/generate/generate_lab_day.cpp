// A day of a research laboratory.

#include <array>
#include <cmath>

#include "base/format.hpp"
#include "base/random.hpp"
#include "simulate/generate/generate.hpp"

namespace cleave {

namespace {

/// A kind of job that a laboratory runs. Speeds and durations are invented for this project; their
/// shape (small work gains little from more slices, training gains much) agrees with published
/// measurements.
struct Family {
  std::string_view name;
  double share;  // of all jobs
  Request request;
  double least_minutes, most_minutes;  // on the whole GPU
  SpeedTable speeds;                   // A100-40GB
};

const std::array<Family, 5>& families() {
  static const std::array<Family, 5> all = {{
      {"notebook",
       0.30,
       {ByProfile{"1g.5gb"}, {}},
       2,
       15,
       {{"1g.5gb", 0.55},
        {"1g.10gb", 0.56},
        {"2g.10gb", 0.80},
        {"3g.20gb", 0.92},
        {"4g.20gb", 0.96},
        {"7g.40gb", 1},
        {"none", 1.02}}},
      {"inference",
       0.30,
       {BySize{MiB{9000}, {}}, {}},
       5,
       20,
       {{"1g.10gb", 0.35},
        {"2g.10gb", 0.58},
        {"3g.20gb", 0.75},
        {"4g.20gb", 0.85},
        {"7g.40gb", 1},
        {"none", 1.05}}},
      {"fine-tune",
       0.20,
       {BySize{MiB{18000}, {3}}, {}},
       10,
       45,
       {{"3g.20gb", 0.50}, {"4g.20gb", 0.66}, {"7g.40gb", 1}, {"none", 1.08}}},
      {"train-small",
       0.14,
       {ByProfile{"2g.10gb"}, {}},
       10,
       40,
       {{"2g.10gb", 0.38}, {"3g.20gb", 0.54}, {"4g.20gb", 0.68}, {"7g.40gb", 1}, {"none", 1.09}}},
      {"train-large", 0.06, {ByProfile{"7g.40gb"}, {}}, 10, 60, {{"7g.40gb", 1}, {"none", 1.10}}},
  }};
  return all;
}

/// Whole seconds, uniform over the logarithm: many short ones, few long ones.
Duration draw_duration(const Family& family, Random& random) {
  const double minutes =
      family.least_minutes * std::pow(family.most_minutes / family.least_minutes, random.uniform());
  return std::chrono::seconds{std::llround(minutes * 60)};
}

Result<Workload> make_lab_day(std::uint64_t seed, const OptionTexts& /*options*/) {
  constexpr int jobs = 200;
  constexpr double mean_gap_s = 200;
  Random random(seed);
  Workload workload;
  std::array<double, 5> shares{};
  for (std::size_t i = 0; i < shares.size(); ++i) shares[i] = families()[i].share;
  double now = 0;
  for (int i = 0; i < jobs; ++i) {
    const Family& family = families()[random.weighted(shares)];
    Job job;
    job.id = fmt::format("{}-{:03}", family.name, i);
    job.arrival = Instant{} + std::chrono::seconds{std::llround(now)};
    job.duration = draw_duration(family, random);
    Request request = family.request;
    SpeedModel speed;
    speed.table = family.speeds;
    request.fits.emplace();
    for (const auto& [profile, relative] : family.speeds)
      if (profile != mig_off) request.fits->push_back(profile);
    job.request = workload.intern(request);
    job.speed = workload.intern(speed);
    workload.jobs.push_back(std::move(job));
    now += random.exponential(mean_gap_s);
  }
  workload.read = workload.jobs.size();
  return workload;
}

constexpr GeneratorRow lab_day_generator_rows[] = {
    {.name = "lab-day",
     .summary = "200 jobs of a research laboratory in about eleven hours",
     .source = "invented for this project",
     .fleet = "4xA100-40GB",
     .options = {},
     .make = make_lab_day},
};

}  // namespace

std::span<const GeneratorRow> lab_day_generators() {
  return lab_day_generator_rows;
}

}  // namespace cleave
