// Signs in the outputs of jobs that memory ran out.

#include "fuzz.hpp"
#include "runner/reports/out_of_memory_text.hpp"

namespace cleave::fuzz::job_output_target {
namespace {

bool read_input(const std::string& text) {
  const auto mark = recognise_out_of_memory(text);
  require(!mark || !mark->requested || mark->requested->value >= 0, "memory is not negative");
  return mark.has_value();
}

}  // namespace
}  // namespace cleave::fuzz::job_output_target

CLEAVE_FUZZ_TARGET(job_output, counted)
