#include "simulate/advice/candidate_runs.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

#include "base/format.hpp"

namespace cleave {

namespace {

/// One candidate in one draw: a score, or why there is none.
struct DrawOutcome {
  std::optional<CandidateScore> score;
  std::string left_out;
};

std::string why_unfinished(const RunSummary& summary, std::size_t most) {
  const std::string how_many =
      fmt::format("finishes {} of the {} jobs that another finishes", summary.finished, most);
  if (summary.rejections.empty()) return how_many;
  return fmt::format("{}: {}", how_many, summary.rejections.front().reason);
}

/// All runs of a level. Each thread takes a draw after another, with all candidates: their times
/// are over the same jobs, and the outcomes of single jobs are needed for no longer.
class LevelRunner {
 public:
  LevelRunner(const LevelRuns& level, const ProgressOfRun& progress)
      : level_(level),
        progress_(progress),
        results_(level.draws.size()),
        errors_(level.draws.size()) {}

  Result<std::vector<CandidateRuns>> run(std::size_t most_threads) {
    const auto work = [this] {
      for (std::size_t k = next_++; k < level_.draws.size(); k = next_++) run_draw(k);
    };
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 1; i < std::min(most_threads, level_.draws.size()); ++i)
        threads.emplace_back(work);
      work();
    }
    for (const auto& error : errors_)
      if (error) return std::unexpected(*error);
    return by_candidate();
  }

 private:
  void run_draw(std::size_t k) {
    const std::size_t count = level_.candidates.size();
    std::vector<std::optional<RunSummary>> summaries(count);
    std::vector<std::vector<JobOutcome>> outcomes(count);
    results_[k].resize(count);
    std::size_t most = 0;
    for (std::size_t c = 0; c < count; ++c) {
      auto summary = run_one(k, c, outcomes[c]);
      if (summary) {
        most = std::max(most, summary->finished);
        summaries[c] = *std::move(summary);
      } else if (summary.error().kind == ErrorKind::bad_usage) {
        results_[k][c].left_out = summary.error().message;
      } else {
        errors_[k] = summary.error();
        return;
      }
    }
    std::vector<std::size_t> fit;
    std::vector<std::vector<JobOutcome>> of_fit;
    for (std::size_t c = 0; c < count; ++c) {
      if (!summaries[c]) continue;
      if (summaries[c]->finished < most) {
        results_[k][c].left_out = why_unfinished(*summaries[c], most);
      } else {
        fit.push_back(c);
        of_fit.push_back(std::move(outcomes[c]));
      }
    }
    const CommonTimes common = common_times(of_fit);
    for (std::size_t i = 0; i < fit.size(); ++i) {
      if (common.jobs > 0)
        results_[k][fit[i]].score = score_of(*summaries[fit[i]], common.schedulers[i]);
      else
        results_[k][fit[i]].left_out = "no job is finished by it and the others";
    }
  }

  Result<RunSummary> run_one(std::size_t k, std::size_t c, std::vector<JobOutcome>& outcomes) {
    const FurnishedCandidate& candidate = level_.candidates[c];
    SimulationOptions options = *level_.simulation;
    options.seed = level_.seeds[k];
    if (candidate.candidate.role == CandidateRole::hindsight) {
      options.know = {};
      options.applications = nullptr;
    }
    options.outcomes = &outcomes;
    options.progress = progress_(k * level_.candidates.size() + c);
    if (candidate.parts != nullptr)
      return simulate_parted(*candidate.parts, level_.draws[k], candidate.candidate.spec, options);
    return simulate(candidate.fleet != nullptr ? *candidate.fleet : *level_.fleet, level_.draws[k],
                    candidate.candidate.spec, options);
  }

  static CandidateScore score_of(const RunSummary& summary, const CommonTimes::Of& times) {
    CandidateScore score;
    score.turnaround_s = in_seconds(times.turnaround.mean);
    score.wait_s = in_seconds(times.wait.mean);
    score.makespan_s = in_seconds(summary.makespan);
    if (times.slowdown.count > 0) score.slowdown_p95 = times.slowdown.p95;
    return score;
  }

  std::vector<CandidateRuns> by_candidate() {
    std::vector<CandidateRuns> all;
    for (std::size_t c = 0; c < level_.candidates.size(); ++c) {
      CandidateRuns& runs = all.emplace_back();
      runs.candidate = level_.candidates[c].candidate;
      std::size_t without = 0;
      for (const auto& draw : results_) {
        if (draw[c].score) runs.by_draw.push_back(*draw[c].score);
        if (draw[c].score) continue;
        if (without++ == 0) runs.left_out = draw[c].left_out;
      }
      if (without > 0) runs.by_draw.clear();
      if (without > 0 && without < results_.size())
        runs.left_out += fmt::format(" (in {} of {} draws)", without, results_.size());
    }
    return all;
  }

  const LevelRuns& level_;
  const ProgressOfRun& progress_;
  std::vector<std::vector<DrawOutcome>> results_;  // by draw and candidate
  std::vector<std::optional<Error>> errors_;       // by draw
  std::atomic<std::size_t> next_ = 0;
};

}  // namespace

Result<std::vector<CandidateRuns>> run_candidates(const LevelRuns& level, std::size_t most_threads,
                                                  const ProgressOfRun& progress) {
  return LevelRunner(level, progress).run(most_threads);
}

}  // namespace cleave
