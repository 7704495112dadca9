#pragma once
// What input that was accepted must bear.

#include <algorithm>

#include "forecast/shape/model_file.hpp"
#include "forecast/shape/model_memory.hpp"
#include "forecast/shape/tensor_file_maker_test.hpp"
#include "fuzz.hpp"
#include "model/fleet_file.hpp"
#include "model/workload_file.hpp"
#include "simulate/simulator.hpp"
#include "simulate/traces/trace.hpp"

namespace cleave::fuzz {

/// Small and empty, so that a million invented GPUs are never simulated here.
inline const FleetFile& small_fleet() {
  static const FleetFile fleet = *parse_fleet_in_short("2xA100-40GB,1xA30-24GB", {});
  return fleet;
}

/// Runs to an end; only overlong runs may be refused.
inline void run(const FleetFile& fleet, const Workload& workload) {
  for (const char* spec : {"online", "full-gpu"}) {
    const auto summary = simulate(fleet, workload, *parse_scheduler(spec));
    if (!summary) {
      require(summary.error().kind == ErrorKind::infeasible, "only runs too long are refused");
      continue;
    }
    require(
        summary->jobs == summary->finished + summary->failed + summary->rejected + summary->waiting,
        "no job is lost");
  }
}

/// A trace is read, and its workload runs.
inline std::optional<Error> run_trace(Result<Workload> (*reader)(std::string_view,
                                                                 const std::string&,
                                                                 const TraceOptions&),
                                      const std::string& text) {
  TraceOptions options;
  options.shares = Shares::alibaba;
  options.processors_per_gpu = 7;
  const auto workload = reader(text, "trace", options);
  if (workload) run(small_fleet(), *workload);
  return error_of(workload);
}

/// A shape that was read answers all questions about models.
inline void ask_about(const ModelFile& model) {
  for (const bool train : {false, true}) {
    MemoryOptions options;
    options.train = train;
    options.batch = 3;
    const auto forecast = forecast_memory(model, options, "model");
    // Quantised weights are not trained.
    if (train && !forecast && forecast.error().kind == ErrorKind::bad_usage) continue;
    require(forecast.has_value() == model.shape.has_value(), "a shape is enough for a forecast");
    if (!forecast) continue;
    for (const ProfileFit& fit : profile_fits(*forecast, **find_gpu_model("A100-40GB")))
      require(*fit.fits != fit.offload.has_value(), "only what does not fit is offloaded");
  }
}

/// Reads are within the file and none is large.
inline ByteSource watched(const std::string& bytes) {
  ByteSource file = made_up::source(bytes);
  file.read = [read = file.read, &bytes](std::uint64_t offset, std::size_t length) {
    require(length <= std::max<std::size_t>(bytes.size(), 1U << 16), "no read is large");
    return read(offset, length);
  };
  return file;
}

}  // namespace cleave::fuzz
