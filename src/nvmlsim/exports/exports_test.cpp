// What the library exports, and that the docs list what it does not do.

#include <elf.h>

#include <fstream>
#include <set>

#include "base/places_test.hpp"
#include "nvmlsim/exports/unsupported.hpp"
#include "nvmlsim/library_test.hpp"

namespace cleave::sim {
namespace {

constexpr const char* unsupported_names[] = {
#define CLEAVE_TEST_NAME(name) #name,
    CLEAVE_NVML_UNSUPPORTED(CLEAVE_TEST_NAME)
#undef CLEAVE_TEST_NAME
};

constexpr const char* supported_names[] = {
#define CLEAVE_TEST_NAME(name, parameters) #name,
    CLEAVE_NVML_NEEDED(CLEAVE_TEST_NAME) CLEAVE_NVML_OPTIONAL(CLEAVE_TEST_NAME)
        CLEAVE_NVML_OTHERS(CLEAVE_TEST_NAME)
#undef CLEAVE_TEST_NAME
            "nvmlErrorString",
};

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
  std::set<std::string> expected(std::begin(supported_names), std::end(supported_names));
  expected.insert(std::begin(unsupported_names), std::end(unsupported_names));
  EXPECT_EQ(expected.size(), std::size(supported_names) + std::size(unsupported_names))
      << "a name twice";
  const std::set<std::string> there = exported_names(text_of(library_file()));
  for (const std::string& name : expected)
    EXPECT_TRUE(there.contains(name)) << name << " is missing";
  for (const std::string& name : there)
    EXPECT_TRUE(expected.contains(name)) << name << " is exported";
}

TEST(Exports, WhatIsNotSupportedSaysSo) {
  for (const char* name : unsupported_names) {
    using Call = nvml::Return (*)(void*, void*, void*);
    const auto call = reinterpret_cast<Call>(::dlsym(library_handle(), name));
    ASSERT_NE(call, nullptr) << name;
    EXPECT_EQ(call(nullptr, nullptr, nullptr), nvml::Return::not_supported) << name;
  }
}

TEST(Exports, AreListedInTheDocs) {
  const std::string page =
      text_of(std::filesystem::path(source_dir()) / "docs" / "simulated-gpus.md");
  for (const char* name : unsupported_names)
    EXPECT_NE(page.find(std::string("`") + (name + 4) + "`"), std::string::npos)
        << name << " is not among the functions that docs/simulated-gpus.md names as not supported";
}

}  // namespace
}  // namespace cleave::sim
