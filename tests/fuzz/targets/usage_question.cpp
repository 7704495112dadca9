// What a question about usage tells apart, and its days: "user,day 2026-05-04".

#include "api/usage_documents.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::usage_question_target {
namespace {

bool read_input(const std::string& text) {
  const std::size_t space = text.find(' ');
  const auto by = parse_usage_by(text.substr(0, space), "query: by");
  if (!by) require(!by.error().message.empty(), "a refusal says nothing");
  if (by) require(by->size() <= usage_by_names.size(), "something is told apart twice");
  if (space == std::string::npos) return by.has_value();
  const std::string day = text.substr(space + 1);
  const auto read = parse_day(day);
  if (read) require(day_text(*read) == day, "a day is not written as it was read");
  return by.has_value() && read.has_value();
}

}  // namespace
}  // namespace cleave::fuzz::usage_question_target

CLEAVE_FUZZ_TARGET(usage_question, counted)
