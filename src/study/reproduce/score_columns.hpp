#pragma once
// How tables of `cleave reproduce` show the errors of methods.

#include "base/format.hpp"
#include "cli/columns.hpp"
#include "study/reproduce/physics_scores.hpp"

namespace cleave::cli {

/// A share of 1 in percent, without the sign.
[[nodiscard]] inline std::string in_percent(const Json& share) {
  return fmt::format("{:.1f}", 100 * share.get<double>());
}

inline const Columns<Score> score_columns = {
    {"method", "method", &Score::method},
    {"count", "count", &Score::count},
    {"median", "median", &Score::median, in_percent},
    {"p90", "p90", &Score::p90, in_percent},
    {"worst", "worst", &Score::worst, in_percent},
    {"within_tenth", "within 10", &Score::within_tenth, percent_text}};

}  // namespace cleave::cli
