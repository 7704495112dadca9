#pragma once
// The repository as text, for tests that read it: its files, their lines, and the list of a test's
// findings.

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::repository {

/// One file, named from the root of the repository: "src/model/job.hpp".
struct SourceFile {
  std::string path;
  std::vector<std::string> lines;

  [[nodiscard]] std::string_view name() const;
  [[nodiscard]] bool ends_with(std::string_view ending) const { return path.ends_with(ending); }
};

/// The same from text made up by a test.
SourceFile made_up(std::string path, std::string_view text);

std::filesystem::path root();

/// Every text file under these folders of the repository ("." is all of it), by name; without build
/// output and git's own files.
std::vector<SourceFile> files_under(const std::vector<std::string>& folders);

/// The C++ files among them.
std::vector<SourceFile> cpp_under(const std::vector<std::string>& folders);

/// "src/model/job.hpp:12: what is wrong", in the format of compilers.
std::string finding(const SourceFile& file, std::size_t line_index, std::string_view what);

/// Findings one a line, so that a failed test shows them all.
std::string listed(const std::vector<std::string>& findings);

}  // namespace cleave::repository
