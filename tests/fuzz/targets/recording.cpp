// Recordings of NVML.

#include "device/recording_format.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz::recording_target {
namespace {

bool read_input(const std::string& text) {
  return parse_recording(text, "recording").has_value();
}

}  // namespace
}  // namespace cleave::fuzz::recording_target

CLEAVE_FUZZ_TARGET(recording, counted)
