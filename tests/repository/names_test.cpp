// No two types of one namespace share a name. The linker would silently use one's functions for the
// other's, even if no file sees both.

#include <gtest/gtest.h>

#include <map>
#include <regex>

#include "source_tree.hpp"

namespace cleave::repository {
namespace {

/// The types that a file defines in named namespaces, "cleave::cli::Run", with the line of each. It
/// relies on clang-format's layout: definitions at namespace scope begin at the left edge.
std::vector<std::pair<std::string, std::size_t>> types_in(const SourceFile& file) {
  static const std::regex opening("namespace ([A-Za-z_:]*) ?\\{");
  static const std::regex definition(
      "(?:struct|class|union|enum|enum class) ([A-Za-z_0-9]+)(?: final)?(?: :[^;]*)?(?: \\{.*)?");
  std::vector<std::pair<std::string, std::size_t>> found;
  std::vector<std::string> spaces;
  std::smatch match;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    const std::string& line = file.lines[i];
    if (std::regex_match(line, match, opening)) {
      spaces.push_back(match[1]);
    } else if (line.starts_with("}  // namespace")) {
      if (!spaces.empty()) spaces.pop_back();
    } else if (std::regex_match(line, match, definition)) {
      std::string name;
      bool hidden = false;
      for (const std::string& each : spaces) {
        hidden = hidden || each.empty();
        name += each + "::";
      }
      if (!hidden) found.emplace_back(name + match[1].str(), i);
    }
  }
  return found;
}

std::vector<std::string> shared_names(const std::vector<SourceFile>& files) {
  std::map<std::string, std::string> first;
  std::vector<std::string> findings;
  for (const SourceFile& file : files)
    for (const auto& [type, line] : types_in(file)) {
      const auto [known, is_new] = first.emplace(type, file.path);
      if (!is_new)
        findings.push_back(
            finding(file, line, "another " + type + " is defined in " + known->second));
    }
  return findings;
}

TEST(Names, OfTypesAreNotShared) {
  const std::vector<SourceFile> files = cpp_under({"src"});
  std::size_t types = 0;
  for (const SourceFile& file : files) types += types_in(file).size();
  ASSERT_GT(types, 200U) << "the sources are not read as they are written";
  const std::vector<std::string> findings = shared_names(files);
  EXPECT_TRUE(findings.empty()) << listed(findings);
}

TEST(Names, ASharedOneIsFound) {
  const SourceFile one =
      made_up("src/a/one.hpp", "namespace cleave {\nstruct Seat {\n};\n}  // namespace cleave\n");
  const SourceFile other =
      made_up("src/b/other.cpp",
              "namespace cleave {\nclass Line;\nnamespace {\nstruct Own {\n};\n}  // namespace\n"
              "class Seat final : public Base {\n};\nenum class Own : int { a };\n"
              "}  // namespace cleave\n");
  const auto findings = shared_names({one, other});
  ASSERT_EQ(findings.size(), 1U) << listed(findings);
  EXPECT_EQ(findings[0], "src/b/other.cpp:7: another cleave::Seat is defined in src/a/one.hpp");
}

}  // namespace
}  // namespace cleave::repository
