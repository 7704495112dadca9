#pragma once
// What fuzz targets share. Each file of targets/ reads bytes in a namespace of its own,
// NAME_target, by read_input(text), and ends with CLEAVE_FUZZ_TARGET: the function that libFuzzer
// calls; without clang, fuzz_test.cpp calls them all.

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace cleave::fuzz {

/// How many inputs were taken and how many were refused.
struct Counts {
  std::size_t accepted = 0, refused = 0;
};
inline Counts counts;

/// Ends the process where a law is broken, as fuzzers want it.
inline void require(bool holds, std::string_view law) {
  if (holds) return;
  std::cerr << "broken: " << law << std::endl;
  std::abort();
}

/// The error; nothing if there is a value.
template <class Value>
std::optional<Error> error_of(const Result<Value>& result) {
  return result ? std::nullopt : std::optional(result.error());
}

/// What every refusal of an input owes its reader: a message without control characters, and that
/// it is the input's fault.
inline int judged(const std::optional<Error>& error) {
  ++(error ? counts.refused : counts.accepted);
  if (!error) return 0;
  require(!error->message.empty(), "an error has a message");
  require(exit_code(error->kind) == 2, "a refused input is not a failure of the program");
  for (const char c : error->text())
    require(static_cast<unsigned char>(c) >= 0x20, "no control character reaches the terminal");
  return 0;
}

/// The same where errors are read by programs, and quote what was there.
inline int counted(bool accepted) {
  ++(accepted ? counts.accepted : counts.refused);
  return 0;
}

/// The same where a target judges by itself.
inline int answered(int answer) {
  return answer;
}

inline std::string text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace cleave::fuzz

#ifdef CLEAVE_LIBFUZZER
#define CLEAVE_FUZZ_ENTRY(name) LLVMFuzzerTestOneInput
#else
#define CLEAVE_FUZZ_ENTRY(name) fuzz_##name
#endif

/// The entry of the target NAME; `judge` is one of the functions above and takes what read_input
/// answers.
#define CLEAVE_FUZZ_TARGET(name, judge)                                                \
  extern "C" int CLEAVE_FUZZ_ENTRY(name)(const std::uint8_t* data, std::size_t size) { \
    return cleave::fuzz::judge(                                                        \
        cleave::fuzz::name##_target::read_input(cleave::fuzz::text_of(data, size)));   \
  }
