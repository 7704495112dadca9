#include "simulate/advice/advise.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/format.hpp"
#include "simulate/advice/candidate_runs.hpp"

namespace cleave {

namespace {

/// Some of the draws, with speeds for all jobs.
struct PreparedDraws {
  std::vector<Workload> workloads;
  std::vector<std::uint64_t> seeds;
};

PreparedDraws prepared(std::span<const AdviceDraw> draws, const SpeedAssumption& assumption) {
  PreparedDraws result;
  for (const AdviceDraw& draw : draws) {
    result.workloads.push_back(with_speeds(draw.workload, draw.ran_on, assumption));
    result.seeds.push_back(draw.seed);
  }
  return result;
}

/// One thing that is changed.
struct LevelChange {
  LevelKind kind;
  std::string what;
  SimulationOptions simulation;
  SpeedAssumption speeds = {};
  std::string application = {};
};

/// Whether a job that runs out of memory can be sized, on every GPU of the fleet.
bool memory_is_known(const FleetFile& fleet) {
  return std::ranges::all_of(fleet.geometries, [](const Geometry& geometry) {
    return std::ranges::all_of(geometry.profile_list(),
                               [](const Profile* profile) { return profile->usable.has_value(); });
  });
}

void add_known(const AdviceQuestion& question, std::vector<LevelChange>& changes) {
  const SimulationOptions& now = question.simulation;
  const auto add = [&](std::string what, auto change) {
    LevelChange level{LevelKind::known, std::move(what), now};
    change(level.simulation.know);
    changes.push_back(std::move(level));
  };
  // A repository of profiles takes the place of both.
  if (now.applications == nullptr) {
    if (now.know.times == KnownTimes::truth)
      add("run times not known", [](Knowledge& know) { know.times = KnownTimes::unknown; });
    else
      add("run times known", [](Knowledge& know) { know.times = KnownTimes::truth; });
    if (now.know.speeds == KnownSpeeds::truth)
      add("speeds not known", [](Knowledge& know) { know.speeds = KnownSpeeds::learn; });
    else
      add("speeds known", [](Knowledge& know) { know.speeds = KnownSpeeds::truth; });
    if (now.know.times != KnownTimes::truth && now.know.speeds != KnownSpeeds::truth)
      add("run times and speeds known", [](Knowledge& know) {
        know.times = KnownTimes::truth;
        know.speeds = KnownSpeeds::truth;
      });
  }
  if (now.know.memory == KnownMemory::unknown)
    add("memory known", [](Knowledge& know) { know.memory = KnownMemory::truth; });
  else if (now.know.memory == KnownMemory::truth && now.forecaster == "none" &&
           memory_is_known(question.fleet))
    add("memory not known", [](Knowledge& know) { know.memory = KnownMemory::unknown; });
}

void add_allowed(const AdviceQuestion& question, std::vector<LevelChange>& changes) {
  LevelChange level{LevelKind::allowed, "", question.simulation};
  switch (question.simulation.may) {
    case MayInterrupt::never:
      level.what = "jobs may be stopped, at the price of a checkpoint";
      level.simulation.may = MayInterrupt::checkpoint;
      break;
    case MayInterrupt::checkpoint:
      level.what = "jobs may be moved without a loss too";
      level.simulation.may = MayInterrupt::all;
      break;
    case MayInterrupt::all:
      level.what = "no job may be stopped or moved";
      level.simulation.may = MayInterrupt::never;
      break;
  }
  changes.push_back(std::move(level));
}

constexpr AssumedSpeed ends[] = {AssumedSpeed::fills_gpu, AssumedSpeed::uses_a_part};

void add_assumed(const AdviceQuestion& question,
                 const std::vector<UnmeasuredApplication>& applications,
                 std::vector<LevelChange>& changes) {
  const auto add = [&](const std::string& of, SpeedAssumption speeds, AssumedSpeed end) {
    changes.push_back({LevelKind::assumed,
                       fmt::format("{} {}", of.empty() ? "all of unknown speed" : of,
                                   in_words(end, question.fleet.geometries.front())),
                       question.simulation, std::move(speeds), of});
  };
  if (applications.empty()) return;
  for (const AssumedSpeed end : ends) add("", {.of_others = end}, end);
  if (applications.size() == 1) return;
  for (std::size_t i = 0; i < std::min(applications.size(), most_varied_applications); ++i)
    for (const AssumedSpeed end : ends)
      add(applications[i].name, {.of_application = {{applications[i].name, end}}}, end);
}

bool same_candidate(const AdviceCandidate& a, const AdviceCandidate& b) {
  return a.spec.text == b.spec.text && a.layout == b.layout;
}

/// One after the other, all levels; each in several threads.
class Advising {
 public:
  Advising(const AdviceQuestion& question, std::size_t most_threads, const AdviceStage& stage)
      : question_(question),
        most_threads_(most_threads),
        stage_(stage),
        applications_(unmeasured(first().workload)) {}

