// Choices of profiles.

#include <span>

#include "fuzz.hpp"
#include "model/fleet_file.hpp"

namespace cleave::fuzz {
namespace {

std::optional<Error> read_input(const std::string& text) {
  const auto choice = ProfileChoice::parse(text);
  if (!choice) return choice.error();
  const GpuModel* only = *find_gpu_model("A100-40GB");
  return error_of(choice->check(std::span(&only, 1)));
}

}  // namespace
}  // namespace cleave::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  return cleave::fuzz::judged(cleave::fuzz::read_input(cleave::fuzz::text_of(data, size)));
}
