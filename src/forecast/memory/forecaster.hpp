#pragma once
// Predicts the peak memory of a running job from its memory reports. The engine asks one forecaster
// for all its jobs. If the peak exceeds a job's instance, it restarts the job early, on an instance
// that is large enough.
//
// A forecaster is one file and a row of the table. It takes no decisions and reads no clock; it
// serves any number of jobs and keeps a few numbers for each.

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/options.hpp"
#include "base/result.hpp"
#include "model/ids.hpp"
#include "model/memory_report.hpp"

namespace cleave {

/// The predicted peak of a job, as far as it is reliable.
struct ExpectedPeak {
  MiB at_least;    // with less than this, the job leaves its instance early
  MiB to_ask_for;  // for the instance that the job gets then; at least `at_least`
  friend bool operator==(const ExpectedPeak&, const ExpectedPeak&) = default;
};

/// One forecaster, with what it remembers of every job.
class Forecaster {
 public:
  virtual ~Forecaster() = default;

  /// Records the report; nullopt while no prediction is reliable.
  virtual std::optional<ExpectedPeak> report(JobId job, const MemoryReport& report) = 0;
  /// The job has ended or starts again: its reports no longer count.
  virtual void forget(JobId job) = 0;
};

/// One row of the table of forecasters.
struct ForecasterRow {
  std::string_view name;
  std::string_view summary;
  std::string_view source;  // paper and section
  std::span<const OptionRow> options;
  Result<std::unique_ptr<Forecaster>> (*make)(const OptionTexts& options);
};

std::span<const ForecasterRow> forecasters();

/// NAME[:key=value[;key=value]...]; null for `none`, which needs no reports.
[[nodiscard]] Result<std::unique_ptr<Forecaster>> make_forecaster(std::string_view spec);

}  // namespace cleave
