#pragma once
// `cleave reproduce completion-time`: what completion times learnt from measured jobs are worth
// (Dyna-P, 3.1.2, which gives no error of its own), on inference measured by ParvaGPU (Lee et al.,
// SC 2024): eleven models on five profiles of an A100 80 GB, batches 1 to 256, one to five MPS
// processes. No time of our own enters: same file, same bytes.
//
// What is predicted is the time of a batch, batch / throughput of a process (the file's own latency
// is rounded to 1 ms). What is known: batch, MPS processes, slices, and the time on the whole GPU,
// which is that of the same model, batch and processes on 7g. Rows with a throughput of 0 did not
// fit and are left out, and so is a row without its 7g row. Rows of 7g itself are trivial, the time
// that is asked for being a feature: results are given with and without them.

#include <string>
#include <string_view>
#include <vector>

#include "forecast/time/completion_time.hpp"

namespace cleave {

/// ParvaGPU's measurements as jobs to learn from.
struct ParvaJobs {
  MeasuredJobs jobs;            // features batch, processes, slices, whole_s; groups are the models
  std::size_t did_not_fit = 0;  // rows of throughput 0
  std::size_t no_whole = 0;     // rows whose time on the whole GPU was not measured
};
/// Reads inference_profiles.csv: model, mig_gpcs, batch_size, mps_processes,
/// throughput_rps_per_process.
[[nodiscard]] Result<ParvaJobs> read_parva_jobs(std::string_view text, const std::string& place);

/// The options of the evaluation: whole and slices named, form ratio.
CompletionTimeOptions parva_options(std::uint64_t seed);

/// One way to hold jobs out, over all of its parts.
struct HeldOutResult {
  std::string what;                   // "random 80/20", or a model
  std::size_t rows = 0;               // held out, each once
  TimeErrors trees, linear, nearest;  // over all of them, nothing refused
  std::size_t answered = 0;           // not refused
  std::optional<TimeErrors> answered_trees;
  double width = 0;         // median of upper / lower, of those answered
  std::size_t covered = 0;  // answered, and within their interval
};

/// The errors of the trees when they learn one form of the time.
struct FormResult {
  TimeForm form;
  TimeErrors random, by_model;
};

/// The intervals of the rows with this number of slices.
struct SlicesResult {
  std::int64_t slices = 0;
  std::size_t answered = 0, covered = 0;
  double width = 0;  // median of upper / lower
};

/// Everything that the command prints.
struct CompletionTimeStudy {
  std::size_t rows = 0, did_not_fit = 0, no_whole = 0;
  double level = 0;
  std::vector<HeldOutResult> all, without_whole;  // random 80/20, then leave one model out
  std::vector<HeldOutResult> models;              // each left out, without rows of the whole GPU
  std::vector<FormResult> forms;                  // without rows of the whole GPU
  std::vector<SlicesResult> by_slices;            // random 80/20, all rows
};

/// `options` as parva_options() gives them, trees as one likes.
[[nodiscard]] Result<CompletionTimeStudy> reproduce_completion_time(
    const ParvaJobs& measured, const CompletionTimeOptions& options);

}  // namespace cleave
