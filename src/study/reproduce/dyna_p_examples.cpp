// *Dyna-P*, 2.2 (figure 4: six static configurations) and 3.2.2 (figure 7: eight jobs).

#include <algorithm>

#include "base/format.hpp"
#include "model/workload_file.hpp"
#include "simulate/simulator.hpp"

#include "study/reproduce/dyna_p_study.hpp"

namespace cleave {

namespace {

using Values = std::vector<std::vector<double>>;

// ---- Figure 7 ----

/// Its table; G is there on half of the GPU and on all of it.
std::string figure_7(bool whole_g) {
  struct Row {
    const char* id;
    int arrival, seconds, deadline;
    const char* profile;
  };
  const Row rows[] = {{"A", 0, 30, 100, "1g.6gb"},
                      {"B", 0, 120, 200, "2g.12gb"},
                      {"C", 5, 50, 85, "2g.12gb"},
                      {"D", 60, 50, 130, "1g.6gb"},
                      {"E", 60, 70, 160, "1g.6gb"},
                      {"F", 120, 70, 250, "1g.6gb"},
                      {"G", 120, whole_g ? 50 : 110, 220, whole_g ? "4g.24gb" : "2g.12gb"},
                      {"H", 120, 80, 300, "2g.12gb"}};
  std::string text;
  for (const Row& row : rows)
    text += fmt::format(
        R"({{"id": "{}", "arrival_s": {}, "duration_s": {}, "deadline_s": {}, "profile": "{}", )"
        R"("speed": {{"{}": 1}}}})"
        "\n",
        row.id, row.arrival, row.seconds, row.deadline - row.arrival, row.profile, row.profile);
  return text;
}

/// The end of C and F, and the makespan.
Result<std::vector<double>> ends(const std::string& scheduler, bool whole_g, double change_s) {
  const auto fleet = parse_fleet_in_short("1xA30-24GB", ProfileChoice::plain());
  const auto workload = parse_workload(figure_7(whole_g), "figure 7");
  if (!workload) return std::unexpected(workload.error());
  const auto spec = parse_scheduler(scheduler);
  if (!spec) return std::unexpected(spec.error());
  SimulationOptions options;
  options.reconfiguration = *duration_from_seconds(change_s);
  std::vector<JobOutcome> outcomes;
  options.outcomes = &outcomes;
  const auto run = simulate(*fleet, *workload, *spec, options);
  if (!run) return std::unexpected(run.error());
  constexpr std::size_t c = 2, f = 5;
  return std::vector<double>{5 + in_seconds(outcomes[c].turnaround),
                             120 + in_seconds(outcomes[f].turnaround), in_seconds(run->makespan)};
}

}  // namespace

Result<SweptExperiment> dyna_p_example(PairedRuns& /*runs*/) {
  SweptExperiment experiment{
      "The example of figure 7",
      "its eight jobs on one A30, with their times, deadlines and partitions",
      {open_choice("G in Dyna-P", {"whole GPU", "half"}, 0, "its table has 2g/4g, 110/50 s"),
       {"change", {0, 0.125, 5}, 0, "seconds for each change of instances; the figure shows none"}},
      {{"3.2.2, 7",
        "makespan with Dyna-P, s",
        "285",
        {285, 285},
        "at 120 the figure leaves room unused that Algorithm 2 fills"},
       {"3.2.2, 7", "makespan less than with static partitions, s", "reduced", word_better},
       {"3.2.2, 7", "end of C with Dyna-P, s", "on time, 85", {{}, 85}},
       {"3.2.2, 7", "end of F with Dyna-P, s", "on time, 250", {{}, 250}},
       {"3.2.2, 7", "end of C with static partitions, s", "late, 85", {85.001, {}}},
       {"3.2.2, 7",
        "end of F with static partitions, s",
        "late, 250",
        {250.001, {}},
        "the figure's own times let it end by 250 if it starts by 180"}}};
  const auto done = sweep(experiment, [&](std::span<const double> inputs) -> Result<Values> {
    const auto dyna_p = ends("oracle", inputs[0] == 0, inputs[1]);
    if (!dyna_p) return std::unexpected(dyna_p.error());
    const auto fixed = ends("static", false, inputs[1]);
    if (!fixed) return std::unexpected(fixed.error());
    const auto &with = *dyna_p, &without = *fixed;
    return Values{{with[2]}, {without[2] - with[2]}, {with[0]},
                  {with[1]}, {without[0]},           {without[1]}};
  });
  if (!done) return std::unexpected(done.error());
  return experiment;
}

// ---- Figure 4 ----

Result<SweptExperiment> dyna_p_configurations(PairedRuns& runs) {
  SweptExperiment experiment{
      "Static configurations of one A30",
      "1g only, one 2g and two 1g, 2g only, 4g; first come, first served. \"1g.2g.1g\" is no "
      "layout of an A30 and taken for a list of sizes",
      {{"jobs", {8, 16, 32}, 1, "how many; not printed"},
       {"gap", {0, 5}, 0, "mean seconds between arrivals"},
       open_jct()},
      {{"2.2, 4", "jobs without an instance under 1g only", "Phi-1's", {1, {}}},
       {"2.2, 4", "jobs without an instance under the others", "none", {{}, 0}},
       {"2.2, 4b", "highest system throughput above the lowest, %", "different", {5, {}}},
       {"2.2, 4b", "longest mean JCT above the shortest, %", "different", {5, {}}}}};
  const char* const layouts[] = {"1g.6gb@0+1g.6gb@1+1g.6gb@2+1g.6gb@3",
                                 "2g.12gb@0+1g.6gb@2+1g.6gb@3", "2g.12gb@0+2g.12gb@2", "4g.24gb@0"};
  const auto done = sweep(experiment, [&](std::span<const double> inputs) -> Result<Values> {
    std::vector<const std::vector<RunSummary>*> found;
    for (const char* layout : layouts) {
      const auto ran =
          runs.of({"1xA30-24GB", fmt::format("dyna-p-50:jobs={:g};gap={:g}", inputs[0], inputs[1]),
                   fmt::format("static:layout={}", layout)});
      if (!ran) return std::unexpected(ran.error());
      found.push_back(*ran);
    }
    Values values(4);
    for (std::size_t seed = 0; seed < runs.seeds(); ++seed) {
      double most = 0, least = 1e300, others = 0, longest = 0, shortest = 1e300;
      for (std::size_t i = 0; i < found.size(); ++i) {
        const RunSummary& run = (*found[i])[seed];
        if (i > 0) others += static_cast<double>(run.rejected + run.failed);
        most = std::max(most, run.system_throughput);
        least = std::min(least, run.system_throughput);
        longest = std::max(longest, in_seconds(jct_of(run, inputs[2]).mean));
        shortest = std::min(shortest, in_seconds(jct_of(run, inputs[2]).mean));
      }
      const RunSummary& small = (*found[0])[seed];
      values[0].push_back(static_cast<double>(small.rejected + small.failed));
      values[1].push_back(others);
      values[2].push_back(least > 0 ? 100 * (most / least - 1) : 0);
      values[3].push_back(shortest > 0 ? 100 * (longest / shortest - 1) : 0);
    }
    return values;
  });
  if (!done) return std::unexpected(done.error());
  return experiment;
}

}  // namespace cleave
