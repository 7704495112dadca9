#pragma once
// What the GPU table, queries and logs ask NVML beside what the door to GPUs (device/door.hpp)
// asks: every function that Cleave declares, in the library that the door has opened.

#include <array>
#include <optional>
#include <string>
#include <type_traits>

#include "nvmlsim/monitors_abi.hpp"

namespace cleave::nvml {

/// A pointer for each function, null if the library lacks it.
struct EveryFunction {
#define CLEAVE_SMI_POINTER(name, parameters) Return(*name) parameters = nullptr;
  CLEAVE_NVML_NEEDED(CLEAVE_SMI_POINTER)
  CLEAVE_NVML_OPTIONAL(CLEAVE_SMI_POINTER)
  CLEAVE_NVML_OTHERS(CLEAVE_SMI_POINTER)
  CLEAVE_NVML_MONITORS(CLEAVE_SMI_POINTER)
#undef CLEAVE_SMI_POINTER
};

}  // namespace cleave::nvml

namespace cleave::smi {

/// The functions of a library that is open already; they work as long as it stays open.
nvml::EveryFunction functions_of(const std::string& file);

/// What a function writes last, as a value; empty where it is missing or refuses.
template <class Answer, class... Parameters, class... Given>
std::optional<Answer> ask(nvml::Return (*function)(Parameters...), Given... given) {
  Answer answer{};
  if (function == nullptr || function(given..., &answer) != nvml::Return::success) return {};
  return answer;
}

/// The same of a structure that needs its version.
template <class Answer, class... Parameters, class... Given>
std::optional<Answer> ask_version(std::uint32_t version, nvml::Return (*function)(Parameters...),
                                  Given... given) {
  Answer answer{};
  answer.version = nvml::version_word<Answer>(version);
  if (function == nullptr || function(given..., &answer) != nvml::Return::success) return {};
  return answer;
}

/// The same of a text in a buffer, of a device or a process.
template <std::size_t Size, class Of>
std::optional<std::string> ask_text(nvml::Return (*function)(Of, char*, std::uint32_t),
                                    std::type_identity_t<Of> of) {
  std::array<char, Size> buffer{};
  if (function == nullptr ||
      function(of, buffer.data(), std::uint32_t{Size - 1}) != nvml::Return::success)
    return {};
  return std::string(buffer.data());
}

}  // namespace cleave::smi
