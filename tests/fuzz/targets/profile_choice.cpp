// Choices of profiles.

#include <span>

#include "fuzz.hpp"
#include "model/fleet_file.hpp"

namespace cleave::fuzz::profile_choice_target {
namespace {

std::optional<Error> read_input(const std::string& text) {
  const auto choice = ProfileChoice::parse(text);
  if (!choice) return choice.error();
  const GpuModel* only = *find_gpu_model("A100-40GB");
  return error_of(choice->check(std::span(&only, 1)));
}

}  // namespace
}  // namespace cleave::fuzz::profile_choice_target

CLEAVE_FUZZ_TARGET(profile_choice, judged)
