#include "simulate/side_by_side.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

namespace cleave {
namespace {

/// Runs each scheduler with each seed, seed after seed, on threads that share only data they do not
/// change. The outcomes of single jobs are freed as soon as their seed is finished.
class SideBySide {
 public:
  SideBySide(const ComparisonPlan& plan, const ProgressOfRun& progress)
      : plan_(plan),
        progress_(progress),
        outcomes_(plan.seeds.size()),
        errors_(plan.seeds.size() * plan.specs.size()),
        left_(plan.seeds.size()) {
    for (std::size_t k = 0; k < plan.seeds.size(); ++k) {
      SeedRuns& seed = results_.seeds.emplace_back();
      seed.seed = plan.seeds[k];
      seed.runs.resize(plan.specs.size());
      results_.seconds.emplace_back(plan.specs.size());
      outcomes_[k].resize(plan.specs.size());
      left_[k] = plan.specs.size();
    }
  }

  Result<ComparedRuns> run(std::size_t most_threads) {
    const auto work = [this] {
      for (std::size_t i = next_++; i < errors_.size(); i = next_++) run_one(i);
    };
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 1; i < std::min(most_threads, errors_.size()); ++i)
        threads.emplace_back(work);
      work();
    }
    for (const auto& error : errors_)
      if (error) return std::unexpected(*error);
    return std::move(results_);
  }

 private:
  void run_one(std::size_t i) {
    const std::size_t k = i / plan_.specs.size(), s = i % plan_.specs.size();
    SimulationOptions options = plan_.simulation;
    options.seed = plan_.seeds[k];
    options.outcomes = &outcomes_[k][s];
    options.progress = progress_(i);
    const auto begin = std::chrono::steady_clock::now();
    auto summary = simulate(plan_.fleet, plan_.workload(k), plan_.specs[s], options);
    results_.seconds[k][s] = in_seconds(std::chrono::steady_clock::now() - begin);
    if (summary) {
      results_.seeds[k].runs[s] = *std::move(summary);
    } else {
      errors_[i] = summary.error();
      outcomes_[k][s].resize(plan_.workload(k).jobs.size());
    }
    if (--left_[k] > 0) return;
    results_.seeds[k].common = common_times(outcomes_[k]);
    outcomes_[k] = {};
  }

  const ComparisonPlan& plan_;
  const ProgressOfRun& progress_;
  ComparedRuns results_;
  std::vector<std::vector<std::vector<JobOutcome>>> outcomes_;  // by seed and scheduler
  std::vector<std::optional<Error>> errors_;
  std::vector<std::atomic<std::size_t>> left_;  // of each seed
  std::atomic<std::size_t> next_ = 0;
};

}  // namespace

Result<ComparedRuns> run_side_by_side(const ComparisonPlan& plan, std::size_t most_threads,
                                      const ProgressOfRun& progress) {
  return SideBySide(plan, progress).run(most_threads);
}

}  // namespace cleave
