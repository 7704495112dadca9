// *Dyna-P*, 4.2 (figure 11), 4.3 (figures 13 and 14): batches, jobs at once, and a cluster.

#include <algorithm>
#include <functional>

#include "base/format.hpp"
#include "study/reproduce/dyna_p_study.hpp"

namespace cleave {

namespace {

constexpr const char* one_a30 = "1xA30-24GB";
constexpr const char* bases[] = {"priced", "own", "full"};

using Runs = const std::vector<RunSummary>*;
using Values = std::vector<std::vector<double>>;

double makespan(const RunSummary& run) {
  return in_seconds(run.makespan);
}
double turnaround(const RunSummary& run) {
  return in_seconds(run.turnaround.mean);
}
double throughput(const RunSummary& run) {
  return run.system_throughput;
}

using Value = std::function<double(const RunSummary&)>;

/// By how many per cent one is above the other.
std::vector<double> above(Runs one, Runs other, const Value& value) {
  std::vector<double> values;
  for (std::size_t i = 0; i < one->size(); ++i) {
    const double base = value((*other)[i]);
    values.push_back(base == 0 ? 0 : 100 * (value((*one)[i]) / base - 1));
  }
  return values;
}

std::vector<double> below(Runs one, Runs other, const Value& value) {
  std::vector<double> values = above(one, other, value);
  for (double& each : values) each = -each;
  return values;
}

OpenInput open_partitions() {
  return open_choice("partitions", {"priced", "own", "full"}, 0,
                     "what Equations 2 to 4 are relative to, as above");
}

Result<std::vector<Runs>> all_of(PairedRuns& runs, const std::vector<PairedRun>& wanted) {
  std::vector<Runs> found;
  for (const PairedRun& run : wanted) {
    const auto ran = runs.of(run);
    if (!ran) return std::unexpected(ran.error());
    found.push_back(*ran);
  }
  return found;
}

}  // namespace

Result<SweptExperiment> dyna_p_batches(PairedRuns& runs) {
  SweptExperiment experiment{"Small and large batches on one A30",
                             "ten jobs each, batches 1 to 8 and 32 to 64, on one A30",
                             {{"gap", {0, 5, 20}, 1, "mean seconds between arrivals"},
                              open_partitions(),
                              open_checkpoint(),
                              open_jct()},
                             {}};
  for (const char* size : {"small", "large"}) {
    const auto add = [&](const std::string& claim, const char* paper, Stated stated,
                         const char* why) {
      experiment.claims.push_back(
          {"4.2, 11", fmt::format("{}: {}, %", size, claim), paper, stated, why});
    };
    add("makespan less than MISO's", "better", word_better, "");
    add("system throughput above MISO's", "better", word_better, "");
    add("JCT above MISO's", "slightly", word_slightly,
        "MISO's checkpoints and larger partitions make its jobs wait longer");
    const char* const checkpoints = "MISO's checkpoints take longer than small batches";
    for (const auto& [one, why] :
         {std::pair("", ""), std::pair("ORACLE's ", ""), std::pair("MISO's ", checkpoints)}) {
      add(fmt::format("{}makespan less than StaCon's", one), "better", word_better, why);
      add(fmt::format("{}system throughput above StaCon's", one), "better", word_better, why);
    }
  }
  const auto done = sweep(experiment, [&](std::span<const double> inputs) -> Result<Values> {
    const std::string base = bases[static_cast<std::size_t>(inputs[1])];
    Values values;
    for (const char* size : {"small", "large"}) {
      const std::string workload = fmt::format("dyna-p-{}:gap={:g}", size, inputs[0]);
      const auto found = all_of(runs, {{one_a30, workload, fmt::format("dyna-p:base={}", base)},
                                       {one_a30, workload, fmt::format("oracle:base={}", base)},
                                       {one_a30, workload, "miso:measure=0", inputs[2]},
                                       {one_a30, workload, "static"}});
      if (!found) return std::unexpected(found.error());
      const Runs dyna_p = (*found)[0], miso = (*found)[2], stacon = (*found)[3];
      values.push_back(below(dyna_p, miso, makespan));
      values.push_back(above(dyna_p, miso, throughput));
      values.push_back(above(dyna_p, miso, [&](const RunSummary& run) {
        return in_seconds(jct_of(run, inputs[3]).mean);
      }));
      for (std::size_t one = 0; one < 3; ++one) {
        values.push_back(below((*found)[one], stacon, makespan));
        values.push_back(above((*found)[one], stacon, throughput));
      }
    }
    return values;
  });
  if (!done) return std::unexpected(done.error());
  return experiment;
}

Result<SweptExperiment> dyna_p_concurrency(PairedRuns& runs) {
  SweptExperiment experiment{
      "Jobs at once on one A30",
      "1, 4 and 12 jobs at once on one A30, all submitted together",
      {open_partitions(), open_checkpoint()},
      {{"4.3, 13", "makespan of twelve jobs, times that of four", "gradual", {1, 3}, "", 2},
       {"4.3, 13",
        "system throughput of four jobs above that of one, %",
        "sharp",
        {20, {}},
        "one job alone has the whole GPU, which is one by definition"},
       {"4.3, 13",
        "the same under ORACLE, %",
        "sharp",
        {20, {}},
        "one job alone has the whole GPU, which is one by definition"},
       {"4.3, 13",
        "the same under MISO, %",
        "sharp",
        {20, {}},
        "one job alone has the whole GPU, which is one by definition"},
       {"4.3, 13", "system throughput of twelve jobs above MISO's, %", "maintained", word_better},
       {"4.3, 13", "the same under ORACLE, %", "maintained", word_better},
       {"4.3, 13", "MISO's system throughput of twelve jobs below that of four, %", "reduced",
        word_better,
        "the mean is over the whole run, whose end with idle slices is a smaller part of it with "
        "twelve jobs"}}};
  const auto done = sweep(experiment, [&](std::span<const double> inputs) -> Result<Values> {
    const char* const base = bases[static_cast<std::size_t>(inputs[0])];
    std::vector<PairedRun> wanted;
    for (const std::string& scheduler :
         {fmt::format("dyna-p:base={}", base), fmt::format("oracle:base={}", base),
          std::string("miso:measure=0")})
      for (const int jobs : {1, 4, 12})
        wanted.push_back({one_a30, fmt::format("dyna-p-concurrent:jobs={}", jobs), scheduler,
                          scheduler.starts_with("miso") ? inputs[1] : 30});
    const auto found = all_of(runs, wanted);
    if (!found) return std::unexpected(found.error());
    const auto& of = *found;
    std::vector<double> longer = above(of[2], of[1], makespan);
    for (double& each : longer) each = 1 + each / 100;
    // One, four and twelve jobs under Dyna-P, ORACLE and MISO.
    return Values{longer,
                  above(of[1], of[0], throughput),
                  above(of[4], of[3], throughput),
                  above(of[7], of[6], throughput),
                  above(of[2], of[8], throughput),
                  above(of[5], of[8], throughput),
                  below(of[8], of[7], throughput)};
  });
  if (!done) return std::unexpected(done.error());
  return experiment;
}

namespace {

// The open inputs of the cluster, by place.
enum ClusterInput : std::size_t { rate, rise, cluster_partitions, count, cluster_checkpoint };

std::vector<OpenInput> cluster_inputs() {
  return {
      {"rate", {500, 1000}, 1, "jobs an hour, at the least load; no rate is printed"},
      open_choice("rise", {"jobs at one rate", "jobs in the same time", "rate alone"}, 1,
                  "\"workloads are increased by 1000 at a time\", \"as the arrival rate "
                  "increases\": from a fifth of the jobs to all, from a fifth of the rate to all, "
                  "or both"),
      open_choice("partitions", {"priced", "own"}, 0,
                  "what Equations 2 to 4 are relative to, as above"),
      open_choice("count", {"changes", "stops", "changes at the least load"}, 0,
                  "what a reconfiguration is: every change of a GPU's instances, or one for "
                  "which jobs stop; and of which run"),
      open_checkpoint()};
}

std::vector<SweptClaim> cluster_claims() {
  const char* const one_run =
      "one run in the paper; here the longest jobs, of a day, decide the makespan";
  const char* const names[] = {"Dyna-P", "ORACLE", "MISO"};
  const double rises[] = {11.76, 17.86, 14.67}, counts[] = {748, 746, 756};
  std::vector<SweptClaim> claims;
  for (std::size_t i = 0; i < 3; ++i)
    claims.push_back({"4.3, 14a",
                      fmt::format("rise of the makespan, {}, %", names[i]),
                      fmt::format("{}", rises[i]),
                      {rises[i], rises[i]},
                      one_run});
  for (std::size_t i = 0; i < 3; ++i)
    claims.push_back({"4.3, 14b",
                      fmt::format("reconfigurations, {}", names[i]),
                      fmt::format("{}", counts[i]),
                      {counts[i], counts[i]},
                      "it depends on how many jobs share a GPU at a time",
                      0});
  claims.push_back({"4.3, 14b", "reconfigurations fewer than MISO's", "8 of 756", {1, {}}, "", 0});
  claims.push_back({"4.3, 14b", "the same under ORACLE", "10 of 756", {1, {}}, "", 0});
  claims.push_back({"4.3, 14a", "makespan less than MISO's at the most load, %", "improved",
                    word_better, one_run});
  claims.push_back({"4.3, 14a", "mean wait less than MISO's at the most load, s",
                    "MISO's jobs are delayed", word_better});
  return claims;
}

}  // namespace

Result<SweptExperiment> dyna_p_cluster(PairedRuns& runs, std::size_t jobs) {
  SweptExperiment experiment{
      "A cluster of 160 A100",
      "5,000 jobs with the run times of Alibaba's trace, batches 1 to 64, on 20 nodes of eight "
      "A100-40GB; the load rises fivefold",
      cluster_inputs(), cluster_claims()};
  const auto done = sweep(experiment, [&](std::span<const double> inputs) -> Result<Values> {
    const std::string base = bases[static_cast<std::size_t>(inputs[cluster_partitions])];
    const auto workload = [&](bool all_jobs, bool whole_rate) {
      return fmt::format("dyna-p-5000:jobs={};rate={:g}",
                         all_jobs ? jobs : std::max(jobs / 5, std::size_t{1}),
                         inputs[rate] * (whole_rate ? 5 : 1));
    };
    const std::string least = workload(inputs[rise] == 2, false);
    const std::string most = workload(true, inputs[rise] != 0);
    std::vector<PairedRun> wanted;
    for (const std::string& scheduler :
         {fmt::format("dyna-p:base={}", base), fmt::format("oracle:base={}", base),
          std::string("miso:measure=0")})
      for (const std::string& load : {least, most})
        wanted.push_back({"160xA100-40GB", load, scheduler,
                          scheduler.starts_with("miso") ? inputs[cluster_checkpoint] : 30});
    const auto found = all_of(runs, wanted);
    if (!found) return std::unexpected(found.error());
    const auto& of = *found;
    Values values;
    for (std::size_t i = 0; i < 6; i += 2) values.push_back(above(of[i + 1], of[i], makespan));
    for (std::size_t i = 0; i < 6; i += 2) {
      std::vector<double>& counts = values.emplace_back();
      for (const RunSummary& run : *of[i + (inputs[count] == 2 ? 0 : 1)])
        counts.push_back(static_cast<double>(inputs[count] == 1 ? run.stopping_reconfigurations
                                                                : run.reconfigurations));
    }
    for (const std::size_t one : {3U, 4U}) {
      std::vector<double> fewer = values[5];
      for (std::size_t i = 0; i < fewer.size(); ++i) fewer[i] -= values[one][i];
      values.push_back(fewer);
    }
    values.push_back(below(of[1], of[5], makespan));
    std::vector<double>& sooner = values.emplace_back();
    for (std::size_t i = 0; i < of[1]->size(); ++i)
      sooner.push_back(in_seconds((*of[5])[i].wait.mean) - in_seconds((*of[1])[i].wait.mean));
    return values;
  });
  if (!done) return std::unexpected(done.error());
  return experiment;
}

Result<std::vector<ChangeTable>> dyna_p_changes(PairedRuns& runs) {
  const std::string printed = "dyna-p:base=own;losses=largest;window=all;overtakes=any";
  const std::string schedulers[] = {
      printed,
      "dyna-p:base=own;window=all;overtakes=any",
      "dyna-p:base=own;losses=largest;overtakes=any",
      "dyna-p:losses=largest;window=all;overtakes=any",
      "dyna-p:base=own;losses=largest;window=all",
      "dyna-p:base=own;losses=largest;window=all;overtakes=any;place=end",
      "dyna-p",
      "dyna-p:losses=largest",
      "dyna-p:window=all",
      "dyna-p:base=own",
      "dyna-p:overtakes=any",
      "dyna-p:place=end",
      "oracle",
      "miso",
      "static"};
  std::vector<ChangeTable> tables;
  for (const auto& [fleet, workload] : {std::pair("2xA30-24GB", "dyna-p-50:gap=3"),
                                        {"2xA30-24GB", "dyna-p-50"},
                                        {"2xA30-24GB", "dyna-p-50:gap=30"},
                                        {"1xA30-24GB", "dyna-p-small"},
                                        {"1xA30-24GB", "dyna-p-large"},
                                        {"8xA100-40GB", "dyna-p-5000:jobs=400;rate=100"},
                                        {"8xA100-40GB", "dyna-p-5000:jobs=400;rate=25"},
                                        {"4xA100-40GB", "lab-day"}}) {
    ChangeTable& table = tables.emplace_back(ChangeTable{fleet, workload, {}});
    const auto first = runs.of({fleet, workload, printed});
    if (!first) return std::unexpected(first.error());
    for (const std::string& scheduler : schedulers) {
      const auto found = runs.of({fleet, workload, scheduler});
      if (!found) return std::unexpected(found.error());
      const auto relative = [&](const Value& value) {
        std::vector<double> values = above(*found, *first, value);
        for (double& each : values) each = 1 + each / 100;
        return seed_spread(values);
      };
      const auto count = [&](std::size_t RunSummary::*member) {
        std::vector<double> values;
        for (const RunSummary& run : **found) values.push_back(static_cast<double>(run.*member));
        return seed_spread(values);
      };
      table.rows.push_back({scheduler, relative(turnaround), relative(makespan),
                            count(&RunSummary::deadline_misses),
                            count(&RunSummary::reconfigurations), count(&RunSummary::restarts)});
    }
  }
  return tables;
}

}  // namespace cleave
