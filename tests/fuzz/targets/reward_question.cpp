// Questions for the best instance of an application, with their answers.

#include <cmath>

#include "forecast/choice/choice_file.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::reward_question_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  const auto question = parse_reward_question(text, "q");
  if (!question) return question.error();
  const Recommendation answer = recommend(question->instances, question->basis);
  for (const Reward& each : answer.rewards)
    require(std::isfinite(each.reward), "a reward is finite");
  require(
      best_by_alpha(question->instances, question->basis, 2).empty() == question->instances.empty(),
      "there is a best one of some");
  return std::nullopt;
}

}  // namespace
}  // namespace cleave::fuzz::reward_question_target

CLEAVE_FUZZ_TARGET(reward_question, judged)
