#include "control/verdicts/use_verdicts.hpp"

#include <algorithm>

#include "base/format.hpp"

namespace cleave {

namespace {

/// For the idle power of a GPU: counters are renewed in steps, and the clock is read beside them.
constexpr Duration shortest_quiet = std::chrono::seconds(2);

Duration within(Duration time, Duration most) {
  return std::clamp(time, Duration::zero(), most);
}

/// How long it was there of the time from `from` to `to`.
Duration overlap(const Tenancy& tenancy, Instant from, Instant to) {
  const Instant begin = std::max(tenancy.from, from), end = std::min(tenancy.to.value_or(to), to);
  return within(end - begin, to - from);
}

/// A tenancy with its part of the device: the times of those who had it, one after the other or
/// together, are cut so that they fill it once at most.
struct Part {
  const Tenancy* tenancy;
  Duration time{};
};
std::vector<Part> parts_of(const MeteredTime& time) {
  std::map<std::string, std::vector<Part>> by_device;
  for (const Tenancy& each : time.tenancies)
    if (const Duration held = overlap(each, time.from, time.to); held > Duration::zero())
      by_device[each.device].push_back({&each, held});
  const Duration whole = time.to - time.from;
  std::vector<Part> all;
  for (auto& [device, parts] : by_device) {
    Duration sum{};
    for (const Part& each : parts) sum += each.time;
    if (sum > whole) {
      std::vector<std::int64_t> weights;
      // Microseconds: the product with the whole must fit.
      for (const Part& each : parts) weights.push_back(each.time.count() / 1000);
      const auto cut = divide_whole(whole.count(), weights);
      for (std::size_t i = 0; i < parts.size(); ++i) parts[i].time = Duration{cut[i]};
    }
    all.insert(all.end(), parts.begin(), parts.end());
  }
  return all;
}

/// One time of a day, divided.
class Division {
 public:
  explicit Division(const MeteredTime& time) : time_(time), parts_(parts_of(time)) {}

  GpuUse whole() {
    divide_energy();
    for (std::size_t i = 0; i < parts_.size(); ++i) add_job(i);
    for (std::size_t i = 0; i < time_.foreign.size(); ++i) add_foreign(i);
    UsageSums idle = sums_of(std::max(left_, Duration::zero()), split_.idle);
    add(UseKind::idle, nullptr, idle);
    return std::move(use_);
  }

 private:
  void divide_energy() {
    const auto all = static_cast<double>(time_.model->compute.value);
    std::vector<LoadTime> loads;
    for (const Part& each : parts_)
      loads.push_back(
          {{static_cast<double>(each.tenancy->slices) / all, each.tenancy->busy.value_or(1), 1},
           each.time});
    for (const ForeignUse& each : time_.foreign)
      loads.push_back({{static_cast<double>(each.slices) / all, each.works ? 1.0 : 0.0, 1},
                       time_.to - time_.from});
    PowerBounds bounds = power_bounds(*time_.model);
    bounds.idle = time_.idle.value_or(bounds.idle);
    split_ =
        split_energy(bounds, time_.energy.value_or(Millijoules{}), time_.to - time_.from, loads);
    left_ = time_.model->compute.value * (time_.to - time_.from);
  }

  void add_job(std::size_t i) {
    const Tenancy& tenancy = *parts_[i].tenancy;
    const UsageSums sums = sums_of(tenancy.slices * parts_[i].time, split_.loads[i]);
    left_ -= sums.slice_time;
    add(UseKind::jobs, &tenancy, sums);
    if (time_.energy) {
      use_.jobs[tenancy.job].add({split_.loads[i].value, {}});
      use_.devices[tenancy.device] += split_.loads[i].value;
    } else {
      use_.jobs[tenancy.job].add({{}, parts_[i].time});
    }
  }
  void add_foreign(std::size_t i) {
    const UsageSums sums =
        sums_of(time_.foreign[i].slices * (time_.to - time_.from), split_.loads[parts_.size() + i]);
    left_ -= sums.slice_time;
    add(UseKind::foreign, nullptr, sums);
  }

  [[nodiscard]] UsageSums sums_of(Duration slices, Millijoules energy) const {
    UsageSums sums;
    sums.slice_time = slices;
    if (time_.energy) sums.millijoules = energy.value;
    if (!time_.energy) sums.unmetered = slices;
    return sums;
  }
  /// `whose`: null where it is of no job.
  void add(UseKind kind, const Tenancy* whose, const UsageSums& sums) {
    UsageRow row;
    row.key.day = day_of(time_.from);
    row.key.kind = kind;
    if (whose != nullptr) row.key.party = whose->party;
    if (whose != nullptr) row.user = whose->user;
    row.key.gpu = time_.gpu;
    row.gpu_slices = time_.model->compute.value;
    row.sums = sums;
    add_row(use_.rows, row);
  }

