// What the documentation owes its reader: a short README, an index that lists every page, links
// that lead somewhere, and a map that names files which exist.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <regex>
#include <set>

#include "source_tree.hpp"

namespace cleave::repository {
namespace {

constexpr std::size_t longest_readme = 150;  // lines

/// A link of a page to another file or to a heading.
struct Link {
  std::size_t line;
  std::string file, heading;  // one of them may be empty
};

/// The page's lines without code: fenced blocks are empty and inline code is cut out.
std::vector<std::string> prose_of(const SourceFile& page) {
  static const std::regex code("`[^`]*`");
  std::vector<std::string> prose;
  bool fenced = false;
  for (const std::string& line : page.lines) {
    const bool fence = line.starts_with("```");
    prose.push_back(fenced || fence ? std::string() : std::regex_replace(line, code, ""));
    if (fence) fenced = !fenced;
  }
  return prose;
}

/// Links within the repository.
std::vector<Link> links_of(const SourceFile& page) {
  static const std::regex link(R"(\]\(([^)#\s]*)(#([^)\s]*))?\))");
  std::vector<Link> links;
  const std::vector<std::string> prose = prose_of(page);
  for (std::size_t i = 0; i < prose.size(); ++i)
    for (std::sregex_iterator at(prose[i].begin(), prose[i].end(), link), end; at != end; ++at)
      if (const std::string file = (*at)[1]; !file.starts_with("http"))
        links.push_back({i, file, (*at)[3]});
  return links;
}

/// A heading as links name it: "From a node's own listing" is "from-a-nodes-own-listing".
std::string anchor_of(std::string_view heading) {
  std::string anchor;
  for (const char c : heading) {
    if (c == ' ')
      anchor += '-';
    else if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_')
      anchor += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return anchor;
}

std::set<std::string> anchors_of(const SourceFile& page) {
  std::set<std::string> anchors;
  bool fenced = false;
  for (const std::string& line : page.lines) {
    if (line.starts_with("```")) fenced = !fenced;
    const std::size_t level = line.find_first_not_of('#');
    if (!fenced && level > 0 && level != std::string::npos && line[level] == ' ')
      anchors.insert(anchor_of(std::string_view(line).substr(level + 1)));
  }
  return anchors;
}

/// The file that a link of `page` leads to, named from the root.
std::string target_of(const SourceFile& page, const Link& link) {
  if (link.file.empty()) return page.path;
  return (std::filesystem::path(page.path).parent_path() / link.file).lexically_normal().string();
}

std::vector<std::string> broken_links(const std::vector<SourceFile>& pages) {
  std::vector<std::string> findings;
  for (const SourceFile& page : pages)
    for (const Link& link : links_of(page)) {
      const std::string target = target_of(page, link);
      const auto found = std::ranges::find(pages, target, &SourceFile::path);
      if (found == pages.end() && !std::filesystem::exists(root() / target))
        findings.push_back(finding(page, link.line, "there is no file " + target));
      else if (found != pages.end() && !link.heading.empty() &&
               !anchors_of(*found).contains(link.heading))
        findings.push_back(finding(page, link.line, target + " has no heading #" + link.heading));
    }
  return findings;
}

std::vector<std::string> pages_not_listed(const SourceFile& index,
                                          const std::vector<std::string>& pages) {
  std::set<std::string> listed_pages;
  for (const Link& link : links_of(index)) listed_pages.insert(target_of(index, link));
  std::vector<std::string> findings;
  for (const std::string& page : pages)
    if (page != index.path && !listed_pages.contains(page))
      findings.push_back(index.path + " does not list " + page);
  return findings;
}

/// Files that a page names in inline code, with a folder, and that do not exist: neither from the
/// root nor below src/. Patterns with a `*` are passed over.
std::vector<std::string> files_that_are_gone(const SourceFile& page) {
  static const std::regex name("`([\\w./-]+/[\\w.-]+\\.(cpp|hpp|md|toml|json|sh|py))`");
  std::vector<std::string> findings;
  for (std::size_t i = 0; i < page.lines.size(); ++i)
    for (std::sregex_iterator at(page.lines[i].begin(), page.lines[i].end(), name), end; at != end;
         ++at)
      if (const std::string file = (*at)[1]; !std::filesystem::exists(root() / file) &&
                                             !std::filesystem::exists(root() / "src" / file))
        findings.push_back(finding(page, i, "there is no file " + file));
  return findings;
}

/// Lines of prose with more than a hundred columns: not tables, code, pictures or indented
/// formulas.
std::vector<std::string> wide_prose(const SourceFile& page) {
  constexpr std::size_t widest = 100;
  const std::vector<std::string> prose = prose_of(page);
  std::vector<std::string> findings;
  for (std::size_t i = 0; i < page.lines.size(); ++i) {
    const std::string& line = page.lines[i];
    const bool kept = prose[i].empty() || line.starts_with("|") || line.starts_with("![") ||
                      line.starts_with("    ");
    const auto columns = static_cast<std::size_t>(std::ranges::count_if(
        line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
    if (!kept && columns > widest)
      findings.push_back(finding(page, i, "has " + std::to_string(columns) + " columns"));
  }
  return findings;
}

std::vector<SourceFile> markdown() {
  std::vector<SourceFile> pages = files_under({"."});
  std::erase_if(pages, [](const SourceFile& file) { return !file.ends_with(".md"); });
  return pages;
}

SourceFile page_called(std::string_view path) {
  const std::vector<SourceFile> pages = markdown();
  const auto found = std::ranges::find(pages, path, &SourceFile::path);
  return found == pages.end() ? SourceFile{} : *found;
}

TEST(Documents, TheReadmeIsShort) {
  const std::size_t lines = page_called("README.md").lines.size();
  EXPECT_GT(lines, 0U);
  EXPECT_LE(lines, longest_readme) << "move what is not a first step to docs/";
}

TEST(Documents, TheIndexListsEveryPage) {
  std::vector<std::string> pages;
  for (const SourceFile& file : files_under({"docs"}))
    if (!file.ends_with(".svg")) pages.push_back(file.path);
  const auto findings = pages_not_listed(page_called("docs/README.md"), pages);
  EXPECT_TRUE(findings.empty()) << listed(findings);
}

TEST(Documents, LinksLeadSomewhere) {
  const auto findings = broken_links(markdown());
  EXPECT_TRUE(findings.empty()) << listed(findings);
}

TEST(Documents, TheMapNamesFilesThatExist) {
  const auto findings = files_that_are_gone(page_called("ARCHITECTURE.md"));
  EXPECT_TRUE(findings.empty()) << listed(findings);
  EXPECT_EQ(
      files_that_are_gone(made_up("a.md", "`src/base/none.hpp` and `base/result.hpp`")).size(), 1U);
}

TEST(Documents, ProseHasAtMostAHundredColumns) {
  std::vector<std::string> findings;
  for (const SourceFile& page : markdown())
    if (!page.path.starts_with("docs/reproduction/"))  // written by `cleave reproduce`
      for (const std::string& each : wide_prose(page)) findings.push_back(each);
  EXPECT_TRUE(findings.empty()) << listed(findings);
  const std::string wide(101, 'x');
  EXPECT_EQ(wide_prose(made_up("a.md", wide + "\n| " + wide + " |\n```\n" + wide + "\n```\n")),
            std::vector<std::string>{"a.md:1: has 101 columns"});
}

TEST(Documents, WhatIsBrokenIsFound) {
  const SourceFile page = made_up("docs/a.md",
                                  "# A node's own list\n"
                                  "[b](b.md) [b](b.md#two) [here](#a-nodes-own-list)\n"
                                  "`[code](c.md)` [web](https://example.org/x.md)\n"
                                  "```\n[code](c.md)\n# no heading\n```\n");
  const SourceFile other = made_up("docs/b.md", "## One\n[up](../docs/a.md#no-heading)\n");
  const auto findings = broken_links({page, other});
  ASSERT_EQ(findings.size(), 2U) << listed(findings);
  EXPECT_EQ(findings[0], "docs/a.md:2: docs/b.md has no heading #two");
  EXPECT_EQ(findings[1], "docs/b.md:2: docs/a.md has no heading #no-heading");
  EXPECT_EQ(broken_links({page}).size(), 2U) << "docs/b.md is gone";
  EXPECT_TRUE(pages_not_listed(page, {"docs/a.md", "docs/b.md"}).empty());
  EXPECT_EQ(pages_not_listed(page, {"docs/c.md"}).size(), 1U);
}

}  // namespace
}  // namespace cleave::repository