  Result<Advice> run() {
    for (const AdviceCandidate& candidate : advice_candidates()) candidates_.push_back({candidate});
    if (auto added = add_layouts(); !added) return std::unexpected(added.error());
    if (auto ran = run_now(); !ran) return std::unexpected(ran.error());
    keep_advisable();
    for (const LevelChange& change : changes())
      if (auto ran = run_changed(change); !ran) return std::unexpected(ran.error());
    weigh_measurements();
    return std::move(advice_);
  }

 private:
  [[nodiscard]] const AdviceDraw& first() const {
    return question_.recorded ? *question_.recorded : question_.draws.front();
  }

  [[nodiscard]] std::vector<LevelChange> changes() const {
    std::vector<LevelChange> all;
    add_known(question_, all);
    add_allowed(question_, all);
    add_assumed(question_, applications_, all);
    return all;
  }

  Result<std::vector<CandidateRuns>> run_all(const std::vector<FurnishedCandidate>& candidates,
                                             const PreparedDraws& draws, std::size_t count,
                                             const SimulationOptions& simulation,
                                             const std::string& what) {
    const LevelRuns level{&question_.fleet, candidates, std::span(draws.workloads).first(count),
                          std::span(draws.seeds).first(count), &simulation};
    return run_candidates(level, most_threads_, stage_(what, count * candidates.size()));
  }

  /// The best of many layouts, by draws that judge nothing later.
  Result<void> add_layouts() {
    const PreparedDraws draws = prepared(question_.for_layouts, {});
    std::vector<FurnishedCandidate> layouts = uniform_layouts(question_.fleet);
    for (const Workload& workload : draws.workloads) {
      auto layout = layout_for(question_.fleet, workload, question_.simulation);
      if (layout && std::ranges::none_of(layouts, [&](const FurnishedCandidate& other) {
            return other.candidate.layout == layout->candidate.layout;
          }))
        layouts.push_back(*std::move(layout));
    }
    add_parted_layouts(draws.workloads, layouts);
    advice_.layouts_tried = layouts.size();
    auto runs = run_all(layouts, draws, draws.workloads.size(), question_.simulation,
                        "looking for layouts");
    if (!runs) return std::unexpected(runs.error());
    // Where all is turned away in some draw, nothing is left to choose from.
    for (std::size_t taken = 0; taken < most_layouts; ++taken) {
      std::vector<std::size_t> places;
      TimesByDraw times;
      for (std::size_t i = 0; i < layouts.size(); ++i) {
        if ((*runs)[i].by_draw.empty()) continue;
        places.push_back(i);
        auto& of = times.emplace_back();
        for (const CandidateScore& score : (*runs)[i].by_draw) of.push_back(score.turnaround_s);
      }
      if (places.empty()) break;
      const std::size_t best = places[lowest(times)];
      candidates_.push_back(layouts[best]);
      candidates_.push_back(with_backfill(layouts[best]));
      (*runs)[best].by_draw.clear();
    }
    return {};
  }

  /// Where jobs ask for whole GPUs, MIG may be on on some GPUs only.
  void add_parted_layouts(const std::vector<Workload>& draws,
                          std::vector<FurnishedCandidate>& layouts) {
    PossibleParts possible =
        possible_parts(question_.fleet, all_workloads(draws), question_.simulation);
    advice_.no_parts = std::move(possible.why);
    for (const PartedFleet& parts : possible.parts)
      std::ranges::move(parted_layouts(parts), std::back_inserter(layouts));
  }

  /// Those of all draws: what is chosen by some has to do for the others.
  [[nodiscard]] std::vector<Workload> all_workloads(std::vector<Workload> draws) const {
    for (const AdviceDraw& draw : question_.draws) draws.push_back(draw.workload);
    if (question_.recorded) draws.push_back(question_.recorded->workload);
    return draws;
  }

  Result<void> run_now() {
    now_ = prepared(question_.draws, {});
    auto runs =
        run_all(candidates_, now_, now_.workloads.size(), question_.simulation, "as things are");
    if (!runs) return std::unexpected(runs.error());
    AdviceLevel& now = advice_.now;
    now.what = "as things are";
    now.candidates = *std::move(runs);
    now.draws = now_.workloads.size();
    now.conclusion = conclude(times_of(now.candidates), question_.kind);
    if (!question_.recorded) return {};
    const PreparedDraws recorded = prepared(std::span(&*question_.recorded, 1), {});
    auto once = run_all(candidates_, recorded, 1, question_.simulation, "as recorded");
    if (!once) return std::unexpected(once.error());
    for (std::size_t i = 0; i < candidates_.size(); ++i)
      if (!(*once)[i].by_draw.empty()) now.candidates[i].recorded = (*once)[i].by_draw.front();
    return {};
  }

