// Requests in the store.

#include "control/record_text.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz {
namespace {

bool read_input(const std::string& text) {
  return parse_request(text, "store").has_value();
}

}  // namespace
}  // namespace cleave::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return cleave::fuzz::counted(cleave::fuzz::read_input(cleave::fuzz::text_of(data, size)));
}
