#include "simulate/generate/generate_parts.hpp"

#include <cmath>
#include <numbers>

#include "base/text.hpp"

namespace cleave {

double draw_normal(Random& random) {
  const double radius = std::sqrt(-2 * std::log1p(-random.uniform()));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

double draw_log_normal(Random& random, double median, double sigma) {
  return median * std::exp(sigma * draw_normal(random));
}

double draw_log_uniform(Random& random, double least, double most) {
  return least * std::pow(most / least, random.uniform());
}

double draw_around_one(Random& random, double spread) {
  return 1 + spread * (2 * random.uniform() - 1);
}

Duration whole_ms(double seconds) {
  // Thirty years are longer than any job; beyond that, milliseconds would not fit.
  return std::chrono::milliseconds{std::max(1LL, std::llround(std::min(seconds, 1e9) * 1000))};
}

double rounded_speed(double speed) {
  return std::max(1e-4, std::round(speed * 1e4) / 1e4);
}

std::vector<const Profile*> profiles_with(const GpuModel& model, MiB needed) {
  std::vector<const Profile*> fitting;
  for (const Profile& profile : model.profiles)
    if (profile.attribute == Attribute::none && profile.usable &&
        profile.usable->value >= needed.value)
      fitting.push_back(&profile);
  return fitting;
}

SpeedTable speeds_from_times(const GpuModel& model, MiB needed,
                             const std::function<double(const Profile&)>& time) {
  SpeedTable speeds;
  for (const Profile* profile : profiles_with(model, needed))
    speeds.emplace(profile->name, rounded_speed(time(model.largest()) / time(*profile)));
  return speeds;
}

void WorkloadMaker::add(Job job, const decltype(Request::wanted)& wanted, SpeedTable speeds,
                        const std::optional<JobDetails>& details, double transfer_share,
                        const std::optional<Offload>& offload) {
  SpeedModel speed;
  speed.table = std::move(speeds);
  speed.transfer_share = transfer_share;
  speed.offload = offload;
  add(std::move(job), wanted, speed, details);
}

void WorkloadMaker::add(Job job, const decltype(Request::wanted)& wanted, const SpeedModel& speed,
                        const std::optional<JobDetails>& details) {
  Request request{wanted, std::vector<std::string>()};
  for (const auto& [profile, relative] : *speed.table)
    if (profile != mig_off) request.fits->push_back(profile);
  job.request = workload_.intern(request);
  job.speed = workload_.intern(speed);
  if (details) {
    job.details = static_cast<std::uint32_t>(workload_.details.size());
    workload_.details.push_back(*details);
  }
  workload_.jobs.push_back(std::move(job));
}

Workload WorkloadMaker::done() {
  workload_.read = workload_.jobs.size();
  workload_.sort();
  return std::move(workload_);
}

}  // namespace cleave
