// No function is longer than a person can keep in view. Lines are counted from its name and
// arguments to its closing brace; tables, which are braces after an equals sign, do not count.

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>

#include "source_tree.hpp"

namespace cleave::repository {
namespace {

constexpr std::size_t longest = 70;

/// C++ as a row of characters with their lines. Comments, strings and directives are blank, so all
/// remaining braces are real.
class Skeleton {
 public:
  explicit Skeleton(const SourceFile& file) {
    for (const std::string& line : file.lines) text_ += line + "\n";
    for (std::size_t at = 0; at < text_.size();) at = after_token(at);
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  /// Blanks the comment, string or directive at `at`, if there is one; returns where to continue.
  std::size_t after_token(std::size_t at) {
    const std::string_view rest = std::string_view(text_).substr(at);
    if (rest.starts_with("//")) return blank(at, rest.find('\n'));
    if (rest.starts_with("/*")) return blank(at, past(rest, "*/", 2));
    if (rest.starts_with("R\"")) {
      const std::size_t open = rest.find('(');
      if (open == std::string_view::npos) return at + 1;
      const std::string close = ")" + std::string(rest.substr(2, open - 2)) + "\"";
      return blank(at, past(rest, close, open));
    }
    if (rest.front() == '#' && (at == 0 || text_[at - 1] == '\n'))
      return blank(at, rest.find('\n'));
    if (rest.front() == '"') return blank(at, end_of_literal(rest));
    // Between digits it is a separator: 1'000.
    if (rest.front() == '\'' &&
        (at == 0 || std::isalnum(static_cast<unsigned char>(text_[at - 1])) == 0))
      return blank(at, end_of_literal(rest));
    return at + 1;
  }

  static std::size_t past(std::string_view text, std::string_view what, std::size_t from) {
    const std::size_t found = text.find(what, from);
    return found == std::string_view::npos ? text.size() : found + what.size();
  }

  static std::size_t end_of_literal(std::string_view text) {
    std::size_t at = 1;
    while (at < text.size() && text[at] != text[0]) at += text[at] == '\\' ? 2 : 1;
    return std::min(at + 1, text.size());
  }

  std::size_t blank(std::size_t from, std::size_t length) {
    length = std::min(length, text_.size() - from);
    for (std::size_t i = from; i < from + length; ++i)
      if (text_[i] != '\n') text_[i] = ' ';
    return from + length;
  }

  std::string text_;
};

enum class Brace { scope, function, table, other };

/// What a brace opens, from the text between it and the statement before.
Brace kind_of(const std::string& head, bool inside_function) {
  static const std::regex prefix(R"(^\s*(template\s*<.*>\s*)?(inline\s+|typedef\s+|static\s+)*)");
  static const std::regex scope(R"(^(namespace|class|struct|union|enum|extern)\b)");
  const std::size_t last = head.find_last_not_of(" \n");
  if (last != std::string::npos && head[last] == '=') return Brace::table;
  if (inside_function) return Brace::other;
  if (std::ranges::count(head, '(') != std::ranges::count(head, ')')) return Brace::other;
  const std::string rest =
      std::regex_replace(head, prefix, "", std::regex_constants::format_first_only);
  if (std::regex_search(rest, scope)) return Brace::scope;
  return head.find('(') == std::string::npos ? Brace::table : Brace::function;
}

/// Walks braces; a function is done when its own brace closes.
std::vector<std::string> long_functions(const SourceFile& file) {
  struct Open {
    Brace kind;
    std::size_t line;
  };
  const Skeleton skeleton(file);
  std::vector<Open> open;
  std::vector<std::string> findings;
  std::string head;
  std::size_t line = 0, head_line = 0, function_line = 0, table_lines = 0;
  const auto inside = [&](Brace kind) {
    return std::ranges::find(open, kind, &Open::kind) != open.end();
  };
  for (const char c : skeleton.text()) {
    if (c == '{') {
      const Brace kind = kind_of(head, inside(Brace::function));
      if (kind == Brace::function) function_line = head_line, table_lines = 0;
      open.push_back({kind, line});
      head.clear();
    } else if (c == '}') {
      if (!open.empty()) {
        const Open closed = open.back();
        open.pop_back();
        if (closed.kind == Brace::table && !inside(Brace::table)) table_lines += line - closed.line;
        const std::size_t lines = line - function_line + 1;
        if (closed.kind == Brace::function && lines > longest + table_lines)
          findings.push_back(finding(file, function_line,
                                     "a function of " + std::to_string(lines - table_lines) +
                                         " lines; " + std::to_string(longest) + " are the most"));
      }
      head.clear();
    } else if (c == ';') {
      head.clear();
    } else {
      if (head.find_first_not_of(" \n") == std::string::npos && c != ' ' && c != '\n')
        head_line = line;
      head += c;
    }
    if (c == '\n') ++line;
  }
  return findings;
}

TEST(Functions, StayInView) {
  std::vector<std::string> findings;
  for (const SourceFile& file : cpp_under({"src", "tests", "bench", "examples"}))
    for (const std::string& each : long_functions(file)) findings.push_back(each);
  EXPECT_TRUE(findings.empty()) << listed(findings);
}

/// This many lines of one statement each.
std::string statements(std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) text += "  step();\n";
  return text;
}

std::vector<std::string> found(const std::string& text) {
  return long_functions(made_up("src/a.cpp", text));
}

TEST(Functions, OneTooLongIsFoundWhereItBegins) {
  const std::string head =
      "#include <a>\n\nnamespace a {\n\ntemplate <class T>\nint f(int a = 3) const {\n";
  EXPECT_TRUE(found(head + statements(67) + "}\n\n}\n").empty());
  const auto findings = found(head + statements(68) + "}\n\n}\n");
  ASSERT_EQ(findings.size(), 1U);
  EXPECT_EQ(findings[0], "src/a.cpp:5: a function of 71 lines; 70 are the most");
}

TEST(Functions, BracesInTextDoNotCount) {
  const std::string confusing =
      "void f() {\n  say(\"}\", '}', R\"(}\n)\");  // }\n  /* } */ const int many = 1'000;\n";
  EXPECT_EQ(found(confusing + statements(70) + "}\n").size(), 1U);
  EXPECT_TRUE(found(confusing + "}\nvoid g() {\n" + statements(68) + "}\n").empty());
}

TEST(Functions, BlocksAndLambdasBelongToTheirFunction) {
  EXPECT_EQ(found("TEST(A, B) {\n  if (x) {\n" + statements(30) + "  }\n  run([&](int i) {\n" +
                  statements(40) + "  });\n}\n")
                .size(),
            1U);
}

TEST(Functions, MembersAreFoundAndTheirClassesAreNot) {
  const std::string members =
      "  void a() {\n" + statements(50) + "  }\n  void b() {\n" + statements(50) + "  }\n";
  EXPECT_TRUE(found("template <class T>\nclass A : public B<T> {\n" + members + "};\n").empty());
  EXPECT_EQ(found("struct A {\n  A() : b_(1) {\n" + statements(80) + "  }\n};\n").size(), 1U);
}

TEST(Functions, TablesMayBeAsLongAsTheyAre) {
  std::string rows;
  for (int i = 0; i < 90; ++i) rows += "    {1, f(2)},\n";
  EXPECT_TRUE(found("constexpr Row rows[] = {\n" + rows + "};\n").empty());
  EXPECT_TRUE(
      found("void f() {\n  static const Row rows[] = {\n" + rows + "  };\n  step();\n}\n").empty());
}

}  // namespace
}  // namespace cleave::repository
