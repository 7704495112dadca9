#include "simulate/lower_bounds.hpp"

#include <algorithm>
#include <limits>
#include <queue>

#include "simulate/least_needs.hpp"
#include "simulate/speeds.hpp"

// The easier problem, for one resource of which the fleet has C (compute slices, say), and why its
// optimum bounds every run in which no instance is shared.
//
// Take any such run, and of each job only the progress that counts in the end, not what was lost.
// While job j makes progress on an instance that holds c of the resource and on which all of its
// work takes the time t, it does at most 1 / t of its work a second. (Neighbours, the cap and
// overheads only slow it.) Let w_j be its least c t over all places where it runs. A machine that
// does C units a second, and gives j a part of w_j units in step with the share of its work that is
// done, then spends at most w_j / t <= c on j at any moment. Instances that exist side by side hold
// at most C together, so the machine can keep up: it finishes every job no later than the run does,
// and begins none before it arrives. With work w_j / C the machine does one unit a second. What
// holds for each resource holds for the largest of the bounds.
//
// A job of n places does at most 1 / t of its work a second on each of its instances, and holds
// them all at once; t is the time where it is slowest. Each of them then holds at least w_j / t,
// all together n w_j / t: its least is n w_j.
//
// Makespan. What arrives from some moment on is not begun before it, so that the end is no earlier
// than that moment plus all that work. Nor is it before any job's arrival plus its shortest time.
//
// Sum of completions. (1) Shortest remaining work first is best on one machine: if at some moment
// it works for i while k has less left, exchanging their parts from then on, k first, ends k
// earlier than either had ended and the later of both no later. Parts at the same time gain nothing
// by the same exchange. (2) No turnaround is below the shortest time. (3) Let M_j be the mean time
// at which j's work is done. In the run j does at most 1 / s_j of its work a second, s_j its
// shortest time, so that it is done no earlier than M_j + s_j / 2: at that rate until the end is
// the latest that work can be done, and its mean is then s_j / 2 before the end. The machine has
// the same M_j as the run. Sum M_j is least if at every moment the job of least w_j among those
// that are there and not done is worked for: each unit of j at time x costs x / w_j, and exchanging
// a unit of a larger job with a later one of a smaller job saves.

namespace cleave {

namespace {

constexpr double no_arrival = std::numeric_limits<double>::infinity();

/// Works for one job at a time, the first by `Order`; `done(job, from, to)` hears of every stretch
/// of time that is given to a job, `left` of which is what remains after it.
template <class Order, class Done>
void run_machine(const std::vector<FluidJob>& jobs, const Done& done) {
  struct Item {
    double key, left;
    const FluidJob* job;
    bool operator<(const Item& other) const { return key > other.key; }  // the least on top
  };
  std::priority_queue<Item> waiting;
  double now = 0;
  for (std::size_t i = 0; i <= jobs.size(); ++i) {
    const double until = i < jobs.size() ? jobs[i].arrival : no_arrival;
    while (!waiting.empty() && now < until) {
      Item item = waiting.top();
      waiting.pop();
      const double to = std::min(until, now + item.left);
      item.left = to < until ? 0 : item.left - (to - now);
      done(*item.job, now, to, item.left);
      now = to;
      if (item.left > 0) waiting.push({Order::key(*item.job, item.left), item.left, item.job});
    }
    if (i == jobs.size()) return;
    now = std::max(now, until);
    if (jobs[i].work > 0) waiting.push({Order::key(jobs[i], jobs[i].work), jobs[i].work, &jobs[i]});
  }
}

struct LeastLeft {
  static double key(const FluidJob& /*job*/, double left) { return left; }
};
struct LeastInAll {
  static double key(const FluidJob& job, double /*left*/) { return job.work; }
};

/// Of several bounds of the same jobs, the largest.
void raise(TimeBounds& to, const TimeBounds& other) {
  to.makespan_s = std::max(to.makespan_s, other.makespan_s);
  to.turnaround_mean_s = std::max(to.turnaround_mean_s, other.turnaround_mean_s);
}

double mean(double sum, std::size_t count) {
  return count == 0 ? 0 : sum / static_cast<double>(count);
}

TimeBounds of_shortest_times(const std::vector<FluidJob>& jobs) {
  TimeBounds bounds;
  double sum = 0;
  for (const FluidJob& job : jobs) {
    bounds.makespan_s = std::max(bounds.makespan_s, job.arrival + job.shortest);
    sum += job.shortest;
  }
  bounds.turnaround_mean_s = mean(sum, jobs.size());
  return bounds;
}

TimeBounds of_work(const std::vector<FluidJob>& jobs) {
  TimeBounds bounds;
  double work = 0;
  for (std::size_t i = jobs.size(); i-- > 0;) {
    work += jobs[i].work;
    bounds.makespan_s = std::max(bounds.makespan_s, jobs[i].arrival + work);
  }
  bounds.turnaround_mean_s =
      mean(std::max(least_flow(jobs), least_mean_busy_flow(jobs)), jobs.size());
  return bounds;
}

}  // namespace

double least_flow(const std::vector<FluidJob>& jobs) {
  double sum = 0;
  run_machine<LeastLeft>(jobs, [&](const FluidJob& job, double, double to, double left) {
    if (left <= 0) sum += to - job.arrival;
  });
  return sum;
}

double least_mean_busy_flow(const std::vector<FluidJob>& jobs) {
  double sum = 0;
  for (const FluidJob& job : jobs) sum += job.shortest / 2;
  run_machine<LeastInAll>(jobs, [&](const FluidJob& job, double from, double to, double) {
    sum += (to - from) / job.work * ((from + to) / 2 - job.arrival);
  });
  return sum;
}

LowerBounds lower_bounds(const FleetFile& file, const Workload& workload, const WorldTerms& terms,
                         const std::vector<bool>& jobs) {
  LowerBounds bounds;
  if (workload.jobs.empty()) return bounds;
  const Fleet fleet(file);
  const Speeds speeds(workload, fleet, terms);
  const LeastNeeds needs(workload, fleet, speeds);
  const Instant begin = workload.jobs.front().arrival;
  std::vector<FluidJob> fluid;
  std::vector<const Job*> of;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const bool batch = workload.kind_of(workload.jobs[i]) == JobKind::batch;
    const auto shortest =
        jobs[i] && batch ? needs.shortest(workload.jobs[i]) : std::optional<Duration>();
    if (!shortest) continue;
    fluid.push_back({in_seconds(workload.jobs[i].arrival - begin), 0, in_seconds(*shortest)});
    of.push_back(&workload.jobs[i]);
  }
  bounds.shared = bounds.apart = of_shortest_times(fluid);
  for (std::size_t resource = 0; resource < needs.resources().size(); ++resource) {
    for (std::size_t i = 0; i < fluid.size(); ++i)
      fluid[i].work = needs.least(*of[i], resource) / needs.resources()[resource].all;
    raise(bounds.apart, of_work(fluid));
  }
  return bounds;
}

}  // namespace cleave
