#pragma once
// Several schedulers on the same workloads, one for each seed: typical values, their spread, and
// which differences are more than chance.
//
// Times of jobs are taken over the jobs that every scheduler finished with that seed; otherwise a
// scheduler that gives up on long jobs would look quick. One that finishes fewer than half as many
// as the best cannot do with this fleet: it has no times, and does not reduce those of the others
// to the few jobs that it does. How many jobs each scheduler finished, failed, rejected or left
// waiting is reported too. A makespan compares only for seeds in which all finished the same jobs.
//
// Each scheduler is compared with the first one, in pairs with the same seed. A difference exceeds
// the spread if the exact two-sided sign test, without ties, gives at most 5 %: with 6 to 8 seeds
// all must be on one side, with 9 to 11 all but one. With fewer than 6 seeds no difference can
// pass, and no claim is made. Seeds with identical results in all runs count once: repeating a run
// adds no evidence.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.hpp"
#include "model/run_summary.hpp"
#include "simulate/lower_bounds.hpp"

namespace cleave {

/// Over the jobs that all schedulers finished.
struct CommonTimes {
  std::size_t jobs = 0;
  bool same_jobs = true;  // every scheduler with times finished exactly these
  /// The times under one scheduler.
  struct Of {
    Distribution wait, turnaround, execution;
    Ratios slowdown;
    bool compared = true;  // it finishes enough to have times
  };
  std::vector<Of> schedulers;
};

/// By scheduler: whether it finishes at least half as many jobs as the one that finishes most.
std::vector<bool> finish_enough(std::span<const std::vector<JobOutcome>> by_scheduler);
/// By job: whether every scheduler that finishes enough finished it.
std::vector<bool> finished_by_all(std::span<const std::vector<JobOutcome>> by_scheduler);
/// The outcomes of one workload under each scheduler, by job.
CommonTimes common_times(std::span<const std::vector<JobOutcome>> by_scheduler);

/// All runs with one seed, in the order of the schedulers.
struct SeedRuns {
  std::uint64_t seed = 0;
  std::vector<RunSummary> runs;
  CommonTimes common;
  LowerBounds bounds;  // of the jobs that all finished
};

/// The median and the range around it: quartiles from `seeds_for_quartiles` values on, else lowest
/// and highest.
struct Spread {
  std::size_t count = 0;
  double median = 0, low = 0, high = 0;
  friend bool operator==(const Spread&, const Spread&) = default;
};
inline constexpr std::size_t seeds_for_quartiles = 8;
inline constexpr std::size_t seeds_for_a_statement = 6;

/// By linear interpolation between the sorted values (Hyndman and Fan's type 7); there is one.
double quantile_of(const std::vector<double>& sorted, double share);
Spread spread_of(std::vector<double> values);

/// Two-sided and exact: the probability of a split at least this uneven if both sides are equally
/// likely.
double sign_test(std::size_t lower, std::size_t higher);

/// One figure of one scheduler over all seeds.
struct FigureComparison {
  std::string_view figure;      // a name of run_figures(), or wait_mean_s and the like
  std::string_view unit;        // as in run_figures()
  std::optional<Spread> value;  // empty if no seed has one
  // Relative to the first scheduler:
  std::optional<Spread> ratio;  // over the seeds in which the first one's value is not zero
  std::size_t lower = 0, higher = 0, equal = 0;
  std::optional<bool> exceeds_spread;  // empty: too few seeds to tell
  /// Below which no scheduler can be that shares instances as this one does; of the makespan and
  /// the mean turnaround. And how many times that the value is.
  std::optional<Spread> bound = {}, times_bound = {};
};

/// All figures of one scheduler.
struct SchedulerComparison {
  std::string scheduler;
  std::vector<FigureComparison> figures;
  std::size_t without_times = 0;  // seeds in which it finishes too few jobs to be compared
};

/// The whole comparison.
struct RunComparison {
  std::vector<std::uint64_t> seeds;
  std::size_t distinct_seeds = 0;
  std::vector<std::size_t> jobs, compared_jobs;  // by seed
  std::vector<bool> same_jobs;
  std::vector<SchedulerComparison> schedulers;  // the first has no ratios

  [[nodiscard]] bool same_jobs_always() const;
};

/// The names of the figures that are compared, and one scheduler's with one seed, in that order.
std::vector<std::string_view> compared_figures();
std::vector<std::optional<double>> figures_of(const SeedRuns& seed, std::size_t scheduler);

/// Every seed has a run of every scheduler, and there is at least one of each.
RunComparison compare(std::span<const SeedRuns> seeds);

Json to_json(const RunComparison& comparison);

}  // namespace cleave
