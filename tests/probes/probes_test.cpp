// The CUDA program that `cleave probe` compiles and runs: that a compiler accepts it without a
// toolkit, and what the command says where a compiler, a GPU or a sensible answer is missing.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "../cli/json_of.hpp"
#include "base/format.hpp"
#include "base/json.hpp"
#include "base/places_test.hpp"
#include "base/random.hpp"
#include "base/read_text.hpp"

namespace cleave {
namespace {

using testing_program::cleave;
using testing_program::json_of;
using testing_program::Outcome;
using testing_program::Scratch;
using testing_program::shell;

const std::string source = source_dir() + "/probes/gpu_probe.cu";

Outcome checked(const std::string& file, const std::string& side) {
  return shell(fmt::format(
      "clang++-19 -x cuda --cuda-{}-only -nocudainc -nocudalib -fsyntax-only -std=c++17 "
      "--offload-arch=sm_80 -Wall -Wextra -Werror -I{}/tests/probes/stub {}",
      side, source_dir(), file));
}

TEST(Probes, ACompilerAcceptsThem) {
  if (shell("clang++-19 --version").exit_code != 0) GTEST_SKIP() << "there is no clang++-19";
  const Scratch scratch;
  const std::string broken =
      scratch.write("broken.cu", *read_text(source) + "__global__ void f() { cudaFree(1, 2); }\n");
  for (const char* side : {"host", "device"}) {
    const Outcome outcome = checked(source, side);
    EXPECT_EQ(outcome.exit_code, 0) << side << "\n" << outcome.err;
    EXPECT_NE(checked(broken, side).exit_code, 0) << "what is wrong is seen: " << side;
  }
}

TEST(Probes, TheProgramCarriesTheSource) {
  const Scratch scratch;
  const std::string written = scratch.path("probe.cu");
  ASSERT_EQ(cleave("probe --source " + written).exit_code, 0);
  EXPECT_TRUE(*read_text(written) == *read_text(source));
}

/// A compiler that makes a program which runs these lines of shell.
std::string compiler_of(const Scratch& scratch, const std::string& lines) {
  const std::string program = scratch.write("program", "#!/bin/sh\n" + lines);
  const std::string file = scratch.write(
      "compiler", fmt::format("#!/bin/sh\ncp {} \"$4\" && chmod +x \"$4\"\n", program));
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  return file;
}

constexpr std::string_view answer =
    R"({"name": "H100", "sms": 16, "sms_reported": 16, "memory_mib": 11264, "local": 406.0, )"
    R"("engines_to_device": 44.0, "engines_to_host": 39.6, "direct_to_device": 207.0, )"
    R"("direct_to_host": 343.0})";

TEST(Probes, TheCommandShowsWhatTheProgramMeasured) {
  const Scratch scratch;
  const std::string compiler = compiler_of(scratch, fmt::format("echo '{}'\n", answer));
  EXPECT_EQ(json_of(cleave("probe --json --compiler " + compiler)), Json::parse(answer));
  const Outcome text = cleave("probe --compiler " + compiler);
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_NE(text.out.find("207.0"), std::string::npos) << text.out;
}

TEST(Probes, WhatIsMissingIsSaid) {
  const auto refused = [](const Outcome& outcome, const std::string& what) {
    EXPECT_EQ(outcome.exit_code, 2) << what;
    EXPECT_NE(outcome.err.find(what), std::string::npos) << outcome.err;
  };
  refused(shell("program=$(command -v cleave); PATH=/nowhere CUDA_HOME= \"$program\" probe"),
          "neither in PATH nor in CUDA_HOME");
  refused(cleave("probe --compiler /nowhere/nvcc"), "cannot compile the probe");
  const Scratch scratch;
  refused(cleave("probe --compiler " +
                 compiler_of(scratch, "echo 'no CUDA device: none' >&2; exit 1\n")),
          "no CUDA device: none");
}

// Answers that are cut off or changed are refused or read; nothing else happens.
TEST(Probes, OtherAnswersAreRefused) {
  Random random(5);
  const Scratch scratch;
  int refused = 0;
  for (int round = 0; round < 40; ++round) {
    std::string text(answer.substr(0, random.below(answer.size())));
    if (random.below(2) == 0) {
      text = answer;
      text[random.below(text.size())] = static_cast<char>('!' + random.below(90));
    }
    const std::string file = scratch.write("answer", text);
    const Outcome outcome =
        cleave("probe --compiler " + compiler_of(scratch, fmt::format("cat {}\n", file)));
    EXPECT_TRUE(outcome.exit_code == 0 || outcome.exit_code == 2) << text << "\n" << outcome.err;
    refused += outcome.exit_code == 2 ? 1 : 0;
  }
  EXPECT_GT(refused, 20);
}

}  // namespace
}  // namespace cleave