  /// Of the fixed layouts only the best goes on; what the future would tell does not depend on what
  /// is known.
  void keep_advisable() {
    const auto best = advice_.now.conclusion.fixed_layout;
    std::vector<FurnishedCandidate> kept;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const CandidateRole role = candidates_[i].candidate.role;
      if (role != CandidateRole::hindsight && (role != CandidateRole::fixed_layout || best == i))
        kept.push_back(candidates_[i]);
    }
    candidates_ = std::move(kept);
  }

  Result<void> run_changed(const LevelChange& change) {
    const std::size_t count = std::min(question_.draws_changed, question_.draws.size());
    PreparedDraws other;
    if (change.kind == LevelKind::assumed)
      other = prepared(std::span(question_.draws).first(count), change.speeds);
    auto runs = run_all(candidates_, change.kind == LevelKind::assumed ? other : now_, count,
                        change.simulation, change.what);
    if (!runs) return std::unexpected(runs.error());
    AdviceLevel& level = advice_.changed.emplace_back();
    level.kind = change.kind;
    level.what = change.what;
    level.application = change.application;
    level.candidates = *std::move(runs);
    level.draws = count;
    level.conclusion = conclude(times_of(level.candidates), question_.kind);
    compare_with_now(level);
    return {};
  }

  void compare_with_now(AdviceLevel& level) const {
    auto now = times_of(advice_.now.candidates);
    for (CandidateTimes& candidate : now)
      candidate.turnaround_s.resize(std::min(level.draws, candidate.turnaround_s.size()));
    const auto here = times_of(level.candidates);
    const std::vector<double> best_now = best_times(now), best_here = best_times(here);
    if (best_here.empty() || best_now.empty()) return;
    level.gain = paired_ratio(best_here, best_now, question_.kind);
    const auto advised = advice_.now.conclusion.scheduler;
    if (!advised) return;
    const auto same = std::ranges::find_if(level.candidates, [&](const CandidateRuns& runs) {
      return same_candidate(runs.candidate, advice_.now.candidates[*advised].candidate);
    });
    const bool runs = same != level.candidates.end() && !same->by_draw.empty();
    if (runs)
      level.staying =
          paired_ratio(here[static_cast<std::size_t>(same - level.candidates.begin())].turnaround_s,
                       best_here, question_.kind);
    level.changes_answer = !runs || helps(level.conclusion) != helps(advice_.now.conclusion) ||
                           level.staying->difference == Difference::longer;
  }

  static bool helps(const Conclusion& conclusion) {
    return conclusion.mig_over_whole &&
           conclusion.mig_over_whole->difference == Difference::shorter;
  }

  void weigh_measurements() {
    for (std::size_t i = 0; i < applications_.size(); ++i) {
      MeasurementWorth worth{applications_[i], {}, false};
      std::vector<double> ratios;
      for (const AdviceLevel& level : advice_.changed) {
        if (level.kind != LevelKind::assumed) continue;
        // A single application is all that is varied.
        if (applications_.size() > 1 && level.application != worth.application.name) continue;
        if (level.conclusion.mig_over_whole)
          ratios.push_back(level.conclusion.mig_over_whole->median);
        worth.changes_answer = worth.changes_answer || level.changes_answer;
      }
      if (ratios.size() == std::size(ends)) worth.moves = std::abs(ratios[0] - ratios[1]);
      advice_.unmeasured.push_back(std::move(worth));
    }
    std::ranges::stable_sort(advice_.unmeasured,
                             [](const MeasurementWorth& a, const MeasurementWorth& b) {
                               return std::tuple(a.changes_answer, a.moves.value_or(-1)) >
                                      std::tuple(b.changes_answer, b.moves.value_or(-1));
                             });
  }

  const AdviceQuestion& question_;
  std::size_t most_threads_;
  const AdviceStage& stage_;
  std::vector<UnmeasuredApplication> applications_;
  std::vector<FurnishedCandidate> candidates_;
  PreparedDraws now_;
  Advice advice_;
};

}  // namespace

DrawCounts draw_counts(std::size_t jobs) {
  // A dozen candidates at some microseconds a job: a minute or two of one core.
  constexpr std::size_t most_jobs_in_draws = 1'000'000;
  constexpr std::size_t most = 21, least = seeds_for_a_statement;
  const auto within = [&](std::size_t levels) {
    return std::clamp(most_jobs_in_draws / levels / std::max<std::size_t>(1, jobs), least, most);
  };
  return {within(1), within(5)};
}

std::vector<CandidateTimes> times_of(const std::vector<CandidateRuns>& candidates) {
  std::vector<CandidateTimes> all;
  for (const CandidateRuns& runs : candidates) {
    CandidateTimes& times = all.emplace_back(CandidateTimes{runs.candidate.role, {}});
    for (const CandidateScore& score : runs.by_draw)
      times.turnaround_s.push_back(score.turnaround_s);
  }
  return all;
}

Result<Advice> advise(const AdviceQuestion& question, std::size_t most_threads,
                      const AdviceStage& stage) {
  return Advising(question, most_threads, stage).run();
}

}  // namespace cleave
