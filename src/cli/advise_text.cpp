#include "cli/advise_text.hpp"

#include <algorithm>

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "cli/columns.hpp"

namespace cleave::cli {

namespace {

/// "0.74 (0.55 to 0.93)"
std::string text(const PairedRatio& ratio) {
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", ratio.median, ratio.low, ratio.high);
}
std::string text(const std::optional<PairedRatio>& ratio) {
  return ratio ? text(*ratio) : "-";
}

std::string_view word(Difference difference) {
  switch (difference) {
    case Difference::shorter:
      return "shorter";
    case Difference::longer:
      return "longer";
    case Difference::none:
      return "none";
    case Difference::too_few_draws:
      break;
  }
  return "too few draws";
}

bool has_backfill(const AdviceCandidate& candidate) {
  return candidate.spec.text.ends_with("backfill=easy");
}

/// A spec, or what stands for the long name of the only fixed layout that is shown.
std::string candidate_words(const AdviceCandidate& candidate) {
  if (candidate.layout.empty()) return candidate.spec.text;
  return fmt::format("best fixed layout{}", has_backfill(candidate) ? " with backfill" : "");
}

std::string mig_line(const Advice& advice) {
  const Conclusion& conclusion = advice.now.conclusion;
  if (!conclusion.mig_over_whole)
    return "Whether MIG helps cannot be said: schedulers with MIG, or on whole GPUs, do not finish "
           "the same jobs.";
  const PairedRatio& ratio = *conclusion.mig_over_whole;
  const std::string figures = fmt::format(
      "jobs take {:.2f} times the mean turnaround on whole GPUs ({:.2f} to {:.2f} in "
      "nine of ten draws, shorter in {} of {})",
      ratio.median, ratio.low, ratio.high, ratio.shorter, ratio.draws);
  switch (ratio.difference) {
    case Difference::shorter:
      return fmt::format("MIG helps: {}.", figures);
    case Difference::longer:
      return fmt::format("MIG does not help: {}.", figures);
    case Difference::none:
      return fmt::format("MIG makes no difference beyond the spread: {}.", figures);
    case Difference::too_few_draws:
      break;
  }
  return fmt::format("Whether MIG helps cannot be said from so few draws: {}.", figures);
}

std::string scheduler_line(const Advice& advice) {
  const Conclusion& conclusion = advice.now.conclusion;
  if (!conclusion.scheduler) return "No scheduler finishes the jobs in all draws.";
  const auto& candidates = advice.now.candidates;
  std::string line =
      fmt::format("Scheduler: {}.", candidate_words(candidates[*conclusion.scheduler].candidate));
  // Of fixed layouts the best stands for all.
  std::vector<std::string> others;
  for (const std::size_t i : conclusion.as_good)
    if (candidates[i].candidate.role != CandidateRole::fixed_layout || i == conclusion.fixed_layout)
      others.push_back(candidate_words(candidates[i].candidate));
  if (!others.empty())
    line += fmt::format(" No longer beyond the spread: {}.", fmt::join(others, "; "));
  return line;
}

std::string layout_line(const Advice& advice) {
  const Conclusion& conclusion = advice.now.conclusion;
  if (!conclusion.fixed_layout)
    return fmt::format("Fixed layout: none of the {} that were tried finishes all jobs{}{}.",
                       advice.layouts_tried, advice.no_parts.empty() ? "" : ": ", advice.no_parts);
  const AdviceCandidate& best = advice.now.candidates[*conclusion.fixed_layout].candidate;
  std::string line = fmt::format("If one layout must stay: {}{}", best.layout,
                                 has_backfill(best) ? " with backfill" : "");
  if (conclusion.fixed_over_others)
    line += fmt::format("; {} times the best scheduler that changes instances or has whole GPUs",
                        text(*conclusion.fixed_over_others));
  if (conclusion.fixed_over_whole)
    line += fmt::format(", {} times whole GPUs", text(*conclusion.fixed_over_whole));
  return line + ".";
}

/// The change that gains most beyond the spread; null where none does.
const AdviceLevel* most_gain(const Advice& advice) {
  const AdviceLevel* best = nullptr;
  for (const AdviceLevel& level : advice.changed) {
    if (level.kind == LevelKind::assumed || !level.gain) continue;
    if (level.gain->difference != Difference::shorter) continue;
    if (best == nullptr || level.gain->median < best->gain->median) best = &level;
  }
  return best;
}

std::string measure_line(const Advice& advice) {
  std::string line;
  if (!advice.unmeasured.empty()) {
    const MeasurementWorth& first = advice.unmeasured.front();
    double share = 0;
    for (const MeasurementWorth& each : advice.unmeasured) share += each.application.share;
    const bool any = std::ranges::any_of(advice.changed, [](const AdviceLevel& level) {
      return level.kind == LevelKind::assumed && level.changes_answer;
    });
    line = any ? fmt::format("Measure first: the speed of {} on slices ({} of all GPU time)",
                             shown(first.application.name), percent(first.application.share))
               : fmt::format(
                     "No speed needs to be measured: those of {} of all GPU time are not "
                     "known, and the answer is the same whatever they are",
                     percent(share));
    if (any && first.moves)
      line += fmt::format("; between its two ends the ratio of MIG to whole GPUs moves by {:.2f}",
                          *first.moves);
    line += ". ";
  }
  if (const AdviceLevel* best = most_gain(advice))
    return line + fmt::format("Most would be gained by: {}, {} times the turnaround.", best->what,
                              text(*best->gain));
  return line + "To know or to allow more gains nothing beyond the spread.";
}

std::string time_text(double seconds) {
  return in_unit("s", seconds);
}

double median(const CandidateRuns& runs, double (*of)(const CandidateScore&)) {
  std::vector<double> values;
  for (const CandidateScore& score : runs.by_draw) values.push_back(of(score));
  return spread_of(std::move(values)).median;
}

/// The candidate's times over those of the best on whole GPUs.
std::optional<PairedRatio> over_whole(const Advice& advice, const CandidateRuns& runs,
                                      DrawKind kind) {
  const auto whole = advice.now.conclusion.whole_gpus;
  if (!whole) return std::nullopt;
  const auto times = times_of({runs, advice.now.candidates[*whole]});
  return paired_ratio(times[0].turnaround_s, times[1].turnaround_s, kind);
}

/// Those that ran, in the order of the table: shortest first, those with hindsight last. Of fixed
/// layouts only the best.
std::vector<const CandidateRuns*> shown_candidates(const Advice& advice) {
  std::vector<const CandidateRuns*> rows;
  const auto& candidates = advice.now.candidates;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (candidates[i].by_draw.empty()) continue;
    if (candidates[i].candidate.role == CandidateRole::fixed_layout &&
        i != advice.now.conclusion.fixed_layout)
      continue;
    rows.push_back(&candidates[i]);
  }
  std::ranges::stable_sort(rows, {}, [](const CandidateRuns* runs) {
    return std::pair(runs->candidate.role == CandidateRole::hindsight,
                     median(*runs, [](const CandidateScore& score) { return score.turnaround_s; }));
  });
  return rows;
}

std::string candidates_text(const Advice& advice, DrawKind kind) {
  using Row = CandidateRuns;
  const auto of = [](double (*get)(const CandidateScore&)) {
    return [get](const Row& runs) { return time_text(median(runs, get)); };
  };
  Columns<Row> columns = {
      {text_only, "candidate", [](const Row& runs) { return candidate_words(runs.candidate); }},
      {text_only, "kind", [](const Row& runs) { return name(runs.candidate.role); }},
      {text_only, "turnaround", of([](const CandidateScore& s) { return s.turnaround_s; })},
      {text_only, "over whole GPUs",
       [&](const Row& runs) { return text(over_whole(advice, runs, kind)); }},
      {text_only, "shorter in",
       [&](const Row& runs) {
         const auto ratio = over_whole(advice, runs, kind);
         return ratio ? fmt::format("{} of {}", ratio->shorter, ratio->draws) : "-";
       }},
      {text_only, "mean wait", of([](const CandidateScore& s) { return s.wait_s; })},
      {text_only, "95 % slowdown",
       [](const Row& runs) {
         return fmt::format("{:.1f}", median(runs, [](const CandidateScore& score) {
                              return score.slowdown_p95.value_or(0);
                            }));
       }},
      {text_only, "makespan", of([](const CandidateScore& s) { return s.makespan_s; })}};
  const auto rows = shown_candidates(advice);
  if (std::ranges::any_of(rows, [](const Row* row) { return row->recorded.has_value(); }))
    columns.emplace_back(text_only, "as recorded", [](const Row& runs) {
      return runs.recorded ? time_text(runs.recorded->turnaround_s) : "-";
    });
  Table table(headings(columns));
  for (const Row* row : rows) table.add(cells(columns, *row));
  return table.text();
}

std::string left_out_text(const Advice& advice) {
  std::string text;
  for (const CandidateRuns& runs : advice.now.candidates)
    if (runs.by_draw.empty() && runs.candidate.role != CandidateRole::fixed_layout)
      text += fmt::format("left out: {}: {}\n", runs.candidate.spec.text, runs.left_out);
  return text;
}

std::string advised_at(const AdviceLevel& level) {
  const auto& best = level.conclusion.scheduler;
  return best ? candidate_words(level.candidates[*best].candidate) : "-";
}

std::string changes_text(const Advice& advice) {
  using Row = AdviceLevel;
  const Columns<Row> columns = {
      {text_only, "if", [](const Row& level) { return shown(level.what, 90); }},
      {text_only, "MIG over whole GPUs",
       [](const Row& level) { return text(level.conclusion.mig_over_whole); }},
      {text_only, "best over best now", [](const Row& level) { return text(level.gain); }},
      {text_only, "advice then", advised_at},
      {text_only, "changes the answer", &Row::changes_answer}};
  return text_rows(columns, advice.changed);
}

Json to_json(const std::optional<PairedRatio>& ratio) {
  if (!ratio) return nullptr;
  return {{"median", ratio->median},
          {"low", ratio->low},
          {"high", ratio->high},
          {"shorter", ratio->shorter},
          {"longer", ratio->longer},
          {"draws", ratio->draws},
          {"difference", word(ratio->difference)}};
}

Json candidate_json(const Advice& advice, const CandidateRuns& runs, DrawKind kind) {
  Json json = {
      {"scheduler", runs.candidate.spec.text},
      {"kind", name(runs.candidate.role)},
      {"layout", runs.candidate.layout.empty() ? Json(nullptr) : Json(runs.candidate.layout)},
      {"left_out", runs.left_out.empty() ? Json(nullptr) : Json(runs.left_out)}};
  if (runs.by_draw.empty()) return json;
  Json draws = Json::array();
  for (const CandidateScore& score : runs.by_draw)
    draws.push_back({{"turnaround_mean_s", score.turnaround_s},
                     {"wait_mean_s", score.wait_s},
                     {"slowdown_p95", as_json(score.slowdown_p95)},
                     {"makespan_s", score.makespan_s}});
  json["over_whole_gpus"] = to_json(over_whole(advice, runs, kind));
  json["draws"] = std::move(draws);
  if (runs.recorded) json["recorded_turnaround_mean_s"] = runs.recorded->turnaround_s;
  return json;
}

Json scheduler_json(const std::vector<CandidateRuns>& candidates,
                    const std::optional<std::size_t>& place) {
  if (!place) return nullptr;
  const AdviceCandidate& candidate = candidates[*place].candidate;
  return {{"scheduler", candidate.spec.text},
          {"layout", candidate.layout.empty() ? Json(nullptr) : Json(candidate.layout)}};
}

std::string draws_words(const AdviceQuestion& question) {
  const std::size_t draws = question.draws.size();
  const std::string fewer =
      question.draws_changed < draws
          ? fmt::format(", and the first {} where something is changed", question.draws_changed)
          : "";
  if (question.kind == DrawKind::independent)
    return fmt::format("{} draws of the workload, seeds {} to {}{}", draws,
                       question.draws.front().seed, question.draws.back().seed, fewer);
  const BootstrapWindows windows = windows_of(question.recorded->workload);
  const std::string how =
      windows.length == Duration{}
          ? "single jobs"
          : fmt::format("{} windows of {}, with the batches that arrived in each", windows.count,
                        human(windows.length));
  return fmt::format("{} draws from the workload{}: {}, drawn with replacement", draws, fewer, how);
}

std::string spread_words(DrawKind kind) {
  return fmt::format(
      "ratios compare the same draws; in brackets, what nine of ten draws lie between; beyond the "
      "spread: at least {:.0f} %, and {}",
      100 * least_difference,
      kind == DrawKind::resampled ? "at most one draw in twenty says otherwise"
                                  : "a sign test over the draws gives at most 5 %");
}

std::string_view may_words(const AdviceQuestion& question) {
  switch (question.simulation.may) {
    case MayInterrupt::never:
      return "no job may be stopped or moved (--may)";
    case MayInterrupt::checkpoint:
      return "jobs may be stopped at a price, and not moved for nothing (--may)";
    case MayInterrupt::all:
      break;
  }
  return "jobs may be stopped and moved as they say (--may)";
}

void add_past_words(const PastSizes& past, const Workload& recorded,
                    std::vector<std::string>& said) {
  said.emplace_back(
      "jobs of the history arrive as they were submitted, and take what their latest attempt took "
      "where it ran");
  const std::pair<std::size_t, const char*> lacking[] = {
      {past.by_peak, "asked for no size: the memory that they reported is taken"},
      {past.by_place, "asked for no size and reported none: that of where they ran is taken"},
      {past.nowhere, "do not say where they ran: their times are taken as on the whole GPU"}};
  for (const auto& [jobs, what] : lacking)
    if (jobs > 0) said.push_back(fmt::format("{} {}", counted(jobs, "job"), what));
  std::vector<std::string> left_out;
  for (const auto& [reason, count, gpu_hours] : recorded.left_out)
    left_out.push_back(fmt::format("{} ({})", count, reason));
  if (!left_out.empty())
    said.push_back(fmt::format("left out of the history: {}", fmt::join(left_out, ", ")));
}

std::size_t unmeasured_jobs(const Advice& advice) {
  std::size_t jobs = 0;
  for (const MeasurementWorth& worth : advice.unmeasured) jobs += worth.application.jobs;
  return jobs;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines = split(text, '\n');
  if (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::string_view word(LevelKind kind) {
  switch (kind) {
    case LevelKind::as_things_are:
      return "as things are";
    case LevelKind::known:
      return "known";
    case LevelKind::allowed:
      return "allowed";
    case LevelKind::assumed:
      break;
  }
  return "assumed";
}

Json level_json(const AdviceLevel& level) {
  return {{"kind", word(level.kind)},
          {"what", level.what},
          {"application", level.application.empty() ? Json(nullptr) : Json(level.application)},
          {"draws", level.draws},
          {"scheduler", scheduler_json(level.candidates, level.conclusion.scheduler)},
          {"mig_over_whole_gpus", to_json(level.conclusion.mig_over_whole)},
          {"gain", to_json(level.gain)},
          {"staying", to_json(level.staying)},
          {"changes_answer", level.changes_answer}};
}

}  // namespace

std::string answer_text(const Advice& advice) {
  return fmt::format("{}\n{}\n{}\n{}\n", mig_line(advice), scheduler_line(advice),
                     layout_line(advice), measure_line(advice));
}

std::string tables_text(const AdviceQuestion& question, const Advice& advice) {
  return fmt::format("{}{}\n{}", candidates_text(advice, question.kind), left_out_text(advice),
                     changes_text(advice));
}

std::vector<std::string> assumptions(const AdviceQuestion& question, const Advice& advice) {
  std::vector<std::string> said = {draws_words(question), spread_words(question.kind)};
  const std::string told = words(question.simulation.know);
  said.push_back(fmt::format("schedulers are told {}; {}", told.empty() ? "all of the jobs" : told,
                             may_words(question)));
  if (question.past) add_past_words(*question.past, question.recorded->workload, said);
  if (!advice.unmeasured.empty())
    said.push_back(
        fmt::format("{} say nothing of their speed on slices: it is taken as {}, and in the table "
                    "above as both ends",
                    counted(unmeasured_jobs(advice), "job"),
                    in_words(AssumedSpeed::between, question.fleet.geometries.front())));
  said.push_back(
      fmt::format("fixed layouts are the best of {}, chosen by {} draws that judge nothing",
                  advice.layouts_tried, question.for_layouts.size()));
  said.emplace_back("candidates of kind hindsight know the future, and are never advised");
  if (question.draws.front().workload.has_kinds())
    said.emplace_back("turnaround is that of batches: `cleave compare` shows services and leases");
  return said;
}

Json to_json(const AdviceQuestion& question, const Advice& advice) {
  const Conclusion& conclusion = advice.now.conclusion;
  Json as_good = Json::array(), candidates = Json::array(), changes = Json::array(),
       unmeasured = Json::array();
  for (const std::size_t i : conclusion.as_good)
    as_good.push_back(scheduler_json(advice.now.candidates, i));
  for (const CandidateRuns& runs : advice.now.candidates)
    candidates.push_back(candidate_json(advice, runs, question.kind));
  for (const AdviceLevel& level : advice.changed) changes.push_back(level_json(level));
  for (const MeasurementWorth& worth : advice.unmeasured)
    unmeasured.push_back({{"application", worth.application.name},
                          {"jobs", worth.application.jobs},
                          {"gpu_hours", worth.application.gpu_hours},
                          {"share", worth.application.share},
                          {"moves", as_json(worth.moves)},
                          {"changes_answer", worth.changes_answer}});
  const AdviceLevel* gain = most_gain(advice);
  return {{"answer",
           {{"mig_over_whole_gpus", to_json(conclusion.mig_over_whole)},
            {"scheduler", scheduler_json(advice.now.candidates, conclusion.scheduler)},
            {"as_good", as_good},
            {"fixed_layout", scheduler_json(advice.now.candidates, conclusion.fixed_layout)},
            {"fixed_over_others", to_json(conclusion.fixed_over_others)},
            {"fixed_over_whole_gpus", to_json(conclusion.fixed_over_whole)},
            {"most_gain", gain != nullptr ? Json(gain->what) : Json(nullptr)}}},
          {"text", split_lines(answer_text(advice))},
          {"candidates", candidates},
          {"changes", changes},
          {"unmeasured", unmeasured},
          {"draws",
           {{"kind", question.kind == DrawKind::resampled ? "resampled" : "independent"},
            {"as_things_are", question.draws.size()},
            {"changed", question.draws_changed},
            {"for_layouts", question.for_layouts.size()}}},
          {"assumed", assumptions(question, advice)}};
}

}  // namespace cleave::cli
