#include "source_tree.hpp"
#include "base/places_test.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

namespace cleave::repository {

namespace fs = std::filesystem;

namespace {

/// Build output, git's own files, and npm's packages.
constexpr std::array<std::string_view, 3> not_ours = {"build", ".git", "web/node_modules"};

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

std::string_view SourceFile::name() const {
  return std::string_view(path).substr(path.find_last_of('/') + 1);
}

SourceFile made_up(std::string path, std::string_view text) {
  SourceFile file{std::move(path), {}};
  std::istringstream stream{std::string(text)};
  for (std::string line; std::getline(stream, line);) file.lines.push_back(line);
  return file;
}

fs::path root() {
  return fs::path(source_dir());
}

std::vector<SourceFile> files_under(const std::vector<std::string>& folders) {
  std::vector<SourceFile> files;
  for (const std::string& folder : folders) {
    if (!fs::exists(root() / folder)) continue;
    for (auto at = fs::recursive_directory_iterator(root() / folder); at != fs::end(at); ++at) {
      const std::string path = fs::relative(at->path(), root()).generic_string();
      if (std::ranges::find(not_ours, path) != not_ours.end()) {
        at.disable_recursion_pending();
        continue;
      }
      if (at->is_symlink() || !at->is_regular_file()) continue;
      const std::string text = contents(at->path());
      if (text.find('\0') != std::string::npos) continue;  // not text
      files.push_back(made_up(path, text));
    }
  }
  std::ranges::sort(files, {}, &SourceFile::path);
  return files;
}

std::vector<SourceFile> cpp_under(const std::vector<std::string>& folders) {
  std::vector<SourceFile> files = files_under(folders);
  std::erase_if(files, [](const SourceFile& file) {
    return !file.ends_with(".cpp") && !file.ends_with(".hpp");
  });
  return files;
}

std::string finding(const SourceFile& file, std::size_t line_index, std::string_view what) {
  return file.path + ":" + std::to_string(line_index + 1) + ": " + std::string(what);
}

std::string listed(const std::vector<std::string>& findings) {
  std::string text;
  for (const std::string& each : findings) text += each + "\n";
  return text;
}

}  // namespace cleave::repository
