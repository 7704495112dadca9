#pragma once
// By which words and exit codes programs die that ran out of a GPU's memory: a table by framework,
// from what their messages are publicly known to look like. It serves both ways: simulated jobs die
// like one of these, and whoever runs real jobs recognises them by their last lines.

#include <cstdint>
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
  MiB requested;  // beside that, in vain
};

struct DyingWords {
  std::string_view framework;  // "pytorch"
  int exit_code;
  std::string (*message)(const MemoryShortage& shortage);  // what it prints, several lines
};
/// cuda, pytorch, tensorflow, jax
std::span<const DyingWords> dying_words();
/// Null where there is no such framework.
[[nodiscard]] const DyingWords* find_dying_words(std::string_view framework);

struct OutOfMemoryMark {
  std::string_view framework;
  /// What the line says it wanted; empty where it does not say.
  std::optional<MiB> requested;
};
/// Whether the line of a program's output says that a GPU's memory did not suffice, and by whose
/// words. Lines about the host's memory, and those after which the program goes on by its own
/// account, do not count. That a program printed such a line and then failed is strong evidence;
/// the line alone is not, since programs may catch it.
[[nodiscard]] std::optional<OutOfMemoryMark> recognise_out_of_memory(std::string_view line);

}  // namespace cleave
