// Submissions to the daemon.

#include "api/documents.hpp"
#include "base/json.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::submission_target {
namespace {

bool read_input(const std::string& text) {
  const auto document = parse_json(text, "request");
  return document && read_submission(*document, "request");
}

}  // namespace
}  // namespace cleave::fuzz::submission_target

CLEAVE_FUZZ_TARGET(submission, counted)
