// Questions for what MIG wastes, with their answers.

#include "forecast/choice/choice_file.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz {
namespace {

std::optional<Error> read_input(const std::string& text) {
  const auto question = parse_waste_question(text, "q");
  if (!question) return question.error();
  require(!*question || wasted_resources((*question)->gpu, (*question)->instances).sms,
          "there is an answer");
  return std::nullopt;
}

}  // namespace
}  // namespace cleave::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return cleave::fuzz::judged(cleave::fuzz::read_input(cleave::fuzz::text_of(data, size)));
}
