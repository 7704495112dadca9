// A day of a site with services, people at notebooks, and batches that fill what these leave.

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/format.hpp"
#include "simulate/generate/generate.hpp"
#include "simulate/generate/generate_parts.hpp"

namespace cleave {

namespace {

// All of it is invented for this project; the shapes are those that sites describe: requests follow
// the hours of the day, people come in the morning and pause, batches come at any time.
constexpr OptionRow service_rows[] = {
    {"services", "COUNT", "4", "services, of one to three replicas each"},
    {"leases", "COUNT", "30", "notebooks, which people open from 8 to 18 o'clock"},
    {"batches", "COUNT", "110", "batches, over the whole day"},
    {"stoppable", "SHARE", "0.9", "of the batches, may be stopped; of these, two thirds save"},
};

constexpr double hour_s = 3600, day_s = 24 * hour_s;

const GpuModel& model() {
  static const GpuModel& a100 = **find_gpu_model("A100-40GB");
  return a100;
}

/// A job that spends this part of its time on the whole GPU in what more slices do not shorten.
SpeedTable speeds_of(double fixed, MiB needed) {
  return speeds_from_times(model(), needed, [&](const Profile& profile) {
    const double slower = static_cast<double>(model().compute.value) / profile.compute.value;
    return time_on({fixed, 1 - fixed}, slower);
  });
}

class DayMaker {
 public:
  explicit DayMaker(std::uint64_t seed) : random_(seed) {}

  /// By day it needs nearly all of its replicas, by night a part of them.
  void add_service(std::int64_t number) {
    constexpr std::array<std::string_view, 2> profiles = {"1g.5gb", "2g.10gb"};
    ServiceTerms terms;
    terms.id = fmt::format("service-{}", number);
    terms.replicas = static_cast<std::uint32_t>(1 + random_.below(3));
    terms.served_per_s = 100;
    const std::string profile(profiles[random_.below(profiles.size())]);
    const SpeedTable speeds = speeds_of(0.2, MiB{0});
    const double served = terms.served_per_s * speeds.at(profile) * terms.replicas;
    const double peak = served * (0.7 + 0.2 * random_.uniform());
    for (int hour = 0; hour < 24; ++hour) {
      // Least at 3 o'clock, most at 15.
      const double share = 0.6 - 0.4 * std::cos(2 * std::numbers::pi * (hour - 3) / 24);
      terms.load.push_back({std::chrono::hours{hour}, std::round(peak * share * 100) / 100});
    }
    // A tenth more than the mean at the peak, so that one replica less is too few.
    terms.latency = whole_ms(1.1 * terms.replicas / (served - peak));
    terms.runs_for = std::chrono::hours{24};
    JobDetails details;
    details.service = static_cast<std::uint32_t>(workload_.services.size());
    details.keeps = Keeps::stateless;
    SpeedModel speed;
    speed.table = speeds;
    for (std::uint32_t i = 0; i < terms.replicas; ++i)
      add({.id = fmt::format("{}.{}", terms.id, i)}, profile, speed, details);
    workload_.services.push_back(std::move(terms));
  }

  /// Works in turns, pauses between them, and may leave it idle long before giving it back.
  void add_lease(std::int64_t number) {
    constexpr std::array<std::string_view, 3> profiles = {"1g.5gb", "2g.10gb", "3g.20gb"};
    Job job{.id = fmt::format("notebook-{}", number)};
    job.arrival = Instant{} + whole_ms(hour_s * (8 + 10 * random_.uniform()));
    job.duration = whole_ms(draw_log_uniform(random_, 0.5, 4) * hour_s);
    LeaseTerms lease;
    lease.starts_within = std::chrono::seconds{60};
    lease.idle_after = std::chrono::minutes{15};
    Duration at{};
    while (true) {
      at += whole_ms(draw_log_normal(random_, 300, 1.2));
      const Duration to = at + whole_ms(draw_log_normal(random_, 600, 1));
      if (to >= job.duration) break;
      lease.active.push_back({at, to});
      at = to;
    }
    const std::string profile(profiles[random_.below(profiles.size())]);
    if (random_.uniform() < 0.5 && profile != profiles.front()) {
      lease.then = LeaseTerms::Then::shrink;
      lease.idle_memory = MiB{4000};
    }
    JobDetails details;
    details.lease = lease;
    details.keeps = Keeps::checkpoint;
    SpeedModel speed;
    speed.flat = true;
    add(std::move(job), profile, speed, details);
  }

