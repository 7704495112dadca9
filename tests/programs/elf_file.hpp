#pragma once
// What the headers of a program or shared library say of how it is loaded (elf(5)).

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace cleave {

/// One file of 64 bits; how it was linked.
struct ElfFile {
  bool position_independent = false;
  bool program = false;          // with position_independent: not a library
  bool executable_stack = true;  // also where nothing is said, since the kernel then assumes it
  bool writable_code = false;    // a segment that is both written and executed
  bool writable_text_relocations = false;
  bool read_only_relocations = false, bound_at_start = false;  // together: full RELRO
  std::string content;

  /// Whether the name is in one of its tables of names.
  [[nodiscard]] bool names(const std::string& symbol) const;
};

/// Empty if it is not such a file, or its headers point outside it.
[[nodiscard]] std::optional<ElfFile> read_elf(const std::filesystem::path& file);

}  // namespace cleave
