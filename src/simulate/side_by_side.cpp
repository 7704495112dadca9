#include "simulate/side_by_side.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <optional>
#include <span>
#include <thread>

namespace cleave {
namespace {

/// Runs each scheduler with each seed, seed after seed, on threads that share only data they do not
/// change. The outcomes of single jobs are freed as soon as their seed is finished, and the seeds
/// before it where somebody hears of them.
class SideBySide {
 public:
  SideBySide(const ComparisonPlan& plan, const ProgressOfRun& progress, const OutcomesOfSeed& hears)
      : plan_(plan),
        progress_(progress),
        hears_(hears),
        outcomes_(plan.seeds.size()),
        errors_(plan.seeds.size() * plan.specs.size()),
        left_(plan.seeds.size()),
        finished_(plan.seeds.size()) {
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
    if (not_heard_) return std::unexpected(*not_heard_);
    return std::move(results_);
  }

 private:
  void run_one(std::size_t i) {
    const std::size_t k = i / plan_.specs.size(), s = i % plan_.specs.size();
    SimulationOptions options = plan_.simulation;
    options.seed = plan_.seeds[k];
    options.outcomes = &outcomes_[k][s];
    options.progress = progress_(i);
    if (plan_.observer) options.observer = plan_.observer(k, s);
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
    results_.seeds[k].bounds = lower_bounds(plan_.fleet, plan_.workload(k), plan_.simulation.world,
                                            finished_by_all(outcomes_[k]));
    if (hears_) return tell(k);
    outcomes_[k] = {};
  }

  /// The seed is finished. What is told in order may wait for seeds before it; the thread that
  /// finishes those tells it.
  void tell(std::size_t seed) {
    const std::scoped_lock lock(telling_);
    finished_[seed] = true;
    for (; told_ < finished_.size() && finished_[told_]; ++told_) {
      // A seed in which a run failed has nothing to tell, nor has any after it.
      const auto runs = std::span(errors_).subspan(told_ * plan_.specs.size(), plan_.specs.size());
      failed_ = failed_ || std::ranges::any_of(runs, [](const auto& error) { return !!error; });
      if (!failed_ && !not_heard_)
        if (const auto heard = hears_(told_, outcomes_[told_]); !heard) not_heard_ = heard.error();
      outcomes_[told_] = {};
    }
  }

  const ComparisonPlan& plan_;
  const ProgressOfRun& progress_;
  const OutcomesOfSeed& hears_;  // may be empty
  ComparedRuns results_;
  std::vector<std::vector<std::vector<JobOutcome>>> outcomes_;  // by seed and scheduler
  std::vector<std::optional<Error>> errors_;
  std::vector<std::atomic<std::size_t>> left_;  // of each seed
  std::atomic<std::size_t> next_ = 0;
  // Under the lock:
  std::mutex telling_;
  std::vector<bool> finished_;  // by seed
  bool failed_ = false;         // a run of those before `told_`
  std::size_t told_ = 0;        // seeds before this one have been told
  std::optional<Error> not_heard_;
};

}  // namespace

Result<ComparedRuns> run_side_by_side(const ComparisonPlan& plan, std::size_t most_threads,
                                      const ProgressOfRun& progress,
                                      const OutcomesOfSeed& outcomes) {
  return SideBySide(plan, progress, outcomes).run(most_threads);
}

}  // namespace cleave
