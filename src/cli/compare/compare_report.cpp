#include "cli/compare/compare_report.hpp"

#include "base/format.hpp"
#include "base/json.hpp"
#include "base/text.hpp"
#include "base/time.hpp"
#include "cli/report_file.hpp"
#include "cli/run_outcomes.hpp"
#include "cli/table.hpp"
#include "cli/workload_arguments.hpp"

namespace cleave::cli {

namespace {

/// Of a past: what was read of it, how it went, and how far the simulation is from that.
void add_past(report::Report& report, const ReplayedPast& past, const FleetFile& fleet) {
  std::string words = introduction_of(past.replay.past, fleet);
  // A line that is indented goes on with the one before.
  for (std::size_t at = 0; (at = words.find("\n  ", at)) != std::string::npos;)
    words.replace(at, 3, " ");
  for (const std::string_view line : split(words, '\n')) {
    const std::size_t colon = line.find(": ");
    if (colon == std::string_view::npos) continue;
    if (line.starts_with("history")) {
      report.asked.emplace_back("history", line.substr(colon + 2));
    } else {
      add_remarks(report, std::string(line.substr(colon + 2)));
    }
  }
  const SeenFigures seen = seen_figures(past.replay.past);
  const auto time = [](Duration duration) { return in_unit("s", in_seconds(duration)); };
  report.asked.emplace_back(
      "as it ran", fmt::format("makespan {}, mean wait {}, 95 % wait {}, mean turnaround {}",
                               time(seen.makespan), time(seen.wait.mean), time(seen.wait.p95),
                               time(seen.turnaround.mean)));
  add_remarks(report, errors_text(past.replay, past.errors));
}

}  // namespace

FirstSeed::FirstSeed(const ComparisonPlan& plan) : plan_(&plan), parts_(plan.specs.size()) {
  report::Bounds bounds;
  bounds.spans /= plan.specs.size();
  for (std::size_t i = 0; i < plan.specs.size(); ++i)
    recorders_.push_back(
        std::make_unique<report::RunRecorder>(plan.fleet, plan.workload(0), bounds));
}

RunObserver* FirstSeed::observer(std::size_t seed, std::size_t scheduler) {
  return seed == 0 ? recorders_[scheduler].get() : nullptr;
}

void FirstSeed::hear(std::size_t seed, const std::vector<std::vector<JobOutcome>>& by_scheduler) {
  if (seed != 0) return;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    parts_[i].distributions = report::distributions(by_scheduler[i]).dump();
    for (const SliceShare& of : slices_by_user(plan_->workload(0), by_scheduler[i]))
      parts_[i].users.push_back({of.name.value_or("no user"), of.jobs, of.share});
  }
}

std::vector<report::RunPart> FirstSeed::parts(const SeedRuns& runs) {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    parts_[i].scheduler = runs.runs[i].scheduler;
    parts_[i].seed = runs.seed;
    parts_[i].figures = to_json(runs.runs[i]).dump();
    parts_[i].recorded = recorders_[i]->finish().dump();
  }
  return std::move(parts_);
}

std::string FirstSeed::page(const ComparedRuns& results, const std::optional<ReplayedPast>& past) {
  const RunComparison comparison = compare(results.seeds);
  std::vector<std::string> names;
  for (const SchedulerComparison& each : comparison.schedulers) names.push_back(each.scheduler);
  const std::vector<std::uint64_t>& seeds = plan_->seeds;
  report::Report report = report_of(
      "cleave compare",
      {{"schedulers", fmt::format("{}", fmt::join(names, ", "))},
       {"seeds", seeds.size() == 1 ? fmt::format("{}", seeds.front())
                                   : fmt::format("{} to {}", seeds.front(), seeds.back())}},
      plan_->fleet, plan_->workload(0), plan_->simulation);
  if (past) add_past(report, *past, plan_->fleet);
  for (const RunSummary& summary : results.seeds.front().runs)
    add_remarks(report, remarks(summary, !plan_->simulation.reconfiguration));
  report.comparison = to_json(comparison).dump();
  report.runs = parts(results.seeds.front());
  return report::page_of(report);
}

}  // namespace cleave::cli
