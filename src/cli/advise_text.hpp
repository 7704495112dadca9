#pragma once
// An advice for people, and as JSON. The first three lines are the answer.

#include <string>
#include <vector>

#include "base/json_fwd.hpp"
#include "simulate/advice/advise.hpp"

namespace cleave::cli {

/// The answer in words: whether MIG helps, which scheduler, which fixed layout, what to measure.
[[nodiscard]] std::string answer_text(const Advice& advice);
/// The candidates as things are, and what would change the answer.
[[nodiscard]] std::string tables_text(const AdviceQuestion& question, const Advice& advice);
/// What the answer rests on, a sentence each.
[[nodiscard]] std::vector<std::string> assumptions(const AdviceQuestion& question,
                                                   const Advice& advice);
[[nodiscard]] Json to_json(const AdviceQuestion& question, const Advice& advice);

}  // namespace cleave::cli
