#pragma once
// `cleave reproduce online`: section V of *An Online Fragmentation-Aware Scheduler for Managing
// GPU-Sharing Workloads on Multi-Instance GPUs* again, figures 5 to 10, in the simulator with the
// link shared. What the paper leaves open is varied; every comparison is of pairs with the same
// seed. No time enters any of it: same seeds and data, same bytes.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "physics/contention.hpp"
#include "simulate/run_observer.hpp"

namespace cleave {

/// Inputs that the paper does not give.
struct OnlineInputs {
  /// How much of the GPUs' compute is held under Long(25), the heaviest workload, with everything
  /// on; the unit of the arrival times follows from it.
  double held = 0.5;
  std::int64_t queries = 4;  // of a task
  std::string trace;         // file with lengths of queries; empty: log-normal ones
  std::string lengths = "log-normal";
  LinkSharing link = LinkSharing::spread;
};

/// The mean of paired differences in per cent, over the mean of what they are compared with, and
/// its 95 % interval over the seeds (jackknife).
struct PairedChange {
  double mean = 0, low = 0, high = 0;
  std::size_t seeds = 0;
  std::size_t lower = 0, higher = 0;  // seeds in which it was lower, and higher
};
/// By how much `ours` differ from `theirs`, seed by seed.
PairedChange paired_change(const std::vector<double>& ours, const std::vector<double>& theirs);

/// The workloads of table II.
struct OnlineWorkloadRow {
  std::string_view name, generator;
  int gap;                    // mean time between arrivals, in the paper's unit
  double execution_in_paper;  // figure 9: at least so many per cent less by migration
};
inline constexpr std::array<OnlineWorkloadRow, 4> online_workloads = {
    {{"Normal(25)", "normal-25", 25, 6},
     {"Long(25)", "long-25", 25, 6},
     {"Normal(50)", "normal-50", 50, 10},
     {"Long(50)", "long-50", 50, 10}}};

/// How the parts of the scheduler are combined, for figures 9 and 10.
enum OnlineParts : std::size_t {
  base,          // first fit on standing instances, nothing moves
  balancing,     // conditional load balancing and least fragmentation
  partitioning,  // instances are made as they are asked for
  migration,     // jobs move when one has left
  no_migration,  // balancing and partitioning
  everything,
  online_parts
};
/// In words: "load balancing".
std::string_view name_of(OnlineParts parts);

/// What came out of one workload; changes are against `base` unless said otherwise.
struct OnlineOutcome {
  double held = 0;  // share of compute, with everything on
  double wait_s = 0, static_wait_s = 0;
  double execution_s = 0;  // with everything on
  PairedChange wait;       // everything on against the best standing instances
  PairedChange execution;  // everything on against no_migration
  PairedChange token;      // time per output token, the same
  double migrations = 0;   // of a run
  std::array<PairedChange, online_parts> makespan;  // wait and execution together
};

/// All workloads with one choice of the open inputs.
struct OnlinePoint {
  OnlineInputs inputs;
  double unit_s = 0;  // of the arrival times
  std::array<OnlineOutcome, online_workloads.size()> workloads;
};

/// Figure 5: tasks that are there at once.
struct ConcurrentTokens {
  std::vector<std::string> methods, models;
  std::vector<std::size_t> tasks;
  /// Mean time per output token, by tasks, method and model.
  std::vector<std::vector<std::vector<double>>> token_s;
  /// All models together, online against each other method at the most tasks.
  std::vector<PairedChange> against;
};

/// Figures 6 and 8: one run over time.
struct OnlineSeries {
  std::vector<std::string> profiles;
  /// By profile, (s, count): instances that jobs want, and that exist.
  std::vector<std::vector<std::pair<double, double>>> desired, actual;
  std::vector<std::pair<double, double>> fragmentation;  // mean over the GPUs
  std::vector<double> migrations;                        // s
  std::size_t falls = 0, rises = 0;  // of fragmentation, by the moves of one instant together
  double kept_idle = 0;              // mean number of instances that nobody wants
};

/// The sizes of the evaluation.
struct OnlineReproductionOptions {
  std::size_t seeds = 30;
  std::size_t jobs = 200;
  std::string data;     // folder with burstgpt and azure-llm-2023; empty: none
  bool surface = true;  // false: only the stated point
  std::size_t threads = 2;
};

/// The whole evaluation.
struct OnlineReproduction {
  OnlineReproductionOptions options;
  std::vector<OnlinePoint> points;  // the stated one first
  ConcurrentTokens concurrent;
  OnlineSeries series;
};

[[nodiscard]] Result<OnlineReproduction> reproduce_online(const OnlineReproductionOptions& options);

/// The run of one seed of Normal(25) with everything on, as figures 6 and 8 show it.
[[nodiscard]] Result<OnlineSeries> online_series(const OnlinePoint& point, std::size_t jobs);
/// Figure 5.
[[nodiscard]] Result<ConcurrentTokens> concurrent_tokens(const OnlineInputs& inputs,
                                                         std::size_t seeds);

/// "normal-25:jobs=200;..." of a workload with these inputs.
std::string online_generator(std::string_view generator, const OnlineInputs& inputs,
                             std::size_t jobs, double gap_s);

/// A sentence of the paper, with what came out here.
struct OnlineClaim {
  std::string figure, claim, paper, ours, verdict, why;
};
std::vector<OnlineClaim> online_claims(const OnlineReproduction& reproduction);

/// The page docs/reproduction/online.md, and its figures: file name and content.
std::string online_page(const OnlineReproduction& reproduction);
std::vector<std::pair<std::string, std::string>> online_figures(
    const OnlineReproduction& reproduction);

}  // namespace cleave
