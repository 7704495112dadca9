// Questions for the partitions of a batch, with their answers.

#include "forecast/choice/choice_file.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::batch_question_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  const auto question = parse_batch_question(text, "q");
  if (!question) return question.error();
  const auto choices = choose_partitions(*question);
  require(choices.size() == question->jobs.size(), "each job has an answer");
  for (const auto& choice : choices)
    require(choice.edges.size() + choice.excluded.size() == question->partitions.size(),
            "each partition is weighed or excluded");
  return std::nullopt;
}

}  // namespace
}  // namespace cleave::fuzz::batch_question_target

CLEAVE_FUZZ_TARGET(batch_question, judged)
