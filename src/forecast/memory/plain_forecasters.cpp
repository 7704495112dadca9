// Two plain rules for comparison: the memory that a job holds now, or the most it has held, with a
// margin.

#include <algorithm>
#include <cmath>

#include "forecast/memory/forecasters.hpp"

namespace cleave {

namespace {

ExpectedPeak with_margin(MiB held, double margin) {
  const MiB peak{std::llround(static_cast<double>(held.value) * (1 + margin))};
  return {peak, peak};
}

class LastValue final : public Forecaster {
 public:
  explicit LastValue(double margin) : margin_(margin) {}

  std::optional<ExpectedPeak> report(JobId, const MemoryReport& report) override {
    return with_margin(report.held(), margin_);
  }
  void forget(JobId) override {}

 private:
  double margin_;
};

class RunningMax final : public Forecaster {
 public:
  explicit RunningMax(double margin) : margin_(margin) {}

  std::optional<ExpectedPeak> report(JobId job, const MemoryReport& report) override {
    MiB& highest = highest_.of(job);
    highest = std::max(highest, report.held());
    return with_margin(highest, margin_);
  }
  void forget(JobId job) override { highest_.forget(job); }

 private:
  double margin_;
  PerJob<MiB> highest_;
};

template <class Rule>
Result<std::unique_ptr<Forecaster>> make_rule(const OptionTexts& options) {
  OptionReader in(options);
  const double margin = in.number("margin", 0, 10);
  if (in.error()) return std::unexpected(*in.error());
  return std::make_unique<Rule>(margin);
}

constexpr OptionRow margin_options[] = {
    {"margin", "NUMBER", "0.1", "the margin, as a share"},
};

}  // namespace

const ForecasterRow last_value_row = {
    "last-value",
    "the peak is the memory that a job holds now plus a margin; a baseline for comparison",
    "a plain rule", margin_options, make_rule<LastValue>};
const ForecasterRow running_max_row = {
    "running-max",
    "the peak is the most that a job has held plus a margin; a baseline for comparison",
    "a plain rule", margin_options, make_rule<RunningMax>};

}  // namespace cleave
