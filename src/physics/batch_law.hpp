#pragma once
// How long a batch takes on a slice of a GPU, by its size and by how many processes of the same
// application share the slice under MPS:
//
//   T(g, b, n) = (A^p + B^p)^(1/p)        A = a (1 + ga (n - 1))
//                                         B = e b + (c + k b) h(g) (1 + (1 + ov) (n - 1))
//
// a is what no slice shortens (launches, host), c and k what a batch and each of its samples cost
// on the whole GPU, e what a sample costs on the host; h(g) is the time of GPU-bound work on the
// slice. Each process runs a batch in T, so the slice completes n b / T samples. p, h, ga and ov
// are the same for all applications; a, c, k and e are an application's own. Another process adds
// its GPU work, in which the fixed parts hide: no term is fitted to a number of processes.
//
// Fitted to the inference that ParvaGPU measured on an A100 80 GB (Lee et al., SC 2024): 11 models,
// five profiles, batches 1 to 256, 1 to 5 processes. `cleave reproduce physics` repeats the fit.
// Processes of different applications, MPS percentages and more than 5 processes were not measured.

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace cleave {

/// The cost of one batch of an application, all in one unit of time.
struct BatchLaw {
  double fixed, per_batch, per_sample, host_per_sample;
};

/// What all applications share.
struct BatchConstants {
  double overlap;       // p: 1 adds the parts up, large values keep the longer one
  double floor_growth;  // ga: by what share each further process lengthens the fixed part
  double work_growth;   // ov: by what share a further process's work is longer than its own alone
};

/// On the A100.
inline constexpr BatchConstants batch_constants = {5.95, 0.018, -0.04};

/// The time of one batch of one of `processes` processes on a slice where GPU-bound work takes
/// `gpu_bound` times as long as on the whole GPU: slice_law.hpp's gpu_bound_batch_time.
double batch_time(const BatchLaw& law, double batch, double gpu_bound, int processes = 1,
                  const BatchConstants& constants = batch_constants);

/// The share of the time in which the processes of a slice keep it busy, at most 1.
double batch_busy(const BatchLaw& law, double batch, double gpu_bound, int processes = 1,
                  const BatchConstants& constants = batch_constants);

/// A batch whose time was measured.
struct MeasuredBatch {
  std::size_t application;  // any numbers from 0 up
  std::size_t size;         // of the slice, an index into the times of GPU-bound work
  double batch;
  int processes;
  double time;  // above zero
};

/// Constants with h of each size of slice; that of the last size, the whole GPU, is 1.
struct BatchLaws {
  BatchConstants constants = batch_constants;
  std::vector<double> gpu_bound;
  std::vector<BatchLaw> applications;  // by number
};

/// Rows count less as their error passes this: 1 row in 400 contradicts all its neighbours by 30 to
/// 80 %, such as a throughput that fits half the batch.
inline constexpr double batch_error_scale = 0.1;

/// The costs of one application under known constants, by least squares of the logarithms of the
/// times. At least four rows determine them only if batches and slices differ; small and large
/// batches must be among them, because the fixed part hides what a sample costs. Empty without
/// rows, or if a time is not above zero.
[[nodiscard]] std::optional<BatchLaw> fit_batch_law(std::span<const MeasuredBatch> rows,
                                                    std::span<const double> gpu_bound,
                                                    const BatchConstants& constants);

/// Constants and applications together; `start` has the sizes' first guess. `processes` says
/// whether ga and ov are fitted too, for which rows with several processes are needed.
[[nodiscard]] std::optional<BatchLaws> fit_batch_laws(std::span<const MeasuredBatch> rows,
                                                      const BatchLaws& start, bool processes);

}  // namespace cleave
