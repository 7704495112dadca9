// *MIGM*, 1 and 5.1: mixes of Rodinia.

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "study/reproduce/migm_mixes.hpp"

namespace cleave {

namespace {

using Series = std::vector<std::vector<double>>;

constexpr std::string_view compare_on_a100 =
    "cleave compare --fleet 1xA100-40GB --profiles five --generate {} --schedulers "
    "full-gpu,scheme-a:shares=equal,scheme-b --seeds 30";

std::vector<std::string> commands_for(std::initializer_list<std::string_view> workloads) {
  std::vector<std::string> commands;
  for (const std::string_view each : workloads)
    commands.push_back(fmt::format(fmt::runtime(compare_on_a100), each));
  return commands;
}

double ratio(double one, double other) {
  return one / other;
}
double difference(double one, double other) {
  return one - other;
}

std::vector<OpenInput> with_power(std::vector<OpenInput> inputs) {
  for (OpenInput& each : power_inputs()) inputs.push_back(std::move(each));
  return inputs;
}

const std::vector<double>& throughput_a(const MixGains& mix) {
  return mix.a.throughput;
}
const std::vector<double>& energy_a(const MixGains& mix) {
  return mix.a.energy;
}
const std::vector<double>& memory_a(const MixGains& mix) {
  return mix.a.memory;
}
const std::vector<double>& memory_b(const MixGains& mix) {
  return mix.b.memory;
}
const std::vector<double>& turnaround_a(const MixGains& mix) {
  return mix.a.turnaround;
}

/// The greatest distance of energy gain and throughput gain, in percent of the latter.
std::vector<double> apart(std::span<const MixGains> mixes) {
  std::vector<double> worst(mixes.front().a.energy.size(), 0);
  for (const MixGains& mix : mixes)
    for (std::size_t i = 0; i < worst.size(); ++i)
      worst[i] = std::max(worst[i], 100 * std::abs(mix.a.energy[i] / mix.a.throughput[i] - 1));
  return worst;
}

// Homogeneous mixes.

enum HomogeneousInput : std::size_t {
  table3,
  gaussian,
  kernels,
  homogeneous_shares,
  homogeneous_changes,
  homogeneous_power
};

SweptExperiment homogeneous_experiment() {
  SweptExperiment experiment;
  experiment.name = "Homogeneous mixes of Rodinia, figure 4 a to d";
  experiment.known =
      "50 particle filters, 50 Gaussian eliminations and 100 myocytes of 5 GB, 50 euler3D of 20 "
      "GB; 3.616 s on the whole GPU and 4.4875 s as one of seven (table 3)";
  experiment.inputs = with_power(
      {open_choice("table 3", {"Hm1 and Hm3", "Hm1", "Hm3"}, 0,
                   "A.1 says it is of Hm1, 5.1 that it is of Hm3; the other then loses nothing"),
       {"Gaussian",
        {0, 0.4357, 0.8714},
        0,
        "seconds that it takes longer as one of seven; not stated, at most table 3's"},
       {"euler3D", {0, 0.25, 0.5, 0.75, 1}, 2, "share of its time in kernels; not stated"},
       shares_input(),
       changes_input()});
  experiment.claims = {
      {"abstract; 5.1, 4a", "best of Hm1 to Hm3 under scheme A, times", "6.20", figure(6.2), "", 2},
      {"5.1, 4a", "Hm4 under scheme A, times", "1.7", figure(1.7), "", 2},
      {"5.1, 4a", "Hm4 under scheme B, times", "1.7", figure(1.7), "", 2},
      {"5.1, 4a", "Hm4 at most, times", "2", {{}, 2.0}, "", 2},
      {"5.1, 4a", "their mean over that of Ht1 to Ht3, scheme A", "better", {1.0, {}}, "", 2},
      {"abstract; 5.1, 4b", "best energy gain of Hm1 to Hm3 under scheme A, times", "5.93",
       figure(5.93), "", 2},
      {"5.1, 4b", "energy and throughput gain apart by at most, %", "closely", {{}, 10.0}, "", 1},
      {"5.1, 4c", "memory in use, least of the mixes under A, times", "better", {1.0, {}}, "", 2},
      {"5.1, 4c",
       "memory in use, mean over that of Ht1 to Ht3, scheme A",
       "especially here",
       {1.0, {}},
       "",
       2},
      {"5.1, 4d",
       "turnaround, least of the mixes under A, times",
       "follows throughput",
       {1.0, {}},
       "",
       2},
      {"5.1",
       "A over B, least of the mixes",
       "A is better in general",
       {0.995, {}},
       "with jobs alike, A has only fewer changes to its name, and its equal shares cost it the "
       "last wave",
       3}};
  experiment.commands = commands_for({"hm1", "hm2", "hm3", "hm4"});
  return experiment;
}

/// The four mixes for one value of each input.
Result<std::vector<MixGains>> homogeneous_mixes(PairedRuns& runs, std::span<const double> in) {
  const char* const none = ":slower-s=0";
  const std::string workloads[] = {fmt::format("hm1{}", in[table3] == 2 ? none : ""),
                                   fmt::format("hm2:slower-s={}", in[gaussian]),
                                   fmt::format("hm3{}", in[table3] == 1 ? none : ""),
                                   fmt::format("hm4:kernel-share={}", in[kernels])};
  MixTerms terms{in[homogeneous_shares] == 0, change_seconds(in[homogeneous_changes])};
  terms.power = in.subspan(homogeneous_power);
  std::vector<MixGains> mixes;
  for (const std::string& workload : workloads) {
    auto mix = gains_of(runs, workload, terms);
    if (!mix) return std::unexpected(mix.error());
    mixes.push_back(std::move(*mix));
  }
  return mixes;
}

// Heterogeneous mixes.

enum HeterogeneousInput : std::size_t {
  small,
  large,
  share,
  heterogeneous_shares,
  heterogeneous_changes,
  heterogeneous_power
};

Result<std::vector<MixGains>> heterogeneous_mixes(PairedRuns& runs, std::span<const double> in,
                                                  MixTerms terms) {
  const std::string times =
      fmt::format("small-s={};large-s={};kernel-share={}", in[small], in[large], in[share]);
  const std::string workloads[] = {fmt::format("ht1:kernel-share={}", in[share]),
                                   fmt::format("ht2:{}", times), fmt::format("ht3:{}", times)};
  std::vector<MixGains> mixes;
  for (const std::string& workload : workloads) {
    auto mix = gains_of(runs, workload, terms);
    if (!mix) return std::unexpected(mix.error());
    mixes.push_back(std::move(*mix));
  }
  return mixes;
}

SweptExperiment heterogeneous_experiment() {
  SweptExperiment experiment;
  experiment.name = "Heterogeneous mixes of Rodinia, figure 4 a to d";
  experiment.known =
      "11, 2 and 2 jobs of 5, 10 and 40 GB (Ht1, equal time in each group), 6, 6 and 6 of 5, 20 "
      "and "
      "40 GB (Ht2), 24, 6 and 6 (Ht3), in a random order; small jobs are shorter. A job of 40 GB "
      "takes 22 s";
  experiment.inputs = with_power(
      {{"small", {2, 4, 8, 22}, 1, "seconds of a 5 GB job of Ht2 and Ht3; 4 has Ht1's ratio"},
       {"large", {11, 22, 44}, 1, "seconds of a 20 GB job of Ht2 and Ht3; not stated"},
       {"kernels", {0, 0.2, 0.5, 1}, 1, "share of the time that slows on slices; not stated"},
       shares_input(),
       changes_input()});
  experiment.claims = {
      {"5.1, 4a", "Ht1 under scheme A, %", "64", figure(64)},
      {"5.1, 4a", "Ht1 under scheme B, %", "47", figure(47),
       "one order of the jobs in the paper, and B serves them in order: where the long jobs meet "
       "is chance"},
      {"5.1, 4a", "Ht2 under scheme A, %", "14", figure(14)},
      {"5.1, 4a", "Ht2 under scheme B, %", "4", figure(4)},
      {"5.1, 4a", "Ht3 under scheme A, %", "29", figure(29)},
      {"5.1, 4a", "Ht3 under scheme B, %", "21", figure(21)},
      {"5.1", "Ht3 above Ht2 under A, percentage points", "more small jobs", {0.0, {}}},
      {"5.1", "Ht3 above Ht2 under B, percentage points", "more small jobs", {0.0, {}}},
      {"5.1, 4a", "A over B, least of the mixes", "consistently better", {1.0, {}}, "", 2},
      {"5.1, 4b", "energy and throughput gain apart by at most, %", "closely", {{}, 10.0}},
      {"5.1, 4c",
       "memory in use, least of the mixes and schemes, times",
       "better",
       {1.0, {}},
       "",
       2},
      {"5.1, 4d",
       "turnaround under A over that under B, least of the mixes, times",
       "significantly better",
       {1.1, {}},
       "",
       2}};
  experiment.commands = commands_for({"ht1", "ht2", "ht3"});
  return experiment;
}

Series heterogeneous_values(const std::vector<MixGains>& mixes) {
  Series values;
  for (const MixGains& mix : mixes) {
    values.push_back(as_per_cent(mix.a.throughput));
    values.push_back(as_per_cent(mix.b.throughput));
  }
  values.push_back(by_seed(values[4], values[2], difference));
  values.push_back(by_seed(values[5], values[3], difference));
  Series over, sooner;
  for (const MixGains& mix : mixes) {
    over.push_back(by_seed(mix.a.throughput, mix.b.throughput, ratio));
    sooner.push_back(by_seed(mix.a.turnaround, mix.b.turnaround, ratio));
  }
  const auto least = [](const Series& all) {
    std::vector<double> found = all.front();
    for (const auto& each : all)
      found = by_seed(found, each, [](double x, double y) { return std::min(x, y); });
    return found;
  };
  values.push_back(least(over));
  values.push_back(apart(mixes));
  values.push_back(least({least_of(mixes, memory_a), least_of(mixes, memory_b)}));
  values.push_back(least(sooner));
  return values;
}

// Needleman-Wunsch.

struct NwCause {
  const char* workload;
  LinkSharing link;
};
// The second and third: shares of the link with which seven take 1.1715 s.
constexpr NwCause nw_causes[] = {{"nw", LinkSharing::spread},
                                 {"nw:slower-s=0;transfer-share=0.32", LinkSharing::spread},
                                 {"nw:slower-s=0;transfer-share=0.21", LinkSharing::together}};

}  // namespace

Result<SweptExperiment> migm_homogeneous(PairedRuns& runs) {
  SweptExperiment experiment = homogeneous_experiment();
  const auto predict = [&](std::span<const double> in) -> Result<Series> {
    const auto mixes = homogeneous_mixes(runs, in);
    if (!mixes) return std::unexpected(mixes.error());
    const double usual[] = {4, 22, 0.2};
    MixTerms terms{in[homogeneous_shares] == 0, change_seconds(in[homogeneous_changes])};
    terms.power = in.subspan(homogeneous_power);
    const auto others = heterogeneous_mixes(runs, usual, terms);
    if (!others) return std::unexpected(others.error());
    const std::span light = std::span(*mixes).first(3);
    const MixGains& hm4 = mixes->back();
    Series over;
    for (const MixGains& mix : *mixes)
      over.push_back(by_seed(mix.a.throughput, mix.b.throughput, ratio));
    std::vector<double> least = over.front();
    for (const auto& each : over)
      least = by_seed(least, each, [](double x, double y) { return std::min(x, y); });
    return Series{greatest_of(light, throughput_a),
                  hm4.a.throughput,
                  hm4.b.throughput,
                  by_seed(hm4.a.throughput, hm4.b.throughput,
                          [](double x, double y) { return std::max(x, y); }),
                  by_seed(mean_of(*mixes, throughput_a), mean_of(*others, throughput_a), ratio),
                  greatest_of(light, energy_a),
                  apart(*mixes),
                  least_of(*mixes, memory_a),
                  by_seed(mean_of(*mixes, memory_a), mean_of(*others, memory_a), ratio),
                  least_of(*mixes, turnaround_a),
                  least};
  };
  if (const auto done = sweep(experiment, predict); !done) return std::unexpected(done.error());
  return experiment;
}

Result<SweptExperiment> migm_heterogeneous(PairedRuns& runs) {
  SweptExperiment experiment = heterogeneous_experiment();
  const auto predict = [&](std::span<const double> in) -> Result<Series> {
    MixTerms terms{in[heterogeneous_shares] == 0, change_seconds(in[heterogeneous_changes])};
    terms.power = in.subspan(heterogeneous_power);
    const auto mixes = heterogeneous_mixes(runs, in, terms);
    if (!mixes) return std::unexpected(mixes.error());
    return heterogeneous_values(*mixes);
  };
  if (const auto done = sweep(experiment, predict); !done) return std::unexpected(done.error());
  return experiment;
}

Result<SweptExperiment> migm_needleman_wunsch(PairedRuns& runs) {
  SweptExperiment experiment;
  experiment.name = "Needleman-Wunsch";
  experiment.known = "21 jobs, 0.523406 s on the whole GPU, 1.171507 s as one of seven (A.1)";
  experiment.inputs = {
      open_choice("cause", {"as measured", "link, spread", "link, together"}, 0,
                  "what slows one of seven: each gives about 1.17 s"),
      open_choice("allocation", {"in the 1.17 s", "on top"}, 0,
                  "0.76 s more as one of seven (table 3); the paper does not say what it timed"),
      shares_input(), changes_input()};
  experiment.claims = {
      {"5.1", "throughput under scheme A, times", "1.92", figure(1.92),
       "three waves of the printed 1.17 s take 3.5 s, and 1.92 needs 5.7 s, 0.74 s more a wave", 2},
      {"5.1", "run time of a job, times", "2.2", {2.15, 2.25}, "", 2},
      {"5.1", "throughput under scheme A, at most, times", "7", {{}, 7.0}, "", 2}};
  experiment.commands = commands_for({"nw"});
  const auto predict = [&](std::span<const double> in) -> Result<Series> {
    const NwCause& cause = nw_causes[static_cast<std::size_t>(in[0])];
    PairedRun shared = migm_run(cause.workload, in[2] == 0 ? "scheme-a:shares=equal" : "scheme-a");
    shared.link = cause.link;
    shared.slow_allocation = in[1] > 0;
    shared.reconfiguration_s = change_seconds(in[3]);
    const PairedRun full = migm_run(cause.workload, "full-gpu");
    const auto gain = compare_runs(runs, shared, full, times_faster);
    if (!gain) return std::unexpected(gain.error());
    const auto slower =
        compare_runs(runs, shared, full, [](const RunSummary& a, const RunSummary& b) {
          return in_seconds(a.execution.mean) / in_seconds(b.execution.mean);
        });
    if (!slower) return std::unexpected(slower.error());
    return Series{*gain, *slower, *gain};
  };
  if (const auto done = sweep(experiment, predict); !done) return std::unexpected(done.error());
  return experiment;
}

Result<SweptExperiment> migm_tight_fit(PairedRuns& runs) {
  SweptExperiment experiment;
  experiment.name = "Tight partitions of an A30";
  experiment.known =
      "14 jobs drawn from Rodinia, each on its tightest instance, and each on the next larger one";
  experiment.inputs = with_power(
      {open_choice("sizes", {"1:1:1", "4:2:1", "1:0:0", "1:2:4"}, 0,
                   "how likely jobs are whose tightest instance is 1g, 2g, 4g; not stated"),
       {"kernels", {0, 0.2, 0.5, 1}, 1, "share of the time that slows on slices; not stated"},
       {"spread", {0.05, 0.5, 0.9}, 1, "of run times about their mean, either way; not stated"},
       open_choice("scheduler", {"scheme-a", "scheme-b"}, 0, "not stated")});
  experiment.claims = {{"1", "throughput above that on the next larger, %", "20.6", figure(20.6)},
                       {"1", "energy below that on the next larger, %", "6.3", figure(6.3)}};
  experiment.commands = {
      "cleave simulate --fleet 1xA30-24GB --profiles five --generate tight-fit --scheduler "
      "scheme-a",
      "cleave simulate --fleet 1xA30-24GB --profiles five --generate 'tight-fit:instance=next' "
      "--scheduler "
      "scheme-a"};
  const auto predict = [&](std::span<const double> in) -> Result<Series> {
    constexpr std::string_view sizes[] = {"", ";small=4;medium=2", ";medium=0;large=0",
                                          ";medium=2;large=4"};
    const auto run = [&](std::string_view instance) {
      PairedRun made =
          migm_run(fmt::format("tight-fit:instance={};kernel-share={};spread={}{}", instance, in[1],
                               in[2], sizes[static_cast<std::size_t>(in[0])]),
                   in[3] == 0 ? "scheme-a" : "scheme-b");
      made.fleet = "1xA30-24GB";
      return made;
    };
    const PairedRun tight = run("tightest"), next = run("next");
    const auto faster = compare_runs(runs, tight, next, per_cent_faster);
    if (!faster) return std::unexpected(faster.error());
    // Both run on slices: work draws the same on either where work draws.
    const auto saved =
        compare_runs(runs, tight, next, [&](const RunSummary& a, const RunSummary& b) {
          return 100 * (1 - energy_of(a, b, "A30-24GB", in.subspan(4)) /
                                energy_of(b, b, "A30-24GB", in.subspan(4)));
        });
    if (!saved) return std::unexpected(saved.error());
    return Series{*faster, *saved};
  };
  if (const auto done = sweep(experiment, predict); !done) return std::unexpected(done.error());
  return experiment;
}

}  // namespace cleave
