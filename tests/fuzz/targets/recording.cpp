// Recordings of NVML.

#include "device/recording_format.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz {
namespace {

bool read_input(const std::string& text) {
  return parse_recording(text, "recording").has_value();
}

}  // namespace
}  // namespace cleave::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return cleave::fuzz::counted(cleave::fuzz::read_input(cleave::fuzz::text_of(data, size)));
}
