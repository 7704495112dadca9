// *MIGM*, 5.2: trainings, language models whose memory grows, and the forecasts of it.

#include <algorithm>
#include <cmath>

#include "base/format.hpp"
#include "forecast/memory/memory_series.hpp"
#include "simulate/generate/generate.hpp"
#include "simulate/memory_truth.hpp"
#include "study/reproduce/migm_mixes.hpp"

namespace cleave {

namespace {

using Series = std::vector<std::vector<double>>;

double ratio(double one, double other) {
  return one / other;
}
double greater(double one, double other) {
  return std::max(one, other);
}
double lesser(double one, double other) {
  return std::min(one, other);
}

std::vector<OpenInput> with_power(std::vector<OpenInput> inputs) {
  for (OpenInput& each : power_inputs()) inputs.push_back(std::move(each));
  return inputs;
}

// 5.2.1.

enum TrainingInput : std::size_t { bert, images, transfers, link, shares, training_power };

SweptExperiment training_experiment() {
  SweptExperiment experiment;
  experiment.name = "Trainings, figure 4 e to h";
  experiment.known =
      "7 and 7 (Ml1), 21 and 0 (Ml2), 0 and 18 (Ml3) trainings of 5 and 20 GB; scheme A deals jobs "
      "to instances beforehand";
  experiment.inputs = with_power(
      {{"small BERT",
        {2, 4, 8},
        0,
        "MISO's batch of BERT whose speeds small jobs have; none of "
        "them fitted into 5 GB there"},
       {"images",
        {128, 256, 512},
        2,
        "MISO's batch of ResNet whose speeds networks for images have; none of them was measured"},
       {"transfers",
        {0, 0.1, 0.3},
        0,
        "share of a job's time in which it uses the link: \"highly data transfer intensive\""},
       open_choice("link", {"spread", "together"}, 0, "how transfers meet"),
       shares_input()});
  const char* const slower =
      "MISO's BERT, the only one that was measured in training, needs 4.8 times as long on 1g; "
      "58 % need 4.0 times, 43 % 4.4 times: these small jobs fitted into 5 GB and MISO's did not";
  experiment.claims = {
      {"abstract; 5.2.1, 4e", "Ml2 under scheme A, %", "58; 1.59 times", figure(58), slower},
      {"5.2.1, 4e", "Ml2 under scheme B, %", "43", figure(43), slower},
      {"5.2.1, 4e", "Ml3 under scheme A, %", "24", figure(24)},
      {"5.2.1, 4e", "Ml3 under scheme B, %", "43", figure(43)},
      {"5.2.1, 4e", "Ml3 under B over that under A", "better, with equal shares", {1.0, {}}, "", 2},
      {"5.2.1",
       "A over B, least of Ml1 and Ml2",
       "the only corner case is Ml3",
       {0.995, {}},
       "",
       3},
      {"5.2.1, 4e", "least of the mixes under the better scheme, %", "all improve", {0.0, {}}},
      {"5.2.1, 4e", "Ml2 at most, times", "7", {{}, 7.0}, "", 2},
      {"abstract; 5.2.1, 4f", "energy of Ml2 under A, %", "12; 1.12 times", figure(12)},
      {"5.2.1, 4f", "energy of Ml2 under B, %", "5", figure(5)},
      {"5.2.1, 4f",
       "energy, least of the mixes under the better scheme, %",
       "all improve",
       {0.0, {}}},
      {"5.2.1, 4g", "memory in use of Ml2 under A, times", "high improvement", {2.0, {}}, "", 1},
      {"5.2.1, 4g",
       "memory in use, least of the mixes under A, times",
       "all improve",
       {1.0, {}},
       "",
       1},
      {"5.2.1, 4h",
       "turnaround, least of the mixes under A, times",
       "all improve",
       {1.0, {}},
       "",
       2}};
  for (const char* mix : {"ml1", "ml2", "ml3"})
    experiment.commands.push_back(
        fmt::format("cleave compare --fleet 1xA100-40GB --profiles five --generate {} "
                    "--schedulers full-gpu,scheme-a:shares=equal,scheme-b --seeds 30",
                    mix));
  return experiment;
}

Series training_values(const std::vector<MixGains>& mixes) {
  const MixGains &ml1 = mixes[0], &ml2 = mixes[1], &ml3 = mixes[2];
  const auto better = [](const MixGains& mix) {
    return by_seed(mix.a.throughput, mix.b.throughput, greater);
  };
  const auto saved = [](const MixGains& mix) {
    return by_seed(mix.a.energy, mix.b.energy, greater);
  };
  const auto over = [](const MixGains& mix) {
    return by_seed(mix.a.throughput, mix.b.throughput, ratio);
  };
  return {as_per_cent(ml2.a.throughput),
          as_per_cent(ml2.b.throughput),
          as_per_cent(ml3.a.throughput),
          as_per_cent(ml3.b.throughput),
          by_seed(ml3.b.throughput, ml3.a.throughput, ratio),
          by_seed(over(ml1), over(ml2), lesser),
          as_per_cent(by_seed(by_seed(better(ml1), better(ml2), lesser), better(ml3), lesser)),
          better(ml2),
          as_per_cent(ml2.a.energy),
          as_per_cent(ml2.b.energy),
          as_per_cent(by_seed(by_seed(saved(ml1), saved(ml2), lesser), saved(ml3), lesser)),
          ml2.a.memory,
          least_of(
              mixes, [](const MixGains& mix) -> const auto& { return mix.a.memory; }),
          least_of(
              mixes, [](const MixGains& mix) -> const auto& { return mix.a.turnaround; })};
}

// 5.2.2.

constexpr std::string_view growing_names[] = {"flan-t5-train", "flan-t5", "qwen2", "llama3"};

enum GrowingInput : std::size_t { bound, noise, scheme, growing_changes, growing_power };

SweptExperiment growing_experiment() {
  SweptExperiment experiment;
  experiment.name = "Language models whose memory grows, figure 4 e to h";
  experiment.known =
      "4 FLAN-T5 in training, 6 in inference, one Qwen2-7B and one Llama 3; memory runs out at "
      "iterations 41, 27, 94 and 72, and peaks at 12.23 GB (Qwen2) and 16.63 GB (Llama 3)";
  experiment.inputs =
      with_power({{"GPU-bound",
                   {0, 0.5, 2, 8},
                   1,
                   "GPU-bound part of an iteration over the part that no slice slows; not stated"},
                  {"noise", {2, 10, 50}, 1, "MiB by which iterations stray; not stated"},
                  open_choice("scheme", {"A", "B"}, 0, "\"Policy A\" by the text"),
                  changes_input()});
  const char* const alone =
      "one job, or one after the other, on a slice is no faster than on the whole GPU, and Qwen2 "
      "and Llama 3 are mixes of one job: the mean needs slices that slow nothing and more jobs";
  experiment.claims = {
      {"5.2.2, 4e", "throughput above the baseline, mean of the four, %", "25.13", figure(25.13),
       alone},
      {"abstract", "throughput, best of the four, times", "1.43", figure(1.43), "", 2},
      {"5.2.2, 4f", "energy below the baseline, mean of the four, %", "6.96", figure(6.96), alone},
      {"abstract", "energy gain, best of the four, times", "1.11", figure(1.11), "", 2},
      {"5.2.2, 4g", "memory in use above the baseline, mean of the four, %", "20.73", figure(20.73),
       "four jobs of FLAN-T5 side by side hold more than twice the memory of one; 20.73 needs them "
       "mostly one after the other"},
      {"5.2.2",
       "with predictions over without, least of the four",
       "consistently better",
       {1.0, {}},
       "",
       3},
      {"5.2.2",
       "energy with predictions over without, greatest of the four",
       "lower",
       {{}, 1.0},
       "",
       3},
      {"5.2.2, 4g",
       "memory in use with predictions over without, least of the four",
       "consistently better",
       {1.0, {}},
       "without predictions jobs stay side by side on small slices until memory runs out, and what "
       "they hold there counts as use though the work is lost",
       3},
      {"5.2.2, 4h",
       "turnaround with predictions over without, least of the four",
       "consistently better",
       {1.0, {}},
       "",
       3},
      {"5.2.2",
       "least of the four over the baseline, times",
       "consistent improvements",
       {1.0, {}},
       "Qwen2 and Llama 3 are one job each, which no slice makes faster and a restart delays",
       2}};
  for (const std::string_view name : growing_names)
    experiment.commands.push_back(
        fmt::format("cleave compare --fleet 1xA100-40GB --profiles five --generate {} "
                    "--schedulers full-gpu,scheme-a:shares=equal --forecast trend --seeds 30",
                    name));
  return experiment;
}

/// The panels of the scheme in question.
struct Growing {
  std::vector<MixGains> predicted, blind;
};

Result<Growing> growing_mixes(PairedRuns& runs, std::span<const double> in) {
  MixTerms terms{true, change_seconds(in[growing_changes])};
  terms.power = in.subspan(growing_power);
  Growing growing;
  for (const std::string_view name : growing_names)
    for (auto* mixes : {&growing.predicted, &growing.blind}) {
      terms.forecaster = mixes == &growing.predicted ? "trend" : "none";
      auto mix = gains_of(runs, fmt::format("{}:gpu-bound={};noise={}", name, in[bound], in[noise]),
                          terms);
      if (!mix) return std::unexpected(mix.error());
      if (in[scheme] > 0) mix->a = mix->b;
      mixes->push_back(std::move(*mix));
    }
  return growing;
}

Series growing_values(const Growing& growing) {
  const auto throughput = [](const MixGains& mix) -> const auto& {
    return mix.a.throughput;
  };
  const auto energy = [](const MixGains& mix) -> const auto& {
    return mix.a.energy;
  };
  const auto memory = [](const MixGains& mix) -> const auto& {
    return mix.a.memory;
  };
  const auto& with = growing.predicted;
  std::vector<double> faster, dearer, fuller, sooner, saved(with[0].a.energy.size(), 0);
  for (std::size_t m = 0; m < with.size(); ++m) {
    const auto held = by_seed(with[m].a.memory, growing.blind[m].a.memory, ratio);
    const auto ends = by_seed(with[m].a.turnaround, growing.blind[m].a.turnaround, ratio);
    fuller = m == 0 ? held : by_seed(fuller, held, lesser);
    sooner = m == 0 ? ends : by_seed(sooner, ends, lesser);
    const auto gain = by_seed(with[m].a.throughput, growing.blind[m].a.throughput, ratio);
    const auto cost = by_seed(growing.blind[m].a.energy, with[m].a.energy, ratio);
    faster = m == 0 ? gain : by_seed(faster, gain, lesser);
    dearer = m == 0 ? cost : by_seed(dearer, cost, greater);
    for (std::size_t i = 0; i < saved.size(); ++i)
      saved[i] += 100 * (1 - 1 / with[m].a.energy[i]) / static_cast<double>(with.size());
  }
  return {as_per_cent(mean_of(with, throughput)),
          greatest_of(with, throughput),
          saved,
          greatest_of(with, energy),
          as_per_cent(mean_of(with, memory)),
          faster,
          dearer,
          fuller,
          sooner,
          least_of(with, throughput)};
}

/// What a forecaster says of one job.
struct Foreseen {
  double alarm;     // the iteration; that at which memory runs out if there was none
  double peak_gib;  // predicted at a tenth of the iterations, or as soon as something is
  double error;     // of that, in percent
};

Result<Foreseen> foresee(const std::string& spec, std::string_view workload, MiB slice,
                         std::uint64_t seed) {
  const auto forecaster = make_forecaster(spec);
  if (!forecaster) return std::unexpected(forecaster.error());
  const auto made = generate_workload(workload, seed);
  if (!made) return std::unexpected(made.error());
  const MemoryTruth truth(*made, seed);
  const std::int64_t all = truth.iterations(made->jobs.front());
  std::vector<MemoryReport> reports;
  for (std::int64_t i = 1; i <= all; ++i) reports.push_back(truth.report(0, i));
  const Watched on_slice = watch(forecaster->get(), reports, slice);
  const std::size_t last = reports.size() - 1;
  Foreseen foreseen{};
  const std::size_t said =
      on_slice.restarted() ? *on_slice.alarm : on_slice.overflow.value_or(last);
  foreseen.alarm = static_cast<double>(reports[said].iteration);
  const Watched alone = watch(forecaster->get(), reports, {});
  if (!alone.spoke)
    return fail(ErrorKind::internal, std::string(workload), "nothing was predicted of it");
  const std::size_t at = std::max(static_cast<std::size_t>(all / 10), *alone.spoke);
  std::optional<ExpectedPeak> peak;
  for (std::size_t i = 0; i <= std::min(at, last); ++i)
    if (alone.said[i]) peak = alone.said[i];
  const double held = static_cast<double>(truth.most_held(0)->value);
  const double predicted = static_cast<double>(peak->at_least.value);
  foreseen.peak_gib = predicted / 1024;
  foreseen.error = 100 * std::abs(predicted / held - 1);
  return foreseen;
}

/// Alarms of the four, errors' mean, predicted peaks of Qwen2 and Llama 3; by seed.
Result<Series> foreseen_values(std::size_t seeds, std::span<const double> in) {
  constexpr MiB slices[] = {MiB{4864}, MiB{4864}, MiB{9984}, MiB{9984}};
  const char* const specs[] = {"trend", "laws"};
  Series values(7, std::vector<double>(seeds, 0));
  for (std::size_t seed = 0; seed < seeds; ++seed)
    for (std::size_t job = 0; job < 4; ++job) {
      const auto foreseen =
          foresee(specs[static_cast<std::size_t>(in[0])],
                  fmt::format("{}:noise={};reuse-ratio={}", growing_names[job], in[1], in[2]),
                  slices[job], seed + 1);
      if (!foreseen) return std::unexpected(foreseen.error());
      values[job][seed] = foreseen->alarm;
      values[4][seed] += foreseen->error / 4;
      if (job >= 2) values[3 + job][seed] = foreseen->peak_gib;
    }
  return values;
}

}  // namespace

Result<SweptExperiment> migm_trainings(PairedRuns& runs) {
  SweptExperiment experiment = training_experiment();
  const auto predict = [&](std::span<const double> in) -> Result<Series> {
    MixTerms terms{in[shares] == 0};
    terms.link = in[link] == 0 ? LinkSharing::spread : LinkSharing::together;
    terms.power = in.subspan(training_power);
    std::vector<MixGains> mixes;
    for (const char* mix : {"ml1", "ml2", "ml3"}) {
      auto gains = gains_of(runs,
                            fmt::format("{}:small-row={};image-row={};transfer-share={}", mix,
                                        in[bert], in[images], in[transfers]),
                            terms);
      if (!gains) return std::unexpected(gains.error());
      mixes.push_back(std::move(*gains));
    }
    return training_values(mixes);
  };
  if (const auto done = sweep(experiment, predict); !done) return std::unexpected(done.error());
  return experiment;
}

Result<SweptExperiment> migm_growing(PairedRuns& runs) {
  SweptExperiment experiment = growing_experiment();
  const auto predict = [&](std::span<const double> in) -> Result<Series> {
    const auto growing = growing_mixes(runs, in);
    if (!growing) return std::unexpected(growing.error());
    return growing_values(*growing);
  };
  if (const auto done = sweep(experiment, predict); !done) return std::unexpected(done.error());
  return experiment;
}

Result<SweptExperiment> migm_alarms(PairedRuns& runs) {
  SweptExperiment experiment;
  experiment.name = "Forecasts of memory";
  experiment.known =
      "memory that passes the slice at iterations 41, 27, 94 and 72 on a straight line; \"at 10 % "
      "of the iterations\" is the first prediction where there is none by then";
  experiment.inputs = {
      open_choice("forecaster", {"trend", "laws"}, 0,
                  "`trend` is the paper's method, `laws` is Cleave's default"),
      {"noise", {2, 10, 50, 150}, 1, "MiB by which iterations stray; not stated"},
      {"reuse ratio", {1, 4.76, 20}, 1, "requests of an iteration over what is held; not stated"}};
  const char* const first =
      "a straight line is foreseen from the first predictions on; FLAN-T5's would have to bend, or "
      "stray by more than 150 MiB";
  experiment.claims = {
      {"5.2.2", "alarm for FLAN-T5 in training, iteration (41 without)", "31", figure(31), first,
       0},
      {"5.2.2", "alarm for FLAN-T5 in inference, iteration (27 without)", "21", figure(21), first,
       0},
      {"1; 5.2.2", "alarm for Qwen2-7B, iteration (94 without)", "6", figure(6), "", 0},
      {"5.2.2", "alarm for Llama 3, iteration (72 without)", "6", figure(6), "", 0},
      {"5.2.2", "error of the predicted peak, mean of the four, %", "14.98", figure(14.98),
       "a straight line has none of the error that real memory has"},
      {"5.2.2", "predicted peak of Qwen2-7B, GB (12.23 in the end)", "11.41", figure(11.41), "", 2},
      {"5.2.2", "predicted peak of Llama 3, GB (16.63 in the end)", "16.64", figure(16.64), "", 2}};
  experiment.commands = {"cleave reproduce migm --json"};
  const auto predict = [&](std::span<const double> in) {
    return foreseen_values(runs.seeds(), in);
  };
  if (const auto done = sweep(experiment, predict); !done) return std::unexpected(done.error());
  return experiment;
}

}  // namespace cleave
