#include "engine/adaptive/gpu_plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace cleave {

namespace {

constexpr double impossible = -1;
/// What may not be stopped is not left out, whatever others would gain.
constexpr double never_s = 1e9;

/// No assignment to these places is worth more: each job in its best of them, as many as there are
/// places.
double most_by_jobs(std::span<const double> gains, std::size_t width,
                    std::span<const PlacementId> places) {
  std::array<double, PlacementSet::most> best{};  // the best of the jobs, the least first
  const std::span top(best.data(), places.size());
  for (std::size_t from = 0; from < gains.size(); from += width) {
    double most = 0;
    for (const PlacementId place : places) most = std::max(most, gains[from + place]);
    if (most <= top.front()) continue;
    top.front() = most;
    for (std::size_t i = 1; i < top.size() && top[i] < top[i - 1]; ++i)
      std::swap(top[i], top[i - 1]);
  }
  return std::accumulate(top.begin(), top.end(), 0.0);
}

}  // namespace

double WorkWorth::of(double speed, double seconds) const {
  if (!(seconds > 0) || !(speed > 0)) return 0;
  return rest_s * weight * std::log1p(speed * seconds / rest_s);
}

double GpuPlanner::left_out(const PlanQuestion& question, const PlanJob& job) {
  if (!job.at) return 0;
  return question.disturbance + (job.may_stop && job.may_wait
                                     ? job.worth.of(1, job.checkpoint_s / 2)
                                     : never_s * job.worth.weight);
}

bool GpuPlanner::is_free(const PlanQuestion& question, PlacementId place) const {
  return !question.held.contains(place) && !geometry()[place].conflicts.meets(question.held);
}

double GpuPlanner::speed_in(const PlanJob& job, PlacementId place) const {
  return job.speed[static_cast<std::size_t>(geometry()[place].profile_index)];
}

double GpuPlanner::worth(const PlanQuestion& question, const PlanJob& job,
                         PlacementId place) const {
  const double speed = speed_in(job, place);
  if (job.at == place) return job.worth.of(speed, question.horizon_s);
  if (!job.allowed.contains(place) || !(speed > 0)) return impossible;
  const double time = question.horizon_s;
  const bool free = is_free(question, place);
  if (job.at) {
    const bool live = job.moves_live && free;
    if (!live && !job.may_stop) return impossible;
    const double gone_s = live ? change_s : job.checkpoint_s;
    return std::max(0.0, job.worth.of(speed, time - gone_s) - question.disturbance);
  }
  // Whatever is in its way is saved first.
  const double wait_s = change_s + job.restore_s + (free ? 0 : job.checkpoint_s / 2);
  return job.worth.of(speed, time - wait_s);
}

double GpuPlanner::present(const PlanQuestion& question, std::span<const PlanJob> jobs) const {
  double sum = 0;
  for (const PlanJob& job : jobs)
    if (job.at) sum += worth(question, job, *job.at) - question.rent[*job.at];
  return sum;
}

const std::vector<PlacementSet>& GpuPlanner::layouts_around(PlacementSet fixed) {
  const auto [known, fresh] = layouts_.try_emplace(fixed.bits());
  if (!fresh) return known->second;
  for (int i = 0; i < graph_->size(); ++i) {
    const auto id = static_cast<StateId>(i);
    if (graph_->maximal(id) && (graph_->state(id) & fixed) == fixed)
      known->second.push_back(graph_->state(id) - fixed);
  }
  return known->second;
}

/// In the assignment that was made last.
bool GpuPlanner::leaves_out_what_must_run(std::span<const PlanJob> jobs) const {
  for (std::size_t i = 0; i < jobs.size(); ++i)
    if (jobs[i].at && !(jobs[i].may_stop && jobs[i].may_wait) &&
        std::ranges::find(assignment_.columns(), i) == assignment_.columns().end())
      return true;
  return false;
}

GpuPlan GpuPlanner::best(const PlanQuestion& question, std::span<const PlanJob> jobs) {
  // By job and placement: what is gained over leaving the job out.
  const std::size_t width = static_cast<std::size_t>(geometry().size());
  std::vector<double> gains(jobs.size() * width), most(width);
  GpuPlan plan;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const double without = -left_out(question, jobs[i]);
    plan.worth += without;
    for (const PlacementId place : jobs[i].allowed) {
      const double here = worth(question, jobs[i], place);
      if (here < 0) continue;
      double gain = here - question.rent[place] - without;
      // However short the time that is looked ahead: what is free is not left empty for that.
      if (!jobs[i].at && is_free(question, place))
        gain =
            std::max(gain, jobs[i].worth.of(speed_in(jobs[i], place), 0.05 * question.horizon_s));
      gains[i * width + place] = gain;
      most[place] = std::max(most[place], gain);
    }
  }
  // As it is, to begin with: most layouts cannot be better, and are not looked at any closer.
  double best = 0;
  plan.places.assign(jobs.size(), std::nullopt);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    if (!jobs[i].at) continue;
    best += gains[i * width + *jobs[i].at];
    plan.places[i] = jobs[i].at;
  }
  std::vector<PlacementId> places;
  for (const PlacementSet layout : layouts_around(question.fixed)) {
    double bound = 0;
    for (const PlacementId place : layout) bound += most[place];
    if (bound <= best) continue;
    places.clear();
    for (const PlacementId place : layout) places.push_back(place);
    if (most_by_jobs({gains.data(), gains.size()}, width, places) <= best) continue;
    table_.rows = places.size();
    table_.columns = jobs.size();
    table_.cells.resize(table_.rows * table_.columns);
    for (std::size_t row = 0; row < places.size(); ++row)
      for (std::size_t i = 0; i < jobs.size(); ++i)
        table_.cells[row * jobs.size() + i] = gains[i * width + places[row]];
    const double sum = assignment_.solve(table_);
    if (sum <= best || leaves_out_what_must_run(jobs)) continue;
    best = sum;
    plan.places.assign(jobs.size(), std::nullopt);
    for (std::size_t row = 0; row < places.size(); ++row)
      if (assignment_.columns()[row] != unassigned)
        plan.places[assignment_.columns()[row]] = places[row];
  }
  plan.worth += best;
  return plan;
}

}  // namespace cleave
