#pragma once
// The messages and exit codes with which programs die when the GPU's memory runs out: a table by
// framework, from publicly known messages. It serves both ways: simulated jobs die with one of
// them, and the supervisor recognises them in the output of real jobs.

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/quantity.hpp"

namespace cleave {

/// What a program knows when it runs out.
struct MemoryShortage {
  MiB capacity;   // of its instance, as programs can use it
  MiB held;       // by the program until then
  MiB requested;  // in addition, without success
};

/// How programs of one framework die.
struct DyingWords {
  std::string_view framework;  // "pytorch"
  int exit_code;
  std::string (*message)(const MemoryShortage& shortage);  // what it prints, several lines
};
/// cuda, pytorch, tensorflow, jax
std::span<const DyingWords> dying_words();
/// Null if there is no such framework.
[[nodiscard]] const DyingWords* find_dying_words(std::string_view framework);

/// What a line of output says about memory that ran out.
struct OutOfMemoryMark {
  std::string_view framework;
  /// The requested memory, if the line states it.
  std::optional<MiB> requested;
};
/// Recognises a line of a program's output that says the GPU's memory did not suffice. Lines about
/// the host's memory, and those that say the program continues, do not count. Such a line followed
/// by failure is strong evidence; the line alone is not, since programs may handle the error.
[[nodiscard]] std::optional<OutOfMemoryMark> recognise_out_of_memory(std::string_view line);

}  // namespace cleave