  void add_batch(std::int64_t number, double stoppable) {
    constexpr std::array<std::string_view, 4> profiles = {"1g.5gb", "2g.10gb", "3g.20gb",
                                                          "4g.20gb"};
    constexpr std::array<double, 4> shares = {0.4, 0.3, 0.2, 0.1};
    const std::string profile(profiles[random_.weighted(shares)]);
    Job job{.id = fmt::format("batch-{}", number)};
    job.arrival = Instant{} + whole_ms(day_s * random_.uniform());
    SpeedModel speed;
    speed.table = speeds_of(0.3, model().find(profile)->usable.value_or(MiB{0}));
    // So long on the profile that it asks for.
    const double minutes = std::clamp(draw_log_normal(random_, 40, 1), 2.0, 480.0);
    job.duration = whole_ms(minutes * 60 * speed.table->at(profile));
    JobDetails details;
    const double fate = random_.uniform();
    if (fate >= stoppable)
      details.restartable = details.movable = false;
    else
      details.keeps = fate < stoppable * 2 / 3 ? Keeps::checkpoint : Keeps::nothing;
    add(std::move(job), profile, speed, details);
  }

  /// What jobs share is numbered as it would be read, in the order of arrival.
  Workload done() {
    std::ranges::stable_sort(drafts_, {}, [](const Draft& each) { return each.job.arrival; });
    for (Draft& each : drafts_) {
      each.job.request = workload_.intern(each.request);
      each.job.speed = workload_.intern(each.speed);
      each.job.details = static_cast<std::uint32_t>(workload_.details.size());
      workload_.details.push_back(each.details);
      workload_.jobs.push_back(std::move(each.job));
    }
    workload_.read = workload_.jobs.size();
    return std::move(workload_);
  }

 private:
  struct Draft {
    Job job;
    Request request;
    SpeedModel speed;
    JobDetails details;
  };

  void add(Job job, const std::string& profile, const SpeedModel& speed,
           const JobDetails& details) {
    Request request{.wanted = ByProfile{profile}, .fits = {}};
    if (speed.table) {
      request.fits.emplace();
      for (const auto& [name, relative] : *speed.table) request.fits->push_back(name);
    }
    drafts_.push_back({std::move(job), std::move(request), speed, details});
  }

  Random random_;
  std::vector<Draft> drafts_;
  Workload workload_;
};

Result<Workload> make_services(std::uint64_t seed, const OptionTexts& options) {
  OptionReader in(options);
  const std::int64_t services = in.count("services", 0, 1000);
  const std::int64_t leases = in.count("leases", 0, most_jobs);
  const std::int64_t batches = in.count("batches", 1, most_jobs);
  const double stoppable = in.number("stoppable", 0, 1);
  if (in.error()) return std::unexpected(*in.error());
  DayMaker day(seed);
  for (std::int64_t i = 0; i < services; ++i) day.add_service(i);
  for (std::int64_t i = 0; i < leases; ++i) day.add_lease(i);
  for (std::int64_t i = 0; i < batches; ++i) day.add_batch(i, stoppable);
  return day.done();
}

constexpr GeneratorRow services_generator_rows[] = {
    {.name = "services",
     .summary = "a day of services, notebooks, and batches that fill what these leave",
     .source = "invented for this project",
     .fleet = "4xA100-40GB",
     .options = service_rows,
     .make = make_services},
};

}  // namespace

std::span<const GeneratorRow> services_generators() {
  return services_generator_rows;
}

}  // namespace cleave
