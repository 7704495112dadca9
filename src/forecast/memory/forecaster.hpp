#pragma once
// Says from a running job's memory reports what its peak will be. The engine asks one forecaster
// for all its jobs and restarts a job early, on an instance that is large enough, when the peak is
// beyond its own.
//
// A forecaster is one file and a row of the table. It takes no decisions and reads no clock; it may
// be asked for any number of jobs and keeps a few numbers for each.

#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "base/options.hpp"
#include "base/result.hpp"
#include "model/ids.hpp"
#include "model/memory_report.hpp"

namespace cleave {

/// The peak of a job, as far as it can be relied upon.
struct ExpectedPeak {
  MiB at_least;    // an instance with less is left early
  MiB to_ask_for;  // for the instance that the job then gets; at least `at_least`
};

class Forecaster {
 public:
  virtual ~Forecaster() = default;

  /// Takes the report in; nullopt while nothing can be relied upon.
  virtual std::optional<ExpectedPeak> report(JobId job, const MemoryReport& report) = 0;
  /// The job has ended or starts anew: its reports count no more.
  virtual void forget(JobId job) = 0;
};

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
