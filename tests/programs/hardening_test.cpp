// Every program and library that people get is linked so that a mistake in memory is hard to use
// against the machine. Read from the files themselves: a flag that the compiler ignores is not one.

#include <gtest/gtest.h>

#include "base/places_test.hpp"
#include "elf_file.hpp"

namespace cleave {
namespace {

namespace fs = std::filesystem;

void expect_hardened(const ElfFile& file) {
  EXPECT_TRUE(file.position_independent) << "it is always loaded at the same address";
  EXPECT_TRUE(file.read_only_relocations && file.bound_at_start) << "no full RELRO";
  EXPECT_FALSE(file.executable_stack);
  EXPECT_FALSE(file.writable_code);
  EXPECT_FALSE(file.writable_text_relocations);
}

fs::path program(const std::string& name) {
  return fs::path(binary_dir()) / "bin" / name;
}

TEST(Hardening, Programs) {
  for (const char* name : {"cleave", "cleave-study", "cleaved", "cleave-supervise", "cleave-job",
                           "cleave-cuda-loop"}) {
    SCOPED_TRACE(name);
    const auto file = read_elf(program(name));
    ASSERT_TRUE(file);
    EXPECT_TRUE(file->program);
    expect_hardened(*file);
  }
}

TEST(Hardening, Libraries) {
  std::size_t libraries = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(binary_dir()) / "lib")) {
    SCOPED_TRACE(entry.path().string());
    if (!entry.is_regular_file() ||
        entry.path().filename().string().find(".so") == std::string::npos)
      continue;
    const auto file = read_elf(entry.path());
    ASSERT_TRUE(file);
    EXPECT_FALSE(file->program);
    expect_hardened(*file);
    ++libraries;
  }
  // NVML's, two that stand before CUDA, and the names that lead to one of them.
  EXPECT_GE(libraries, 3U);
}

TEST(Hardening, StacksAreProtected) {
  // The supervisor is linked statically, with a C library that has these names anyway.
  for (const char* name : {"cleave", "cleave-study", "cleaved", "cleave-job"}) {
    const auto file = read_elf(program(name));
    ASSERT_TRUE(file) << name;
    EXPECT_TRUE(file->names("__stack_chk_fail")) << name;
  }
}

TEST(Hardening, AnythingElseIsNotRead) {
  EXPECT_FALSE(read_elf(fs::path(binary_dir()) / "build.ninja"));
  EXPECT_FALSE(read_elf(fs::path(binary_dir()) / "not there"));
}

}  // namespace
}  // namespace cleave
