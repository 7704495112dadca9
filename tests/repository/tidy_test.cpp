// What every file owes its reader: a header says what it is, a command is in the table, and nothing in the
// repository names the machine it was written on.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <regex>
#include <set>

#include "source_tree.hpp"

namespace cleave::repository {
namespace {

/// The first line, and after it what the file is.
std::vector<std::string> headers_without_opening(const SourceFile& file) {
  if (file.lines.empty() || file.lines[0] != "#pragma once")
    return {finding(file, 0, "a header begins with #pragma once")};
  const auto after = std::ranges::find_if(file.lines.begin() + 1, file.lines.end(),
                                          [](const std::string& line) { return !line.empty(); });
  if (after != file.lines.end() && after->starts_with("//")) return {};
  return {finding(file, 1, "after #pragma once a header says in a comment what it is")};
}

TEST(Headers, SayFirstWhatTheyAre) {
  std::vector<std::string> findings;
  for (const SourceFile& file : cpp_under({"src", "tests", "bench", "examples"}))
    if (file.ends_with(".hpp"))
      for (const std::string& each : headers_without_opening(file)) findings.push_back(each);
  EXPECT_TRUE(findings.empty()) << listed(findings);
}

TEST(Headers, ThatSayNothingAreFound) {
  const auto found = [](std::string_view text) {
    return headers_without_opening(made_up("src/model/a.hpp", text)).size();
  };
  EXPECT_EQ(found("#pragma once\n// What it is.\n"), 0U);
  EXPECT_EQ(found("#pragma once\n\n/// What it is.\n"), 0U);
  EXPECT_EQ(found("#pragma once\n\n#include <vector>\n"), 1U);
  EXPECT_EQ(found("// What it is.\n#pragma once\n"), 1U);
  EXPECT_EQ(found("#pragma once\n"), 1U);
  EXPECT_EQ(found(""), 1U);
}

// A command is a file of src/cli that begins "// `cleave name`: what it does." and defines `add_name`, which
// has a row in the table of main.cpp. Its helpers begin with their includes.

/// The `add_` functions that a file defines and that take what a command is registered with.
std::vector<std::string> commands_of(const SourceFile& file) {
  static const std::regex definition(R"(^void (add_\w+)\(CLI::App& \w+, Run& \w+\) \{)");
  std::vector<std::string> names;
  for (const std::string& line : file.lines)
    if (std::smatch match; std::regex_search(line, match, definition)) names.push_back(match[1]);
  return names;
}

/// The `add_name` that the rows of the table of main.cpp hold.
std::set<std::string> table_of(const SourceFile& main) {
  static const std::regex row(R"([{ ](add_\w+)[,}])");
  std::set<std::string> rows;
  for (const std::string& line : main.lines)
    for (std::sregex_iterator at(line.begin(), line.end(), row), end; at != end; ++at) rows.insert((*at)[1]);
  return rows;
}

std::vector<std::string> commands_astray(const std::vector<SourceFile>& cli,
                                         const std::set<std::string>& table) {
  std::vector<std::string> findings;
  std::set<std::string> rows_without_command = table;
  for (const SourceFile& file : cli) {
    if (!file.ends_with(".cpp") || file.ends_with("_test.cpp")) continue;
    const std::string first = file.lines.empty() ? "" : file.lines[0];
    if (!first.starts_with("//") && !first.starts_with("#include"))
      findings.push_back(finding(file, 0, "begin with a comment, or in a helper with its own header"));
    const bool says_command = first.starts_with("// `cleave ");
    const std::vector<std::string> commands = commands_of(file);
    if (says_command && commands.empty())
      findings.push_back(finding(file, 0, "says it is a command, but defines no add_ function"));
    if (!says_command && !commands.empty())
      findings.push_back(finding(file, 0, "a command begins with: // `cleave name`: what it does"));
    for (const std::string& command : commands) {
      rows_without_command.erase(command);
      if (!table.contains(command))
        findings.push_back(finding(file, 0, command + " has no row in the table of src/cli/main.cpp"));
    }
  }
  for (const std::string& row : rows_without_command)
    findings.push_back("src/cli/main.cpp: no file of src/cli defines " + row);
  return findings;
}

TEST(Commands, EachIsAFileThatSaysSoAndARow) {
  const std::vector<SourceFile> cli = cpp_under({"src/cli"});
  const auto main = std::ranges::find(cli, "src/cli/main.cpp", &SourceFile::path);
  ASSERT_NE(main, cli.end());
  const std::set<std::string> table = table_of(*main);
  ASSERT_FALSE(table.empty()) << "the table of main.cpp was not understood";
  const auto findings = commands_astray(cli, table);
  EXPECT_TRUE(findings.empty()) << listed(findings);
}

TEST(Commands, ThatAreForgottenAreFound) {
  const SourceFile good = made_up(
      "src/cli/good.cpp", "// `cleave good`: all is well.\nvoid add_good(CLI::App& program, Run& run) {\n");
  EXPECT_TRUE(commands_astray({good}, {"add_good"}).empty());
  EXPECT_EQ(commands_astray({good}, {}).size(), 1U);
  EXPECT_EQ(commands_astray({}, {"add_good"}).size(), 1U);
  EXPECT_EQ(commands_astray({made_up("src/cli/a.cpp", "// `cleave a`: does nothing.\n")}, {}).size(), 1U);
  EXPECT_EQ(commands_astray({made_up("src/cli/a.cpp", "namespace cleave {}\n")}, {}).size(), 1U);
  EXPECT_EQ(table_of(made_up("src/cli/main.cpp", "    {add_a}, {add_b},\n")).size(), 2U);
}

// The words are pieced together here so that this file does not find itself.

/// True where `line` has a path that begins with one of a machine's own folders.
bool names_a_machine(std::string_view line) {
  static const std::array<std::string, 3> folders = {std::string("/wo") + "rk/", std::string("/fa") + "rm/",
                                                     std::string("/ro") + "ot/"};
  const auto continues_a_name = [](char c) {
    return (std::isalnum(static_cast<unsigned char>(c)) != 0) || c == '.' || c == '_' || c == '-';
  };
  for (const std::string& folder : folders)
    for (std::size_t at = line.find(folder); at != std::string_view::npos; at = line.find(folder, at + 1))
      if (at == 0 || !continues_a_name(line[at - 1])) return true;
  return false;
}

/// True where `line` has the address of a place that packages are fetched from.
bool names_a_registry(std::string_view line) {
  static const std::array<std::string, 2> places = {std::string("regis") + "try", std::string("mir") + "ror"};
  for (const std::string_view scheme : {"http:", "https:"})
    for (std::size_t at = line.find(scheme); at != std::string_view::npos; at = line.find(scheme, at + 1)) {
      std::string_view address = line.substr(at + scheme.size());
      if (!address.starts_with("//")) continue;
      address = address.substr(0, address.find_first_of(" \t\"'`<>"));
      for (const std::string& place : places)
        if (address.find(place) != std::string_view::npos) return true;
    }
  return false;
}

TEST(Repository, NamesNoMachineAndNoPackageRegistry) {
  std::vector<std::string> findings;
  for (const SourceFile& file : files_under({"."}))
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (names_a_machine(file.lines[i])) findings.push_back(finding(file, i, "a path of one machine"));
      if (names_a_registry(file.lines[i]))
        findings.push_back(finding(file, i, "the address of a package source"));
    }
  EXPECT_TRUE(findings.empty()) << listed(findings);
}

TEST(Repository, AMachineOrARegistryWouldBeFound) {
  const std::string folder = std::string("/wo") + "rk/";
  EXPECT_TRUE(names_a_machine(folder + "main"));
  EXPECT_TRUE(names_a_machine("cd '" + folder + "main'"));
  EXPECT_TRUE(names_a_machine("a" + folder + "x " + folder + "main"));
  EXPECT_FALSE(names_a_machine("data" + folder + "loads"));
  EXPECT_FALSE(names_a_machine("data/workloads/lab-day.jsonl"));
  const std::string place = std::string("regis") + "try";
  EXPECT_TRUE(names_a_registry("see https:" + ("//" + place) + ".example.org/package"));
  EXPECT_TRUE(names_a_registry("see http:" + ("//example.org/" + place) + "/package"));
  EXPECT_FALSE(names_a_registry("https://example.org and a " + place));
}

}  // namespace
}  // namespace cleave::repository
