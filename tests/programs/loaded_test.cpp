// Solver and learner are loaded by the commands that use them, and by no other.

#include <gtest/gtest.h>

#include <filesystem>

#include "../cli/program.hpp"
#include "base/places_test.hpp"
#include "elf_file.hpp"

namespace cleave::testing_program {
namespace {

namespace fs = std::filesystem;

constexpr const char* plan = "plan compact --fleet examples/fleets/scattered.json";

/// What the loader says that it loads for the command.
std::string loaded(const std::string& command) {
  const Outcome said = shell("LD_DEBUG=libs " + command + " 2>&1 >/dev/null");
  EXPECT_NE(said.out.find("libfmt.so"), std::string::npos)
      << "the loader says nothing: " << command;
  return said.out;
}

bool has(const std::string& text, const std::string& what) {
  return text.find(what) != std::string::npos;
}

TEST(Loaded, ProgramsDoNotNeedThem) {
  for (const char* name : {"cleave", "cleaved"}) {
    const auto file = read_elf(fs::path(binary_dir()) / "bin" / name);
    ASSERT_TRUE(file) << name;
    for (const char* library :
         {"libCbc.so.3", "libClp.so.1", "libCoinUtils.so.3", "libxgboost.so.0"})
      EXPECT_FALSE(file->names(library)) << name << " needs " << library;
    EXPECT_TRUE(file->names("libfmt.so.9")) << "needed libraries have other names now: " << name;
  }
}

/// It is loaded into other people's programs, and into containers that have little else.
TEST(Loaded, TheSimulatedLibraryNeedsLittle) {
  const auto file = read_elf(fs::path(binary_dir()) / "lib/cleave-nvmlsim/libnvidia-ml.so.1");
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->names("libfmt.so.9"));
  for (const char* library : {"libz.so.1", "libcrypto.so.3", "libssl.so.3", "libsqlite3.so.0"})
    EXPECT_FALSE(file->names(library)) << library;
}

TEST(Loaded, NotByTheDaemonsClients) {
  for (const char* command : {"cleave ps", "cleave submit -- true", "cleave top --once",
                              "cleave cancel 1", "cleave gpu A100-40GB", "cleaved --version"}) {
    const std::string libraries = loaded(std::string("CLEAVE_SOCKET=/nonexistent ") + command);
    for (const char* each :
         {"libCbc", "libClp", "libxgboost", "libcleave-solver", "libcleave-learner"})
      EXPECT_FALSE(has(libraries, each)) << command << " loads " << each;
  }
}

TEST(Loaded, EachByItsCommand) {
  const std::string by_plan = loaded(std::string("cleave ") + plan);
  EXPECT_TRUE(has(by_plan, "libCbc.so"));
  EXPECT_FALSE(has(by_plan, "libxgboost"));
  const std::string by_training = loaded(
      "cleave forecast time --train examples/forecast/measured.csv --group app --whole whole_s "
      "--slices slices");
  EXPECT_TRUE(has(by_training, "libxgboost.so"));
  EXPECT_FALSE(has(by_training, "libCbc"));
}

TEST(Loaded, WithoutTheSolverAPlanSaysWhatIsMissing) {
  for (const char* prefix : {"/usr", "/usr/local"})
    if (fs::exists(fs::path(prefix) / "lib/cleave/libcleave-solver.so"))
      GTEST_SKIP() << "Cleave is installed below " << prefix << ", whose solver is found";
  const TemporaryFolder folder;
  const fs::path alone = folder.path() / "bin";
  fs::create_directories(alone);
  fs::copy_file(fs::path(binary_dir()) / "bin/cleave", alone / "cleave");
  const Outcome said = shell(alone.string() + "/cleave " + plan);
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_EQ(said.out, "");
  EXPECT_TRUE(has(said.err, (folder.path() / "lib/cleave/libcleave-solver.so").string()))
      << said.err;
  EXPECT_TRUE(has(said.err, "cannot be loaded")) << said.err;
}

}  // namespace
}  // namespace cleave::testing_program
