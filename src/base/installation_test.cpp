// The files of an installation are found from any of its programs.

#include "base/installation.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "base/places_test.hpp"
#include "base/temporary_folder_test.hpp"

namespace cleave {
namespace {

namespace fs = std::filesystem;

TEST(Installation, PrefixOfProgramsAndOfTheirHelpers) {
  EXPECT_EQ(prefix_of("/usr/bin/cleave"), "/usr");
  EXPECT_EQ(prefix_of("/opt/x/libexec/cleave/cleave-study"), "/opt/x");
  EXPECT_EQ(prefix_of("/home/u/cleave/bin/cleave"), "/home/u/cleave");
  EXPECT_EQ(prefix_of("/home/u/build/release/bin/base_test"), "/home/u/build/release");
  EXPECT_EQ(installation_prefix(), fs::path(binary_dir()));
}

TEST(Installation, HelpersAreInLibexecWhereItIsInstalled) {
  const TemporaryFolder folder;
  const fs::path& prefix = folder.path();
  EXPECT_EQ(installed_program("cleave-study", prefix), prefix / "bin" / "cleave-study");
  fs::create_directories(prefix / "libexec" / "cleave");
  std::ofstream(prefix / "libexec" / "cleave" / "cleave-study") << "here";
  EXPECT_EQ(installed_program("cleave-study", prefix), prefix / "libexec/cleave/cleave-study");
  EXPECT_EQ(installed_program("cleaved", prefix), prefix / "bin" / "cleaved");
}

TEST(Installation, WhatCannotBeLoadedIsNamed) {
  const auto missing = installed_function("libcleave-nothing.so", "cleave_nothing");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::infeasible);
  EXPECT_EQ(missing.error().place, binary_dir() + "/lib/cleave/libcleave-nothing.so");
  EXPECT_NE(missing.error().message.find("cannot be loaded: "), std::string::npos);
}

}  // namespace
}  // namespace cleave
