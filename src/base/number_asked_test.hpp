#pragma once
// Numbers that are given to a test by the environment: seeds, and how many of them.

#include <cstdint>
#include <cstdlib>

namespace cleave {

inline std::uint64_t number_asked(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}

}  // namespace cleave
