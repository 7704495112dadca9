#include "cli/assumed_range.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/format.hpp"
#include "base/json.hpp"
#include "cli/table.hpp"
#include "cli/workload_arguments.hpp"

namespace cleave::cli {

namespace {

const FigureComparison& turnaround(const SchedulerComparison& scheduler) {
  return *std::ranges::find(scheduler.figures, "turnaround_mean_s", &FigureComparison::figure);
}

std::string cell_of(const SchedulerComparison& scheduler, bool first) {
  const FigureComparison& figure = turnaround(scheduler);
  if (first) return figure.value ? "1" : "-";
  return figure.ratio ? fmt::format("{:.2f}", figure.ratio->median) : "-";
}

}  // namespace

std::vector<Assumption> assumptions_for(const ComparisonPlan& plan) {
  std::vector<Assumption> assumptions;
  if (count_assumed(plan.workloads.front()).unknown == 0) return assumptions;
  for (std::size_t k = 0; k < words_of_speed_end.size(); ++k) {
    Assumption& assumption = assumptions.emplace_back();
    assumption.words = words_of_speed_end[k];
    const auto end = static_cast<SpeedEnd>(k);
    for (const Workload& workload : plan.workloads)
      if (end != SpeedEnd::by_sms) assumption.workloads.push_back(with_assumed(workload, end));
  }
  return assumptions;
}

namespace {

/// The plan under each assumption that has workloads of its own, one after the other, as seeds of
/// one plan: no thread waits for the last run of an assumption.
ComparisonPlan all_in_one(const ComparisonPlan& plan, const std::vector<Assumption>& assumptions) {
  ComparisonPlan all = plan;
  all.seeds.clear();
  all.workloads.clear();
  for (const Assumption& assumption : assumptions) {
    if (assumption.workloads.empty()) continue;
    for (std::size_t seed = 0; seed < plan.seeds.size(); ++seed) {
      all.seeds.push_back(plan.seeds[seed]);
      all.workloads.push_back(assumption.workloads[assumption.workloads.size() == 1 ? 0 : seed]);
    }
  }
  return all;
}

}  // namespace

Result<AssumedRange> run_range(const ComparisonPlan& plan, const RunComparison& as_it_is,
                               const std::vector<Assumption>& assumptions,
                               std::size_t most_threads) {
  AssumedRange range;
  range.counts = count_assumed(plan.workloads.front());
  if (plan.specs.size() < 2) return range;
  const ComparisonPlan all = all_in_one(plan, assumptions);
  std::vector<SeedRuns> seeds;
  if (!all.seeds.empty()) {
    ProgressLine progress("with other speeds", all.seeds.size() * all.specs.size());
    auto results =
        run_side_by_side(all, most_threads, [&](std::size_t run) { return progress.of_run(run); });
    if (!results) return std::unexpected(results.error());
    seeds = std::move(results->seeds);
  }
  std::span<const SeedRuns> rest = seeds;
  for (const Assumption& assumption : assumptions) {
    range.words.push_back(assumption.words);
    if (assumption.workloads.empty()) {
      range.by_assumption.push_back(as_it_is);
      continue;
    }
    range.by_assumption.push_back(compare(rest.first(plan.seeds.size())));
    rest = rest.subspan(plan.seeds.size());
  }
  return range;
}

std::string range_text(const AssumedRange& range) {
  if (range.by_assumption.empty()) return "";
  std::vector<std::string> headings = {"speeds on slices:"};
  headings.insert(headings.end(), range.words.begin(), range.words.end());
  Table table(headings);
  const auto& first = range.by_assumption.front().schedulers;
  for (std::size_t s = 0; s < first.size(); ++s) {
    std::vector<std::string> row = {first[s].scheduler};
    for (const RunComparison& comparison : range.by_assumption)
      row.push_back(cell_of(comparison.schedulers[s], s == 0));
    table.add(row);
  }
  return fmt::format("mean turnaround, as multiples of {}'s, by what is assumed\n{}",
                     first.front().scheduler, table.text());
}

Json to_json(const AssumedRange& range) {
  Json json{{"jobs", range.counts.jobs},
            {"speeds_unknown", range.counts.unknown},
            {"one_time_known", range.counts.one_time},
            {"whole_gpus", range.counts.whole},
            {"range", Json::array()}};
  for (std::size_t k = 0; k < range.by_assumption.size(); ++k) {
    Json schedulers = Json::array();
    for (const SchedulerComparison& scheduler : range.by_assumption[k].schedulers) {
      const FigureComparison& figure = turnaround(scheduler);
      schedulers.push_back(
          {{"scheduler", scheduler.scheduler},
           {"turnaround_mean_s", figure.value ? Json(figure.value->median) : Json(nullptr)},
           {"ratio", figure.ratio ? Json(figure.ratio->median) : Json(nullptr)}});
    }
    json["range"].push_back({{"speeds", range.words[k]}, {"schedulers", schedulers}});
  }
  return json;
}

}  // namespace cleave::cli
