// Lists of jobs from the daemon: the quick reader takes what the other one takes.

#include "api/job_list.hpp"
#include "api/documents.hpp"
#include "base/json.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::job_list_target {
namespace {

bool read_input(const std::string& text) {
  const auto quick = read_jobs_text(text, "jobs");
  const auto document = parse_json(text, "jobs");
  const bool slow = document && read_jobs(*document, "jobs");
  require(quick.has_value() == slow, "both readers agree");
  return slow;
}

}  // namespace
}  // namespace cleave::fuzz::job_list_target

CLEAVE_FUZZ_TARGET(job_list, counted)
