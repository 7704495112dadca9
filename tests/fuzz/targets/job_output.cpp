// Signs in the outputs of jobs that memory ran out.

#include "fuzz.hpp"
#include "runner/reports/out_of_memory_text.hpp"

namespace cleave::fuzz {
namespace {

bool read_input(const std::string& text) {
  const auto mark = recognise_out_of_memory(text);
  require(!mark || !mark->requested || mark->requested->value >= 0, "memory is not negative");
  return mark.has_value();
}

}  // namespace
}  // namespace cleave::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return cleave::fuzz::counted(cleave::fuzz::read_input(cleave::fuzz::text_of(data, size)));
}
