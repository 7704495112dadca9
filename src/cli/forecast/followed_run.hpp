#pragma once
// Runs somebody's program with one of the libraries of cudatrace/ in front of CUDA, and reads what
// it did on the GPU.

#include <array>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/time.hpp"
#include "cudatrace/core/record.hpp"
#include "forecast/choice/warp_folding.hpp"
#include "model/gpu_model.hpp"

namespace cleave::cli {

/// ../lib/cleave-cuda/NAME beside the folder of this program.
[[nodiscard]] Result<std::filesystem::path> followed_library(const std::string& name);

/// What the program is shown, and for how long.
struct DryRunOptions {
  std::vector<std::string> command;
  const GpuModel* gpu = nullptr;
  const Profile* profile = nullptr;  // of it, which the program has alone; null: the whole GPU
  MiB context;                       // of each process, taken off what it is shown as free
  Duration limit{};
};

/// The launches of one kernel in one shape.
struct SeenKernel {
  std::string name;  // as it is written in the source; empty: not known
  cuda::LaunchShape shape;
  std::uint64_t launches = 0;

  [[nodiscard]] std::int64_t blocks() const;
  /// Without registers, which a launch does not say.
  [[nodiscard]] KernelLaunch launch() const;
};

/// What the program did.
struct DryRunAnswer {
  std::optional<int> exit_code, signal;  // of the two one
  bool out_of_time = false;
  int interrupted = 0;  // by this signal
  double seconds = 0;
  std::int64_t peak_bytes = 0, refused_bytes = 0;
  /// The most at one time with the contexts of all processes, which were so many at most.
  std::int64_t peak_with_contexts = 0, refused_with_contexts = 0, contexts = 0;
  std::array<std::int64_t, cuda::memory_kinds> peak_of{};
  std::uint64_t allocations = 0, frees = 0, unknown_frees = 0, refusals = 0, launches = 0;
  std::uint64_t processes = 0;
  std::vector<SeenKernel> kernels;  // most blocks first
  bool private_tables = false, incomplete = false;
  std::vector<std::string> unanswered;

  [[nodiscard]] bool ended_well() const { return exit_code == 0 && !out_of_time; }
};

/// Runs it to its end, or ends it when the time is over or a signal came; with it end the processes
/// that it started. Its standard output goes to standard error.
[[nodiscard]] Result<DryRunAnswer> run_dry(const DryRunOptions& options);

/// What is known of a program that is followed.
struct LiveRunOptions {
  std::vector<std::string> command;
  std::optional<MiB> forecast;       // of its allocations
  std::optional<Duration> expected;  // how long it will run
};

/// Becomes the program, with the live library in front of the real CUDA. Returns only if it cannot.
[[nodiscard]] Result<int> become_followed(const LiveRunOptions& options);

}  // namespace cleave::cli
