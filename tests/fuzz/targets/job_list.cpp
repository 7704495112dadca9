// Lists of jobs from the daemon: the quick reader takes what the other one takes.

#include "api/job_list.hpp"
#include "api/documents.hpp"
#include "base/json.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz {
namespace {

bool read_input(const std::string& text) {
  const auto quick = read_jobs_text(text, "jobs");
  const auto document = parse_json(text, "jobs");
  const bool slow = document && read_jobs(*document, "jobs");
  require(quick.has_value() == slow, "both readers agree");
  return slow;
}

}  // namespace
}  // namespace cleave::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return cleave::fuzz::counted(cleave::fuzz::read_input(cleave::fuzz::text_of(data, size)));
}
