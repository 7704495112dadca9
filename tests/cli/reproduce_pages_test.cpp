// The pages of docs/reproduction are what the program writes. Those that take minutes are compared
// with CLEAVE_LONG set, as ./test.sh --long does.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/places_test.hpp"
#include "base/sanitized_test.hpp"
#include "base/temporary_folder_test.hpp"
#include "json_of.hpp"

namespace cleave {
namespace {

using testing_program::cleave;
using testing_program::Outcome;
using testing_program::text_of;

/// Runs the study and compares each file that it writes with the one in docs/reproduction.
void expect_pages(const std::string& arguments) {
  const TemporaryFolder scratch;
  const Outcome outcome = cleave("reproduce " + arguments + " --write " + scratch.path().string());
  ASSERT_EQ(outcome.exit_code, 0) << outcome.err;
  std::size_t compared = 0;
  for (const auto& file : std::filesystem::directory_iterator(scratch.path())) {
    const auto name = file.path().filename();
    EXPECT_EQ(text_of(file.path()),
              text_of(std::filesystem::path(source_dir()) / "docs/reproduction" / name))
        << name << ": tools/update-docs.sh writes it again";
    ++compared;
  }
  EXPECT_GT(compared, 0U);
}

bool wants_long() {
  return std::getenv("CLEAVE_LONG") != nullptr;
}
constexpr std::string_view takes_minutes = "it takes minutes; CLEAVE_LONG=1 runs it";

TEST(Pages, Online) {
  if (sanitized) GTEST_SKIP() << "a release does the same much sooner";
  const std::string data = "../shared/data";
  if (!std::filesystem::exists(source_dir() + "/" + data + "/burstgpt"))
    GTEST_SKIP() << "the traces are not beside this source tree";
  expect_pages("online --data " + data);
}

TEST(Pages, DynaP) {
  if (!wants_long()) GTEST_SKIP() << takes_minutes;
  expect_pages("dyna-p");
}

TEST(Pages, OptimalPlacement) {
  if (!wants_long()) GTEST_SKIP() << takes_minutes;
  expect_pages("optimal-placement");
}

}  // namespace
}  // namespace cleave
