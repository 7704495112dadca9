// The co-runs of *Managing Multi Instance GPUs*: Needleman-Wunsch.

#include <numeric>

#include "study/reproduce/corun_runs.hpp"
#include "study/reproduce/coruns.hpp"

namespace cleave {

namespace {

constexpr int seven = 7;

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

// Needleman-Wunsch.

constexpr std::string_view migm_gpu = "A100-40GB";
constexpr double nw_alone_s = 0.523406, nw_of_seven_s = 1.171507;  // A.1
constexpr double nw_gain = 1.92;                                   // 5.1, 21 jobs
constexpr int nw_jobs = 21;
/// The time of one of seven, relative to that alone.
constexpr double nw_slowdown = nw_of_seven_s / nw_alone_s;

/// A job that takes `on_1g` times as long on 1g, while no other uses the link, as on the whole GPU.
CorunJob nw_job(double transfer_share, double on_1g) {
  CorunJob job{{}, "1g.5gb", nw_alone_s};
  job.speed.table = SpeedTable{{std::string(mig_off), 1}, {"1g.5gb", 1 / on_1g}};
  job.speed.transfer_share = transfer_share;
  return job;
}

CorunExperiment nw_side_by_side() {
  return {
      .name = "Needleman-Wunsch x 7",
      .source = "Managing Multi Instance GPUs, A.1",
      .known = "0.523 s alone on the whole GPU; now seven on 1g each",
      .inputs =
          {{"share of transfers",
            {0, 0.08, 0.16, 0.24, 0.32},
            2,
            "bytes are not stated; above 0.32 seven would need longer than they did (same "
            "paper)"},
           {"kernels on 1g, times as long",
            {1, 1.59, 2.24},
            1,
            "not stated; 1.59 is an A30's 1g against 4g, one run; 2.24 is all of the slowdown "
            "(same paper)"},
           open_link(),
           open_choice(
               "slower allocation", {"off", "on"}, 0,
               "0.76 s more as one of seven, but of another application (same paper, table 3)")},
      .figures = {
          {.name = "time of a job, s", .measured = {nw_of_seven_s, nw_of_seven_s}, .digits = 3}}};
}

Result<std::vector<double>> nw_one_of_seven(std::span<const double> inputs) {
  const double transfers = inputs[0], kernels = inputs[1];
  SimulationOptions options;
  options.reconfiguration = Duration::zero();  // the instances are there
  options.world.link = link_of(inputs[2]);
  options.world.slow_allocation = inputs[3] > 0;
  const auto run = run_jobs(
      migm_gpu, "scheme-a",
      equal_jobs(seven, nw_job(transfers, kernels * (1 - transfers) + transfers)), options);
  if (!run) return std::unexpected(run.error());
  return std::vector<double>{mean(run->execution_s)};
}

constexpr double far_create_s = 0.16;  // of one instance of size 1 on an A30, as FAR logs it

CorunExperiment nw_batch() {
  const double makespan = nw_jobs * nw_alone_s / nw_gain;
  return {.name = "Needleman-Wunsch x 21",
          .source = "Managing Multi Instance GPUs, 5.1",
          .known = "0.523 s alone, 1.172 s as one of seven (same paper)",
          .inputs = {open_choice("cause of the 1.172 s",
                                 {"kernels", "spread, 0.32 transfers", "together, 0.21 transfers"},
                                 0, "each gives 1.172 s; with full waves they hardly differ"),
                     open_choice("making 7 instances", {"0 s", "0.13 s", "1.12 s"}, 1,
                                 "not stated; 0.13 s is the law of this page, 1.12 s is 7 x what "
                                 "FAR logs for an A30"),
                     open_choice("slower allocation", {"in the 1.172 s", "on top of it"}, 0,
                                 "the paper does not say what it timed")},
          .figures = {{.name = "makespan, s", .measured = {makespan, makespan}},
                      {.name = "throughput gain", .measured = {nw_gain, nw_gain}}}};
}

Result<std::vector<double>> nw_in_waves(std::span<const double> inputs) {
  SimulationOptions options;
  CorunJob job = nw_job(0, nw_slowdown);
  options.world.link = link_of(inputs[0]);
  if (options.world.link == LinkSharing::spread) job = nw_job(nw_slowdown / seven, nw_slowdown);
  if (options.world.link == LinkSharing::together) job = nw_job((nw_slowdown - 1) / (seven - 1), 1);
  const auto serial = run_jobs(migm_gpu, "full-gpu", equal_jobs(nw_jobs, job), options);
  if (!serial) return std::unexpected(serial.error());
  if (inputs[1] == 0) options.reconfiguration = Duration::zero();
  if (inputs[1] == 2) options.reconfiguration = *duration_from_seconds(seven * far_create_s);
  options.world.slow_allocation = inputs[2] > 0;
  const auto shared = run_jobs(migm_gpu, "scheme-a", equal_jobs(nw_jobs, job), options);
  if (!shared) return std::unexpected(shared.error());
  return std::vector<double>{shared->makespan_s, serial->makespan_s / shared->makespan_s};
}

}  // namespace

Result<std::vector<CorunExperiment>> needleman_wunsch() {
  std::vector<CorunExperiment> experiments = {nw_side_by_side(), nw_batch()};
  if (auto done = predict(experiments[0], nw_one_of_seven); !done)
    return std::unexpected(done.error());
  if (auto done = predict(experiments[1], nw_in_waves); !done) return std::unexpected(done.error());
  return experiments;
}

}  // namespace cleave
