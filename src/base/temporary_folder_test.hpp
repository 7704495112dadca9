#pragma once
// For tests: a folder that is empty at first and removed with the object.

#include <filesystem>
#include <stdexcept>
#include <utility>

#include "base/work_folder.hpp"

namespace cleave {

/// A folder for one test; throws if it cannot be made.
class TemporaryFolder {
 public:
  /// Beside the system's other temporary files, or in `where`.
  explicit TemporaryFolder(
      const std::filesystem::path& where = std::filesystem::temp_directory_path())
      : folder_(made(where)) {}

  [[nodiscard]] const std::filesystem::path& path() const { return folder_.path(); }

 private:
  static WorkFolder made(const std::filesystem::path& where) {
    auto folder = WorkFolder::make(where, "test");
    // Without a folder the test would write and remove files in the current directory.
    if (!folder) throw std::runtime_error(folder.error().text());
    return std::move(*folder);
  }

  WorkFolder folder_;
};

}  // namespace cleave
