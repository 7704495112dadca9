#pragma once
// What Slurm accounts of the GPUs of a job's steps, in the columns TRESUsageInAve and
// TRESUsageInMax: "cpu=00:10:00,gres/gpumem=8192M,gres/gpuutil=61,mem=2G".

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "model/gpu_use.hpp"
#include "simulate/traces/trace_rows.hpp"

namespace cleave {

/// "64G", "49600M", "1.50T": Slurm's suffixes mean powers of 1024; without one the number counts
/// MiB.
[[nodiscard]] std::optional<MiB> slurm_memory(std::string_view text);

/// What one cell of either column says; `name` is the column's.
[[nodiscard]] SeenUse read_tres_usage(Cells& cells, std::string_view text, std::string_view name);

/// Adds up what steps used.
class StepsUse {
 public:
  /// Of a step, or of a job that says it itself, from its two cells: how busy it was on average,
  /// for so many seconds, and its peaks.
  void add(const std::string& job, const SeenUse& average, const SeenUse& peak, double seconds);
  /// Of a job that ran for so long and had so many GPUs. Steps at the same time add up, to at most
  /// all of the GPUs.
  [[nodiscard]] SeenUse of(const std::string& job, double seconds, double gpus) const;

 private:
  struct Sum {
    double busy_seconds = 0;  // percent times seconds
    bool busy_known = false;
    std::optional<MiB> memory;
  };
  std::map<std::string, Sum, std::less<>> jobs_;
};

}  // namespace cleave
