// Rules for every file: a header says what it is, a command is in the table, and nothing in the
// repository names the machine it was written on.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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

// A command is a file of src/cli or src/study that begins "// `cleave name`: what it does." and
// defines `add_name`, which the table of program.cpp or a group such as `forecast` declares and has
// a row for. Its helpers begin with their includes.

using Names = std::set<std::string>;

/// Every name in these lines that the pattern's first group catches.
Names names_in(const SourceFile& file, const char* pattern) {
  const std::regex wanted(pattern);
  Names names;
  for (const std::string& line : file.lines)
    for (std::sregex_iterator at(line.begin(), line.end(), wanted), end; at != end; ++at)
      names.insert((*at)[1]);
  return names;
}

Names defined_in(const SourceFile& file) {
  return names_in(file, R"(^void (add_\w+)\(CommandLine& \w+, Run& \w+\) \{)");
}

/// The names between a line that begins with `begin` and the first one with `end`.
Names listed_in(const SourceFile& file, std::string_view begin, char end) {
  SourceFile lines{file.path, {}};
  bool inside = false;
  for (const std::string& line : file.lines) {
    inside = inside || line.starts_with(begin);
    if (inside) lines.lines.push_back(line);
    inside = inside && line.find(end) == std::string::npos;
  }
  return names_in(lines, R"(\b(add_\w+)\b)");
}

/// What a file declares: AddCommand add_a, add_b;
Names declared_in(const SourceFile& file) {
  return listed_in(file, "AddCommand ", ';');
}
Names rows_of(const SourceFile& program) {
  return listed_in(program, "std::vector<CommandGroup> command_groups()", ';');
}
/// What a group of commands, such as `forecast`, adds to itself.
Names members_of(const SourceFile& file) {
  return names_in(file, R"(^  (add_\w+)\(\*group, run\);)");
}

/// What is wrong with one file's first line, as a command of the table or a helper.
std::vector<std::string> wrong_opening(const SourceFile& file, const Names& rows) {
  const std::string first = file.lines.empty() ? "" : file.lines[0];
  if (!first.starts_with("//") && !first.starts_with("#include"))
    return {finding(file, 0, "begin with a comment, or in a helper with its own header")};
  const bool in_table = std::ranges::any_of(
      defined_in(file), [&](const std::string& name) { return rows.contains(name); });
  const bool says_command = first.starts_with("// `cleave ");
  if (says_command && !in_table)
    return {finding(file, 0,
                    "says it is a command, but neither program.cpp nor a group has a row for an "
                    "add_ function of it")};
  if (!says_command && in_table)
    return {finding(file, 0, "a command begins with: // `cleave name`: what it does")};
  return {};
}

/// `sources`: all files; what they declare must be in `rows`, and what is in `rows` defined.
std::vector<std::string> commands_astray(const std::vector<SourceFile>& sources,
                                         const Names& rows) {
  std::vector<std::string> findings;
  Names defined;
  for (const SourceFile& file : sources) {
    for (const std::string& each : wrong_opening(file, rows)) findings.push_back(each);
    defined.merge(defined_in(file));
    for (const std::string& name : declared_in(file))
      if (!rows.contains(name))
        findings.push_back(finding(file, 0, name + " has no row in the table nor in a group"));
  }
  for (const std::string& name : rows)
    if (!defined.contains(name))
      findings.push_back("src/cli/program.cpp: no file of src/cli or src/study defines " + name);
  return findings;
}

TEST(Commands, EachIsAFileThatSaysSoAndARow) {
  std::vector<SourceFile> sources = cpp_under({"src/cli", "src/study"});
  std::erase_if(sources, [](const SourceFile& file) {
    return !file.ends_with(".cpp") || file.ends_with("_test.cpp");
  });
  const auto program = std::ranges::find(sources, "src/cli/program.cpp", &SourceFile::path);
  ASSERT_TRUE(program != sources.end());
  Names rows = rows_of(*program);
  ASSERT_GT(rows.size(), 40U) << "the table of program.cpp was not understood";
  EXPECT_EQ(rows, declared_in(*program));
  for (const SourceFile& file : sources) rows.merge(members_of(file));
  const auto findings = commands_astray(sources, rows);
  EXPECT_TRUE(findings.empty()) << listed(findings);
}

TEST(Commands, ThatAreForgottenAreFound) {
  const auto file = [](std::string_view text) { return made_up("src/cli/a.cpp", text); };
  const SourceFile a = file(
      "// `cleave a`: all is well.\nvoid add_a(CommandLine& program, Run& run) {\n"
      "void add_part(CommandLine& group, Run& run) {\n");
  EXPECT_TRUE(commands_astray({a}, {"add_a"}).empty());
  EXPECT_EQ(commands_astray({a}, {}).size(), 1U);
  const SourceFile table = file("#include \"b.hpp\"\nAddCommand add_a,\n    add_b;\n");
  EXPECT_EQ(commands_astray({a, table}, {"add_a"}).size(), 1U);
  EXPECT_EQ(commands_astray({}, {"add_a"}).size(), 1U);
  EXPECT_EQ(commands_astray({file("// `cleave a`: does nothing.\n")}, {}).size(), 1U);
  EXPECT_EQ(commands_astray({file("namespace cleave {}\n")}, {}).size(), 1U);
  const SourceFile silent =
      file("#include \"a.hpp\"\nvoid add_a(CommandLine& program, Run& run) {\n");
  EXPECT_EQ(commands_astray({silent}, {"add_a"}).size(), 1U);
  EXPECT_EQ(
      rows_of(file("std::vector<CommandGroup> command_groups() {\n  return {{\"A\", {add_a,\n    "
                   "add_b}}};\n}\nadd_c\n")),
      (Names{"add_a", "add_b"}));
  EXPECT_EQ(members_of(file("  add_a(*group, run);\n  add_json(*command, json);\n")),
            (Names{"add_a"}));
  EXPECT_EQ(declared_in(table), (Names{"add_a", "add_b"}));
}

// The words are assembled here so that this file does not find itself.

/// True if `line` has a path that begins with one of a machine's own folders.
bool names_a_machine(std::string_view line) {
  static const std::array<std::string, 3> folders = {
      std::string("/wo") + "rk/", std::string("/fa") + "rm/", std::string("/ro") + "ot/"};
  const auto continues_a_name = [](char c) {
    return (std::isalnum(static_cast<unsigned char>(c)) != 0) || c == '.' || c == '_' || c == '-';
  };
  for (const std::string& folder : folders)
    for (std::size_t at = line.find(folder); at != std::string_view::npos;
         at = line.find(folder, at + 1))
      if (at == 0 || !continues_a_name(line[at - 1])) return true;
  return false;
}

/// True if `line` has the address of a package registry.
bool names_a_registry(std::string_view line) {
  static const std::array<std::string, 2> places = {std::string("regis") + "try",
                                                    std::string("mir") + "ror"};
  for (const std::string_view scheme : {"http:", "https:"})
    for (std::size_t at = line.find(scheme); at != std::string_view::npos;
         at = line.find(scheme, at + 1)) {
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
      if (names_a_machine(file.lines[i]))
        findings.push_back(finding(file, i, "a path of one machine"));
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
