#pragma once
// Advice for a site: whether MIG helps with its jobs on its GPUs, which scheduler, which fixed
// layout, and what it would be worth to know or to allow more. Every candidate runs with every draw
// of the workload, as things are and with one thing changed at a time; conclusion.hpp has the
// answer.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "simulate/advice/assumed_speeds.hpp"
#include "simulate/advice/conclusion.hpp"
#include "simulate/advice/fixed_layouts.hpp"
#include "simulate/advice/past_jobs.hpp"
#include "simulate/advice/resampled.hpp"
#include "simulate/side_by_side.hpp"

namespace cleave {

/// How many draws there are, from the number of jobs alone: the same answer on every machine.
struct DrawCounts {
  std::size_t as_things_are = 21, changed = 21;  // draws
  friend bool operator==(const DrawCounts&, const DrawCounts&) = default;
};
[[nodiscard]] DrawCounts draw_counts(std::size_t jobs);

/// Draws that only layouts are chosen by; they judge nothing.
inline constexpr std::size_t draws_for_layouts = 3;
/// So many of the layouts are then judged.
inline constexpr std::size_t most_layouts = 5;
/// So many applications are varied by themselves.
inline constexpr std::size_t most_varied_applications = 3;

/// A draw of the workload, and where its jobs ran whose durations are known from there; by job, or
/// empty.
struct AdviceDraw {
  std::uint64_t seed = 0;
  Workload workload;
  std::vector<RanOn> ran_on = {};
};

/// What advice is asked for.
struct AdviceQuestion {
  FleetFile fleet;
  std::vector<AdviceDraw> draws;        // that judge
  std::vector<AdviceDraw> for_layouts;  // others
  std::optional<AdviceDraw> recorded;   // the workload as it was, if the draws are from it
  DrawKind kind = DrawKind::independent;
  std::size_t draws_changed = 0;  // how many of the first draws are run where something is changed
  SimulationOptions simulation;   // what is known and allowed as things are
  std::optional<PastSizes> past;  // of a daemon's history
};

/// A candidate in one draw.
struct CandidateScore {
  double turnaround_s = 0, wait_s = 0, makespan_s = 0;
  std::optional<double> slowdown_p95;
};

/// A candidate in all draws of one level, or why it is left out.
struct CandidateRuns {
  AdviceCandidate candidate;
  std::vector<CandidateScore> by_draw;  // empty: left out
  std::string left_out;                 // why
  std::optional<CandidateScore> recorded = {};
};

/// What is changed at a level.
enum class LevelKind : std::uint8_t {
  as_things_are,
  known,    // schedulers are told more, or less
  allowed,  // more may be done to jobs that run
  assumed,  // jobs of unknown speeds take to slices in another way
};

/// All runs with one thing changed, and what follows.
struct AdviceLevel {
  LevelKind kind = LevelKind::as_things_are;
  std::string what;         // in words
  std::string application;  // of `assumed`: the one that is varied; empty: all
  std::vector<CandidateRuns> candidates;
  Conclusion conclusion;
  std::size_t draws = 0;
  // Of changed levels, with the same draws:
  std::optional<PairedRatio> gain;     // the best that may be advised, over that as things are
  std::optional<PairedRatio> staying;  // what is advised as things are, over the best here
  bool changes_answer = false;         // MIG would be judged otherwise, or staying costs
};

/// How much the answer hangs on an application's unknown speeds.
struct MeasurementWorth {
  UnmeasuredApplication application;
  /// How far the ratio of MIG to whole GPUs lies apart between the two ends: 0 where nothing
  /// depends on it. Nothing where it was not varied by itself.
  std::optional<double> moves;
  bool changes_answer = false;
};

/// The whole advice.
struct Advice {
  AdviceLevel now;
  std::vector<AdviceLevel> changed;
  std::vector<MeasurementWorth> unmeasured;  // those that move most first, then by share
  std::size_t layouts_tried = 0;
  std::string no_parts;  // why MIG on some GPUs only was not tried for jobs of whole GPUs
};

/// Told before each stage, with the number of its runs; the answer is told of each run's progress.
using AdviceStage = std::function<ProgressOfRun(const std::string& what, std::size_t runs)>;

/// The answer does not depend on the number of threads. Fails where a run fails for another reason
/// than that a scheduler cannot do with what is known or allowed.
[[nodiscard]] Result<Advice> advise(const AdviceQuestion& question, std::size_t most_threads,
                                    const AdviceStage& stage);

/// The times of the candidates, as conclusions are drawn from them.
[[nodiscard]] std::vector<CandidateTimes> times_of(const std::vector<CandidateRuns>& candidates);

}  // namespace cleave
