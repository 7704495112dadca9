#include "engine/adaptive/neighbours.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "physics/contention.hpp"

namespace cleave {

namespace {

/// It uses the link, or would draw more than the board may if it had all of it. Jobs that do
/// neither find room beside each other: what they may draw grows with their slices.
bool may_press(const SharedGpu& gpu, const SharedLoad& load) {
  if (gpu.link != LinkSharing::off && (load.parts.transfer > 0 || load.parts.direct > 0))
    return true;
  if (!gpu.power) return false;
  const auto asked = load.kappa * static_cast<double>(gpu.power->span.value);
  return asked > static_cast<double>((gpu.power->cap - gpu.power->idle).value);
}

constexpr std::size_t most_together = 16;  // GPUs have no more instances

}  // namespace

Neighbours::Neighbours(const SchedulerSetup& setup, const Seats& seats, const JobLedger& ledger)
    : facts_(setup.facts), seats_(seats), ledger_(ledger), kinds_(setup.fleet.graphs().size()) {}

void Neighbours::met(JobId job) {
  if (facts_ == nullptr) return;
  const RelativeSpeeds& speed = ledger_[job].speed;
  for (std::size_t kind = 0; kind < kinds_ && kind < speed.size(); ++kind) {
    const SharedGpu* gpu = facts_->shared_by(kind);
    if (gpu == nullptr) continue;
    const auto runs = std::ranges::find_if(speed[kind], [](double each) { return each > 0; });
    if (runs == speed[kind].end()) continue;
    const SharedLoad* load =
        facts_->load_on(job, kind, static_cast<int>(runs - speed[kind].begin()));
    if (load == nullptr || !may_press(*gpu, *load)) continue;
    if (presses_.size() <= index(job)) presses_.resize(index(job) + 1, 0);
    presses_[index(job)] = 1;
    matter_ = true;
    return;
  }
}

bool Neighbours::matter_to(JobId job, GpuId gpu) const {
  if (!matter_) return false;
  const auto here = seats_.on(gpu);
  return (presses(job) && !here.empty()) ||
         std::ranges::any_of(here, [&](JobId each) { return each != job && presses(each); });
}

double Neighbours::left_of_pace(JobId job, GpuId gpu, int profile) const {
  if (!matter_to(job, gpu)) return 1;
  const std::size_t kind = seats_.fleet()[gpu].kind;
  const SharedGpu* shared = facts_->shared_by(kind);
  const SharedLoad* own = facts_->load_on(job, kind, profile);
  if (shared == nullptr || own == nullptr) return 1;
  std::array<SharedLoad, most_together> loads;
  std::array<Pace, most_together> without, with;
  std::size_t count = 0;
  const Geometry& rules = seats_.fleet().geometry(seats_.fleet()[gpu]);
  for (const JobId each : seats_.on(gpu)) {
    if (each == job || seats_[each].whole || count + 1 == loads.size()) continue;
    const SharedLoad* load =
        facts_->load_on(each, kind, rules[seats_[each].placement].profile_index);
    if (load != nullptr) loads[count++] = *load;
  }
  paces_of(*shared, std::span(loads).first(count), without);
  loads[count] = *own;
  paces_of(*shared, std::span(loads).first(count + 1), with);
  double lost = 0;
  for (std::size_t i = 0; i < count; ++i)
    if (without[i].speed > 0) lost += std::max(0.0, 1 - with[i].speed / without[i].speed);
  const double alone = pace_alone(*shared, *own).speed;
  const double kept = alone > 0 ? std::min(1.0, with[count].speed / alone) : 1;
  return kept / (1 + lost);
}

}  // namespace cleave
