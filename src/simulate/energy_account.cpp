#include "simulate/energy_account.hpp"

#include <algorithm>

namespace cleave {

EnergyAccount::EnergyAccount(std::size_t jobs, std::size_t gpus, std::optional<Duration> sample,
                             Instant begin)
    : jobs_(jobs), sample_(sample), begin_(begin), until_(begin) {
  if (jobs > 0) drawn_.resize(jobs + gpus, Drawn{0, begin, {}});
}

double EnergyAccount::in_joules(Picojoules energy) {
  return static_cast<double>(energy) * 1e-12;
}

/// Samples are taken at the beginning and then once in each interval.
std::int64_t EnergyAccount::samples_before(Instant at) const {
  const std::int64_t since = (at - begin_).count();
  return since <= 0 ? 0 : (since - 1) / sample_->count() + 1;
}

/// Power is at its height for a time only: changes at one instant count together.
void EnergyAccount::advance(Instant now) {
  const auto hold_until = [&](Instant at) {
    if (at <= until_) return;
    peak_ = std::max(peak_, fleet_);
    energy_ += static_cast<Picojoules>(fleet_.value) * (at - until_).count();
    until_ = at;
  };
  while (!rises_.empty() && rises_.top().at <= now) {
    hold_until(rises_.top().at);
    fleet_ += rises_.top().by;
    rises_.pop();
  }
  hold_until(now);
}

void EnergyAccount::close(Drawn& drawn, Instant now) {
  if (now <= drawn.from || drawn.power.value == 0) return;
  drawn.energy += static_cast<Picojoules>(drawn.power.value) * (now - drawn.from).count();
  if (sample_)
    sampled_ += static_cast<Picojoules>(drawn.power.value) *
                (samples_before(now) - samples_before(drawn.from)) * sample_->count();
}

void EnergyAccount::draws(std::size_t which, Milliwatts power, Instant from, Instant now) {
  Drawn& drawn = drawn_[which];
  if (drawn.power == power && (power.value == 0 || (drawn.from <= now && from <= now))) return;
  advance(now);
  close(drawn, now);
  if (drawn.from > now) {
    rises_.push({drawn.from, Milliwatts{} - drawn.power});
  } else {
    fleet_ -= drawn.power;
  }
  if (from > now) {
    rises_.push({from, power});
  } else {
    fleet_ += power;
  }
  drawn.power = power;
  drawn.from = from;
}

void EnergyAccount::finish(Instant end, RunSummary& summary) {
  if (jobs_ == 0) return;
  end = std::max(end, until_);
  advance(end);
  Picojoules idle = 0, working = 0;
  for (std::size_t i = 0; i < drawn_.size(); ++i) {
    close(drawn_[i], end);
    drawn_[i].power = {};
    (i < jobs_ ? working : idle) += drawn_[i].energy;
  }
  summary.energy_j = in_joules(energy_);
  summary.idle_energy_j = in_joules(idle);
  summary.job_energy_j = in_joules(working);
  summary.power_peak_w = in_watts(peak_);
  if (end > begin_) summary.power_mean_w = in_joules(energy_) / in_seconds(end - begin_);
  if (sample_) summary.sampled_energy_j = in_joules(sampled_);
}

}  // namespace cleave
