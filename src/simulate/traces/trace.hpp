#pragma once
// Public traces, and logs of sites, read in their published form and turned into workloads. The
// workload records which records were left out, and by which rule a recorded demand became a
// request; both are printed with every result.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bad_lines.hpp"
#include "base/ratio.hpp"
#include "base/read_text.hpp"
#include "base/result.hpp"
#include "model/job.hpp"

namespace cleave {

/// The share of a GPU that a job asks for if its trace records none: the whole GPU, or a share
/// drawn in the proportions of the Alibaba 2023 pods that share a GPU.
enum class Shares { whole, alibaba };

/// What becomes of a job that had several whole GPUs: it asks for as many GPUs with MIG off, for as
/// many of the largest instances, or is left out.
enum class SeveralGpus { gpus, instances, left_out };
inline constexpr std::array<std::string_view, 3> words_of_several = {"gpus", "instances",
                                                                     "leave-out"};

/// How to read a trace; some options apply to one format only.
struct TraceOptions {
  ShareRule rule = ShareRule::round_up;
  Ratio compress{1, 1};              // arrivals come this many times faster; run times stay
  std::optional<std::size_t> limit;  // only the first records by arrival
  SeveralGpus several = SeveralGpus::gpus;
  Shares shares = Shares::whole;           // philly
  Duration gap = std::chrono::minutes{1};  // miso: mean time between two arrivals; above zero
  std::int64_t processors_per_gpu = 1;     // swf; at least 1
  std::uint64_t seed = 1;                  // for values that a reader draws
  /// Columns that name the program of a job; nothing: those that are usual in the format.
  std::optional<std::vector<std::string>> application = {};
  bool by_use = true;                        // sacct: jobs are as large as what they used, if known
  std::shared_ptr<const NamedText> samples;  // sacct: of their GPUs (gpu_samples.hpp), or null
  BadLines* bad_lines = nullptr;             // those are passed over; null: the first is an error
};

/// One trace format.
struct TraceFormat {
  std::string_view name;
  std::string_view summary;
  /// From the text of the trace; `place` is the file's name.
  Result<Workload> (*read)(std::string_view text, const std::string& place,
                           const TraceOptions& options);
  /// Its options beside compress and limit, by their names on the command line, separated by
  /// spaces.
  std::string_view options;

  [[nodiscard]] bool has_option(std::string_view option) const;
};

std::span<const TraceFormat> trace_formats();

/// The format that FORMAT:FILE names.
[[nodiscard]] Result<const TraceFormat*> trace_format(std::string_view spec);

/// Reads FORMAT:FILE; the file may be compressed with gzip.
[[nodiscard]] Result<Workload> read_trace(std::string_view spec, const TraceOptions& options);

}  // namespace cleave
