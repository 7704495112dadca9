#include "control/node/prediction_errors.hpp"

#include <cmath>
#include <map>

#include "forecast/time/completion_time.hpp"

namespace cleave {

std::optional<ScoredPrediction> score_of(std::uint32_t uid, const AttemptRecord& attempt) {
  if (!attempt.predicted || !attempt.predicted_by || !attempt.lasted ||
      *attempt.lasted <= Duration::zero())
    return std::nullopt;
  const double ratio = in_seconds(*attempt.predicted) / in_seconds(*attempt.lasted);
  return ScoredPrediction{uid, *attempt.predicted_by, std::fabs(ratio - 1)};
}

void add_score(std::deque<ScoredPrediction>& scores, const ScoredPrediction& score) {
  scores.push_back(score);
  while (scores.size() > most_scored) scores.pop_front();
}

std::vector<PredictionErrors> errors_of(const std::deque<ScoredPrediction>& scores,
                                        std::optional<std::uint32_t> uid) {
  std::vector<double> all;
  std::map<TimeSource, std::vector<double>, std::greater<>> by_source;
  for (const ScoredPrediction& each : scores) {
    if (uid && each.uid != *uid) continue;
    all.push_back(each.error);
    by_source[each.source].push_back(each.error);
  }
  std::vector<PredictionErrors> rows;
  if (all.empty()) return rows;
  const auto add = [&](std::optional<TimeSource> source, std::vector<double> errors) {
    const std::size_t count = errors.size();
    const TimeErrors come_to = time_errors(std::move(errors));
    rows.push_back({source, count, come_to.median, come_to.p90});
  };
  add(std::nullopt, std::move(all));
  for (auto& [source, errors] : by_source) add(source, std::move(errors));
  return rows;
}

}  // namespace cleave
