// The formatter settles spacing, so nobody discusses it; what it cannot break is held to the same
// width.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>
#include <regex>

#include "base/places_test.hpp"
#include "source_tree.hpp"

namespace cleave::repository {
namespace {

/// Debian 12's; others read the same style a little differently.
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

/// Runs the formatter over files named from the root; their names go through a file, as there are
/// many. The file is this test's own: tests run side by side.
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

/// Characters, not bytes: what continues a character in UTF-8 does not count.
std::size_t columns(std::string_view line) {
  return static_cast<std::size_t>(std::ranges::count_if(
      line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::vector<std::string> long_lines(const SourceFile& file) {
  constexpr std::size_t widest = 100;
  std::vector<std::string> findings;
  for (std::size_t i = 0; i < file.lines.size(); ++i)
    if (const std::size_t width = columns(file.lines[i]); width > widest)
      findings.push_back(finding(file, i, "has " + std::to_string(width) + " columns"));
  return findings;
}

/// Comments and texts too, which the formatter leaves alone.
TEST(Format, NoLineHasMoreThanAHundredColumns) {
  std::vector<std::string> findings;
  for (const SourceFile& file : cpp_under({"src", "tests", "bench", "examples"}))
    for (const std::string& each : long_lines(file)) findings.push_back(each);
  EXPECT_TRUE(findings.empty()) << listed(findings);
}

TEST(Format, ALongLineIsFound) {
  const std::string hundred(100, 'x');
  EXPECT_TRUE(long_lines(made_up("src/a.cpp", hundred)).empty());
  EXPECT_EQ(long_lines(made_up("src/a.cpp", "\n" + hundred + "x\n")),
            std::vector<std::string>{"src/a.cpp:2: has 101 columns"});
  EXPECT_TRUE(long_lines(made_up("src/a.cpp", hundred.substr(1) + "\u2500")).empty());
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
