#pragma once
// What was asked of an NVML library about one GPU and what it answered, as plain values: the two
// sides of a comparison, and the contents of a bundle.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.hpp"
#include "model/nvml_abi.hpp"

namespace cleave::certify {

/// What a question is about, from what decides most to what decides least.
enum class Topic : std::uint8_t {
  geometry,     // profiles of instances
  placements,   // where they may be
  capacity,     // how many more fit
  instances,    // those that exist
  lifecycle,    // instances made for the purpose: creating, holding and destroying them
  errors,       // which error comes first
  memory,       // of the GPU and of instances
  counting,     // performance monitoring
  identity,     // the board
  power,        // and energy, and heat
  clocks,       //
  health,       // memory errors and rows of memory
  monitoring,   // what monitors show
  functions,    // which the library has
  unsupported,  // functions that the simulated library has only by name
  driver,       // the library itself
};
inline constexpr std::size_t topics = 16;
/// "geometry"
std::string_view name(Topic topic);

/// What became of a question.
enum class Outcome : std::uint8_t {
  answered,   // with a code of NVML's, and a value if that is success
  absent,     // the library lacks the function
  crashed,    // the call ended its process
  silent,     // the call did not return in time
  not_asked,  // `note` says why
};
/// "answered"
std::string_view name(Outcome outcome);

/// A question with its answer.
struct Answer {
  Topic topic{};
  std::string function;  // of NVML, or what was measured
  std::string about;     // "profile 19, version 3"; empty where the function says it all
  Outcome outcome = Outcome::answered;
  nvml::Return code = nvml::Return::success;
  Json value;        // of an answer with success; null if there is none
  std::string note;  // why it was not asked; what ended the process

  /// "nvmlDeviceGetGpuInstanceProfileInfoV, profile 19, version 3"
  [[nodiscard]] std::string question() const;
  [[nodiscard]] bool told() const {
    return outcome == Outcome::answered && code == nvml::Return::success;
  }
};

/// All answers of one side, in the order of the questions.
using Answers = std::vector<Answer>;

/// The answer with this question; null if it is not there.
const Answer* find(const Answers& answers, Topic topic, std::string_view function,
                   std::string_view about = {});

}  // namespace cleave::certify
