// Tables of jobs whose times are asked for.

#include "forecast/time/measured_jobs.hpp"
#include "fuzz.hpp"

namespace cleave::fuzz {
namespace {

std::optional<Error> read_input(const std::string& text) {
  static const std::vector<std::string> features = {"batch", "slices", "whole_s"};
  return error_of(read_asked_jobs(text, "asked.csv", features));
}

}  // namespace
}  // namespace cleave::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return cleave::fuzz::judged(cleave::fuzz::read_input(cleave::fuzz::text_of(data, size)));
}
