// The formatter settles spacing, so that it needs no discussion.

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <regex>

#include "base/places_test.hpp"
#include "source_tree.hpp"

namespace cleave::repository {
namespace {

/// Debian 12's version; others read the same style slightly differently.
constexpr const char* formatter = "14";

struct Outcome {
  std::string output;  // both streams
  bool succeeded;
};

Outcome run(const std::string& command) {
  std::FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {"no shell", false};
  Outcome outcome;
  std::array<char, 4096> buffer;
  for (std::size_t got = 0; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    outcome.output.append(buffer.data(), got);
  outcome.succeeded = ::pclose(pipe) == 0;
  return outcome;
}

/// Why the format cannot be checked here; empty if it can.
std::string why_not() {
  const Outcome version = run("clang-format --version");
  if (!version.succeeded) return "clang-format is not installed; ./test.sh installs it on Debian";
  std::smatch match;
  if (std::regex_search(version.output, match, std::regex(R"(version (\d+))")) &&
      match[1] == formatter)
    return {};
  return std::string("the format is that of clang-format ") + formatter + "; here is " +
         version.output;
}

/// Runs the formatter over files named from the root. Their names go through a file, as there are
/// many; it is this test's own, since tests run side by side.
Outcome check_format(const std::vector<std::string>& paths) {
  const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  const std::string list = binary_dir() + "/format_test_" + test + ".txt";
  std::ofstream names(list);
  for (const std::string& path : paths) names << path << "\n";
  names.close();
  return run("cd '" + root().string() +
             "' && clang-format --dry-run --Werror --style=file --files='" + list + "'");
}

TEST(Format, IsWhatTheFormatterSays) {
  if (const std::string reason = why_not(); !reason.empty()) GTEST_SKIP() << reason;
  std::vector<std::string> paths;
  for (const SourceFile& file : cpp_under({"src", "tests", "bench", "examples"}))
    paths.push_back(file.path);
  const Outcome outcome = check_format(paths);
  EXPECT_TRUE(outcome.succeeded) << outcome.output << "mend it with: clang-format -i FILE";
}

TEST(Format, ACrookedFileIsFound) {
  if (const std::string reason = why_not(); !reason.empty()) GTEST_SKIP() << reason;
  const std::string crooked = binary_dir() + "/format_test_crooked.cpp";
  std::ofstream(crooked) << "int  f( ){return 1 ;}\n";
  const Outcome outcome = check_format({crooked});
  EXPECT_FALSE(outcome.succeeded);
  EXPECT_NE(outcome.output.find("code should be clang-formatted"), std::string::npos)
      << outcome.output;
}

}  // namespace
}  // namespace cleave::repository