  const MeteredTime& time_;
  std::vector<Part> parts_;
  EnergySplit split_;
  Duration left_{};
  GpuUse use_;
};

}  // namespace

GpuUse divide_use(const MeteredTime& time) {
  std::vector<MeteredTime> days;
  std::vector<std::int64_t> lengths;
  for (Instant at = time.from; at < time.to; at = days.back().to) {
    MeteredTime& day = days.emplace_back(time);
    const Instant next = std::chrono::floor<std::chrono::days>(at) + std::chrono::days(1);
    day.from = at;
    day.to = std::min(time.to, next);
    lengths.push_back((day.to - day.from).count() / 1000);
  }
  GpuUse use;
  if (time.energy) {
    const Millijoules whole = std::clamp(*time.energy, Millijoules{0}, most_energy);
    const auto parts = divide_whole(whole.value, lengths);
    for (std::size_t i = 0; i < days.size(); ++i) days[i].energy = Millijoules{parts[i]};
    // Less than a microsecond: what was used then is the first's.
    if (!days.empty() && std::ranges::all_of(lengths, [](std::int64_t each) { return each == 0; }))
      days.front().energy = whole;
  }
  for (const MeteredTime& day : days) use.add(Division(day).whole());
  return use;
}

std::optional<Milliwatts> idle_power(const MeteredTime& time) {
  const Duration whole = time.to - time.from;
  const bool works = std::ranges::any_of(time.foreign, &ForeignUse::works) ||
                     std::ranges::any_of(time.tenancies, [&](const Tenancy& each) {
                       return overlap(each, time.from, time.to) > Duration::zero();
                     });
  if (!time.energy || works || whole < shortest_quiet || whole > longest_split) return {};
  const auto milliseconds = std::chrono::duration_cast<std::chrono::milliseconds>(whole).count();
  const std::int64_t milliwatts = std::min(*time.energy, most_energy).value * 1000 / milliseconds;
  if (Milliwatts{milliwatts} > gpu_power(*time.model).cap) return {};
  return Milliwatts{milliwatts};
}

MeterStep step_of(const MeterReading& last, const MeterReading& now, const GpuModel& model) {
  if (!last.millijoules || !now.millijoules) return {};
  if (*now.millijoules < *last.millijoules)
    return {{}, "its energy counter has gone back, for example because the driver was reloaded"};
  const std::uint64_t more = *now.millijoules - *last.millijoules;
  const Duration time = last.steady && now.steady ? *now.steady - *last.steady : now.at - last.at;
  const auto most = static_cast<std::uint64_t>(most_energy.value);
  const Millijoules energy{static_cast<std::int64_t>(std::min(more, most + 1))};
  if (!is_plausible(power_bounds(model), energy, time))
    return {{},
            fmt::format("its counter of energy shows {:.0f} J more after {:.1f} s, which cannot be",
                        static_cast<double>(more) / 1000, in_seconds(time))};
  return {energy, {}};
}

std::int64_t slices_of(const GpuModel& model, const std::string& profile) {
  if (profile.empty()) return model.compute.value;
  const auto found = std::ranges::find(model.profiles, profile, &Profile::name);
  return found == model.profiles.end() ? 0 : found->compute.value;
}

UseParty party_of(const JobRecord& job) {
  return {job.owner.uid, job.owner.gid, job.spec.application.value_or("")};
}

Tenancy tenancy_of(const LiveJob& job, const LiveAttempt& attempt, const GpuModel& model) {
  Tenancy tenancy;
  tenancy.device = attempt.record.device;
  tenancy.slices = slices_of(model, attempt.record.profile);
  tenancy.job = job.record.job();
  tenancy.party = party_of(job.record);
  tenancy.user = job.record.owner.user;
  tenancy.from = attempt.record.started;
  // One of several that has ended holds its place until the others have.
  tenancy.busy = attempt.over ? 0 : attempt.activity;
  return tenancy;
}

Tenancy ended_tenancy_of(const LiveJob& job, const LiveAttempt& attempt,
                         const AttemptRecord& record, const GpuModel& model) {
  Tenancy tenancy = tenancy_of(job, attempt, model);
  tenancy.device = record.device;
  tenancy.slices = slices_of(model, record.profile);
  tenancy.from = record.started;
  tenancy.busy = attempt.activity;
  tenancy.to = record.ended.value_or(record.started);
  // It may have ended while no daemon was there to hear of it.
  if (record.began && record.lasted)
    tenancy.to = std::min(*tenancy.to, *record.began + *record.lasted);
  return tenancy;
}

std::vector<Tenancy> tenancies_of(const NodeState& node, GpuId id, bool all) {
  const ManagedGpu& gpu = node.gpu(id);
  const GpuModel& model = gpu.geometry().model();
  std::vector<Tenancy> found = gpu.meter.ended;
  if (all) {
    for (const auto& [number, job] : node.jobs)
      for (const auto& [key, attempt] : job.attempts)
        if (attempt.record.gpu == gpu.identity->uuid)
          found.push_back(tenancy_of(job, attempt, model));
    return found;
  }
  for (auto at = node.occupants.lower_bound({id, std::nullopt});
       at != node.occupants.end() && at->first.gpu == id; ++at)
    for (const JobKey& key : at->second)
      if (const LiveJob* job = node.find(key.job))
        if (const auto attempt = job->attempts.find(key.attempt); attempt != job->attempts.end())
          found.push_back(tenancy_of(*job, attempt->second, model));
  return found;
}

std::vector<ForeignUse> foreign_on(const ManagedGpu& gpu, const std::vector<Tenancy>& tenancies) {
  std::vector<ForeignUse> found;
  if (!gpu.observation) return found;
  const auto has_tenant = [&](const std::string& device) {
    return std::ranges::find(tenancies, device, &Tenancy::device) != tenancies.end();
  };
  if (!gpu.observation->mig) {
    if (!has_tenant(gpu.identity->uuid) && !gpu.observation->processes.empty())
      found.push_back({gpu.geometry().model().compute.value, true});
    return found;
  }
  for (const ObservedInstance& each : gpu.observation->instances) {
    if (!each.placement) continue;
    const bool ours = each.owner == Ownership::ours;
    if (ours && (each.processes.empty() || has_tenant(each.device))) continue;
    found.push_back(
        {gpu.geometry()[*each.placement].profile->compute.value, !each.processes.empty()});
  }
  return found;
}

}  // namespace cleave
