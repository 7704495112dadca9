#pragma once
// Numbers that whoever runs a test gives it by the environment.

#include <cstdint>
#include <cstdlib>

namespace cleave {

inline std::uint64_t number_asked(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace cleave
