// Questions for what MIG wastes, with their answers.

#include "forecast/choice/choice_file.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::waste_question_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  const auto question = parse_waste_question(text, "q");
  if (!question) return question.error();
  require(!*question || wasted_resources((*question)->gpu, (*question)->instances).sms,
          "there is an answer");
  return std::nullopt;
}

}  // namespace
}  // namespace cleave::fuzz::waste_question_target

CLEAVE_FUZZ_TARGET(waste_question, judged)
