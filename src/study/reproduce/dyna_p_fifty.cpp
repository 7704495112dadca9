// *Dyna-P*, 4.1 (figures 8 to 10) and the errors of 4.2 (figure 12): fifty jobs on two A30.

#include <functional>

#include "base/format.hpp"
#include "study/reproduce/dyna_p_study.hpp"

namespace cleave {

namespace {

constexpr const char* two_a30 = "2xA30-24GB";

/// What two runs with the same seed give.
using Compare = std::function<double(const RunSummary& one, const RunSummary& other)>;

double less_per_cent(double one, double other) {
  return other == 0 ? 0 : 100 * (1 - one / other);
}
double s(Duration duration) {
  return in_seconds(duration);
}
double less_makespan(const RunSummary& one, const RunSummary& other) {
  return less_per_cent(s(one.makespan), s(other.makespan));
}
double less_wait(const RunSummary& one, const RunSummary& other) {
  return less_per_cent(s(one.wait.mean), s(other.wait.mean));
}
double more_throughput(const RunSummary& one, const RunSummary& other) {
  return -less_per_cent(one.system_throughput, other.system_throughput);
}
double fewer_reconfigurations(const RunSummary& one, const RunSummary& other) {
  return static_cast<double>(other.stopping_reconfigurations) -
         static_cast<double>(one.stopping_reconfigurations);
}

std::vector<double> by_seed(const std::vector<RunSummary>& one,
                            const std::vector<RunSummary>& other, const Compare& compare) {
  std::vector<double> values;
  for (std::size_t i = 0; i < one.size(); ++i) values.push_back(compare(one[i], other[i]));
  return values;
}

// The schedulers, by place.
enum Place : std::size_t { dyna_p, oracle, stacon, miso, full, with_error };

enum Input : std::size_t { gap, runs_of_job, slack, partitions, stacon_fit, checkpoint, jct };

std::vector<OpenInput> fifty_inputs() {
  return {{"gap", {0, 3, 10, 30}, 2, "mean seconds between arrivals; none is printed"},
          open_choice("runs", {"20 to 100", "20 to 400"}, 0,
                      "batches that a job runs; no execution times are printed but those of the "
                      "example, 30 to 120 s"),
          open_choice("slack", {"1.5 to 4", "3 to 10", "none"}, 1,
                      "deadlines, as multiples of the time on the whole GPU; the example has 1.3 "
                      "to 4.3 times the time on the partition"),
          open_choice("partitions", {"priced", "own", "full"}, 0,
                      "what Equations 2 to 4 are relative to: as Cleave has it, the same partition "
                      "(as printed), or the whole GPU"),
          open_choice("StaCon", {"request", "any"}, 0,
                      "whether its jobs go to instances that hold them, or to the first free one "
                      "and fail there"),
          open_checkpoint(),
          open_jct()};
}

std::vector<SweptClaim> fifty_claims() {
  const auto number = [](double value) { return Stated{value, value}; };
  return {
      {"4.1, 8a", "JCT less than StaCon's, %", "33.18", number(33.18),
       "a job on a slice is no faster than the same job on StaCon's slice; only its wait can be"},
      {"4.1, 8a", "JCT less than MISO's, %", "comparable", word_comparable,
       "MISO's checkpoints cost more than its better partitions gain"},
      {"abstract; 4.1, 8b", "makespan less than StaCon's, %", "39.03", number(39.03),
       "both keep their GPUs busy until the queue is empty, and the longest job ends the run; "
       "StaCon would have to leave instances idle while jobs wait, as when jobs are dealt to "
       "instances beforehand"},
      {"4.1, 8b", "makespan less than MISO's, %", "12.14", number(12.14)},
      {"abstract; 4.1, 8c", "system throughput above StaCon's, %", "14.7", number(14.7)},
      {"4.1, 8b", "ORACLE's makespan less than Dyna-P's, %", "slightly", word_slightly,
       "errors of predicted times move single jobs, and either way"},
      {"4.1, 8d",
       "jobs that run out of memory under StaCon",
       "some",
       {1, {}},
       "only where StaCon puts jobs on any instance"},
      {"4.1, 8d", "the same under Dyna-P, ORACLE and MISO together", "none", {{}, 0}},
      {"4.1, 8d", "median JCT less than MISO's (shorter jobs), %", "slightly", word_slightly,
       "MISO's checkpoints take longer than its short jobs"},
      {"4.1, 8d", "the same under ORACLE, %", "the same trend", word_slightly,
       "MISO's checkpoints take longer than its short jobs"},
      {"4.1, 8d", "98th percentile of JCT above MISO's (longer jobs), %", "MISO's is better",
       word_better, "MISO's longest jobs wait longest for their partitions"},
      {"4.1, 8e", "wait less than Baseline's, %", "Baseline's is the longest", word_better},
      {"4.1, 8f", "mean wait less than MISO's, s", "reduced", word_better},
      {"4.1, 8f", "seconds of making instances, of all waits and runs, %", "negligible", {{}, 1}},
      {"4.1, 8f",
       "seconds of checkpoints under MISO, of all waits and runs, %",
       "an overhead",
       {0.1, {}}},
      {"4.1, 9", "compute slices in use, %", "99.8", number(99.8),
       "slices are idle while jobs come and when the last ones end"},
      {"4.1, 9", "the same under ORACLE, %", "99.8", number(99.8),
       "slices are idle while jobs come and when the last ones end"},
      {"4.1, 9", "the same under MISO, %", "97.05", number(97.05)},
      {"4.2, 12", "makespan longer with an error of 15 %, %", "8.09", number(8.09),
       "one run in the paper; errors move single jobs, and either way"},
      {"4.2, 12", "reconfigurations more with that error", "2", number(2)},
      {"4.2, 12", "makespan less than MISO's despite that error, %", "13.6", number(13.6)},
      {"4.2, 12", "reconfigurations that stop jobs, fewer than MISO's", "fewer", {1, {}}},
      {"4.2, 12", "the same with that error", "fewer", {1, {}}},
  };
}

std::string workload_of(std::span<const double> inputs) {
  static const char* const lengths[] = {"", ";most-runs=400"};
  static const char* const slacks[] = {";least-slack=1.5;most-slack=4", "",
                                       ";least-slack=1e5;most-slack=1e6"};
  return fmt::format("dyna-p-50:gap={:g}{}{}", inputs[gap],
                     lengths[static_cast<std::size_t>(inputs[runs_of_job])],
                     slacks[static_cast<std::size_t>(inputs[slack])]);
}

/// Time that is neither wait nor work would be none of all.
double of_all_time(double seconds, const RunSummary& run) {
  const double all = s(run.turnaround.mean) * static_cast<double>(run.finished);
  return all == 0 ? 0 : 100 * seconds / all;
}

using ByPlace = std::vector<const std::vector<RunSummary>*>;

std::vector<std::vector<double>> fifty_values(const ByPlace& runs, double jct_input) {
  const auto pair = [&](Place one, Place other, const Compare& compare) {
    return by_seed(*runs[one], *runs[other], compare);
  };
  const auto single = [&](Place place, double (*value)(const RunSummary&)) {
    std::vector<double> values;
    for (const RunSummary& run : *runs[place]) values.push_back(value(run));
    return values;
  };
  const auto less_jct = [&](Duration Distribution::*of) {
    return [=](const RunSummary& one, const RunSummary& other) {
      return less_per_cent(s(jct_of(one, jct_input).*of), s(jct_of(other, jct_input).*of));
    };
  };
  const auto out_of_memory = [](const RunSummary& run) {
    return static_cast<double>(run.oom_restarts + run.failed);
  };
  std::vector<double> none_out_of_memory(runs[dyna_p]->size(), 0);
  for (const Place place : {dyna_p, oracle, miso})
    for (std::size_t i = 0; i < none_out_of_memory.size(); ++i)
      none_out_of_memory[i] += out_of_memory((*runs[place])[i]);
  const auto compute = [](const RunSummary& run) { return 100 * run.compute_utilization; };
  return {
      pair(dyna_p, stacon, less_jct(&Distribution::mean)),
      pair(dyna_p, miso, less_jct(&Distribution::mean)),
      pair(dyna_p, stacon, less_makespan),
      pair(dyna_p, miso, less_makespan),
      pair(dyna_p, stacon, more_throughput),
      pair(oracle, dyna_p, less_makespan),
      single(stacon, out_of_memory),
      none_out_of_memory,
      pair(dyna_p, miso, less_jct(&Distribution::p50)),
      pair(oracle, miso, less_jct(&Distribution::p50)),
      pair(dyna_p, miso,
           [&](const RunSummary& one, const RunSummary& other) {
             return -less_jct(&Distribution::p98)(one, other);
           }),
      pair(dyna_p, full, less_wait),
      pair(dyna_p, miso,
           [](const RunSummary& one, const RunSummary& other) {
             return s(other.wait.mean) - s(one.wait.mean);
           }),
      single(dyna_p, [](const RunSummary& run) { return of_all_time(run.creation_s, run); }),
      single(
          miso,
          [](const RunSummary& run) { return of_all_time(run.checkpoint_s + run.restore_s, run); }),
      single(dyna_p, compute),
      single(oracle, compute),
      single(miso, compute),
      pair(with_error, oracle,
           [](const RunSummary& one, const RunSummary& other) {
             return -less_makespan(one, other);
           }),
      pair(with_error, oracle,
           [](const RunSummary& one, const RunSummary& other) {
             return static_cast<double>(one.reconfigurations) -
                    static_cast<double>(other.reconfigurations);
           }),
      pair(with_error, miso, less_makespan),
      pair(dyna_p, miso, fewer_reconfigurations),
      pair(with_error, miso, fewer_reconfigurations),
  };
}

}  // namespace

Result<SweptExperiment> dyna_p_fifty(PairedRuns& runs) {
  static const char* const bases[] = {"priced", "own", "full"};
  static const char* const fits[] = {"request", "any"};
  SweptExperiment experiment{
      "Fifty jobs on two A30",
      "50 inference jobs of five models with batches 1 to 64 on two A30 (table 2); StaCon's layout "
      "2g.12gb, 1g.6gb, 1g.6gb; MISO's jobs profiled beforehand (`measure=0`); errors of 15 % for "
      "figure 12",
      fifty_inputs(), fifty_claims()};
  const auto done = sweep(
      experiment, [&](std::span<const double> inputs) -> Result<std::vector<std::vector<double>>> {
        const std::string base = bases[static_cast<std::size_t>(inputs[partitions])];
        const std::string workload = workload_of(inputs);
        const std::string schedulers[] = {
            "dyna-p:base=" + base,
            "oracle:base=" + base,
            fmt::format("static:fit={}", fits[static_cast<std::size_t>(inputs[stacon_fit])]),
            "miso:measure=0",
            "full-gpu",
            "dyna-p:time-error=0.15;base=" + base};
        ByPlace found;
        for (const std::string& scheduler : schedulers) {
          PairedRun run{two_a30, workload, scheduler};
          if (scheduler.starts_with("miso")) run.checkpoint_s = inputs[checkpoint];
          const auto ran = runs.of(run);
          if (!ran) return std::unexpected(ran.error());
          found.push_back(*ran);
        }
        return fifty_values(found, inputs[jct]);
      });
  if (!done) return std::unexpected(done.error());
  return experiment;
}

namespace {

SweptExperiment power_experiment() {
  const char* const clocks =
      "clocks fall with the power that is left; how far memory bounds the models, and clocks with "
      "it matter less, is not printed, and here it does not";
  const char* const reduction =
      "the paper calls it a reduction, which no cap can bring; taken for an increase";
  const char* const meters =
      "Cleave's GPUs never draw more than their cap; meters show overshoots of some ms";
  const Stated peak{165.1, 1.1 * 165};
  return {
      "Power of the fifty jobs",
      "caps from 160 W down to 100 W on A30s of 165 W (figures 9 and 10)",
      {{"gap", {3, 10, 30}, 1, "mean seconds between arrivals"}, open_checkpoint()},
      {{"4.1, 9", "highest power, W for each GPU", "slightly above 165", peak, meters},
       {"4.1, 9", "the same under MISO", "slightly above 165", peak, meters},
       {"4.1, 10",
        "system throughput less at 100 W than at 160 W, %",
        "33.44",
        {33.44, 33.44},
        clocks},
       {"4.1, 10", "the same under MISO, %", "34.80", {34.80, 34.80}, clocks},
       {"4.1, 10", "makespan longer at 100 W than at 160 W, %", "50.3", {50.3, 50.3}, reduction},
       {"4.1, 10", "the same under MISO, %", "53.89", {53.89, 53.89}, reduction},
       {"4.1, 10", "makespan at 100 W less than MISO's, %", "lower", word_better}}};
}

/// What follows from the runs of Dyna-P and then MISO, each with caps of 165, 160 and 100 W.
std::vector<std::vector<double>> power_values(const ByPlace& runs) {
  const auto peak = [&](std::size_t place) {
    std::vector<double> watts;
    for (const RunSummary& each : *runs[place]) watts.push_back(each.power_peak_w.value_or(0) / 2);
    return watts;
  };
  const auto less = [](const RunSummary& one, const RunSummary& other) {
    return less_per_cent(one.system_throughput, other.system_throughput);
  };
  const auto longer = [](const RunSummary& one, const RunSummary& other) {
    return -less_makespan(one, other);
  };
  return {peak(0),
          peak(3),
          by_seed(*runs[2], *runs[1], less),
          by_seed(*runs[5], *runs[4], less),
          by_seed(*runs[2], *runs[1], longer),
          by_seed(*runs[5], *runs[4], longer),
          by_seed(*runs[2], *runs[5], less_makespan)};
}

}  // namespace

Result<SweptExperiment> dyna_p_power(PairedRuns& runs) {
  SweptExperiment experiment = power_experiment();
  const auto done = sweep(
      experiment, [&](std::span<const double> inputs) -> Result<std::vector<std::vector<double>>> {
        ByPlace found;
        for (const std::string_view scheduler : {"dyna-p", "miso:measure=0"})
          for (const double cap : {165.0, 160.0, 100.0}) {
            PairedRun run{two_a30, fmt::format("dyna-p-50:gap={:g}", inputs[0]),
                          std::string(scheduler)};
            if (scheduler.starts_with("miso")) run.checkpoint_s = inputs[1];
            run.power = true;
            run.cap_w = cap;
            const auto ran = runs.of(run);
            if (!ran) return std::unexpected(ran.error());
            found.push_back(*ran);
          }
        return power_values(found);
      });
  if (!done) return std::unexpected(done.error());
  return experiment;
}

}  // namespace cleave
