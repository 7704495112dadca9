#pragma once
// The options of the `trend` forecast as rows, for the forecaster of that name and for `cleave
// forecast memory`.

#include "base/options.hpp"
#include "forecast/memory/trend_forecast.hpp"

namespace cleave {

inline constexpr OptionRow trend_options[] = {
    {"agreement", "SHARE", "0.05",
     "consecutive predictions agree when they differ by at most this"},
    {"agreements", "COUNT", "3", "predictions in a row that must agree before one counts"},
    {"least-samples", "COUNT", "3", "samples before the first prediction"},
    {"wait", "yes|no", "yes", "whether a prediction counts only when they agree"},
    {"divisor", "0|1|2", "2", "squared residuals are divided by their number less this"},
    {"sides", "two|one", "two", "of the 99 % interval"},
    {"inverse", "mean|lower|upper", "mean", "which side of the inverse reuse ratio's interval"},
    {"interval", "normal|prediction", "normal",
     "the paper's, or with the uncertainty of the line as well"},
    {"at", "last|most-ahead", "last",
     "the last iteration, or the highest point still ahead and so far"},
    {"context", "SIZE", "0", "constant memory, such as the CUDA context, that reports leave out"},
    {"horizon", "COUNT", "1000", "iterations ahead, for a job that does not know its last"},
    {"warm-up", "COUNT", "0", "iterations at the beginning to leave out"},
    {"shift", "on|off", "off", "whether a lasting jump restarts the fit"},
    {"plateau", "on|off", "off", "whether memory that has stopped growing stays where it is"},
    {"noise", "normal|any", "normal", "what the interval assumes: normal residuals, or none"},
};

/// `texts` must be complete; sizes are returned in MiB.
[[nodiscard]] Result<TrendOptions> read_trend_options(const OptionTexts& texts);

}  // namespace cleave
