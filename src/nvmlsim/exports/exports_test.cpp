// What the library exports, and the page of docs/ that lists it.

#include <elf.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>

#include "base/places_test.hpp"
#include "nvmlsim/function_rows.hpp"
#include "nvmlsim/library_test.hpp"

namespace cleave::sim {
namespace {

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

template <class T>
T at(const std::string& bytes, std::size_t offset) {
  T value{};
  if (offset + sizeof value <= bytes.size())
    std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// Names of the symbols that the file defines for others.
std::set<std::string> exported_names(const std::string& elf) {
  std::set<std::string> names;
  const auto header = at<Elf64_Ehdr>(elf, 0);
  const auto section = [&](std::size_t i) {
    return at<Elf64_Shdr>(elf, header.e_shoff + i * sizeof(Elf64_Shdr));
  };
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    const Elf64_Shdr symbols = section(i);
    if (symbols.sh_type != SHT_DYNSYM) continue;
    const Elf64_Shdr strings = section(symbols.sh_link);
    for (std::size_t offset = 0; offset < symbols.sh_size; offset += sizeof(Elf64_Sym)) {
      const auto symbol = at<Elf64_Sym>(elf, symbols.sh_offset + offset);
      if (symbol.st_shndx == SHN_UNDEF || symbol.st_shndx == SHN_ABS) continue;
      names.insert(elf.c_str() + strings.sh_offset + symbol.st_name);
    }
  }
  return names;
}

TEST(Exports, AreTheFunctionsOfNvmlAndNothingElse) {
  std::set<std::string> expected{"nvmlErrorString"}, all;
  for (const nvml::FunctionRow& row : nvml::function_rows()) {
    EXPECT_TRUE(all.insert(row.name).second) << row.name << " twice";
    if (row.state != nvml::FunctionState::absent) expected.insert(row.name);
  }
  const std::set<std::string> there = exported_names(text_of(library_file()));
  for (const std::string& name : expected)
    EXPECT_TRUE(there.contains(name)) << name << " is missing";
  for (const std::string& name : there)
    EXPECT_TRUE(expected.contains(name)) << name << " is exported";
}

/// The names without "nvml", as a paragraph of code words.
std::string listed(nvml::FunctionState state) {
  constexpr std::size_t width = 100;
  std::string text, line;
  for (const nvml::FunctionRow& row : nvml::function_rows()) {
    if (row.state != state) continue;
    const std::string word = fmt::format("`{}`", row.name.substr(4));
    if (!line.empty() && line.size() + word.size() + 3 > width) {
      text += line + ",\n";
      line.clear();
    }
    line += (line.empty() ? "" : ", ") + word;
  }
  return text + line + ".\n";
}

std::size_t count_of(nvml::FunctionState state) {
  const auto rows = nvml::function_rows();
  return static_cast<std::size_t>(std::ranges::count(rows, state, &nvml::FunctionRow::state));
}

std::string page_of_functions() {
  using enum nvml::FunctionState;
  return fmt::format(
      R"(# Functions of the simulated NVML

What the library of [simulated GPUs](simulated-gpus.md) does with each function of NVML up to API
version 13 ("nvml" in front of each name). This page is made from the library's own tables
(`tools/update-docs.sh`); tests compare both. Every exported function but that for the version of
NVML answers UNINITIALIZED before `nvmlInit`, then INVALID_ARGUMENT for a wrong handle or a missing
pointer, and only then NOT_SUPPORTED. Where a driver was seen to do otherwise than its documentation
says, the library does as the driver ([what the first GPU showed](certify.md#the-first-real-gpus)).

## Real

These {} answer from the state of the node, or change it; `ErrorString` is one more. Which answers
are invented is said in [simulated GPUs](simulated-gpus.md#what-is-inferred-or-invented).

{}
## Not supported

These {} are exported and answer NOT_SUPPORTED: virtual GPUs, NVLink, confidential computing, fans,
units, accounting, and what GPUs of these models do not have.

{}
## Absent

These {} are not exported, as in older drivers, so that programs fall back to older functions.

{})",
      count_of(real), listed(real), count_of(unsupported), listed(unsupported), count_of(absent),
      listed(absent));
}

// With CLEAVE_WRITE_DOCS the page is written.
TEST(Exports, AreListedInTheDocs) {
  const auto page = std::filesystem::path(source_dir()) / "docs" / "nvml-functions.md";
  if (std::getenv("CLEAVE_WRITE_DOCS") != nullptr)
    std::ofstream(page, std::ios::binary) << page_of_functions();
  EXPECT_EQ(text_of(page), page_of_functions())
      << "to write it: CLEAVE_WRITE_DOCS=1 nvmlsim_test --gtest_filter=Exports.*";
}

}  // namespace
}  // namespace cleave::sim
